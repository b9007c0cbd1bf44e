"""The plan of one `agg`: its aggregate calls, what they read, and how each of them splits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from skewkit.plan.window.window_plan import Order, WindowPlan
from skewkit.spark.expressions.aggregate_calls import AggregateCall, Reading
from skewkit.spark.expressions.keys import has_fixed_hash
from skewkit.spark.expressions.nodes import node_of
from skewkit.spark.group.split_table import COMBINED, IN_ONE_TASK, WHOLE, Split
from skewkit.spark.window.ordering import OrderBy

PREFIX = "skew_"
"""Begins the names of helper columns, so that keys keep theirs."""


@dataclass(frozen=True, eq=False)
class PlannedAggregate:
    """One aggregate call of many: its split, and the names of its result and of the columns that it reads."""

    call: AggregateCall
    split: Split
    result: str
    reads: tuple[str, ...]

    @property
    def whole(self) -> Column:
        """The call itself, over the columns it reads."""
        return self.call.over(self.reads).alias(self.result)

    @property
    def states(self) -> list[str]:
        """Names of the partial results."""
        return [f"{self.result}_{i}" for i in range(len(self.split.partials))]

    def partials(self, *given: Column) -> list[Column]:
        """The partials over these arguments."""
        return [make(*given).alias(name) for make, name in zip(self.split.partials, self.states, strict=True)]

    @property
    def merges(self) -> list[Column]:
        """The merges of the partials."""
        given = self._fixed if self.split.each else []
        return [
            make(F.col(name), *given).alias(name) for make, name in zip(self.split.merges, self.states, strict=True)
        ]

    @property
    def finish(self) -> Column:
        """The result, from the merged partials."""
        return self.split.finish(*map(F.col, self.states), *self._fixed).alias(self.result)

    @property
    def shares(self) -> Column:
        """The shares of the rows before what a percentile asks for, an array of doubles."""
        return self.split.shares(*self._fixed) if self.split.shares is not None else F.array().cast("array<double>")

    @property
    def _fixed(self) -> list[Column]:
        """The arguments after the first that read no column."""
        return [a for a, f in zip(self.call.arguments[1:], self.call.fixed[1:], strict=True) if f]


@dataclass(frozen=True)
class Inputs:
    """The columns that aggregate calls read, each once, with their types. `names` has one row per call."""

    columns: tuple[Column, ...]
    types: tuple[DataType, ...]
    names: tuple[tuple[str, ...], ...]

    def types_of(self, names: Sequence[str]) -> list[DataType]:
        """Return the types of the columns of these names."""
        return [self.types[_index(name)] for name in names]

    @property
    def read(self) -> Column:
        """A condition that reads the salt and every input."""
        hashed = [input_name(i) for i, type_ in enumerate(self.types) if has_fixed_hash(type_)]
        read = F.xxhash64(f"{PREFIX}salt", *hashed) != 0
        for i, type_ in enumerate(self.types):
            if not has_fixed_hash(type_):
                read = read & (F.to_json(F.struct(input_name(i))) != "")
        return read


def input_name(index: int) -> str:
    """Return the name that the column of this number has when it is shuffled."""
    return f"{PREFIX}x{index}"


def _index(name: str) -> int:
    return int(name.removeprefix(f"{PREFIX}x"))


def inputs_of(df: DataFrame, calls: Sequence[AggregateCall]) -> Inputs:
    """Return what the calls read of a frame."""
    columns: list[Column] = []
    known: dict[object, int] = {}
    names = []
    for call in calls:
        row = []
        for column in call.inputs:
            node = node_of(column)
            plain = node.kind == "column" or (node.kind == "sql" and _NAME.fullmatch(node.name))
            index = known.setdefault(node.name if plain and node.name else len(columns), len(columns))
            row.append(input_name(index))
            if index == len(columns):
                columns.append(column if plain else _guarded(column, call.filter))
        names.append(tuple(row))
    named = [column.alias(input_name(i)) for i, column in enumerate(columns)]
    fields = df.select(*named).schema.fields if named else []
    return Inputs(tuple(columns), tuple(field.dataType for field in fields), tuple(names))


def _guarded(column: Column, condition: Column | None) -> Column:
    """Return what a filtered call reads. Rows that the filter leaves out may be such that it cannot be computed."""
    return column if condition is None or column is condition else F.when(condition, column)


_NAME = re.compile(r"\w+|`(?:[^`]|``)+`")


@dataclass(frozen=True)
class AggregatePlan:
    """The Columns of one `agg`, what they read, and how every aggregate call in them splits."""

    readings: tuple[Reading, ...]
    inputs: Inputs
    splits: tuple[Split, ...]
    most_rows: int | None = None
    """How many rows a Python aggregate may be given of a hot key at once; None where there is none."""
    salt: int = 0
    """The index in `sets` of the inputs whose hash salts the rows: those of most values, as far as known."""
    ranges: Mapping[tuple[str, ...], WindowPlan] = field(default_factory=dict)
    """Ranges of the values of hot keys for percentiles, by the inputs that these read."""

    @property
    def calls(self) -> list[AggregateCall]:
        """The aggregate calls of all Columns."""
        return [call for reading in self.readings for call in reading.calls]

    @property
    def pays(self) -> bool:
        """Whether a state grows with its group, so that a hot key hurts."""
        return any(split.pays for split in self.splits)

    @property
    def lists_values(self) -> bool:
        """Whether all that pays hands every distinct value to its merge, as percentiles do."""
        return all(split.each for split in self.splits if split.pays)

    @property
    def rangeable(self) -> list[tuple[str, ...]]:
        """What percentiles read whose values can be cut into ranges. The first column is the value."""
        found: dict[tuple[str, ...], bool] = {}
        for split, reads in self._by_value:
            if split.each:
                found[reads] = found.get(reads, True) and split.shares is not None
        return [reads for reads, able in found.items() if able]

    @property
    def ordered_values(self) -> OrderBy | None:
        """What is `rangeable`, as columns of which a sample is asked. None where nothing is."""
        at = [_index(reads[0]) for reads in self.rangeable]
        orders = [Order(input_name(i), self.inputs.types[i].simpleString()) for i in at]
        return OrderBy(tuple(self.inputs.columns[i] for i in at), tuple(orders)) if at else None

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The inputs of calls that are cut by value; empty if another call has a state that grows with its group."""
        paying = [(split, reads) for split, reads in zip(self.splits, self.inputs.names, strict=True) if split.pays]
        return list(dict.fromkeys(reads for _, reads in paying)) if all(s.by_value for s, _ in paying) else []

    @property
    def cut_by(self) -> list[Column]:
        """The input columns of all calls that are cut by value."""
        names = dict.fromkeys(name for _, reads in self._by_value for name in reads)
        return [self.inputs.columns[_index(name)] for name in names]

    @property
    def apart(self) -> int:
        """How many more times rows of the hot keys are read, each time cut by other values."""
        pairs = ((split, reads) for split, reads in self._by_value if split.counted or reads != self.salted_by)
        return len({(reads, split.counted, split.each) for split, reads in pairs})

    @property
    def listed(self) -> int:
        """How many columns hand their distinct values to a merge, as percentiles do."""
        return len({reads for split, reads in self._by_value if split.each})

    @property
    def _by_value(self) -> list[tuple[Split, tuple[str, ...]]]:
        pairs = zip(self.splits, self.inputs.names, strict=True)
        return [(split, reads) for split, reads in pairs if split.by_value]

    @property
    def values(self) -> list[Column]:
        """The hash of every one of the `sets`."""
        return [F.xxhash64(*(self.inputs.columns[_index(name)] for name in reads)) for reads in self.sets]

    @property
    def salted_by(self) -> tuple[str, ...]:
        """The inputs whose hash is the salt; () where the whole row is."""
        return self.sets[self.salt] if self.sets else ()

    @property
    def parts(self) -> list[PlannedAggregate]:
        """One part per call."""
        return [
            PlannedAggregate(call, split, f"{PREFIX}r{i}", reads)
            for i, (call, split, reads) in enumerate(zip(self.calls, self.splits, self.inputs.names, strict=True))
        ]

    @property
    def why_not(self) -> str:
        """Why plain Spark is right where nothing pays."""
        names = self._names(lambda split: split.why or COMBINED.why)
        reasons = [why.format(shown) for why, shown in names.items()]
        cost = "costs nothing"
        if IN_ONE_TASK in names:
            cost = "would not take less time in parts"
        if WHOLE.why in names:
            cost = "cannot be cut"
        return f"{'; '.join(reasons)}, so a hot key {cost}"

    @property
    def how(self) -> str:
        """What is computed in parts of the hot keys, and by what they are cut; and what as plain Spark does it."""
        names = self._names(lambda split: "ranges" if split.shares and self.ranges else _cut_by(split))
        texts = {
            "ranges": "{} of the hot keys from counts by ranges of the values, and the values of the ranges asked for",
            "values": "{} in parts of the hot keys, cut by the hash of the values",
            "rows": "{} in the same parts"
            if self.salted_by
            else "{} in parts of the hot keys, cut by the hash of the row",
            "native": "{} as plain Spark does it, from the same exchange",
        }
        return "; ".join(text.format(names[kind]) for kind, text in texts.items() if kind in names)

    def _names(self, kind: Callable[[Split], str]) -> dict[str, str]:
        """Return the names of the aggregates by the kind of their split."""
        names: dict[str, list[str]] = {}
        for call, split in zip(self.calls, self.splits, strict=True):
            names.setdefault(kind(split), []).append(f"{call.name}(distinct)" if call.distinct else call.name)
        return {each: ", ".join(dict.fromkeys(shown)) for each, shown in names.items()}


def _cut_by(split: Split) -> str:
    if not split.partials:
        return "native"
    return "values" if split.by_value else "rows"
