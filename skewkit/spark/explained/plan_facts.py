"""What the optimizer says of a frame, asked once: EXPLAIN's text, read into trees; no job is started."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame

from skewkit.spark.explained.functions import FunctionKind, kind_of
from skewkit.spark.explained.physical import (
    costly_to_read_twice,
    count_shuffles,
    is_of_cache,
    is_of_parquet,
    is_parsed,
    is_positioned,
    reads_files,
)
from skewkit.spark.explained.plan_columns import calls_in
from skewkit.spark.explained.plan_flow import Flow, Output, Trust, takes_whole_rows
from skewkit.spark.explained.plan_tree import CACHED, PlanNode, PlanTree, read_plans
from skewkit.spark.explained.plan_walk import flow_of
from skewkit.spark.explained.pre_partitioned import grouped_by, placed_by
from skewkit.spark.explained.row_counts import (
    estimated,
    guess_rows,
    keeps_bound,
    only_reads,
    row_bytes,
    rows_are_counted,
    source_bytes,
    varying_widths,
)
from skewkit.spark.explained.stability import Verdict
from skewkit.spark.session.compat import conf_reader, explained, explained_whole, is_connect, is_off, tells_case

TIMES_TOO_LOW = 4.0
"""How many times too small a guess of rows by compressed bytes is taken to be, where a low guess would do harm."""
COMPUTED = 4096.0
"""Bytes that a row may have in texts, arrays and maps that are computed: nobody knows before."""
_JOIN = re.compile(r"(BroadcastHashJoin|BroadcastNestedLoopJoin|SortMergeJoin|ShuffledHashJoin|CartesianProduct)")
_PUSHED = ("semi", "anti")
_REUSE = "spark.sql.exchange.reuse"
_MOST_WIDTHS = 64
"""Columns of varying width that are looked up in the plan, the first ones."""
_MOST_SHOWN = 25
"""Columns of a list that EXPLAIN shows, unless `spark.sql.debug.maxToStringFields` is another number."""
_NAMED = re.compile(r"Column<'(?:(\w+)|`([^`]+)`)'>")
_SEEDED, _UNSEEDED = FunctionKind.RANDOM, FunctionKind.UNSEEDED
_DRAWN = "holds random values"
_PARSED = "is parsed from texts, of which Spark may drop more or fewer as malformed when other columns are asked for"
_CORRUPT = "spark.sql.files.ignoreCorruptFiles"
_CORRUPTED = f"reads files, of which Spark may skip more or fewer when other columns are asked for, as {_CORRUPT} is on"
_HIDDEN = PlanNode("")
"""In place of a plan that cannot be seen."""


@dataclass(frozen=True)
class _Sources:
    """Rows of a frame's sources, None: unknown; whether they are counted; whether skewkit made the frame of others."""

    rows: int | None
    counted: bool
    made: bool = False


_KNOWN: WeakKeyDictionary[DataFrame, _Sources] = WeakKeyDictionary()


def made_of(frame: DataFrame, others: Sequence[DataFrame]) -> None:
    """Remember the sources of a frame that skewkit made of others as plain Spark does: theirs, if they are known.

    So the next operator of a long pipeline knows them without another EXPLAIN, which takes longer with every step.
    """
    found = [_KNOWN[frame]] if frame in _KNOWN else [_KNOWN[other] for other in others if other in _KNOWN]
    if frame not in _KNOWN and len(found) < len(others):
        return
    rows = [each.rows for each in found if each.rows is not None]
    total = sum(rows) if len(rows) == len(found) else None
    _KNOWN[frame] = _Sources(total, all(each.counted for each in found), made=True)


