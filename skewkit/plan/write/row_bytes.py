"""Bytes of a partition value's rows in Parquet, from a sample of all rows and the value's own lengths of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.plan.write.column_sample import ColumnSample, column_samples

_FOOTER, _PER_COLUMN = 700, 180
"""Bytes of a file that hold no rows: its footer, and what the footer and the page headers have of each column."""
_STEPS = 4
"""Rounds in which rows per file and bytes per row are computed in turn."""
_THINNER = 4
"""Each sample has one row in so many of the sample before."""
_BLOCK = 64
"""Neighbouring rows of a sample that are kept together: they compress as all neighbours do."""
_FEWEST = 256
"""Fewer rows do not show how well they compress."""


@dataclass(frozen=True)
class EncodedSample:
    """A sample of a frame's rows, encoded. `lengths` are its mean lengths per row (`mean_lengths`).

    `varying[j]` are the positions of the columns that `lengths[j]` measures. `apart[k]` has, per column, how many times
    more bytes rows take in a file that holds one row in `4 ** k` than in a file of neighbouring rows.
    """

    samples: tuple[tuple[ColumnSample, ...], ...]
    varying: tuple[tuple[int, ...], ...]
    lengths: tuple[float, ...]
    apart: tuple[tuple[float, ...], ...]

    @property
    def overhead(self) -> float:
        """Bytes that a file takes besides its rows."""
        return _FOOTER + _PER_COLUMN * len(self.samples[0])

    def bytes_of(self, rows: float, own_lengths: Sequence[float], target: float) -> float:
        """Return the bytes that so many rows take in files of `target` bytes.

        `own_lengths` are the mean lengths of these rows. The rows of a file decide
        what a dictionary costs. The bytes of a row decide how many rows a file has. So both are computed in turn.
        Neighbouring rows are taken to end in different files.
        """
        in_file, per_row = rows, 0.0
        for _ in range(_STEPS):
            per_row = self._per_row(in_file, own_lengths, rows / max(1.0, in_file))
            room = max(target / 2, target - self.overhead)
            in_file = min(rows, max(1.0, room / per_row)) if per_row else rows
        return rows * per_row + self.overhead * max(1.0, rows / max(1.0, in_file))

    def _per_row(self, rows: float, own_lengths: Sequence[float], files: float) -> float:
        # The sample of as many rows as the file has, or else the largest.
        distances = [abs(np.log(max(1, s[0].rows) / max(1.0, rows))) for s in self.samples]
        step = distances.index(min(distances))
        sample = self.samples[step]
        factors = dict(enumerate(self._apart(files, step)))
        missing = 0.0
        for group, own, mean in zip(self.varying, own_lengths, self.lengths, strict=True):
            # The mean is of the whole sample; a part of it may have drawn longer rows, or shorter ones.
            drawn, whole = (sum(each[at].raw_per_row for at in group) for each in (sample, self.samples[0]))
            taken = mean * (drawn / whole if whole else 1.0)
            missing += own if not taken else 0.0
            for at in group:
                factors[at] *= own / taken if taken else 1.0
        return missing + sum(c.bytes_in(rows) * factors[at] for at, c in enumerate(sample)) / max(1.0, rows)

    def _apart(self, files: float, step: int) -> list[float]:
        """Return the `apart` factors for so many files, relative to a sample of one row in `4 ** step`."""
        last = len(self.apart) - 1
        at = min(float(last), np.log(max(1.0, files)) / np.log(_THINNER))
        low, part = int(at), at - int(at)
        drawn = self.apart[min(step, last)]
        found = zip(self.apart[low], self.apart[min(low + 1, last)], drawn, strict=True)
        return [max(1.0, (a * (1 - part) + b * part) / c) for a, b, c in found]


def sampled_rows(
    table: Any, varying: Sequence[Sequence[int]], lengths: Sequence[float], codec: str, *, of_a_file: bool = False
) -> EncodedSample:
    """Return an Arrow table of sampled rows, encoded whole and by one row in four, sixteen ..., for small files.

    Which row of each four is taken varies, as rows may alternate. It is the same in every call.
    `of_a_file` says that the rows are as far apart as those of a file.

    >>> import pyarrow as pa
    >>> sample = sampled_rows(pa.table({"x": list(range(4096))}), (), (), "none")
    >>> round(sample.bytes_of(1_000_000, (), 1 << 20) / 1e6, 1)
    8.0
    """
    samples = []
    apart = [(1.0,) * table.num_columns]
    step = 1
    rng = np.random.default_rng(0)
    while True:
        starts = np.arange(0, table.num_rows - step + 1, step, dtype=np.int64)
        part = table.take(starts + rng.integers(0, step, starts.size)) if step > 1 else table
        samples.append(tuple(column_samples(part, codec)))
        if step > 1 and starts.size >= _FEWEST and not of_a_file:
            blocks = np.flatnonzero(np.arange(table.num_rows) // _BLOCK % step == 0)
            apart.append(tuple(map(_times, samples[-1], column_samples(table.take(blocks), codec))))
        step *= _THINNER
        if table.num_rows // step < 64:
            return EncodedSample(tuple(samples), tuple(map(tuple, varying)), tuple(lengths), tuple(apart))


def _times(column: ColumnSample, neighbours: ColumnSample) -> float:
    """Return how many times more bytes a column takes than `neighbours`, per byte before compression."""
    each, other = (c.bytes_in(c.rows) / c.raw if c.raw else 0.0 for c in (column, neighbours))
    return max(1.0, each / other) if other else 1.0


def mean_lengths(table: Any, varying: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """Return the mean length of a row over the columns of each group, by their positions.

    A text has its bytes, a number 1, a null nothing. A struct has the sum of its fields. An array has the number of its
    elements, and their lengths if these vary.

    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["a", "bcd", None], "list": [["x"], ["y", "zz"], []], "n": [1, None, 3]})
    >>> mean_lengths(table, [(0,), (1,), (0, 2)])
    (1.3333333333333333, 2.3333333333333335, 2.0)
    """
    rows = max(1, table.num_rows)
    return tuple(sum(_length(table.column(at).combine_chunks()) for at in group) / rows for group in varying)


def _length(column: Any) -> float:
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = column.type
    if pa.types.is_struct(type_):
        return sum(map(_length, column.flatten()))
    if pa.types.is_list(type_):
        values = column.flatten()
        return len(values) + (_length(values) if _varies(type_.value_type) else 0.0)
    if _varies(type_):
        return float(pc.sum(pc.binary_length(column)).as_py() or 0)
    return float(len(column) - column.null_count)


def _varies(type_: Any) -> bool:
    """Return whether values of an Arrow type vary in length: texts, lists, and structs of such."""
    import pyarrow as pa

    if pa.types.is_struct(type_):
        return any(_varies(type_.field(i).type) for i in range(type_.num_fields))
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_list
    return any(test(type_) for test in texts)


def value_bytes(
    sample: EncodedSample, rows: npt.NDArray[Any], lengths: npt.NDArray[np.float64], target: float
) -> npt.NDArray[np.float64]:
    """Return the bytes (values,) of every partition value. `lengths` (values, varying) are sums over its rows."""
    known: dict[tuple[float, ...], float] = {}
    found = np.zeros(rows.size)
    for at, (count, sums) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        own = [total / max(1, count) for total in sums]
        # Values with about as many rows, and about as long ones, take about as many bytes per row.
        key = (round(np.log2(max(1, count)) * 4), *(round(each, 2 - len(str(int(each)))) for each in own))
        if key not in known:
            known[key] = sample.bytes_of(count, own, target) / max(1, count)
        found[at] = known[key] * count
    return found
