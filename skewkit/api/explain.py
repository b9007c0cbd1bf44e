"""`explain`: the plan behind a frame that skewkit returned, in words and numbers."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from skewkit.api.arguments import check_frame, tell_unknown_settings
from skewkit.plan.explanation import choice_text
from skewkit.spark.session.compat import is_frame
from skewkit.spark.session.remembered import choices_of


class Explanation(str):
    """A text of several lines that shows itself as it is, also as the last line of a notebook's cell.

    >>> Explanation("a" + chr(10) + "b")
    a
    b
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def explain(frame: DataFrame) -> Explanation:
    """Return which keys are hot, what plain Spark would make of them, and what was chosen at what cost.

    No job is started: the text was settled when the operator was called. Of a frame that was derived from skewkit's
    (by `where`, `select`, `join`, ...) it says what became of each operator inside, the last one first. A session conf
    that is named as a setting of skewkit and is none is warned of, once.

    Raises:
        ArgumentTypeError: this is no DataFrame.
        ArgumentError: skewkit did not return this frame, nor, among its last 20, one that it was derived from.

    >>> df = spark.range(1000).selectExpr("if(id < 700, 0, id) AS k")
    >>> explain(skew_groupby(df, "k").count())  # doctest: +ELLIPSIS
    group by k, ... partitions
      strategy   native: Spark combines count before the shuffle, so a hot key costs nothing
    >>> "native" in explain(skew_groupby(df, "k").count().where("count > 1"))
    True
    """
    if not is_frame(frame):  # that of a session which was stopped has its text still
        check_frame(frame, "explain")
    tell_unknown_settings(frame.sparkSession)
    return Explanation("\n\n".join(map(choice_text, choices_of(frame))))
