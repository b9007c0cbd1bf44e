"""The partial phase of a group function with a merge, inside Spark's Python workers: sub-groups bounded in size.

Rows of heavy keys come as Arrow batches. No group is held as a whole. Like the functions of `whole_groups`, these are
sent by value.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyspark import cloudpickle

from skewkit.spark.group.worker.shown import identity_of, in_pandas, key_in_arrow, key_in_pandas, nullable, one_key_each
from skewkit.spark.group.worker.whole_groups import GroupFunction, first_columns, takes_key

cloudpickle.register_pickle_by_value(sys.modules[__name__])

_BITS = 62  # as in `null_flags`

Batch = Any  # pyarrow.RecordBatch
Table = Any  # pyarrow.Table


class KnownColumn(NamedTuple):
    """A text column of the key, whose values follow from the heavy index; its position among all columns."""

    position: int
    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Chunking:
    """How rows become sub-groups: positions of the helper columns, names of what is returned, and how much is enough.

    With `tie` and `block` the rows come sorted by `heavy`, `block` and an order: `tie` is the same for rows that are
    equal in the order, which stay in one sub-group, and `block` is the range of the order.

    Rows come without the columns that are `known`, in the order of their positions: they are put back here. Where there
    is only `one` heavy key, of index 0, they come without the index, too.

    The columns at `answers` say, bit by bit, which of the columns that are `flagged` have nulls in the whole group.
    """

    width: int
    keys: tuple[int, ...]
    heavy: int
    most_rows: int
    most_bytes: int
    out: tuple[str, str, str, str]
    arrow: bool = False
    extension_ints: bool = False
    tie: int | None = None
    block: int | None = None
    known: tuple[KnownColumn, ...] = ()
    one: bool = False
    flagged: tuple[int, ...] = ()
    answers: tuple[int, ...] = ()


@dataclass
class _Held:
    """Rows of one heavy key that wait for their sub-group to be full."""

    batches: list[Batch] = field(default_factory=list)
    rows: int = 0
    size: int = 0

    def add(self, batch: Batch) -> None:
        if batch.num_rows:
            self.batches.append(batch)
            self.rows += batch.num_rows
            self.size += batch.nbytes

    def add_all(self, other: _Held) -> None:
        """Take over the rows of another."""
        for batch in other.batches:
            self.add(batch)
        other.clear()

    def clear(self) -> None:
        self.batches, self.rows, self.size = [], 0, 0

    def taken(self) -> Table:
        """Return all rows in one table, and keep nothing of them: what waits here would be held twice."""
        import pyarrow as pa

        table = pa.Table.from_batches(self.batches)
        self.clear()
        return table


def on_chunks(func: GroupFunction, how: Chunking) -> Callable[[Iterator[Batch]], Iterator[Batch]]:
    """Return a function of the batches of a task that runs `func` on sub-groups, and packs each result into a row.

    * A sub-group has rows of one key only, at most `most_rows` of them and at most `most_bytes` of Arrow data. All
      keys together hold back little more than that. A single row, and rows that tie in an order, may exceed both.
    * Packed results are the very frames that `func` returned: they pass through no Spark type before the merge.
    """

    def chunks(batches: Iterator[Batch]) -> Iterator[Batch]:
        number, with_key = 0, takes_key(func)
        batches = (_with_index(batch, how) for batch in batches) if how.one else batches
        for table in _in_ranges(batches, how) if how.tie is not None else _as_read(batches, how):
            group = table.column(how.heavy)[0].as_py()
            place = 0 if how.block is None else table.column(how.block)[0].as_py()
            parts = one_key_each(table, how.keys)
            del table
            while parts:
                identity, key, frame = _given(parts.pop(0), how)
                _release()
                shown = tuple(part[0] for part in key) if how.arrow else key
                result = func(shown, frame) if with_key else func(frame)
                del frame
                yield _packed((group, place, number), (identity, key, result), how)
                del result
                number += 1
            _release()

    return chunks


def _release() -> None:
    """Give back what Arrow keeps of freed memory: over many sub-groups it would add up to several of them."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _as_read(batches: Iterator[Batch], how: Chunking) -> Iterator[Table]:
    """Return sub-groups of rows that come in any order. The largest leaves where too much is held back."""
    held: dict[Any, _Held] = {}
    sent = how.heavy - len(how.known)
    for key, rows in (piece for batch in batches for piece in _by_value(batch, sent, how)):
        own = held.setdefault(key, _Held())
        if own.rows and (own.rows + rows.num_rows > how.most_rows or own.size + rows.nbytes > how.most_bytes):
            yield own.taken()
        own.add(rows)
        while held and sum(each.size for each in held.values()) >= how.most_bytes:
            yield held.pop(max(held, key=lambda k: held[k].size)).taken()
    yield from _each_taken(*held.values())


