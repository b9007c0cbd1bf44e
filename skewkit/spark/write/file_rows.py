"""Rows of one planned file of each of some partition values, in one query over the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.write.file_plan import FilePlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import with_columns
from skewkit.spark.routing.route import element, listed
from skewkit.spark.session.compat import as_arrow
from skewkit.spark.session.jobs import described
from skewkit.spark.write.sampled_columns import SampledColumns
from skewkit.spark.write.write_route import task_columns

_RUNS = 400
_FRACTIONS = 1 << 20
_POSITION = (1 << 33) - 1


def file_rows(
    df: DataFrame, keys: Keys | None, plan: FilePlan, indexes: Sequence[int], rows: float
) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the indexes (rows,) in `plan.route.heavy` of sampled rows, and an Arrow table of them, as files have it.

    * Of every value only the rows of its first planned file are taken, so that they are as far apart as in the file.
    * Where those are more than some 50,000 in all, runs of them are taken, chosen by a hash: neighbours stay together.

    Args:
        df: the frame.
        keys: its partition columns, None where there are none.
        plan: where the rows of each value go.
        indexes: the values, by their indexes in `plan.route.heavy`.
        rows: rows of all these files together.
    """
    names, columns = Names(df), SampledColumns.of(df, keys)
    at, heavy = names("at"), F.col(names("heavy"))
    parts = [h.parts for h in plan.route.heavy] if plan.route is not None else []
    own = {names("heavy"): "0"} if keys is None else {}
    wide = with_columns(df, {at: F.monotonically_increasing_id()} | own | task_columns(df, keys, plan, names))
    chosen = F.expr(listed([i in indexes for i in range(len(parts))], names("heavy")))
    taken = chosen & (F.col(names("partition")) == element([each[0][0] for each in parts], "int", heavy))
    fraction = (_RUNS << columns.run_bits) / max(1.0, rows)
    if fraction < 1:
        # So many rows of the input hold about a run of a file, if they are all of its value.
        bits = element([columns.run_bits + len(each).bit_length() for each in parts], "int", heavy)
        run = F.xxhash64(F.shiftright(F.col(at), 33), F.floor(F.expr(f"`{at}` & {_POSITION}L") / F.pow(F.lit(2), bits)))
        taken = taken & (F.pmod(run, F.lit(_FRACTIONS)) < int(fraction * _FRACTIONS))
    found = wide.where(taken).select(heavy, at, *columns.cells)
    found = found.toDF("heavy", "at", *(f"c{i}" for i in range(len(columns.cells))))
    with described(df.sparkSession, "skewkit write: rows of a planned file of each value that is cut"):
        table = as_arrow(found).combine_chunks()
    table = table.sort_by("at")
    return table["heavy"].to_numpy().astype(np.int64), table.drop_columns(["heavy", "at"])
