"""A MERGE as data, and as one SQL statement."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skewkit.errors import ArgumentTypeError
from skewkit.spark.expressions.keys import quoted

MATCHED, NOT_MATCHED, BY_SOURCE = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"
_ORDER = (MATCHED, NOT_MATCHED, BY_SOURCE)


@dataclass(frozen=True)
class MergeClause:
    """One WHEN clause: for which rows, under which condition, and what to do, all as SQL.

    >>> MergeClause(MATCHED, "DELETE", "s.gone").sql
    'WHEN MATCHED AND (s.gone) THEN DELETE'
    """

    rows: str
    action: str
    condition: str | None = None

    @property
    def sql(self) -> str:
        """The clause as it stands in the statement."""
        also = "" if self.condition is None else f" AND ({_ended(self.condition)})"
        return f"WHEN {self.rows}{also} THEN {self.action}"


def _ended(text: str) -> str:
    """Return a text such that what is written behind it is no part of a comment in it."""
    return f"{text}\n" if "--" in text else text


def update_action(assignments: Sequence[tuple[str, str]]) -> str:
    """Return the action that sets columns, as pairs of SQL.

    >>> update_action([("`a`", "s.a + 1")])
    'UPDATE SET `a` = s.a + 1'
    """
    return "UPDATE SET " + ", ".join(f"{name} = {_ended(value)}" for name, value in assignments)


def insert_action(assignments: Sequence[tuple[str, str]]) -> str:
    """Return the action that inserts a row of these columns, as pairs of SQL.

    >>> insert_action([("`a`", "s.a"), ("b", "0")])
    'INSERT (`a`, b) VALUES (s.a, 0)'
    """
    names, values = zip(*assignments, strict=True)
    return f"INSERT ({', '.join(names)}) VALUES ({', '.join(map(_ended, values))})"


def write_join(clauses: Sequence[MergeClause], *, deletion_vectors: bool) -> str:
    """Return the join of source (left) and target (right) by which Delta 4 writes a MERGE's rows.

    With deletion vectors rows that no clause changes are not written again (ClassicMergeExecutor.writeAllChanges).

    >>> upsert = [MergeClause(MATCHED, "UPDATE SET *"), MergeClause(NOT_MATCHED, "INSERT *")]
    >>> [write_join(upsert, deletion_vectors=each) for each in (False, True)]
    ['full outer', 'left outer']
    >>> write_join([MergeClause(BY_SOURCE, "DELETE")], deletion_vectors=False)
    'full outer'
    """
    kinds = {clause.rows for clause in clauses}
    if kinds == {NOT_MATCHED}:
        return "left anti"
    if kinds == {MATCHED}:
        return "inner" if deletion_vectors else "right outer"
    if not deletion_vectors or kinds >= {NOT_MATCHED, BY_SOURCE}:
        return "full outer"
    return "left outer" if NOT_MATCHED in kinds else "right outer"


def merge_statement(
    target: str, source: str, condition: str, clauses: Sequence[MergeClause], *, aliases: tuple[str, str], evolve: bool
) -> str:
    """Return the MERGE as SQL. Clauses of one kind stay in their order, kinds in that of the grammar."""
    ordered = sorted(clauses, key=lambda clause: _ORDER.index(clause.rows))
    evolution = "WITH SCHEMA EVOLUTION " if evolve else ""
    lines = [
        f"MERGE {evolution}INTO {target} AS {quoted(aliases[0])}",
        f"USING {quoted(source)} AS {quoted(aliases[1])}",
        f"ON {condition}",
        *(clause.sql for clause in ordered),
    ]
    return "\n".join(lines)


def sql_literal(value: Any) -> str:
    """Return a Python value as SQL, however the session reads backslashes.

    Raises:
        ArgumentTypeError: values of this type are not written here.

    >>> sql_literal(5), sql_literal("it's"), sql_literal(None), sql_literal(math.nan)
    ('5', "cast(X'69742773' AS string)", 'NULL', "cast('NaN' AS double)")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if -(1 << 31) <= value < 1 << 31 else f"cast('{value}' AS bigint)"
    if isinstance(value, float):
        return f"cast('{'NaN' if math.isnan(value) else repr(value)}' AS double)"
    if isinstance(value, str):
        return f"cast(X'{value.encode().hex()}' AS string)"
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, decimal.Decimal) and value.is_finite():
        digits = value.as_tuple()
        scale, zeros = max(0, -int(digits.exponent)), max(0, int(digits.exponent))
        return f"cast('{value:f}' AS decimal({max(len(digits.digits) + zeros, scale + 1)}, {scale}))"
    raise ArgumentTypeError(
        f"a value of type {type(value).__name__} cannot be written as SQL here; give it as SQL text"
    )
