"""The merge of a hot key's partial results, inside Spark's Python workers.

Like the functions of `whole_groups`, these are sent by value.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle

from skewkit.errors import MergeError
from skewkit.spark.group.worker.results import Declared, arrow_of, fitted, in_schema, with_typed_nulls
from skewkit.spark.group.worker.whole_groups import Frame, GroupFunction, is_arrow, takes_key

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Merging:
    """How the results of a key's sub-groups become one.

    * `order`, `packed` and `zone` are columns: by what the parts are sorted, their results, the session's time zone.
    * `keys` are positions of the group's key columns in the schema.
    * `allow_empty`: the merge may leave a key without a row.
    """

    declared: Declared
    order: tuple[str, ...]
    packed: str
    zone: str
    keys: tuple[int, ...] = ()
    allow_empty: bool = False


def on_parts(merge: GroupFunction, how: Merging) -> GroupFunction:
    """Return a function that merges the packed partial results of one key (one hash), once per key.

    * The merge sees the parts in their order, in one frame with the dtypes that the schema says.
    * Parts without rows are left out. Where no part has rows, the key has no result and `merge` is not called.

    Raises:
        SchemaError: in the task: the merge returned something else than the schema says.
        MergeError: in the task: it returned no row, or the rows of another key.
    """
    with_key, what = takes_key(merge), f"the merge {getattr(merge, '__name__', 'function')}"

    def merged(frame: Frame) -> Frame:
        columns = [
            frame[name].to_pylist() if is_arrow(frame) else frame[name].tolist()
            for name in (*how.order, how.packed, how.zone)
        ]
        parts: dict[Any, tuple[Any, list[Frame]]] = {}
        empty, zone = None, columns[-1][0]
        for *_, blob, _ in sorted(zip(*columns, strict=True), key=lambda row: row[:-2]):
            identity, key, result = pickle.loads(blob)
            if len(result):
                parts.setdefault(identity, (key, []))[1].append(result)
            else:
                empty = result
        results = []
        for key, frames in parts.values():
            rows, shown = in_schema(frames, how.declared, zone), _shown(key, frame)
            made = merge(shown, rows) if with_key else merge(rows)
            result = fitted(with_typed_nulls(made, how.declared), how.declared, what)
            _check(rows, result, how, zone, what)
            results.append(result)
        if len(results) == 1 and not _backed_by_arrow(results[0]):
            return results[0]
        results = [result for result in results if len(result)] or results[:1]
        return in_schema(results, how.declared, zone) if results and len(results[0]) else [*results, empty][0]

    return merged


def _shown(key: tuple[Any, ...], frame: Frame) -> tuple[Any, ...]:
    """Return a key as Spark's own group functions get it. That of Arrow is packed as arrays of one value."""
    return tuple(part[0] for part in key) if is_arrow(frame) else key


def _backed_by_arrow(frame: Frame) -> bool:
    """Return whether columns of pandas hold Arrow arrays, which Spark takes only where they are in one piece."""
    return not is_arrow(frame) and any(hasattr(dtype, "pyarrow_dtype") for dtype in frame.dtypes)


def _check(rows: Frame, result: Frame, how: Merging, zone: str, what: str) -> None:
    """Check that a merge has kept its key: pandas drops null keys where nobody says `dropna=False`.

    Keys that hold several values are not compared.
    """
    if not how.keys:
        return
    if len(result) == 0:
        if how.allow_empty:
            return
        raise MergeError(
            f"{what} returned no row for a hot key whose {len(rows):,} rows of partial results it was given; keep the "
            "key, as parts.groupby(key, dropna=False) does for null keys, or pass allow_empty=True if that is meant"
        )
    for position in how.keys:
        name = how.declared.schema.names[position]
        if how.declared.schema[position].dataType.typeName() in ("struct", "array", "map"):
            continue
        before, after = (_only(arrow_of(each, position, how.declared, zone)) for each in (rows, result))
        if before is not None and after != before:
            raise MergeError(
                f"{what} returned another value of the key column {name!r} than its partial results have; return the "
                "rows of the key that it was called for"
            )


def _only(column: Any) -> tuple[Any] | None:
    """Return the value that all rows have, null and NaN being one of pandas. None where there are several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return (None,)
    values = pc.unique(column)
    if len(values) > 1:
        return None
    nan = pa.types.is_floating(column.type) and str(values[0]) == "nan"
    return (None if nan else values[0],)
