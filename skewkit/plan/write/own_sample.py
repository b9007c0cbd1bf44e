"""Bytes of partition values that are cut into files, by the rows of one planned file of each.

Columns may depend on each other: one author's commits compress better together. And a value that is cut spreads its
rows over several files, so rows next to each other in the frame are not so in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.plan.write.file_plan import ABOVE, OPENING, FilePlan, ValueBytes
from skewkit.plan.write.row_bytes import mean_lengths, sampled_rows

_FEWEST = 64
"""With fewer sampled rows a value keeps its bytes by the sample of all rows."""
_MOST_VALUES = 256
"""Values, the largest ones, that are sampled on their own; each takes some hundredths of a second to encode."""
_MAJORITY = 0.5
"""A value with this share of all rows or more has about as much of their sample: it needs no query of its own."""


def values_to_sample(plan: FilePlan, values: Sequence[ValueBytes]) -> dict[int, tuple[int, ...]]:
    """Return the values whose own rows are worth a query: index in `plan.route.heavy` to positions in `values`.

    Empty where no value is cut, or only one with half of all rows (`majority_bytes`). Else also values that may turn
    out to need a second file.
    """
    if plan.route is None or not plan.keys:
        return {}
    by_hash: dict[int, list[int]] = {}
    for position, value in enumerate(values):
        by_hash.setdefault(value.hash, []).append(position)
    if not any(
        len(h.parts) > 1 and sum(values[i].rows for i in by_hash[h.hash]) < _MAJORITY * plan.rows
        for h in plan.route.heavy
    ):
        return {}
    sizes = {i: h.weight - OPENING * len(h.parts) for i, h in enumerate(plan.route.heavy)}
    large = sorted((i for i, size in sizes.items() if size > ABOVE / 2 * plan.target), key=lambda i: -sizes[i])
    return {i: tuple(by_hash[plan.route.heavy[i].hash]) for i in large[:_MOST_VALUES]}


def rows_of_files(plan: FilePlan, values: Sequence[ValueBytes], sampled: dict[int, tuple[int, ...]]) -> float:
    """Return the rows of one planned file of each of these values, in all."""
    if plan.route is None:
        return 0.0
    heavy = plan.route.heavy
    return sum(sum(values[at].rows for at in found) / len(heavy[i].parts) for i, found in sampled.items())


def majority_bytes(
    found: npt.NDArray[np.float64],
    sampled: npt.NDArray[np.bool_],
    table: Any,
    rows: npt.NDArray[Any],
    lengths: npt.NDArray[np.float64],
    varying: Sequence[int],
    target: float,
    codec: str,
) -> npt.NDArray[np.float64]:
    """Return the bytes (values,) of every partition value, that of the largest by its own rows in the sample of all.

    Unchanged where all of the sample is its own, or less than half. `sampled` says of each row of the table whether it
    is; the others are as in `own_bytes`.
    """
    if sampled.all() or np.count_nonzero(sampled) < max(_FEWEST, _MAJORITY * sampled.size):
        return found
    own = table.take(np.flatnonzero(sampled))
    encoded = sampled_rows(own, varying, mean_lengths(own, varying), codec)
    means = (lengths[0] / max(1, rows[0])).tolist()
    return np.concatenate([[encoded.bytes_of(float(rows[0]), means, target)], found[1:]])


def own_bytes(
    found: npt.NDArray[np.float64],
    sampled: dict[int, tuple[int, ...]],
    value_of: npt.NDArray[np.int64],
    table: Any,
    rows: npt.NDArray[Any],
    lengths: npt.NDArray[np.float64],
    varying: Sequence[int],
    target: float,
    codec: str,
) -> npt.NDArray[np.float64]:
    """Return the bytes (values,) of every partition value, those in `sampled` by their own rows.

    Args:
        found: bytes (values,) by the sample of all rows.
        sampled: numbers of sampled values, to their positions in `found` (`values_to_sample`).
        value_of: which of these numbers each sampled row (sampled rows,) has.
        table: the sampled rows, an Arrow table in the order that a file has.
        rows: rows (values,) of each value.
        lengths: bytes (values, varying) of its columns of varying length, summed up.
        varying: which columns of the table those are.
        target: bytes of a file.
        codec: the writer's codec.
    """
    result = found.copy()
    for number, positions in sampled.items():
        own = table.take(np.flatnonzero(value_of == number))
        if own.num_rows < _FEWEST:
            continue
        encoded = sampled_rows(own, varying, mean_lengths(own, varying), codec, of_a_file=True)
        for at in positions:
            means = (lengths[at] / max(1, rows[at])).tolist()
            result[at] = encoded.bytes_of(float(rows[at]), means, target)
    return result
