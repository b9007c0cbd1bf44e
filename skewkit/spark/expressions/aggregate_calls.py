"""The aggregate calls that a Column holds, and the expression around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.nodes import Node, holds_no_column, node_of, unread_because
from skewkit.spark.expressions.sql_text import NotUnderstood, SqlCall, read_sql
from skewkit.spark.expressions.udf_columns import udf_arguments

Names = Sequence[str]
Udf = Callable[..., Column]


@dataclass(frozen=True, eq=False)
class AggregateCall:
    """One call of an aggregate function.

    * `arguments` stand as they were given. `fixed` marks those that read no column, such as a share or a separator.
      `count(*)` has none.
    * `inputs` is what the call reads: the other arguments, what it is ordered by, its filter.
    * `over(names)` is the very call over columns of these names in place of the inputs.
    * `udf` is the function itself where it is a Python one. Its last arguments have the names `keywords`.
    """

    name: str
    arguments: tuple[Column, ...]
    fixed: tuple[bool, ...]
    distinct: bool
    over: Callable[[Names], Column]
    order: tuple[Column, ...] = ()
    filter: Column | None = None
    udf: Udf | None = None
    keywords: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that the call reads."""
        read = [argument for argument, fixed in zip(self.arguments, self.fixed, strict=True) if not fixed]
        return (*read, *self.order, *([] if self.filter is None else [self.filter]))

    def given(self, names: Names) -> list[Column]:
        """Return the arguments over columns of these names in place of the inputs. A filter makes them null."""
        left = iter(names)
        columns = [
            a if fixed else F.col(quoted(next(left))) for a, fixed in zip(self.arguments, self.fixed, strict=True)
        ]
        if self.filter is None:
            return columns
        kept = F.col(quoted(names[-1]))
        return [F.when(kept, column) for column in columns or [F.lit(1)]]


@dataclass(frozen=True)
class Reading:
    """The aggregate calls in a Column, and the Column's value over columns of these names that hold their results.

    `bare` says that it is a call and nothing around it.
    """

    calls: tuple[AggregateCall, ...]
    finish: Callable[[Names], Column]
    bare: bool = False


def read_aggregates(column: Column, known: Container[str], udfs: Sequence[Udf] = ()) -> Reading | str:
    """Return the calls of functions in `known`, and of `udfs`, that a Column holds, or why it cannot be taken apart."""
    try:
        return _read(column, known, udfs)
    except NotUnderstood as reason:
        return str(reason)


def _read(column: Column, known: Container[str], udfs: Sequence[Udf]) -> Reading:
    for udf in udfs:
        arguments = udf_arguments(column, udf)
        if arguments is not None:
            return Reading((_udf_call(udf, *arguments),), lambda names: F.col(quoted(names[0])), bare=True)
    node = node_of(column)
    name = node.name.lower()
    if node.kind == "call" and name in known:
        call = _call(node, name)
        return Reading((call,), lambda names: F.col(quoted(names[0])), bare=True)
    if node.kind == "sql":
        text = read_sql(node.name, known)
        bare = len(text.calls) == 1 and text.finish(["x"]).strip("` ()\n\t") == "x"
        return Reading(tuple(map(_sql_call, text.calls)), lambda names: F.expr(text.finish(names)), bare)
    if node.kind == "constant":
        return Reading((), lambda names: column)
    if node.kind == "other":
        said = f"{_shown(column)} is no aggregate of Spark's own, nor one with a merge"
        raise NotUnderstood(unread_because(column) or said)
    if node.over is None:
        what = f"the column {node.name}" if node.name else _shown(column)
        raise NotUnderstood(unread_because(column) or f"{what} is read outside of an aggregate")
    inner = [_read(child, known, udfs) for child in node.children]
    if node.kind == "call" and not any(part.calls for part in inner):
        raise NotUnderstood(f"{node.name} is not in the split table")
    if name in _NAMES_FIELDS and any(part.bare for part in inner):
        raise NotUnderstood(f"{name} names its fields after the aggregates in it; give them an alias")
    return Reading(tuple(call for part in inner for call in part.calls), _rebuilt(node, inner))


_NAMES_FIELDS = ("struct", "arrays_zip")
"""Functions that name the fields of their result after the columns that they are given, and number what is none."""


def _shown(column: Column, most: int = 60) -> str:
    """Return the text of a Column, cut. Around a UDF it holds what the JVM thinks of every part, which nobody reads.

    >>> _shown(F.col("v")), _shown(F.col("v" * 99), most=9)
    ("Column<'v'>", "Column<'v...")
    """
    try:
        text = str(column)
    except TypeError:  # on Connect, PySpark 3.5 has no text of `F.expr(...)`
        return "an aggregate"
    udf = re.match(r"Column<'([^(]+)\(.*columnnodeexpression", text, re.IGNORECASE | re.DOTALL)
    if udf is not None:
        return f"the Python function {udf.group(1)}"
    return text if len(text) <= most else f"{text[:most]}..."


def _rebuilt(node: Node, inner: Sequence[Reading]) -> Callable[[Names], Column]:
    def finish(names: Names) -> Column:
        left, children = list(names), []
        for part in inner:
            children.append(part.finish(left[: len(part.calls)]))
            left = left[len(part.calls) :]
        return node.over(children) if node.over is not None else children[0]

    return finish


def _call(node: Node, name: str) -> AggregateCall:
    children = [node_of(child) for child in node.children]
    kinds = [child.kind for child in children]
    if kinds == ["star"] and name == "count" and not node.distinct and not children[0].name:
        return AggregateCall(name, (), (), False, lambda names: F.count(F.lit(1)))
    if "star" in kinds:
        raise NotUnderstood(f"{node.name} of a star is several columns")
    fixed = tuple(map(holds_no_column, children))

    def over(names: Names) -> Column:
        left = iter(names)
        columns = [c if f else F.col(quoted(next(left))) for c, f in zip(node.children, fixed, strict=True)]
        return node.over(columns) if node.over is not None else columns[0]

    return AggregateCall(name, node.children, fixed, node.distinct, over)


def _udf_call(udf: Udf, arguments: tuple[Column, ...], keywords: tuple[str, ...]) -> AggregateCall:
    fixed, call = (False,) * len(arguments), called(udf, keywords)
    return AggregateCall(
        udf.__name__, arguments, fixed, False, lambda names: call(*map(F.col, names)), udf=udf, keywords=keywords
    )


def called(udf: Udf, keywords: Sequence[str]) -> Udf:
    """Return a function of columns that calls a UDF, the last of them by these names."""

    def call(*given: Column) -> Column:
        first = len(given) - len(keywords)
        return udf(*given[:first], **dict(zip(keywords, given[first:], strict=True)))

    return call


_INVERSE = ("percentile_cont", "percentile_disc")
"""Functions whose first argument is what they are ordered by."""


def _sql_call(call: SqlCall) -> AggregateCall:
    arguments, fixed = tuple(map(F.expr, call.arguments)), call.fixed
    order = tuple(F.expr(text) for text, _ in call.order)
    if call.name in _INVERSE and [how.lower() for _, how in call.order] in ([""], ["asc"]):
        arguments, fixed, order = (*order, *arguments), (False, *fixed), ()
    return AggregateCall(
        call.name,
        arguments,
        fixed,
        call.distinct,
        lambda names: F.expr(call.over(names)),
        order,
        None if call.filter is None else F.expr(call.filter),
    )
