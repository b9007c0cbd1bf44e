"""Window functions as they stand in Columns: found inside expressions, read for the split table, built anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.window.window_frame import Frame, make_frame
from skewkit.plan.window.window_functions import ALIASES, FUNCTIONS, RANKING, SHIFTS, VALUES, WindowCall, plain_name
from skewkit.spark.expressions.columns import Over, read_literal, read_over
from skewkit.spark.expressions.keys import Names, quoted, reads_as_names
from skewkit.spark.expressions.nodes import Node, is_constant, node_of, unread_because
from skewkit.spark.expressions.sql_text import NotUnderstood, closing, tokens_of
from skewkit.spark.window.ordering import plain_name as column_name

_OTHERS = (
    "approx_count_distinct approx_percentile array_agg bit_and bit_or bit_xor collect_list collect_set corr covar_pop "
    "covar_samp histogram_numeric kurtosis listagg median mode percentile percentile_approx product skewness "
    "string_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy try_avg "
    "try_sum"
)
KNOWN = frozenset((*FUNCTIONS, *ALIASES, *_OTHERS.split()))
"""Functions that take OVER; others are found only where they stand alone."""
_SQL = re.compile(r"\s*(\w+)\s*\(.*\)\s*(?:(ignore|respect)\s+nulls)?\s*", re.IGNORECASE | re.DOTALL)
_MORE = ("over", "distinct", "all", "filter")
"""Words of a call that has more than arguments."""


@dataclass(frozen=True)
class Called:
    """A call as it stands in a Column: the function's SQL name and its arguments, none of `count(*)`."""

    name: str
    arguments: tuple[Column, ...]
    distinct: bool = False
    ignore_nulls: bool = False


@dataclass(frozen=True, eq=False)
class Leaf:
    """A window function in an expression, without OVER, and the frame that it is to be computed over.

    * `call` is what it calls, None where that cannot be seen.
    * Without a frame it has the one that Spark gives it. `framed` says that it came with its frame, or the lack of one.
    * `elsewhere` is the function OVER a window that is not the call's.
    * `after` makes a second function of what the first one gives over the window, and the frame is that one's. So
      sessions are counted, by their `gap`.
    """

    column: Column
    call: Called | None = None
    frame: Frame | None = None
    framed: bool = False
    elsewhere: Column | None = None
    after: Callable[[Column], Column] | None = None
    gap: str | None = None

    def under(self, frame: Frame | None) -> Leaf:
        """Return the leaf under the call's frame, if it comes with none and Spark does not give it its own."""
        own = self.call is not None and plain_name(self.call.name) in (*RANKING, *SHIFTS)
        return self if self.framed or own else replace(self, frame=frame)


@dataclass(frozen=True, eq=False)
class Expression:
    """A result column: its name, the window functions in it, and its value over their results."""

    name: str
    leaves: tuple[Leaf, ...]
    finish: Callable[[Sequence[Column]], Column]


def read_expression(name: str, column: Column, frame: Frame | None, same: Callable[[Over], bool]) -> Expression:
    """Return the window functions that a Column holds, each with its frame.

    Functions of their own frame do without `frame`. One OVER a window that is the `same` has that window's frame.
    """
    leaves: list[Leaf] = []
    finish = _read(column, leaves, same)
    if not leaves:
        node = node_of(column)
        bare = node.children[0] if node.kind == "alias" else column
        leaves, finish = [Leaf(bare, _called(node_of(bare)))], lambda results: results[0]
    return Expression(name, tuple(leaf.under(frame) for leaf in leaves), finish)


def text_of(leaf: Leaf) -> str | None:
    """Return the SQL text of a leaf that is written as such, but is not one call; else None."""
    node = node_of(leaf.column)
    return node.name if leaf.call is None and node.kind == "sql" else None


def _read(column: Column, leaves: list[Leaf], same: Callable[[Over], bool]) -> Callable[[Sequence[Column]], Column]:
    """Append the leaves of a Column, and return its value over the results of all leaves."""

    def leaf(found: Leaf) -> Callable[[Sequence[Column]], Column]:
        at = len(leaves)
        leaves.append(found)
        return lambda results: results[at]

    node = node_of(column)
    if node.kind == "sql" or (node.kind == "call" and node.name.lower() in KNOWN):
        call = _called(node)
        return leaf(Leaf(column, call)) if call is not None else lambda results: column
    over = read_over(column) if node.kind == "other" else None
    if over is not None:
        frame = make_frame(*over.frame) if over.frame else None
        called = _called(node_of(over.function))
        return leaf(Leaf(over.function, called, frame, framed=True, elsewhere=None if same(over) else column))
    before, remake = len(leaves), node.over
    parts = [_read(child, leaves, same) for child in node.children] if remake is not None else []
    if remake is None or len(leaves) == before:
        return lambda results: column
    return lambda results: remake([part(results) for part in parts])


