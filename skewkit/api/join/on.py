"""The keys of a join, read from its `on`: names, or equalities of a left and a right column and what else it asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import SIDES, Pair, Side
from skewkit.spark.explained.failing import never_fails
from skewkit.spark.expressions.columns import read_literal
from skewkit.spark.expressions.comparison import compared_type
from skewkit.spark.expressions.condition import compared, conjuncts
from skewkit.spark.expressions.keys import find_keys, shared_names
from skewkit.spark.expressions.owners import has_some_of, is_ambiguous_later
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.session.compat import differing_conf, is_column, is_connect, is_off, resolves, tells_case

_NAMED = re.compile(r"Column<'[\w.`]+'>")


@dataclass(frozen=True)
class _Equality:
    """A left and a right column that a join condition asks to be equal. `null_safe` where null equals null."""

    left: Column
    right: Column
    null_safe: bool


def join_keys(frames: Pair[DataFrame], on: Any) -> JoinKeys | str:
    """Return the keys of both sides in a common type, or the reason why only plain Spark can answer.

    Raises:
        ArgumentTypeError: `on` is neither names nor Columns.
        ColumnNotFoundError: a name is missing on a side.
        KeyTypeError: a key is, or holds, a map, a variant or a geometry.
    """
    left, right = frames
    differing = differing_conf(left.sparkSession, right.sparkSession)
    if differing is not None:
        return f"the frames' sessions differ in {differing}"
    if any(is_off(frame.sparkSession, _RETAIN) for frame in frames):
        return f"{_RETAIN} is off, and skewkit counts rows by key"
    parts = [on] if isinstance(on, str) or is_column(on) else on
    if not isinstance(parts, Sequence) or not all(isinstance(p, str) or is_column(p) for p in parts):
        raise ArgumentTypeError(f"on is a name, a list of names, a Column or a list of Columns, not {shown(on)}")
    if not parts:
        raise ArgumentError("on is empty; name at least one key column")
    if all(isinstance(part, str) for part in parts):
        if len({part.lower() for part in parts}) < len(parts) and not set(parts) <= set(left.columns):
            return "a key is named twice"
        if len(set(parts)) < len(parts):
            return "a key is named twice"
        for frame, side in ((left, "left"), (right, "right")):
            if _any_twice(frame, parts):
                return f"a key is in the {side} frame more than once, and Spark takes the first one"
        l_keys = find_keys(left, parts, what="left key", literal=True)
        r_keys = find_keys(right, parts, what="right key", literal=True)
        plain = JoinKeys(l_keys, r_keys, tuple(parts), list(parts), (False,) * len(parts))
        return _in_common_types(left, plain)
    if any(isinstance(part, str) for part in parts):
        raise ArgumentTypeError("on mixes names and Columns; give either")
    equalities, residual = [], []
    for conjunct in conjuncts(reduce(lambda a, b: a & b, parts), tells_case=tells_case(left.sparkSession)):
        equality = _equality(left, right, conjunct)
        if equality is None:
            residual.append(conjunct)
        else:
            equalities.append(equality)
    shared = "both frames have the very columns of the condition; join by name, or rename the key on one side"
    if any(is_ambiguous_later(left, right, part) for part in residual):
        return shared
    if not equalities:
        if any(_shared(left, right, part) for part in residual):
            return shared
        return "the condition has no equality of a left and a right column that can be read"
    keys = JoinKeys(
        find_keys(left, [e.left for e in equalities], what="left key"),
        find_keys(right, [e.right for e in equalities], what="right key"),
        None,
        reduce(lambda a, b: a & b, parts),
        tuple(e.null_safe for e in equalities),
        reduce(lambda a, b: a & b, residual) if residual else None,
    )
    return _in_common_types(left, keys)


def _any_twice(df: DataFrame, names: Sequence[str]) -> bool:
    """Return whether one of these names means several columns of a frame."""
    if shared_names(df.columns).isdisjoint(map(str.lower, names)):
        return False
    fold = str if tells_case(df.sparkSession) else str.lower
    return not shared_names(df.columns, fold).isdisjoint(map(fold, names))


_PADS_EARLY = "spark.sql.readSideCharPadding"
_RETAIN = "spark.sql.retainGroupColumns"


def without_ruled_out_rows(frames: Pair[DataFrame], keys: JoinKeys, how: str) -> tuple[Pair[DataFrame], JoinKeys]:
    """Return both frames without the rows that a one-sided predicate rules out, and what the condition asks beside it.

    Where the join returns such rows unmatched, their key becomes null instead. That takes a predicate that can be
    computed for every row of its side, as plain Spark computes it only where the keys match.

    Plain Spark leaves them out as early. They are not hot and need not be shuffled. Their keys, which may be such that
    a cast or a division fails, are not computed.
    """
    cased = tells_case(frames.left.sparkSession)
    parts = conjuncts(keys.residual, tells_case=cased) if keys.residual is not None else []
    kept, asked = list[Column](), dict[Side, list[Column]](left=[], right=[])
    for part in parts:
        owner = _side(frames.left, frames.right, part)
        (kept if owner is None else asked[owner]).append(part)
    if len(kept) == len(parts):
        return frames, keys
    for side in SIDES:
        predicates = asked[side]
        if not predicates:
            continue
        # By itself a text is no condition, beside AND it is one.
        predicate = reduce(lambda a, b: a & b, predicates, F.lit(True))
        if side in KINDS[how].drops_early:
            frames = Pair(*(df.where(predicate) if each == side else df for each, df in frames.items()))
        elif all(keys.null_safe) or not never_fails(frames.of(side), predicate):
            kept.append(predicate)
        else:
            keys = _ruled_out_by_null(keys, side, predicate)
    return frames, replace(keys, residual=reduce(lambda a, b: a & b, kept) if kept else None)


def _ruled_out_by_null(keys: JoinKeys, side: Side, predicate: Column) -> JoinKeys:
    """Return the keys such that rows of a side that a predicate rules out match nothing: one key of theirs is null.

    `l.k = r.k AND p(l)` is `IF(p(l), l.k, NULL) = r.k`, in every type of join. So these rows are spread as those with a
    null key are, and the join has no residual condition for them.
    """
    at = keys.null_safe.index(False)
    own = keys.left if side == "left" else keys.right
    name = own.names[at]

    def nulled(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(F.when(predicate, c) if i == at else c for i, c in enumerate(columns))

    folded = replace(
        own,
        columns=nulled(own.columns),
        uncast=nulled(own.uncast),
        bare=tuple(each for each in own.bare if each != name),
        computed_here=(*own.computed_here, name),
    )
    return replace(keys, left=folded) if side == "left" else replace(keys, right=folded)


def _in_common_types(left: DataFrame, keys: JoinKeys) -> JoinKeys | str:
    if keys.left.native_because or keys.right.native_because:
        return str(keys.left.native_because or keys.right.native_because)
    padded = (keys.left.padded, keys.right.padded)
    if padded[0] != padded[1]:
        return "Spark pads a CHAR key before it compares it with another type of string"
    if any(padded) and is_off(left.sparkSession, _PADS_EARLY):
        return f"Spark pads CHAR keys where they are compared and not where they are read ({_PADS_EARLY}=false)"
    types = []
    for a, b, name in zip(keys.left.types, keys.right.types, keys.left.names, strict=True):
        type_ = a if a == b else compared_type(left.sparkSession, a, b)
        if type_ is None:
            return f"key {name} is {a} on the left and {b} on the right, which Spark compares in a way of its own"
        types.append(type_)
    pinned = (side.pin() if is_connect(left) else side for side in (keys.left, keys.right))
    l_keys, r_keys = (side.cast(types) for side in pinned)
    return replace(keys, left=l_keys, right=r_keys)


def _equality(left: DataFrame, right: DataFrame, condition: Column) -> _Equality | None:
    """Return the columns that a condition `a = b` or `a <=> b` compares, where one is left's and one is right's.

    `a IN (b)` is `a = b` where both have one type. Of others it makes another common type than `=` does.
    """
    sides = compared(condition, tells_case=tells_case(left.sparkSession))
    if sides is None:
        return None
    (a, b), null_safe = sides[:2], sides[2] == "<=>"
    found = [_side(left, right, column) for column in (a, b)]
    if found == ["right", "left"]:
        a, b = b, a
    elif found != ["left", "right"]:
        return None
    other_types = sides[2] == "in" and left.select(a).dtypes[0][1] != right.select(b).dtypes[0][1]
    return None if other_types else _Equality(a, b, null_safe)


def _side(left: DataFrame, right: DataFrame, column: Column) -> Side | None:
    """Return the side that a Column is of, if it refers to columns of one side only."""
    owners = (resolves(left, column), resolves(right, column))
    if owners == (True, False):
        return None if _may_be_of(right, column, referred=is_connect(left)) else "left"
    if owners == (False, True):
        return None if _may_be_of(left, column) else "right"
    return None


def _may_be_of(other: DataFrame, column: Column, *, referred: bool = True) -> bool:
    """Return whether a Column reads some of a frame that cannot compute it. One name does not."""
    return _NAMED.fullmatch(str(column)) is None and has_some_of(other, column, referred=referred)


def _shared(left: DataFrame, right: DataFrame, condition: Column) -> bool:
    """Return whether a condition compares columns that both frames have, as a frame and its own aggregate do."""
    sides = compared(condition, tells_case=tells_case(left.sparkSession))
    if sides is None or all(read_literal(column) for column in sides[:2]):
        return False
    return all(resolves(df, column) for df in (left, right) for column in sides[:2])
