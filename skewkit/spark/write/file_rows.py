"""Rows of one planned file of each of some partition values, in one query over the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import with_columns
from skewkit.spark.routing.route import element, heavy_index, listed, partition_columns
from skewkit.spark.session.compat import as_arrow
from skewkit.spark.session.jobs import described
from skewkit.spark.write.sampled_columns import SampledColumns
from skewkit.spark.write.write_route import write_salting

_RUNS = 400
_FRACTIONS = 1 << 20
_POSITION = (1 << 33) - 1


def file_rows(
    df: DataFrame, keys: Keys, route: KeyPlan, indexes: Sequence[int], rows: float
) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the indexes (rows,) in `route.heavy` of sampled rows, and the rows as an Arrow table, as files have them.

    * Of every value only the rows of its first planned file are taken, so that they are as far apart as in the file.
    * Where those are more than some 50,000 in all, runs of them are taken, chosen by a hash: neighbours stay together.

    Args:
        df: the frame.
        keys: its partition columns.
        route: where the plan sends the rows of each value.
        indexes: the values, by their indexes in `route.heavy`.
        rows: rows of all these files together.
    """
    names, columns = Names(df), SampledColumns.of(df)
    chosen = set(indexes)
    at, heavy = names("at"), F.col(names("heavy"))
    row_hash = write_salting(df, keys).hash(frame=df)
    wide = with_columns(
        df,
        {at: F.monotonically_increasing_id()}
        | heavy_index(keys, route, names)
        | partition_columns(route, names, row_hash),
    )
    first = element([h.parts[0][0] for h in route.heavy], "int", heavy)
    taken = listed([i in chosen for i in range(len(route.heavy))], heavy) & (F.col(names("partition")) == first)
    fraction = (_RUNS << columns.run_bits) / max(1.0, rows)
    if fraction < 1:
        # So many rows of the input hold about a run of a file, if they are all of its value.
        bits = element([columns.run_bits + len(h.parts).bit_length() for h in route.heavy], "int", heavy)
        run = F.xxhash64(F.shiftright(F.col(at), 33), F.floor(F.expr(f"`{at}` & {_POSITION}L") / F.pow(F.lit(2), bits)))
        taken = taken & (F.pmod(run, F.lit(_FRACTIONS)) < int(fraction * _FRACTIONS))
    found = wide.where(taken).select(heavy, at, *columns.cells)
    found = found.toDF("heavy", "at", *(f"c{i}" for i in range(len(columns.cells))))
    with described(df.sparkSession, "skewkit write: rows of a planned file of each value that is cut"):
        table = as_arrow(found).combine_chunks()
    table = table.sort_by("at")
    return table["heavy"].to_numpy().astype(np.int64), table.drop_columns(["heavy", "at"])
