"""A guard against views that are replaced after a plan was made: Connect resolves a frame when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import is_connect

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_GUARDED = (*_NUMBERS, "string", "binary", "boolean", "date", "timestamp", "timestamp_ntz")
_MADE_ANEW = " now, because a view or table was replaced meanwhile; make the frame anew"


def guarded(df: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Return the frame such that a query fails where these columns have other types (simple strings) than now.

    How a sum is split or an order is cut follows from the types. With others the rows would be wrong. On Connect the
    frame gets a filter for it, which the optimizer takes away where the types are the same. A classic frame is
    resolved once and comes back as it is, and types with parts are not guarded.
    """
    asked = {name: type_ for name, type_ in types.items() if type_.partition("(")[0] in _GUARDED}
    if not asked or not is_connect(df):
        return df
    now = {name: F.typeof(F.col(quoted(name))) for name in asked}
    same = reduce(and_, [now[name] == type_ for name, type_ in asked.items()])
    were = F.lit(f"columns that were {', '.join(asked.values())} when this frame was made are ")
    gone = F.raise_error(F.concat(were, F.concat_ws(", ", *now.values()), F.lit(_MADE_ANEW)))
    return df.where(F.when(same, True).otherwise(gone))
