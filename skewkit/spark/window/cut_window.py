"""Windows over cut partitions: blocks computed locally, what other blocks hold carried in, results put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from skewkit.plan.window.reach import Reach
from skewkit.plan.window.window_frame import RUNNING, Frame
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.plan.window.window_split import Carried, Local, WindowSplit, fill
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, Names, quoted
from skewkit.spark.expressions.not_null import has_fewer_nulls, never_null, no_null_within
from skewkit.spark.routing.salting import Salting
from skewkit.spark.session.view_guard import guarded
from skewkit.spark.window.blocks import Blocks, placed
from skewkit.spark.window.borders import bordered
from skewkit.spark.window.carrying import Helpers, beside, carried, in_order, meets
from skewkit.spark.window.ordering import OrderBy, first_order
from skewkit.spark.window.window_calls import Expression, Function, Leaf, filled, named, rebuilt

_UNORDERED = ("map", "variant", "interval")


@dataclass(frozen=True)
class PlannedFunction:
    """A function, how it splits, and the names of its arguments: in the frame, and `here`, next to the results.

    A function without a split is right in every block as it is, where the block holds the rows around it.
    """

    function: Function
    split: WindowSplit | None
    order: tuple[str, ...]
    arguments: tuple[str, ...]
    here: tuple[str, ...]

    @property
    def frame(self) -> Frame | None:
        """The frame of the function, None where it has its own."""
        return self.function.leaf.frame

    @property
    def whole(self) -> Column:
        """The function itself, over what its arguments are called here. `*` among them is not that of the blocks."""
        return rebuilt(self.function, self.here) if self.here else self.function.leaf.column

    @property
    def locals(self) -> list[Local]:
        """What is computed in the block."""
        places = filled(self.function, self.here)
        return [_local(each, places) for each in self.split.locals] if self.split else []

    @property
    def carried(self) -> list[Carried]:
        """What other blocks hold."""
        places = {**filled(self.function, self.arguments), "order": _fields(self.order)}
        return [
            replace(
                each,
                total=fill(each.total, places),
                prior=_local(each.prior, places) if each.prior else None,
                among=fill(each.among, places) if each.among else None,
            )
            for each in (self.split.carried if self.split else ())
        ]

    def of_local(self, local: Local | None) -> object:
        """Return what tells a local from others: its SQL and what rows it sees."""
        return (local or self.function, self.frame if local is None or local.frame == "frame" else None)

    def result(self, locals_: Helpers, totals: Helpers, hot: str) -> Column:
        """Return the function's result, from the helper columns that hold its parts."""
        if self.split is None:
            return F.col(locals_.of(self.of_local(None)))
        places = {**filled(self.function, self.here), "hot": hot}
        places |= {f"l{i}": locals_.of(self.of_local(each)) for i, each in enumerate(self.locals)}
        places |= {f"c{i}": totals.of(each) for i, each in enumerate(self.carried)}
        return F.expr(fill(self.split.finish, places))


def native(df: DataFrame, keys: Keys, by: OrderBy, expressions: Sequence[Expression]) -> DataFrame:
    """Return what plain Spark makes of the functions over the window."""
    spec = Window.partitionBy(*keys.columns)
    if by.columns:
        spec = spec.orderBy(*by.sorting)
    twice = [leaf for each in expressions for leaf in each.leaves if leaf.after is not None]
    names = Names(*([df] if twice else []), others=[each.name for each in expressions])
    before = {leaf: names(f"before{i}") for i, leaf in enumerate(twice)}
    rows = df.select("*", *(leaf.column.over(spec).alias(name) for leaf, name in before.items())) if before else df

    def of(leaf: Leaf) -> Column:
        column = leaf.column if leaf.after is None else leaf.after(F.col(before[leaf]))
        return column.over(_framed(spec, leaf.frame)) if leaf.elsewhere is None else leaf.elsewhere

    results = (each.finish([of(leaf) for leaf in each.leaves]).alias(each.name) for each in expressions)
    return rows.select("*", *results).drop(*before.values()) if before else rows.select("*", *results)


