"""What `df["k"]` finds in a result on Spark Connect, where a Column of a frame names the frame by a number.

A server looks for the frame of that number below the result, and stops at unions. So a select on top of the union says
that it is that frame. What it has of the frame's columns is found by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from skewkit.spark.session.compat import is_connect

_SAME_COLUMNS = ("Filter", "SubqueryAlias", "Sort", "Limit", "Offset", "Tail", "Deduplicate", "Sample", "Repartition")
"""Steps of a Connect plan whose columns are those of the frame below."""


def resolved_as(df: DataFrame, result: DataFrame) -> DataFrame:
    """Return a result in which `df["k"]` finds the column `k`, as it does in a classic session.

    So do Columns of the frames that `df` was filtered or sorted from.
    """
    if not is_connect(result):
        return result
    for number in _numbers(df._plan):
        result = result.select("*")
        plan: Any = result._plan
        setattr(plan, "_root_plan_id" if hasattr(plan, "_root_plan_id") else "_plan_id", number)
    return result.select("*")


def _numbers(plan: Any) -> Iterator[int]:
    yield plan._plan_id
    while type(plan).__name__ in _SAME_COLUMNS:
        plan = plan._child
        yield plan._plan_id
