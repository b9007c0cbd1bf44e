"""`explain`: the plan behind a frame that skewkit returned, in words and numbers."""

from __future__ import annotations

from pyspark.sql import DataFrame

from skewkit.plan.explanation import choice_text
from skewkit.spark.session.remembered import choice_of


def explain(frame: DataFrame) -> str:
    """Return which keys are hot, what plain Spark would make of them, and what was chosen at what cost.

    No job is started, as the text was settled when the operator was called, but for a join that was left to plain Spark
    before its keys were known, because a side is repartitioned by the key or because no key of a full join can be
    split: the keys of both sides are profiled then, once.

    Raises:
        ArgumentError: skewkit did not return this frame.
        Exception: what Spark raises where that profile was cancelled, or cannot be made any more; ask again.

    >>> df = spark.range(1000).selectExpr("if(id < 700, 0, id) AS k")
    >>> print(explain(skew_groupby(df, "k").count()))  # doctest: +ELLIPSIS
    group by k, ... partitions
      strategy   native: Spark combines count before the shuffle, so a hot key costs nothing
    """
    return choice_text(choice_of(frame))
