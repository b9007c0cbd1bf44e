"""A plan as Spark columns: key hash, heavy index, partition; the same arithmetic as `KeyPlan.partition`.

The columns are written as SQL text, and each may use those before it (`with_columns`): building and analysing Columns
one by one takes longer than a small query runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.placement.alias import SCALE
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import with_columns, without

_LOW32 = (1 << 32) - 1
_MOST_COMPARED = 64
"""So many heavy hashes are found by a tree of comparisons, which is faster than two slots of a table."""


def with_heavy_index(df: DataFrame, keys: Keys, plan: KeyPlan, names: Names) -> DataFrame:
    """Return the frame with columns `hash` (64-bit hash of the key) and `heavy` (index in the plan, or -1)."""
    return with_columns(df, heavy_index(keys, plan, names))


def heavy_index(keys: Keys, plan: KeyPlan, names: Names, *, anywhere: str | None = None) -> dict[str, Column | str]:
    """Return the columns `hash` (64-bit hash of the key) and `heavy` (index in the plan, or -1).

    Rows for which `anywhere` (SQL) is true are of no heavy key. Spark's hash passes over nulls, so theirs may be one's.
    """
    index = _index(plan, names("hash"))
    return {names("hash"): keys.hash, names("heavy"): index if anywhere is None else f"if({anywhere}, -1, {index})"}


def _index(plan: KeyPlan, key_hash: str) -> str:
    if len(plan.heavy) <= _MOST_COMPARED:
        return _compared(sorted((h.hash, i) for i, h in enumerate(plan.heavy)), key_hash)
    size, first = len(plan.slots), (plan.heavy[0].hash, 0)
    # An empty slot repeats the first key, so that no hash can match it by chance.
    filled = [slot if slot[1] >= 0 else first for slot in plan.slots]
    index = "-1"
    for part in (key_hash, f"shiftright({key_hash}, 32)"):
        slot = f"pmod({part}, {size})"
        found, there = _at([h for h, _ in filled], "bigint", slot), _at([i for _, i in filled], "int", slot)
        index = f"if({found} = {key_hash}, {there}, {index})"
    return index


def _compared(items: Sequence[tuple[int, int]], value: str) -> str:
    """Return the index of a hash among sorted (hash, index) pairs, or -1, by a balanced tree of comparisons."""
    if not items:
        return "-1"
    if len(items) <= 2:
        whens = " ".join(f"WHEN {value} = {_long(key_hash)} THEN {index}" for key_hash, index in items)
        return f"CASE {whens} ELSE -1 END"
    middle = len(items) // 2
    low, high = _compared(items[:middle], value), _compared(items[middle:], value)
    return f"if({value} < {_long(items[middle][0])}, {low}, {high})"


def _long(number: int) -> str:
    return f"{number}L" if number > -(1 << 63) else f"({number + 1}L - 1L)"


def with_partition(
    df: DataFrame, plan: KeyPlan, names: Names, row_hash: Column | None, *, anywhere: str | None = None
) -> DataFrame:
    """Return a frame that has the columns of `heavy_index` with an int column `partition` as well."""
    columns = partition_columns(plan, names, row_hash, anywhere=anywhere)
    return without(with_columns(df, columns), *(name for name in columns if name != names("partition")))


def partition_columns(
    plan: KeyPlan, names: Names, row_hash: Column | None, *, anywhere: str | None = None
) -> dict[str, Column | str]:
    """Return an int column `partition`, after the helper columns it takes. It needs the columns of `heavy_index`.

    `row_hash` salts the heavy keys: the same row always goes the same way. Without one, a heavy key goes whole to
    the first of its parts. Rows for which `anywhere` (SQL) is true are spread as the plan's `spread` says.
    """
    key_hash, heavy, row = names("hash"), names("heavy"), names("row")
    tail = _at(plan.buckets, "int", _modulo(key_hash, len(plan.buckets)))
    spans, table = plan.draws
    if not table or (row_hash is None and not plan.heavy):
        return {names("partition"): tail}
    if row_hash is None:
        first = _at([h.parts[0][0] for h in plan.heavy], "int", heavy)
        return {names("partition"): f"if({heavy} >= 0, {first}, {tail})"}
    draw, span, entry = names("draw"), names("span"), names("entry")
    index = f"if({anywhere}, {len(plan.heavy)}, {heavy})" if anywhere is not None and plan.spread else heavy
    # Most rows are of the tail, and nobody asks for their salt.
    salted = F.when(F.expr(f"{draw} >= 0"), row_hash)
    packed_span = _at([start << 32 | length for start, length in spans], "bigint", draw)
    entries = [{"t": t, "p": p, "a": a} for t, p, a in table]
    number = f"shiftright({span}, 32) + pmod({row} & {SCALE - 1}L, {span} & {_LOW32}L)"
    # Not `entry.t`, which a frame of that alias would be asked for.
    drawn = f"if(shiftright({row}, 33) + {SCALE >> 1}L < {entry}['t'], {entry}['p'], {entry}['a'])"
    return {
        draw: index,
        row: salted,
        span: f"if({draw} >= 0, {packed_span}, NULL)",
        entry: f"if({draw} >= 0, {_at(entries, 'struct<t:bigint,p:int,a:int>', number)}, NULL)",
        names("partition"): f"if({draw} >= 0, {drawn}, {tail})",
    }


def _modulo(value: str, size: int) -> str:
    """Return the rest of a long by a positive number, never negative."""
    return f"{value} & {size - 1}L" if size & (size - 1) == 0 else f"pmod({value}, {size})"


def listed(flags: Sequence[bool], index: str) -> str:
    """Return whether a row's heavy index is one that `flags` marks, as SQL. False for rows of the tail.

    >>> listed([True, True], "heavy")
    '(heavy >= 0)'
    """
    marked = "" if all(flags) else f" AND {_at([int(flag) for flag in flags], 'int', index)} = 1"
    return f"({index} >= 0{marked})"


def copies(df: DataFrame, lists: Sequence[Sequence[int]], names: Names) -> DataFrame:
    """Return the frame with a row for every partition in `lists[partition]`, and that as its `partition`.

    The lists are one literal, so that a row with a single partition costs a look-up, too, and makes no array.
    """
    targets = _at([list(each) for each in lists], "array<int>", names("partition"))
    return without(df, names("partition"), last={names("partition"): F.expr(f"explode({targets})")})


def element(items: Sequence[object], type_: str, index: Column) -> Column:
    """Return `items[index]`, or null where the index is none.

    Null and no error is for conditions, of which Spark may compute all parts. The optimizer folds the JSON to a literal
    array once, so a look-up is constant time.
    """
    return F.get(_literal(items, type_), index.cast("int"))


def _literal(items: Sequence[object], type_: str) -> Column:
    return F.from_json(F.lit(json.dumps(items)), f"array<{type_}>")


def _at(items: Sequence[object], type_: str, index: str) -> str:
    """Return the text of `element`."""
    return f"get(from_json('{json.dumps(items)}', 'array<{type_}>'), cast({index} AS int))"
