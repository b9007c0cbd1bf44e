"""The equalities of a MERGE's condition, and the condition that spreads rows whose key is null.

A row whose key is null matches nothing, but the join that MERGE runs sends all of them to one task. It hashes them by
every equality of its condition. So the condition gets one more, of a number that is 0 on both sides for all keys that
can match, and a hash of the row where the key is null. Then those rows are spread, in the same statement and commit.
The optimizer must not see that the number is 0, or it would make a filter of the equality. `pmod(hash, 1)` is 0 to no
rule of Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from skewkit.delta.merge_sql import sql_literal
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, nearest
from skewkit.spark.expressions.keys import has_fixed_hash, padded, quoted, shared_names
from skewkit.spark.expressions.sql_condition import conjuncts_of, equality_of
from skewkit.spark.expressions.sql_names import names_in
from skewkit.spark.routing.salting import likely_few_last

SqlKey = tuple[str, ...]
"""The values of a key's columns, as SQL."""
PLACEHOLDER_ADDED = "skewkit: another writer has added a row whose key is a placeholder"

_MOST_HASHED = 8
_PART = re.compile(r"`(?:[^`]|``)+`|\w+")


@dataclass(frozen=True)
class MergeKeys:
    """A condition, and both sides of its equalities that a null never satisfies, as SQL over the aliases.

    `why_native` says why rows cannot be spread, None where they can. `columns` are the names of the keys where they are
    plain columns of one name on both sides.
    """

    condition: str
    target: tuple[str, ...]
    source: tuple[str, ...]
    columns: tuple[str, ...] = ()
    why_native: str | None = None

    def alone(self, placeholders: Sequence[SqlKey] = ()) -> str:
        """Return whether a source row matches nothing, as its key is null or one of `placeholders`, as SQL."""
        null = " OR ".join(f"({side}) IS NULL" for side in self.source)
        return f"{null} OR {among(self.source, placeholders)}" if placeholders else null

    def spread(self, target_row: str, source_row: str, placeholders: Sequence[SqlKey] = ()) -> str:
        """Return the condition that spreads rows of no match by the hashes `target_row` and `source_row`.

        `placeholders` are keys that no target row has. On a target row that has one all the same, which another writer
        has added since this was found, the condition raises an error with the text `PLACEHOLDER_ADDED`.
        """
        added = f"WHEN {among(self.target, placeholders)} THEN raise_error('{PLACEHOLDER_ADDED}') "
        null_target = " OR ".join(f"({side}) IS NULL" for side in self.target)
        zero = f"pmod(xxhash64({', '.join(self.target)}), 1L)"
        return (
            f"({self.condition}) AND "
            f"CASE {added if placeholders else ''}WHEN {null_target} THEN {target_row} ELSE {zero} END = "
            f"CASE WHEN {self.alone(placeholders)} THEN {source_row} ELSE 0L END"
        )


def merge_keys(
    on: object, target: StructType, source: StructType, *, aliases: tuple[str, str], tells_case: bool = False
) -> MergeKeys:
    """Read `on`: a column name, a list of them, or a condition over the aliases.

    In a condition a name without an alias belongs to the only side that has it, as `merge_key` in Delta's SCD2 recipe.

    Raises:
        ArgumentTypeError: it is something else.
        ArgumentError: an empty list or text.
        ColumnNotFoundError: a name is not on both sides.
    """
    if isinstance(on, str):
        word = on.replace("_", "").isalnum() and on.lower() not in ("true", "false")
        if on in target.names or on in source.names or word:
            return _by_names([on], target, source, aliases, tells_case)
        if not on.strip():
            raise ArgumentError(f"on is empty; expected a column, a list of columns or a condition over {aliases[0]}")
        return _by_condition(on, _Owners.of(aliases, target, source, tells_case))
    if isinstance(on, list | tuple) and on and all(isinstance(name, str) for name in on):
        return _by_names(on, target, source, aliases, tells_case)
    if isinstance(on, list | tuple) and not on:
        raise ArgumentError("on is empty; name at least one column, or give a condition")
    raise ArgumentTypeError(
        f"on is a column name, a list of names or a condition as SQL text, not {type(on).__name__}; "
        f"write a Column as text, such as '{aliases[0]}.k = {aliases[1]}.k'"
    )


def sql_keys(values: Sequence[Sequence[Any]], target: StructType, source: StructType) -> tuple[SqlKey, ...]:
    """Return keys as SQL in the types of the source's keys. What is no value of such a type becomes null.

    MERGE compares the source's keys with the target's in a type that both have. So a value in the source's type is
    equal to the same keys of the target as a source row that has it. A text that is no value of the target's type is
    null, too: with ANSI to compare it fails, as it does where a source row has it. Of CHAR keys, which Spark pads where
    they are compared, there are none.

    >>> from pyspark.sql.types import LongType
    >>> key = StructType().add("k", LongType())
    >>> sql_keys([(-1,)], key, key)
    (('try_cast(-1 AS bigint)',),)
    """
    if padded(target) or padded(source):
        return ()
    types = [(t.dataType, s.dataType) for t, s in zip(target.fields, source.fields, strict=True)]
    return tuple(tuple(_sql_value(v, *each) for v, each in zip(value, types, strict=True)) for value in values)


