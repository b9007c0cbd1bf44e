"""How many bytes a column takes in a Parquet file of so many rows, from a sample of its values.

Sizes of a file do not follow from a sample by the rule of three, because of dictionaries. A dictionary is stored once
per column and file. Spark's writer gives it up where it grows beyond 1 MiB or saves nothing on the first page (Apache
Parquet format, "Encodings", PLAIN_DICTIONARY; parquet-java's DictionaryValuesWriter). So the sample is encoded both
ways, and a file of more rows is extrapolated by how the number of distinct values grows (Heaps' law).
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

DICTIONARY_LIMIT = 1 << 20
"""Bytes of a dictionary at which the writer goes on without one (`parquet.dictionary.page.size`)."""
FIRST_PAGE = 20_000
"""Rows after which the writer looks whether its dictionary pays (`parquet.page.row.count.limit`)."""
_PLACEHOLDER = "c"
_MOST_COPIES = 8
"""Rows that are there more often have few values: no union or join that doubles rows is meant."""
_CUT_OFF = 0.05
"""Part of the rows that may have lost copies: a block of 128 sampled rows, 64 pairs, cuts a pair at either end."""


@dataclass(frozen=True)
class ColumnSample:
    """A column of a sample as Parquet stores it: everything in bytes but `rows`, `distinct` and `once`.

    `distinct` values were seen, `once` of them in one row alone, or in its copies. `dictionary` and `indexes` are the
    compressed parts with a dictionary, `plain` the compressed whole without one. `raw` is the whole without either.
    """

    rows: int
    distinct: int
    once: int
    dictionary: float
    indexes: float
    plain: float
    raw: float

    @property
    def raw_per_row(self) -> float:
        """Bytes of a value that is neither compressed nor in a dictionary."""
        return self.raw / self.rows if self.rows else 0.0

    def bytes_in(self, rows: float) -> float:
        """Return the bytes that the column takes in a file of so many rows.

        >>> few = ColumnSample(1000, 10, 0, 100.0, 500.0, 8000.0, 8000.0)
        >>> few.bytes_in(1000), few.bytes_in(2000), few.bytes_in(100)
        (600.0, 1100.0, 150.0)
        >>> ColumnSample(1000, 1000, 1000, 8000.0, 1250.0, 8000.0, 8000.0).bytes_in(5000)
        40000.0
        """
        if not self.rows or rows <= 0:
            return 0.0
        plain = self.plain / self.rows * rows
        if not self.distinct or not self._dictionary_pays(min(rows, FIRST_PAGE)):
            return plain
        distinct = self._distinct_in(rows)
        value = self.raw / self.rows
        held = min(1.0, DICTIONARY_LIMIT / (distinct * value)) if distinct * value > 0 else 1.0
        known = self._distinct_in(rows * held) if held < 1 else distinct
        with_dictionary = known * self.dictionary / self.distinct + rows * held * self._index_bytes(known)
        return with_dictionary + plain * (1 - held)

    def _distinct_in(self, rows: float) -> float:
        growth = self.once / self.distinct
        return min(rows, self.distinct * math.pow(rows / self.rows, growth))

    def _index_bytes(self, distinct: float) -> float:
        """Return the bytes of one index into a dictionary: they grow with the bits that it takes."""
        bits, sampled = (max(1.0, math.log2(max(2.0, number))) for number in (distinct, self.distinct))
        return self.indexes / self.rows * bits / sampled

    def _dictionary_pays(self, rows: float) -> bool:
        value, distinct = self.raw / self.rows, self._distinct_in(rows)
        bits = math.ceil(math.log2(max(2.0, distinct)))
        return distinct * value + rows * bits / 8 < rows * value


def column_samples(table: Any, codec: str) -> list[ColumnSample]:
    """Return a sample of every column of an Arrow table, as Spark would write it. Needs pyarrow.

    `codec` is a name of `spark.sql.parquet.compression.codec`. One that pyarrow has not counts as snappy.

    >>> import pyarrow as pa
    >>> [round(c.bytes_in(1_000_000) / 1e6, 1) for c in column_samples(pa.table({"x": [1, 2] * 5000}), "none")]
    [0.1]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain_table = pa.table(
        [column.combine_chunks() for column in table.columns],
        names=[f"{_PLACEHOLDER}{i}" for i in range(table.num_columns)],
    )
    with_dictionary = _chunks(plain_table, codec, dictionary=True)
    without = _chunks(plain_table, codec, dictionary=False)
    copies = _copies(plain_table) if table.num_rows else 1
    found = []
    for name in plain_table.column_names:
        chunks, plain = with_dictionary.get(name, []), without.get(name, [])
        whole, raw = sum(c[0] for c in plain), sum(c[1] for c in plain)
        column = plain_table[name]
        if len(chunks) != 1 or pa.types.is_nested(column.type) or chunks[0][2] is None:
            found.append(ColumnSample(table.num_rows, 0, 0, 0.0, 0.0, min(whole, sum(c[0] for c in chunks)), raw))
            continue
        counts = pc.value_counts(column).field("counts")
        once = int(pc.sum(pc.less_equal(counts, copies)).as_py() or 0)
        size, dictionary = chunks[0][0], float(chunks[0][2])
        found.append(ColumnSample(table.num_rows, len(counts), once, dictionary, size - dictionary, whole, raw))
    return found


def _copies(table: Any) -> int:
    """Return how many times nearly every row of an Arrow table is there, leaving nested columns aside.

    Copies of a row may go to one file, all of them. So they do not show that another file has the same values.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = [name for name in table.column_names if not pa.types.is_nested(table[name].type)]
    if not flat or any(len(pc.unique(table[name])) == table.num_rows for name in flat):
        return 1
    counts = np.sort(table.select(flat).group_by(flat).aggregate([([], "count_all")])["count_all"].to_numpy())
    nearly_all = int(counts[int(counts.size * _CUT_OFF)])
    return nearly_all if nearly_all <= _MOST_COPIES else 1


def _chunks(table: Any, codec: str, *, dictionary: bool) -> dict[str, list[tuple[float, float, float | None]]]:
    """Return (compressed, raw, dictionary's) bytes of the leaves of every column, by the column's name."""
    import pyarrow.parquet as pq

    target = io.BytesIO()
    pq.write_table(
        table,
        target,
        row_group_size=max(1, table.num_rows),
        compression=_arrow_codec(codec),
        use_dictionary=dictionary,
        dictionary_pagesize_limit=1 << 30,
        data_page_version="1.0",
        use_deprecated_int96_timestamps=True,
        store_decimal_as_integer=True,
        write_statistics=False,
    )
    target.seek(0)
    metadata = pq.read_metadata(target)
    found: dict[str, list[tuple[float, float, float | None]]] = {}
    for group in range(metadata.num_row_groups):
        for at in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(at)
            own = chunk.data_page_offset - chunk.dictionary_page_offset if chunk.has_dictionary_page else None
            name = chunk.path_in_schema.partition(".")[0]
            found.setdefault(name, []).append((chunk.total_compressed_size, chunk.total_uncompressed_size, own))
    return found


def _arrow_codec(codec: str) -> str:
    """Return pyarrow's name of a codec of Spark's; snappy where it has none."""
    import pyarrow as pa

    name = {"lz4_raw": "lz4", "uncompressed": "none"}.get(codec.lower(), codec.lower())
    try:
        return name if name == "none" or pa.Codec.is_available(name) else "snappy"
    except ValueError:
        return "snappy"