@dataclass(frozen=True)
class PlanFacts:
    """A frame as EXPLAIN shows it. Every question is asked of the same text.

    >>> PlanFacts(spark.range(1000)).rows
    1000
    >>> PlanFacts(spark.range(1000).where("id > 9")).source_rows
    1000
    """

    frame: DataFrame

    @cached_property
    def _text(self) -> str:
        # EXPLAIN cuts longer lists short, and would have to be asked again.
        whole = explained_whole(self.frame) if len(self.frame.columns) > _MOST_SHOWN else ""
        return whole or explained(self.frame)

    @cached_property
    def _plans(self) -> PlanTree:
        """The plans with all columns: a `rand()` may stand among those that EXPLAIN leaves out."""
        plans = read_plans(self._text)
        return read_plans(explained_whole(self.frame)) if plans.cut else plans

    @property
    def _logical(self) -> PlanNode:
        return self._plans.logical or _HIDDEN

    @property
    def _physical(self) -> PlanNode:
        return self._plans.physical or _HIDDEN

    @property
    def rows(self) -> int | None:
        """Rows that the optimizer expects the frame to have, or None.

        It knows rows of few sources: most often this is a guess by bytes. Where it multiplies the sides of a join,
        there is none.
        """
        return estimated(self._logical, len(self.frame.columns))[0]

    @property
    def bytes(self) -> int | None:
        """Bytes that the optimizer expects the frame to have, or None."""
        return estimated(self._logical, len(self.frame.columns))[1]

    @property
    def _sources(self) -> _Sources:
        if self.frame not in _KNOWN:
            _KNOWN[self.frame] = _Sources(guess_rows(self._logical), rows_are_counted(self._logical))
        return _KNOWN[self.frame]

    @property
    def made(self) -> bool:
        """Whether skewkit made the frame of others, as plain Spark does, so that its sources are known already."""
        return self.frame in _KNOWN and _KNOWN[self.frame].made

    @property
    def source_rows(self) -> int | None:
        """Rows that the frame's sources hold, as far as the optimizer knows."""
        return self._sources.rows

    @property
    def most_source_rows(self) -> float:
        """Rows of the sources at the most, as far as the optimizer knows. 0 where it does not."""
        return (self.source_rows or 0) * (1.0 if self.source_rows_counted else TIMES_TOO_LOW)

    @property
    def source_bytes(self) -> int | None:
        """Bytes that the frame's sources hold, as far as the optimizer knows."""
        return source_bytes(self._logical)

    @property
    def source_rows_counted(self) -> bool:
        """Whether `source_rows` is what the sources say, and no guess by their bytes."""
        return self._sources.counted

    @property
    def source_rows_by_bytes(self) -> int | None:
        """Rows that the bytes of the sources make, if texts are short. More than `source_rows` where they are long."""
        return guess_rows(self._logical, counted=False)

    @property
    def physical(self) -> str:
        """The physical plan's text, '' where it cannot be seen."""
        return self._text.rpartition("== Physical Plan ==")[2]

    def stability(
        self, columns: Sequence[Column] | None = None, *, rerun: bool = False, trust_sources: bool = False
    ) -> Verdict:
        """Return how stable the frame is: its rows, and the values of these columns, or of all.

        Without `rerun` the question is whether another reading of the frame has the same. No column at all asks about
        the rows alone. With `rerun` it is whether a task that runs again computes the same values, whichever rows
        there are. Then Python and sources are trusted, and what a row's place in a file decides is the same.
        `trust_sources` says that whoever asks knows what databases and RDDs hold.

        >>> firsts = spark.range(9).selectExpr("id % 2 AS k", "id AS v").groupBy("k").agg(F.first("v").alias("v"))
        >>> PlanFacts(firsts).stability([F.col("k")]).repeatable
        True
        >>> PlanFacts(firsts).stability([F.col("v")]).reason
        'holds the first of several values, or another one that depends on the order of rows'
        """
        flow = self._flow(Trust(trust_sources, rerun))
        if columns is None:
            return flow.all
        named = [self._named(flow, column) for column in columns]
        if all(named):
            verdicts = [each.verdict for found in named for each in found]
        else:
            flow = PlanFacts(self.frame.select(*columns))._flow(Trust(trust_sources, rerun))
            verdicts = [each.verdict for each in flow.columns] or [flow.unknown]
        return reduce(Verdict.worse, verdicts, Verdict() if rerun else flow.rows)

    @cached_property
    def _flows(self) -> dict[Trust, Flow]:
        return {}

    def _flow(self, trust: Trust = Trust()) -> Flow:  # noqa: B008 - frozen
        if trust not in self._flows:
            self._flows[trust] = flow_of(self._plans, trust)
        return self._flows[trust]

    def _named(self, flow: Flow, column: Column) -> list[Output]:
        """Return the columns of the frame that a Column may be, if it is a name and no more."""
        found = _NAMED.fullmatch(str(column))
        return _outputs(flow, found[1] or found[2]) if found is not None else []

    def drawn_per_place(self, columns: Sequence[Column], *, whole: bool = False) -> str | None:
        """Return why a plan that computes these columns of the frame in two places would draw values in each, or None.

        A classic session draws a seed when a frame is made. Connect draws one for every place, when it runs. What has
        no seed is drawn in every place in any case. `whole` says that all columns of the frame are computed there.
        """
        kinds = {_SEEDED, _UNSEEDED} if is_connect(self.frame) else {_UNSEEDED}
        if any(_calls(str(column), kinds) for column in columns):
            return _DRAWN
        drawn = _draws(self._logical, kinds)
        if drawn and not whole:
            drawn = bool(columns) and _draws(PlanFacts(self.frame.select(*columns))._logical, kinds)
        return _DRAWN if drawn else None

    def repeatable_columns(self, names: Sequence[str], most: int, *, all_computed: bool = False) -> list[str]:
        """Return the first `most` of these columns that are stored and not computed, and the same for a row each time.

        The frame may have other rows when it is computed again if these are whole rows of what is stored, as those of
        a limit. Else, as where the first of several rows is taken, or a join meets other rows, there are none.

        What RDDs hold is trusted. `all_computed` says that whoever asks computes all columns anyway, and knows what
        databases hold. Then columns that Spark computes from what is stored count, too, after the others.

        >>> facts = PlanFacts(spark.range(9).selectExpr("id AS a", "1 / id AS b", "rand() AS c"))
        >>> facts.repeatable_columns(["c", "b", "a"], 2)
        ['a']
        >>> facts.repeatable_columns(["c", "b", "a"], 2, all_computed=True)
        ['a', 'b']
        """
        flow = self._flow(Trust(sources=all_computed, rdds=True))
        if not flow.rows.repeatable and not takes_whole_rows(self._logical):
            return []
        known = {name: _outputs(flow, name) for name in names}
        found = [name for name in names if _all_stored(known[name])]
        if all_computed:
            stored = set(found)
            found += [n for n in names if n not in stored and len(known[n]) == 1 and known[n][0].verdict.repeatable]
        return found[:most]

    @property
    def cost_again(self) -> str | None:
        """Why it is costly to read the frame again, or None. Whether that is safe is a question of `stability`."""
        return costly_to_read_twice(self._physical)

    @property
    def shares_shuffles(self) -> bool:
        """Whether two readings of one shuffle of the frame are one; Spark shares none that reads a cache."""
        return not is_off(self.frame.sparkSession, _REUSE) and not self._reads_cache

    @property
    def _reads_cache(self) -> bool:
        return any(node.operator == CACHED for node in self._logical.walk()) or "InMemoryTableScan" in self.physical

    @property
    def shuffles(self) -> int:
        """How often the frame's rows are shuffled. Where a side of a join is read twice, its shuffles count twice.

        >>> PlanFacts(spark.range(9).repartition(3, "id").groupBy("id").count()).shuffles
        1
        """
        return count_shuffles(self._physical)

    @property
    def shuffles_for_sample(self) -> int | None:
        """The shuffles that a key sample runs again, None where the frame is only read, and sampled where it lies."""
        return None if self.simple else self.shuffles

    @cached_property
    def computed_widths(self) -> bool:
        """Whether texts, arrays or the like are computed, so that the bytes of the sources say nothing of their width.

        Constants are not, nor is it asked of more than some columns.

        >>> PlanFacts(spark.range(9).selectExpr("repeat(string(id), 999) AS a")).computed_widths
        True
        >>> PlanFacts(spark.range(9).selectExpr("id AS b", "'EU' AS c")).computed_widths
        False
        """
        names = varying_widths(self.frame.schema)[:_MOST_WIDTHS]
        if not names:
            return False
        made = {column.name.lower(): column.origin for column in self._flow().columns}
        return self.source_rows is None or any(made.get(name.lower(), "computed") == "computed" for name in names)

    @property
    def row_bytes(self) -> float:
        """Bytes that a row may take: what its types suggest, and more where texts, arrays or the like are computed.

        >>> PlanFacts(spark.range(9).selectExpr("id", "repeat(string(id), 999) AS a")).row_bytes
        4124.0
        """
        return row_bytes(self.frame.schema) + COMPUTED * self.computed_widths

    @property
    def simple(self) -> bool:
        """Whether the frame only reads, selects and filters, so that its sources' rows bound its own."""
        return only_reads(self._logical)

    def top_join(self, kind: str = "") -> str | None:
        """Return the topmost join operator of the physical plan.

        Spark moves a semi or anti join below other joins of its left side. The topmost one of that kind is taken then.

        >>> left, right = spark.range(9), spark.range(9)
        >>> PlanFacts(left.join(F.broadcast(right), "id").where("id > 3")).top_join()
        'BroadcastHashJoin'
        """
        below = re.search(rf"{_JOIN.pattern}[^\n]*\bLeft{kind.title()}\b", self.physical) if kind in _PUSHED else None
        found = below or _JOIN.search(self.physical)
        return found.group(1) if found else None

    @property
    def bounded(self) -> bool:
        """Whether the frame has no more rows than its sources, as far as the names of its steps tell."""
        return keeps_bound(self._logical)

    def pre_partitioned(self, keys: Sequence[str]) -> bool:
        """Return whether the user repartitioned the frame by some of these columns just before.

        >>> PlanFacts(spark.range(9).repartition(3, "id")).pre_partitioned(["id"])
        True
        >>> PlanFacts(spark.range(9)).pre_partitioned(["id"])
        False
        """
        return self._among(placed_by(self._physical, self._flow(), self._fold), keys)

    def unique_by(self, keys: Sequence[str]) -> bool:
        """Return whether the frame is grouped by some of these columns, so that it has every key once.

        >>> PlanFacts(spark.range(9).groupBy("id").count()).unique_by(["id"])
        True
        """
        return self._among(grouped_by(self._logical, self._flow(), self._fold), keys)

    def _among(self, names: set[str] | None, keys: Sequence[str]) -> bool:
        """Return whether all of these columns are keys, in the session's case of letters."""
        return names is not None and set(map(self._fold, names)) <= set(map(self._fold, keys))

    @cached_property
    def _fold(self) -> Callable[[str], str]:
        """Return a function that makes one text of names which are the same in the session."""
        return str if tells_case(self.frame.sparkSession) else str.lower

    @property
    def positioned(self) -> bool:
        """Whether a row is at the same place of the same task whenever the frame is computed."""
        return is_positioned(self._physical)

    @property
    def parquet(self) -> bool:
        """Whether the frame's rows are those of Parquet files, one by one."""
        return is_of_parquet(self._physical)

    @property
    def cached(self) -> bool:
        """Whether the frame only reads what is cached, and selects and filters of it."""
        return self.simple and is_of_cache(self._physical)

    @cached_property
    def rows_depend_on_columns(self) -> str | None:
        """Why the frame may have more or fewer rows when other columns of it are read, or None.

        Of CSV, JSON and XML Spark parses no more than is asked for, and finds no more malformed.
        """
        if is_parsed(self._physical):
            return _PARSED
        corrupt = conf_reader(self.frame.sparkSession)(_CORRUPT) or ""
        return _CORRUPTED if corrupt.strip().lower() == "true" and reads_files(self._physical) else None


def _outputs(flow: Flow, name: str) -> list[Output]:
    """Return the columns of a frame that have this name, whatever its case."""
    return [each for each in flow.columns if each.name.lower() == name.lower()]


def _all_stored(columns: Sequence[Output]) -> bool:
    return len(columns) == 1 and columns[0].origin == "stored" and columns[0].verdict.repeatable


def _calls(text: str, kinds: set[FunctionKind]) -> bool:
    return any(kind_of(name) in kinds for name in calls_in(text))


def _draws(plan: PlanNode, kinds: set[FunctionKind]) -> bool:
    return any(_calls(node.arguments, kinds) for node in plan.walk())