def split(
    df: DataFrame,
    keys: Keys,
    by: OrderBy,
    plan: WindowPlan,
    expressions: Sequence[Expression],
    functions: Mapping[Leaf, tuple[Function, WindowSplit | None]],
    reach: Reach,
    prefix: str,
) -> DataFrame:
    """Return the frame with the expressions' results, those of hot partitions put together from blocks.

    `functions` says of every leaf what it calls and how it splits. Helper columns begin with `prefix`.
    """
    width = len(df.columns)
    leaves = [Expression(f"leaf{i}", (leaf,), lambda results: results[0]) for i, leaf in enumerate(functions)]
    fields = native(df, keys, by, leaves).schema.fields[width:]
    names = Names(df, others=[each.name for each in expressions], prefix=prefix)
    columns = {f"key{i}": column for i, column in enumerate(keys.columns)}
    columns |= {f"order{i}": column for i, column in enumerate(by.columns)}
    if not by.columns:
        columns["cut"] = Salting.of(PlanFacts(df), keys.names).hash()
    columns |= {f"x{i}_{j}": x for i, (f, _) in enumerate(functions.values()) for j, x in enumerate(f.arguments)}
    base, found = named(df, columns, names)
    types = {each.name: each.dataType for each in base.schema.fields}
    base = guarded(base, {name: types[name].simpleString() for name in found.values()})
    keys = keys.renamed([found[f"key{i}"] for i in range(len(keys.columns))])
    order = [found[f"order{i}"] for i in range(len(by.columns))]
    parts: dict[Leaf, PlannedFunction] = {}
    arguments: list[str] = []
    for i, (leaf, (function, how)) in enumerate(functions.items()):
        own = tuple(found[f"x{i}_{j}"] for j in range(len(function.arguments)))
        parts[leaf] = PlannedFunction(function, how, tuple(order), own, own)
        arguments += own
    blocks = placed(base, keys, by.renamed(order), order or [found["cut"]], plan, names, reach.values).with_whole_keys()
    wanted = list(dict.fromkeys(each for part in parts.values() for each in part.carried))
    ties = []
    if any(each.ordered for each in wanted) or reach.rows:
        ties = [name for name in dict.fromkeys(arguments) if name not in order and _has_order(types[name])]
    locals_, totals = Helpers(names, "local"), Helpers(names, "carried")
    around, given = blocks, ties
    if reach.rows:
        around, new = bordered(blocks, reach.rows, order, arguments, ties)
        parts = {leaf: replace(part, here=tuple(new[x] for x in part.arguments)) for leaf, part in parts.items()}
        given = [new[name] for name in ties]
    rows = _with_locals(around, list(parts.values()), reach, locals_, given)
    hot = "false"
    if wanted:
        other = beside(blocks, carried(blocks, wanted, [totals.of(each) for each in wanted], ties))
        rows = rows.join(other.hint("shuffle_hash"), meets(around), "left")
        hot = f"({names('to_block')} is not null)"
    computed = [part.result(locals_, totals, hot) for part in parts.values()]
    rows, typed = _typed(rows, names, computed, fields)
    of = dict(zip(parts, typed, strict=True))
    added = rows.columns[width:]
    results = (each.finish([of[leaf] for leaf in each.leaves]).alias(each.name) for each in expressions)
    return rows.select("*", *results).drop(*added)


def _with_locals(
    blocks: Blocks, parts: Sequence[PlannedFunction], reach: Reach, locals_: Helpers, ties: Sequence[str]
) -> DataFrame:
    """Return the rows of the blocks with everything that is computed within a block."""
    rows = blocks.frame
    if blocks.by.columns and blocks.plan.sorts_twice:
        rows = rows.sortWithinPartitions(first_order(blocks.by, whole=blocks.block < 0))
    for seen in dict.fromkeys(reach.sees(part.frame) for part in parts):
        spec = Window.partitionBy(*blocks.within, *_apart(blocks, seen))
        own = [part for part in parts if reach.sees(part.frame) == seen]
        if ties:
            # A first window over the order with ties told apart makes Spark sort by that, and the others find it
            # sorted; the filter, which is always true, keeps that window in the plan.
            tied = F.row_number().over(spec.orderBy(*in_order(blocks, ties)))
            name = blocks.names(f"tied {seen}")
            rows = rows.select("*", tied.alias(name)).where(F.col(quoted(name)) > 0)
        priors, windows = _local_windows(blocks, spec, own, locals_)
        for stage in (priors, windows):
            rows = rows.select("*", *(column.alias(name) for name, column in stage.items())) if stage else rows
    return rows.where(blocks.own) if blocks.has_copies else rows


def _apart(blocks: Blocks, seen: str) -> list[Column]:
    """Return what keeps rows that are not to be seen in window partitions of their own."""
    tests = {"all": [], "own": [blocks.side], "not before": [blocks.side < 0], "not after": [blocks.side > 0]}
    return tests[seen]


def _local_windows(
    blocks: Blocks, spec: WindowSpec, parts: Sequence[PlannedFunction], locals_: Helpers
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return what has to be there first, and then everything that is computed within a block, by name."""
    specs = {"own": spec, "whole": spec, "peers": spec, "rows": spec}
    if blocks.by.columns:
        spec = spec.orderBy(*blocks.by.sorting)
        whole = spec.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
        rows = spec.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        specs = {"own": spec, "peers": _framed(spec, RUNNING), "whole": whole, "rows": rows}
    priors: dict[str, Column] = {}
    windows: dict[str, Column] = {}
    for part in parts:
        framed = {**specs, "frame": _framed(spec, part.frame)}
        if part.split is None:
            windows[locals_.of(part.of_local(None))] = part.whole.over(framed["frame"])
        for local in part.locals:
            sql = local.sql
            if local.prior is not None:
                prior = locals_.of(part.of_local(local.prior))
                priors[prior] = F.expr(local.prior.sql).over(framed[local.prior.frame])
                sql = fill(sql, {"prior": prior})
            windows[locals_.of(part.of_local(local))] = F.expr(sql).over(framed[local.frame])
    return priors, windows


def _local(local: Local, places: Mapping[str, str]) -> Local:
    """Return a local with its places filled."""
    prior = _local(local.prior, places) if local.prior else None
    return replace(local, sql=fill(local.sql, places), prior=prior)


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


def _typed(
    rows: DataFrame, names: Names, computed: Sequence[Column], wanted: Sequence[StructField]
) -> tuple[DataFrame, list[Column]]:
    """Return the rows with what was computed, and Columns of it with the types and nullability of plain Spark."""
    helpers = [names(f"result{i}") for i in range(len(computed))]
    rows = rows.select("*", *(column.alias(name) for column, name in zip(computed, helpers, strict=True)))
    results = []
    for found, field in zip(rows.select(*helpers).schema.fields, wanted, strict=True):
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
        results.append(column)
    return rows, results
