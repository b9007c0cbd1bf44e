"""Window functions as they stand in Columns, read for the split table; their arguments as columns of the frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.window.split_forms import FUNCTIONS, RANKING, SHIFTS, VALUES, WindowCall, plain_name
from skewkit.spark.expressions.columns import is_constant, node_of, read_call, read_literal, unread_because
from skewkit.spark.expressions.keys import Names, quoted
from skewkit.spark.window.ordering import plain_name as column_name


@dataclass(frozen=True)
class Function:
    """A result column's name, its function as it was given and as it was read, and the function's arguments.

    `arguments` are those that the split table calls `{x}` and `{x1}`; `all` are all of them, literals included.
    """

    result: str
    column: Column
    call: WindowCall
    arguments: tuple[Column, ...]
    all: tuple[Column, ...]


def read_function(df: DataFrame, result: str, column: Column) -> Function | str:
    """Return a function as it was called, or the reason why only Spark can read it."""
    call = read_call(column)
    if call is None:
        if node_of(column).kind == "sql":
            return f"{result} is written in SQL; give it as a function, such as F.sum('x')"
        return unread_because(column) or f"{result} is not a plain call of a window function"
    if call.distinct:
        return f"{call.name}(distinct) is no window function"
    name = plain_name(call.name)
    literals = [read_literal(argument) for argument in call.arguments]
    offset, ignore_nulls, arguments = 1, False, list(call.arguments)
    if name in (*RANKING, *SHIFTS, *VALUES):
        values = [None if literal is None else literal[0] for literal in literals]
        if name in SHIFTS:
            flag, arguments = 3, arguments[:1]
            if len(values) > 2 and literals[2] != (None,):
                arguments.append(call.arguments[2])
        else:
            flag, arguments = (2 if name == "nth_value" else 1), arguments[: 1 if name in VALUES else 0]
        place = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}.get(name)
        if place is not None and len(values) > place:
            given = values[place]
            if isinstance(given, bool) or not isinstance(given, int):
                return f"the offset of {name} is no literal number"
            offset = given
        if len(values) > flag:
            if literals[flag] is None:
                return f"whether {name} ignores nulls is no literal"
            ignore_nulls = bool(values[flag])
    elif name == "count":  # of a literal, it counts all rows
        arguments = [a for a, literal in zip(arguments, literals, strict=True) if literal is None or literal == (None,)]
    elif name not in FUNCTIONS:  # Spark asks for shares, separators and the like to be constants
        arguments = [a for a in arguments if not is_constant(a)]
    types = tuple(field.dataType.simpleString() for field in df.select(*arguments).schema.fields) if arguments else ()
    if len(types) != len(arguments):
        return f"{name} of a star is several columns"
    return Function(
        result, column, WindowCall(name, types, offset, ignore_nulls), tuple(arguments), tuple(call.arguments)
    )


def named(df: DataFrame, columns: Mapping[str, Column], names: Names) -> tuple[DataFrame, dict[str, str]]:
    """Return the frame with columns for what is not one of its columns by name, and the name that each role has."""
    found: dict[str, str] = {}
    added = []
    for role, column in columns.items():
        known = column_name(df, column)
        if known is not None and "{" in known:  # the SQL of the split table has its places in braces
            known = None
        found[role] = known or names(role)
        if known is None:
            added.append(column.alias(found[role]))
    return (df.select("*", *added) if added else df), found


def filled(function: Function, arguments: tuple[str, ...]) -> dict[str, str]:
    """Return what `{x}` and `{x1}` stand for in the SQL of the split table, for arguments under these names."""
    columns = [quoted(name) for name in arguments]
    if function.call.name in SHIFTS:
        return {"x": columns[0], "x1": columns[1] if len(columns) > 1 else "null"}
    return {"x": ", ".join(columns) or "1", "x1": "null"}


def rebuilt(function: Function, arguments: tuple[str, ...]) -> Column:
    """Return the function over columns that hold its arguments under other names; literals stay literals."""
    names = {id(column): name for column, name in zip(function.arguments, arguments, strict=True)}
    columns = [F.col(quoted(names[id(c)])) if id(c) in names else c for c in function.all]
    node = node_of(function.column)
    if node.kind == "alias":
        node = node_of(node.children[0])
    return node.over(columns) if node.over is not None else F.call_function(function.call.name, *columns)
