"""Windows over cut partitions: blocks computed locally, what other blocks hold carried in, results put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from skewkit.plan.window.split_forms import Carried, Local, WindowSplit, fill
from skewkit.plan.window.window_frame import RUNNING, Frame
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, Names, quoted
from skewkit.spark.expressions.not_null import has_fewer_nulls, never_null, no_null_within
from skewkit.spark.routing.salting import Salting
from skewkit.spark.session.view_guard import guarded
from skewkit.spark.window.blocks import Blocks, placed
from skewkit.spark.window.borders import bordered
from skewkit.spark.window.carrying import Helpers, beside, carried, in_order, meets
from skewkit.spark.window.ordering import OrderBy, first_order
from skewkit.spark.window.window_calls import Function, filled, named, rebuilt

_UNORDERED = ("map", "variant", "interval")


@dataclass(frozen=True)
class Part:
    """A function, how it splits, and the names of its arguments: in the frame, and `here`, next to the results.

    A function without a split is right in every block as it is, where the block holds the rows around it.
    """

    function: Function
    split: WindowSplit | None
    order: tuple[str, ...]
    arguments: tuple[str, ...]
    here: tuple[str, ...]

    @property
    def whole(self) -> Column:
        """The function itself, over what its arguments are called here; `*` among them is not that of the blocks."""
        return rebuilt(self.function, self.here) if self.here else self.function.column

    @property
    def locals(self) -> list[Local]:
        """What is computed in the block."""
        places = filled(self.function, self.here)
        return [replace(each, sql=fill(each.sql, places)) for each in self.split.locals] if self.split else []

    @property
    def carried(self) -> list[Carried]:
        """What other blocks hold."""
        places = {**filled(self.function, self.arguments), "order": _fields(self.order)}
        found = self.split.carried if self.split else ()
        return [
            replace(each, total=fill(each.total, places), prior=fill(each.prior, places) if each.prior else None)
            for each in found
        ]

    def result(self, locals_: Helpers, totals: Helpers, hot: str) -> Column:
        """Return the function's result, from the helper columns that hold its parts."""
        if self.split is None:
            return F.col(locals_.of(self.function.result))
        places = {**filled(self.function, self.here), "hot": hot}
        places |= {f"l{i}": locals_.of(each) for i, each in enumerate(self.locals)}
        places |= {f"c{i}": totals.of(each) for i, each in enumerate(self.carried)}
        return F.expr(fill(self.split.finish, places))


def native(df: DataFrame, keys: Keys, by: OrderBy, functions: Mapping[str, Column], frame: Frame | None) -> DataFrame:
    """Return what plain Spark makes of the functions over the window."""
    spec = Window.partitionBy(*keys.columns)
    if by.columns:
        spec = spec.orderBy(*by.sorting)
    return df.select("*", *(column.over(_framed(spec, frame)).alias(name) for name, column in functions.items()))


def split(
    df: DataFrame,
    keys: Keys,
    by: OrderBy,
    plan: WindowPlan,
    functions: Sequence[tuple[Function, WindowSplit | None]],
    frame: Frame | None,
    schema: StructType,
) -> DataFrame:
    """Return the frame with the functions' results, those of hot partitions put together from blocks.

    `schema` is that of plain Spark's result, with the columns of the frame first.
    """
    width = len(df.columns)
    results = schema.fields[width:]
    names = Names(df.select("*", *(F.lit(None).alias(each.name) for each in results)))
    columns = {f"key{i}": column for i, column in enumerate(keys.columns)}
    columns |= {f"order{i}": column for i, column in enumerate(by.columns)}
    if not by.columns:
        columns["cut"] = Salting.of(PlanFacts(df), keys.names).hash()
    columns |= {f"x{i}_{j}": x for i, (f, _) in enumerate(functions) for j, x in enumerate(f.arguments)}
    base, found = named(df, columns, names)
    types = {each.name: each.dataType for each in base.schema.fields}
    base = guarded(base, {name: types[name].simpleString() for name in found.values()})
    keys = keys.renamed([found[f"key{i}"] for i in range(len(keys.columns))])
    order = [found[f"order{i}"] for i in range(len(by.columns))]
    parts: list[Part] = []
    arguments: list[str] = []
    for i, (function, how) in enumerate(functions):
        own = tuple(found[f"x{i}_{j}"] for j in range(len(function.arguments)))
        parts.append(Part(function, how, tuple(order), own, own))
        arguments += own
    by_value = frame is not None and frame.kind == "range" and bool(frame.start or frame.end)
    shifts = (frame.start, frame.end) if frame is not None and by_value else None
    near = frame.reach if frame is not None and frame.kind == "rows" else (0, 0)
    cut_by = [F.col(quoted(name)) for name in order or [found["cut"]]]
    blocks = placed(base, keys, by.renamed(order), cut_by, plan, names, shifts).with_whole_keys()
    wanted = list(dict.fromkeys(each for part in parts for each in part.carried))
    ties = []
    if any(each.ordered for each in wanted) or any(near):
        ties = [name for name in dict.fromkeys(arguments) if name not in order and _has_order(types[name])]
    locals_, totals = Helpers(names, "local"), Helpers(names, "carried")
    around, given = blocks, ties
    if any(near):
        around, new = bordered(blocks, near, order, arguments, ties)
        parts = [replace(part, here=tuple(new[name] for name in part.arguments)) for part in parts]
        given = [new[name] for name in ties]
    rows = _with_locals(around, parts, frame, locals_, given)
    hot = "false"
    if wanted:
        other = beside(blocks, carried(blocks, wanted, [totals.of(each) for each in wanted], ties))
        rows = rows.join(other.hint("shuffle_hash"), meets(around), "left")
        hot = f"({names('to_block')} is not null)"
    computed = [part.result(locals_, totals, hot) for part in parts]
    return _finished(rows, width, names, computed, results)