def _called(node: Node) -> Called | None:
    """Return the call that a step is, in SQL text or not. None where it is anything else."""
    if node.kind == "call":
        stars = node.name.lower() == "count" and [node_of(child).kind for child in node.children] == ["star"]
        whole = stars and not node_of(node.children[0]).name
        return Called(node.name, () if whole else node.children, node.distinct)
    found = _SQL.fullmatch(node.name) if node.kind == "sql" else None
    if found is None or found[1].lower() not in KNOWN:
        return None
    tokens = tokens_of(node.name)
    try:
        end = closing(tokens, 1)
    except NotUnderstood:
        return None
    if found[2] and plain_name(found[1]) not in (*SHIFTS, *VALUES):
        return None
    if end != len(tokens) - 1 - 2 * bool(found[2]) or any(t.word in _MORE for t in tokens):
        return None
    pieces: list[str] = []
    depth, start = 0, tokens[1].end
    for token in tokens[2 : end + 1]:
        if depth == 0 and token.word in (",", ")"):
            pieces.append(node.name[start : token.start].strip())
            start = token.end
        depth += (token.word in ("(", "[")) - (token.word in (")", "]"))
    arguments = tuple(_of_sql(piece) for piece in pieces if piece not in ("", "*"))
    return Called(found[1], arguments, ignore_nulls=(found[2] or "").lower() == "ignore")


def _of_sql(text: str) -> Column:
    """Return an argument of SQL text. Numbers are literals, as offsets have to be."""
    return F.lit(int(text)) if re.fullmatch(r"-?\d{1,9}", text) else F.expr(text)


@dataclass(frozen=True, eq=False)
class Function:
    """A leaf that was read: its call, and its arguments.

    `arguments` are those that the split table calls `{x0}` and `{x1}`. `all` are all of them, literals included.
    """

    leaf: Leaf
    call: WindowCall
    arguments: tuple[Column, ...]
    all: tuple[Column, ...]


def read_function(df: DataFrame, result: str, leaf: Leaf) -> Function | str:
    """Return a function of a result column as it was called, or the reason why only Spark can read it."""
    if leaf.elsewhere is not None:
        return f"{result} is over another window than this one"
    call = leaf.call
    if leaf.gap is not None and call is not None:
        return Function(leaf, WindowCall("session"), call.arguments, ())
    if call is None:
        if text_of(leaf) is not None:
            return f"{result} is written in SQL; give it as a function, such as F.sum('x')"
        return unread_because(leaf.column) or f"{result} is not a plain call of a window function"
    if call.distinct:
        return f"{call.name}(distinct) is no window function"
    name = plain_name(call.name)
    literals = [read_literal(argument) for argument in call.arguments]
    offset, ignore_nulls, arguments = 1, call.ignore_nulls, list(call.arguments)
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
            ignore_nulls = ignore_nulls or bool(values[flag])
    elif name == "count":  # of a literal, it counts all rows
        arguments = [a for a, literal in zip(arguments, literals, strict=True) if literal is None or literal == (None,)]
    elif name not in FUNCTIONS:  # Spark asks for shares, separators and the like to be constants
        arguments = [a for a in arguments if not is_constant(a)]
    types = tuple(field.dataType.simpleString() for field in df.select(*arguments).schema.fields) if arguments else ()
    if len(types) != len(arguments):
        return f"{name} of a star is several columns"
    return Function(leaf, WindowCall(call.name, types, offset, ignore_nulls), tuple(arguments), call.arguments)


def named(df: DataFrame, columns: Mapping[str, Column], names: Names) -> tuple[DataFrame, dict[str, str]]:
    """Return the frame with columns for what is not one of its columns by name, and the name that each role has."""
    found: dict[str, str] = {}
    added = []
    for role, column in columns.items():
        known = column_name(df, column)
        # The SQL of the split table has its places in braces.
        if known is not None and ("{" in known or not reads_as_names(df.sparkSession, [known])):
            known = None
        found[role] = known or names(role)
        if known is None:
            added.append(column.alias(found[role]))
    return (df.select("*", *added) if added else df), found


def filled(function: Function, arguments: tuple[str, ...]) -> dict[str, str]:
    """Return what the places of arguments stand for in the SQL of the split table, for arguments under these names."""
    columns = [quoted(name) for name in arguments]
    name = plain_name(function.call.name)
    x = columns[0] if name in SHIFTS else ", ".join(columns) or "1"
    return {"x": x, "x0": columns[0] if columns else "1", "x1": columns[1] if len(columns) > 1 else "null"}


def rebuilt(function: Function, arguments: tuple[str, ...]) -> Column:
    """Return the function over columns that hold its arguments under other names. Literals stay literals."""
    names = {id(column): name for column, name in zip(function.arguments, arguments, strict=True)}
    columns = [F.col(quoted(names[id(c)])) if id(c) in names else c for c in function.all]
    node = node_of(function.leaf.column)
    if node.kind == "sql" and function.call.ignore_nulls:
        columns.append(F.lit(True))
    return node.over(columns) if node.over is not None else F.call_function(function.call.name, *columns)