def _sql_value(value: Any, target: DataType, source: DataType) -> str:
    cast = f"try_cast({sql_literal(value)} AS {source.simpleString()})"
    if not isinstance(source, StringType) or isinstance(target, StringType | BinaryType):
        return cast
    return f"if(try_cast({cast} AS {target.simpleString()}) IS NULL, null, {cast})"


def among(sides: Sequence[str], values: Sequence[SqlKey]) -> str:
    """Return whether a key, given by the SQL of its columns, is one of some values, as SQL.

    >>> among(["t.a", "t.b"], [("-1", "0")])
    'coalesce((t.a = -1 AND t.b = 0), false)'
    """
    tests = [" AND ".join(f"{s} = {v}" for s, v in zip(sides, value, strict=True)) for value in values]
    return f"coalesce({' OR '.join(f'({test})' for test in tests)}, false)"


def row_hash(alias: str, columns: StructType, sides: Sequence[str]) -> str | None:
    """Return a hash of a row's content as SQL, of up to eight columns. None where there are none.

    Columns of types that have many values tend to come first. The only key of all is left out, as it is null.

    >>> row_hash("s", StructType().add("k", "long").add("flag", "boolean").add("text", "string"), ["s.k"])
    'xxhash64(`s`.`text`, `s`.`flag`)'
    """
    only = sides[0].replace("`", "").lower() if len(sides) == 1 else None
    shared = shared_names(columns.names)
    own = [f for f in columns.fields if only is None or only not in (f.name.lower(), f"{alias}.{f.name}".lower())]
    usable = [f for f in own if has_fixed_hash(f.dataType) and f.name.lower() not in shared]
    names = [f.name for f in likely_few_last(usable)[:_MOST_HASHED]]
    return f"xxhash64({', '.join(f'{quoted(alias)}.{quoted(name)}' for name in names)})" if names else None


def _by_names(
    names: Sequence[str], target: StructType, source: StructType, aliases: tuple[str, str], tells_case: bool
) -> MergeKeys:
    fold = str if tells_case else str.lower
    for which, schema in (("target", target), ("source", source)):
        known = {fold(name) for name in schema.names}
        missing = next((name for name in names if fold(name) not in known), None)
        if missing is not None:
            raise ColumnNotFoundError(
                f"on column {missing!r} is not in the {which}: {nearest(missing, schema.names)}; a condition is "
                f"written over the aliases, such as '{aliases[0]}.a = {aliases[1]}.b'"
            )
    sides = [[f"{quoted(alias)}.{quoted(name)}" for name in names] for alias in aliases]
    condition = " AND ".join(f"{left} = {right}" for left, right in zip(*sides, strict=True))
    return MergeKeys(condition, tuple(sides[0]), tuple(sides[1]), tuple(names))


@dataclass(frozen=True)
class _Owners:
    """The sides that names belong to: by the alias before them, or as the only side that has such a column."""

    aliases: tuple[str, str]
    columns: tuple[frozenset[str], frozenset[str]]
    tells_case: bool

    @classmethod
    def of(cls, aliases: tuple[str, str], target: StructType, source: StructType, tells_case: bool) -> _Owners:
        fold = str if tells_case else str.lower
        target_names, source_names = (frozenset(map(fold, schema.names)) for schema in (target, source))
        return cls(aliases, (target_names, source_names), tells_case)

    def of_side(self, side: str) -> str | None:
        """Return the alias that all names of a side of an equality belong to, or None."""
        found = {self._of_name(name) for name in names_in(side) or ()}
        return found.pop() if len(found) == 1 else None

    def _of_name(self, name: str) -> str | None:
        first = next(iter(_PART.findall(name)), "")
        first = first[1:-1].replace("``", "`") if first.startswith("`") else first
        qualified = _PART.fullmatch(name) is None
        by_alias = [alias for alias in self.aliases if qualified and first.lower() == alias.lower()]
        column = first if self.tells_case else first.lower()
        having = [alias for alias, names in zip(self.aliases, self.columns, strict=True) if column in names]
        found = by_alias or having
        return found[0] if len(found) == 1 else None


def _by_condition(condition: str, owners: _Owners) -> MergeKeys:
    found, null_safe, (target, source) = [], False, owners.aliases
    for part in conjuncts_of(condition, tells_case=owners.tells_case):
        equality = equality_of(part, tells_case=owners.tells_case)
        if equality is None or equality[2] == "in":  # that is an equality for some types only
            continue
        left, right, sign = equality
        sides = owners.of_side(left), owners.of_side(right)
        if set(sides) != {target, source}:
            continue
        if sign == "<=>":
            null_safe = True
            continue
        found.append((left, right) if sides[0] == target else (right, left))
    if found:
        return MergeKeys(condition, tuple(t for t, _ in found), tuple(s for _, s in found))
    why = "the condition compares by <=>, under which nulls match" if null_safe else "the condition has no equality"
    return MergeKeys(condition, (), (), why_native=f"{why} of {target} and {source} that a null never satisfies")