def _in_ranges(batches: Iterator[Batch], how: Chunking) -> Iterator[Table]:
    """Return sub-groups of rows that come sorted by key, block and order, cut only between rows that do not tie."""
    full, run = _Held(), _Held()
    now: tuple[Any, Any] | None = None
    last: Any = None
    for batch in batches:
        for key, rows in _by_value(batch, how.heavy, how):
            for block, part in _by_value(rows, how.block or 0, how):
                if (key, block) != now:
                    yield from _joined(full, run, how)
                    now, last = (key, block), None
                starts, last = _run_starts(part, last, how)
                if not starts:
                    run.add(part)
                    continue
                run.add(part.slice(0, starts[0]))
                middle = _Held()
                middle.add(part.slice(starts[0], starts[-1] - starts[0]))
                for more in (run, middle):
                    if full.rows and _too_much(full, more, how):
                        yield full.taken()
                    full.add_all(more)
                run.add(part.slice(starts[-1]))
    yield from _joined(full, run, how)


def _too_much(full: _Held, more: _Held, how: Chunking) -> bool:
    return full.rows + more.rows > how.most_rows or full.size + more.size > how.most_bytes


def _joined(full: _Held, run: _Held, how: Chunking) -> Iterator[Table]:
    """Return what is left of a range: one sub-group, or two where it is too large for one."""
    if not _too_much(full, run, how):
        full.add_all(run)
    yield from _each_taken(full, run)


def _each_taken(*held: _Held) -> Iterator[Table]:
    return (each.taken() for each in held if each.rows)


def _run_starts(batch: Batch, last: Any, how: Chunking) -> tuple[list[int], Any]:
    """Return where rows begin that do not tie with the row before, `last` for the first, and the last row's tie."""
    import numpy as np

    ties = batch.column(how.tie).to_numpy(zero_copy_only=False)
    starts = (np.flatnonzero(ties[1:] != ties[:-1]) + 1).tolist()
    return ([0] if last is not None and ties[0] != last else []) + starts, ties[-1]


def _by_value(batch: Batch, position: int, how: Chunking) -> Iterator[tuple[Any, Batch]]:
    """Cut a batch by the values of a column, in the order of first rows, and to pieces of bounded size."""
    import pyarrow.compute as pc

    column = batch.column(position)
    found = pc.unique(column).to_pylist()
    for value in found:
        rows = batch.filter(pc.equal(column, value)) if len(found) > 1 else batch
        if how.known:
            rows = _put_back(rows, value, how)
        for start in range(0, rows.num_rows, how.most_rows):
            for piece in _halved(rows.slice(start, how.most_rows), how.most_bytes):
                yield value, piece


def _with_index(batch: Batch, how: Chunking) -> Batch:
    """Return rows of the only heavy key with its index, where it is looked for."""
    import pyarrow as pa

    at = how.heavy - len(how.known)
    columns, names = list(batch.columns), list(batch.schema.names)
    columns.insert(at, pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows))
    names.insert(at, "")
    return pa.RecordBatch.from_arrays(columns, names)


def _put_back(rows: Batch, heavy: int, how: Chunking) -> Batch:
    """Return rows of a heavy key with the columns that they come without."""
    import pyarrow as pa

    columns, names = list(rows.columns), list(rows.schema.names)
    for known in how.known:
        columns.insert(known.position, pa.repeat(pa.scalar(known.texts[heavy], pa.string()), rows.num_rows))
        names.insert(known.position, known.name)
    return pa.RecordBatch.from_arrays(columns, names)


def _halved(rows: Batch, most_bytes: int) -> Iterator[Batch]:
    """Cut rows in halves until each piece has at most so many bytes, or is a single row."""
    if rows.num_rows < 2 or rows.nbytes <= most_bytes:
        yield rows
        return
    middle = rows.num_rows // 2
    yield from _halved(rows.slice(0, middle), most_bytes)
    yield from _halved(rows.slice(middle), most_bytes)


def _given(rows: Table, how: Chunking) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """Return what tells the key of these rows from others, and what the function gets: its key and a frame."""
    identity, frame = identity_of(rows, how.keys), first_columns(rows, how.width)
    if how.arrow:
        return identity, key_in_arrow(rows, how.keys), nullable(frame)
    shown = in_pandas(frame, how.extension_ints, _with_nulls(rows, how))
    return identity, key_in_pandas(rows, how.keys, how.extension_ints), shown


def _with_nulls(rows: Table, how: Chunking) -> frozenset[int]:
    """Return which of the flagged columns have nulls in the whole group."""
    answers = [rows.column(position)[0].as_py() for position in how.answers]
    return frozenset(p for i, p in enumerate(how.flagged) if answers[i // _BITS] >> i % _BITS & 1)


def _pickled(result: Any) -> bytes:
    """Return a result as bytes, also one that holds values of a class of the user's own notebook."""
    try:
        return pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        from pyspark import cloudpickle

        return bytes(cloudpickle.dumps(result))


def _packed(where: tuple[int, int, int], result: tuple[Any, Any, Any], how: Chunking) -> Batch:
    import pyarrow as pa

    values = [*where, _pickled(result)]
    types = [pa.int32(), pa.int32(), pa.int32(), pa.binary()]
    arrays = [pa.array([value], type_) for value, type_ in zip(values, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(how.out))
