"""Bytes of partition values that are cut into files, by the rows of one planned file of each.

Columns may depend on each other: one author's commits compress better together. And a value that is cut spreads its
rows over several files, so rows next to each other in the frame are not so in a file. How much worse they compress
then does not follow from a sample of neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skewkit.plan.write.file_plan import ABOVE, OPENING, FilePlan, ValueBytes
from skewkit.plan.write.row_bytes import mean_lengths, sampled_rows

_FEWEST = 64
"""With fewer sampled rows a value keeps its bytes by the sample of all rows."""
_MOST_VALUES = 256
"""Values, the largest ones, that are sampled on their own; each takes some hundredths of a second to encode."""


def values_to_sample(plan: FilePlan, values: Sequence[ValueBytes]) -> dict[int, tuple[int, ...]]:
    """Return the values whose own rows are worth a query: index in `plan.route.heavy` to positions in `values`.

    Empty where no value is cut. Else also values that may turn out to need a second file. A frame without partition
    columns is one value.
    """
    if plan.route is None or not plan.cut:
        return {}
    by_hash: dict[int, list[int]] = {}
    for position, value in enumerate(values):
        by_hash.setdefault(value.hash, []).append(position)
    sizes = {i: h.weight - OPENING * len(h.parts) for i, h in enumerate(plan.route.heavy)}
    large = sorted((i for i, size in sizes.items() if size > ABOVE / 2 * plan.target), key=lambda i: -sizes[i])
    return {i: tuple(by_hash[plan.route.heavy[i].hash]) for i in large[:_MOST_VALUES]}


def rows_of_files(plan: FilePlan, values: Sequence[ValueBytes], sampled: dict[int, tuple[int, ...]]) -> float:
    """Return the rows of one planned file of each of these values, in all."""
    if plan.route is None:
        return 0.0
    heavy = plan.route.heavy
    return sum(sum(values[at].rows for at in found) / len(heavy[i].parts) for i, found in sampled.items())


class OwnRows(NamedTuple):
    """Sampled rows of one or more partition values, which are sized by these rows alone."""

    positions: tuple[int, ...]
    """Where these values stand among all."""
    table: Any
    """The rows, an Arrow table in the order that a file has."""


def file_rows_of_values(
    sampled: Mapping[int, tuple[int, ...]], value_of: npt.NDArray[np.int64], table: Any
) -> list[OwnRows]:
    """Return the rows of each value in a table of one planned file of each.

    `sampled` has the values' numbers and positions (`values_to_sample`), `value_of` the number of every row (rows,).
    """
    return [OwnRows(at, table.take(np.flatnonzero(value_of == n))) for n, at in sampled.items()]


def own_bytes(
    found: npt.NDArray[np.float64],
    own: Sequence[OwnRows],
    rows: npt.NDArray[Any],
    lengths: npt.NDArray[np.float64],
    varying: Sequence[Sequence[int]],
    target: float,
    codec: str,
) -> npt.NDArray[np.float64]:
    """Return the bytes (values,) of every partition value, of some by their own rows.

    A value of which fewer than `_FEWEST` rows were sampled stays as `found` has it.

    Args:
        found: bytes (values,) by the sample of all rows.
        own: the sampled rows of the values that have some of their own.
        rows: rows (values,) of each value.
        lengths: bytes (values, varying) of its columns of varying length, summed up.
        varying: which columns of the sampled rows those are.
        target: bytes of a file.
        codec: the writer's codec.
    """
    result = found.copy()
    for positions, table in own:
        if table.num_rows < _FEWEST:
            continue
        encoded = sampled_rows(table, varying, mean_lengths(table, varying), codec, of_a_file=True)
        for at in positions:
            means = (lengths[at] / max(1, rows[at])).tolist()
            result[at] = encoded.bytes_of(float(rows[at]), means, target)
    return result
