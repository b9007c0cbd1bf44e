"""Rows and lengths per partition value, and a sample of rows, in one query over the frame.

The sampled rows are keys of the aggregation, as structs, and all others are null there. So Spark combines both before
the shuffle, in one hash aggregation, and the sample costs no second pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from skewkit.plan.write.row_bytes import mean_lengths
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.session.compat import as_arrow
from skewkit.spark.session.jobs import described
from skewkit.spark.write.sampled_columns import SampledColumns

SAMPLED = 50_000
"""About so many rows are sampled at most."""
_POSITION = (1 << 33) - 1


@dataclass(frozen=True)
class PartitionSizes:
    """What the query found, by partition value, in falling order of rows.

    `hashes`, `rows` and `values` (text, for people) are of the values. `lengths` (values, varying) are the bytes of
    their texts, binaries and the like, summed up. `sample` is an Arrow table of sampled rows, without the partition
    columns. `varying` are the positions of those of its columns that `lengths` are of, `sample_lengths` their mean
    bytes in the sample. `unsampled` columns are of types that no sample is taken of.
    """

    hashes: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    values: tuple[str, ...]
    lengths: npt.NDArray[np.float64]
    sample: Any
    varying: tuple[tuple[int, ...], ...]
    sample_lengths: tuple[float, ...]
    unsampled: tuple[DataType, ...]

    @property
    def has_sample(self) -> bool:
        """Whether there are sampled rows, and columns of them."""
        return bool(self.sample.num_columns and self.sample.num_rows)


def partition_sizes(df: DataFrame, keys: Keys | None) -> PartitionSizes:
    """Run the query. `keys` are the partition columns, None where there are none: then all rows are one value.

    * Rows are sampled in blocks, as neighbours tend to be alike and Parquet makes use of it.
    * The blocks are the first ones of an input partition, and the further on the sparser, so that the sample is some
      10,000 to 50,000 rows whatever the frame has.
    """
    names = Names(df)
    at = names("at")
    columns = SampledColumns.of(df, keys, F.col(at) >= 0)
    lengths, varying = columns.lengths, columns.varying
    cells = F.when(F.col(at) >= 0, F.col(at)), *columns.cells
    row = F.struct(*(cell.alias(f"c{i}") for i, cell in enumerate(cells)))
    length_names = [names(f"length{i}") for i in range(len(varying))]
    own = [] if keys is None else [names(f"key{i}") for i in range(len(keys.columns))]
    cut = [] if keys is None else [column.alias(name) for column, name in zip(keys.columns, own, strict=True)]
    placed = df.select("*", F.monotonically_increasing_id().alias(at)).select(
        *cut,
        F.when(_is_sampled(at, columns.run_bits), row).alias(names("row")),
        *(length.cast("bigint").alias(n) for length, n in zip(lengths, length_names, strict=True)),
    )
    hashed = F.xxhash64(*own) if own else F.lit(0).cast("bigint")
    shown = ["hash", "value", "row", "rows", *(f"l{i}" for i in range(len(varying)))]
    # Aggregates too, as a session may leave the columns of groups out (spark.sql.retainGroupColumns=false).
    made = [hashed, _shown(own), F.col(names("row")), F.count(F.lit(1)), *map(F.sum, length_names)]
    found = placed.groupBy(*own, names("row")).agg(*(c.alias(n) for c, n in zip(made, shown, strict=True)))
    found = found.select(*shown)
    counted = "rows, and a sample" if keys is None else "rows per partition value, and a sample"
    with described(df.sparkSession, f"skewkit write: {counted}"):
        table = as_arrow(found)
    return _found(table, len(varying), varying, columns.unsampled)


def _found(table: Any, count: int, varying: Sequence[Sequence[int]], unsampled: tuple[DataType, ...]) -> PartitionSizes:
    import pyarrow as pa
    import pyarrow.compute as pc

    hashes = table["hash"].to_numpy()
    rows = table["rows"].to_numpy().astype(np.int64)
    lengths = np.zeros((table.num_rows, count))
    for i in range(count):
        lengths[:, i] = pc.fill_null(table[f"l{i}"], 0).to_numpy().astype(np.float64)
    distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    by_value = np.zeros(distinct.size, dtype=np.int64)
    np.add.at(by_value, inverse, rows)
    sums = np.zeros((distinct.size, count))
    np.add.at(sums, inverse, lengths)
    texts = table["value"].take(pa.array(first)).to_pylist()
    order = np.argsort(-by_value, kind="stable")
    sampled = table.filter(pc.is_valid(table["row"]))
    taken = sampled["row"].combine_chunks()
    parts = taken.flatten() if isinstance(taken, pa.StructArray) else []
    if len(parts):
        sequence = pc.sort_indices(parts[0])
        sample = pa.table([part.take(sequence) for part in parts[1:]], names=[f"c{i}" for i in range(len(parts) - 1)])
    else:
        sample = pa.table({})
    # Numbers that are never null say nothing of any value.
    telling = [j for j in range(count) if (sums[:, j] != by_value).any()]
    varying, sums = [varying[j] for j in telling], sums[:, telling]
    means = mean_lengths(sample, varying) if sample.num_rows else (0.0,) * len(varying)
    return PartitionSizes(
        distinct[order],
        by_value[order],
        tuple("null" if texts[i] is None else texts[i] for i in order.tolist()),
        sums[order],
        sample,
        tuple(map(tuple, varying)),
        means,
        unsampled,
    )


def _shown(keys: Sequence[str]) -> Column:
    """Return a partition value as text."""
    cells = [F.coalesce(F.col(name).cast("string"), F.lit("null")) for name in keys]
    return F.substring(F.concat_ws(", ", *cells), 1, 80) if cells else F.lit("")


def _is_sampled(at: str, bits: int) -> Column:
    """Return whether a row, by its number, is of a block that is sampled: one whose number has few bits set.

    Of the first two input partitions blocks with two bits are, of the next 14 those with one. Then it is the first
    block of each up to the 128th, and of some later ones. So a partition of 2^b blocks has about b * b / 2 or b of
    them, spread over all of it.
    """
    partition, block = f"shiftright(`{at}`, 33)", f"bit_count(shiftright(`{at}` & {_POSITION}L, {bits}))"
    first = f"{partition} < 128 OR {partition} % 61 = 0"
    most = f"CASE WHEN {partition} < 2 THEN 2 WHEN {partition} < 16 THEN 1 WHEN {first} THEN 0 ELSE -1 END"
    return F.expr(f"{block} <= {most}")