def _with_locals(
    blocks: Blocks, parts: Sequence[Part], frame: Frame | None, locals_: Helpers, ties: Sequence[str]
) -> DataFrame:
    """Return the rows of the blocks with everything that is computed within a block."""
    rows = blocks.frame
    if blocks.by.columns and blocks.plan.sorts_twice:
        rows = rows.sortWithinPartitions(first_order(blocks.by, whole=blocks.block < 0))
    spec = Window.partitionBy(*blocks.within)
    specs = {"own": spec, "whole": spec, "peers": spec, "frame": spec}
    if blocks.by.columns:
        ordered = spec.orderBy(*blocks.by.sorting)
        specs = {"own": ordered, "peers": _framed(ordered, RUNNING), "frame": _framed(ordered, frame)}
        specs["whole"] = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    windows = []
    for part in parts:
        if part.split is None:
            windows.append(part.whole.over(specs["frame"]).alias(locals_.of(part.function.result)))
        for local in part.locals:
            if local not in locals_.known:
                windows.append(F.expr(local.sql).over(specs[local.frame]).alias(locals_.of(local)))
    if ties:
        # A first window over the order with ties told apart makes Spark sort by that, and the others find it sorted;
        # the filter, which is always true, keeps that window in the plan.
        tied = spec.orderBy(*in_order(blocks, ties))
        numbered = rows.select("*", F.row_number().over(tied).alias(blocks.names("tied")))
        rows = numbered.where(F.col(blocks.names("tied")) > 0)
    rows = rows.select("*", *windows)
    return rows.where(F.col(blocks.names("own"))) if blocks.has_copies else rows


def _framed(spec: WindowSpec, frame: Frame | None) -> WindowSpec:
    """Return a window with a frame, or as it is where there is none."""
    if frame is None:
        return spec
    start = Window.unboundedPreceding if frame.start is None else frame.start
    end = Window.unboundedFollowing if frame.end is None else frame.end
    return spec.rowsBetween(start, end) if frame.kind == "rows" else spec.rangeBetween(start, end)


def _fields(columns: Sequence[str]) -> str:
    """Return the arguments of a `named_struct` of these columns."""
    return ", ".join(f"'c{i}', {quoted(name)}" for i, name in enumerate(columns))


def _has_order(type_: DataType) -> bool:
    if isinstance(type_, ArrayType):
        return _has_order(type_.elementType)
    if isinstance(type_, StructType):
        return all(_has_order(each.dataType) for each in type_.fields)
    return not isinstance(type_, MapType) and type_.typeName() not in _UNORDERED


def _finished(
    rows: DataFrame, width: int, names: Names, computed: Sequence[Column], wanted: Sequence[StructField]
) -> DataFrame:
    """Return the caller's columns and the results, with the types and nullability of plain Spark."""
    helpers = [names(f"result{i}") for i in range(len(computed))]
    rows = rows.select("*", *(column.alias(name) for column, name in zip(computed, helpers, strict=True)))
    fields = rows.select(*helpers).schema.fields
    results = []
    for found, field in zip(fields, wanted, strict=True):
        column = F.col(found.name)
        type_ = field.dataType.simpleString()
        if found.dataType.simpleString() != type_:
            column = column.cast(type_)
        elif has_fewer_nulls(field.dataType, found.dataType):
            column = no_null_within(column, found.dataType, field.dataType)
            found = StructField(found.name, field.dataType, nullable=True)
        if found.nullable and not field.nullable:
            column = never_null(column, field.dataType)
        if field.nullable and not found.nullable:
            column = F.when(F.col(names("partition")) >= 0, column)
        results.append(column.alias(field.name))
    added = rows.columns[width:]
    return rows.select("*", *results).drop(*added)
