"""What the optimizer says of a frame, asked once per call: its sources' rows and its physical plan; no job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.explained.lineage import is_computed, is_constant, is_stored
from skewkit.spark.explained.physical import (
    costly_to_read_twice,
    count_shuffles,
    depends_on_order,
    is_changing,
    is_cut,
    is_of_cache,
    is_of_parquet,
    is_parsed,
    is_positioned,
    is_random,
    is_simple,
    of_unknown,
    reads_files,
    unsafe_to_read_twice,
    with_results,
)
from skewkit.spark.explained.pre_partitioned import grouped_by, placed_by
from skewkit.spark.explained.row_counts import (
    estimated,
    guess_rows,
    row_bytes,
    rows_are_counted,
    source_bytes,
    varying_widths,
)
from skewkit.spark.explained.stability import Stability, Verdict
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import conf_reader, explained, explained_whole, is_connect, tells_case

COMPUTED = 4096.0
"""Bytes that a row may have in texts, arrays and maps that are computed: nobody knows before."""
_MOST_WIDTHS = 64
_NAMED = re.compile(r"Column<'[\w.`]+'>")
_PARSED = "is parsed from texts, of which Spark may drop more or fewer as malformed when other columns are asked for"
_CORRUPT = "spark.sql.files.ignoreCorruptFiles"
_CORRUPTED = f"reads files, of which Spark may skip more or fewer when other columns are asked for, as {_CORRUPT} is on"


@dataclass(frozen=True)
class PlanFacts:
    """A frame as EXPLAIN shows it; every question is asked of the same text.

    >>> PlanFacts(spark.range(1000)).rows
    1000
    >>> PlanFacts(spark.range(1000).where("id > 9")).source_rows
    1000
    """

    frame: DataFrame

    @cached_property
    def _text(self) -> str:
        return explained(self.frame)

    @property
    def rows(self) -> int | None:
        """Rows that the optimizer expects the frame to have, or None.

        It multiplies the sides of a join, and knows rows of few sources: most often it has no more than a guess by
        bytes, and of joins none.
        """
        return estimated(self._text)[0]

    @property
    def bytes(self) -> int | None:
        """Bytes that the optimizer expects the frame to have, or None."""
        return estimated(self._text)[1]

    @property
    def source_rows(self) -> int | None:
        """Rows that the frame's sources hold, as far as the optimizer knows."""
        return guess_rows(self._text)

    @property
    def source_bytes(self) -> int | None:
        """Bytes that the frame's sources hold, as far as the optimizer knows."""
        return source_bytes(self._text)

    @property
    def source_rows_counted(self) -> bool:
        """Whether `source_rows` is what the sources say, and no guess by their bytes."""
        return rows_are_counted(self._text)

    @property
    def source_rows_by_bytes(self) -> int | None:
        """Rows that the bytes of the sources make, if texts are short; more than `source_rows` where they are long."""
        return guess_rows(self._text, counted=False)

    @property
    def physical(self) -> str:
        """The physical plan, '' where it cannot be seen."""
        return _physical(self._text)

    @cached_property
    def _whole_text(self) -> str:
        """The plans with all columns: a `rand()` may stand among those that EXPLAIN leaves out below."""
        return explained_whole(self.frame) if is_cut(self._text) else self._text

    @property
    def _whole(self) -> str:
        return _physical(self._whole_text)

    def stability(
        self, columns: Sequence[Column] | None = None, *, rerun: bool = False, trust_sources: bool = False
    ) -> Verdict:
        """Return how stable the frame is: its rows, and the values of these columns, or of all.

        Without `rerun` the question is whether another reading of the frame has the same; no column at all asks about
        the rows alone. With `rerun` it is whether a task that runs again computes the same values, whichever rows
        there are. Then Python and sources are trusted, and what a row's place in a file decides is the same.
        `trust_sources` says that whoever asks knows what databases and RDDs hold.

        >>> firsts = spark.range(9).selectExpr("id % 2 AS k", "id AS v").groupBy("k").agg(F.first("v").alias("v"))
        >>> PlanFacts(firsts).stability([F.col("k")]).repeatable
        True
        >>> PlanFacts(firsts).stability([F.col("v")]).reason
        'holds the first of several values, or another one that depends on the order of rows'
        """
        if rerun:
            return self._rerun(columns)
        source = Verdict() if trust_sources else Verdict.of(Stability.UNKNOWN, of_unknown(self.physical))
        if columns is not None and self._stable and _only_named(columns):
            return source
        asked = None if columns is None else columns or [F.lit(1)]
        return source.worse(_again(self._whole if asked is None else self._of(asked)))

    def _rerun(self, columns: Sequence[Column] | None) -> Verdict:
        if columns is None:
            return _of_rerun(self._whole)
        if not columns or (self._stable and _only_named(columns)):
            return Verdict()
        physical = self._of(columns)
        names = zip(columns, self.frame.select(*columns).columns, strict=True)
        moved = [c for c, name in names if not _only_named([c]) or not is_stored(physical, name)]
        return _of_rerun(self._of(moved)) if moved else Verdict()

    def drawn_per_place(self, columns: Sequence[Column], *, whole: bool = False) -> str | None:
        """Return why a plan that computes these columns of the frame in two places would draw values in each, or None.

        A classic session draws a seed when a frame is made; Connect draws one for every place, when it runs. `whole`
        says that all columns of the frame are computed there.
        """
        if not is_connect(self.frame):
            return None
        in_columns = is_random("\n".join(map(str, columns)))
        if in_columns or whole or is_random(self._whole) is None:
            return in_columns or is_random(self._whole)
        return is_random(self._of(columns))

    def repeatable_columns(self, names: Sequence[str], most: int) -> list[str]:
        """Return the first `most` of these columns that are stored and not computed, and the same each time.

        >>> PlanFacts(spark.range(9).selectExpr("id AS a", "1 / id AS b", "rand() AS c")).repeatable_columns(
        ...     ["c", "b", "a"], 2
        ... )
        ['a']
        """
        columns = {name: F.col(quoted(name)) for name in names}
        physical = self.physical if self._stable else self._of(list(columns.values()))
        stored = [name for name in names if not is_computed(physical, name)]
        if _again(physical).repeatable:
            return stored[:most]
        found, parts = list[str](), [stored]
        if not self.stability([]).repeatable:
            return []
        while parts and len(found) < most:  # each question is a plan: halves of what is not stable as a whole
            part = parts.pop()
            if part and self.stability([columns[name] for name in part]).repeatable:
                found += part
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return found[:most]

    @cached_property
    def _stable(self) -> bool:
        """Whether all columns come out the same each time, as far as the plan shows without asking for some of them."""
        return not is_cut(self._text) and _again(self.physical).repeatable

    def _of(self, columns: Sequence[Column]) -> str:
        """Return the physical plan of some columns, with all of them."""
        asked = self.frame.select(*columns)
        text = explained(asked)
        return _physical(explained_whole(asked) if is_cut(text) else text)

    @property
    def cost_again(self) -> str | None:
        """Why it is costly to read the frame again, or None; whether that is safe is a question of `stability`."""
        return costly_to_read_twice(self.physical)

    @property
    def shuffles(self) -> int:
        """How often the frame's rows are shuffled; where a side of a join is read twice, its shuffles count twice.

        >>> PlanFacts(spark.range(9).repartition(3, "id").groupBy("id").count()).shuffles
        1
        """
        return count_shuffles(self.physical)

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
        physical = self.physical
        computed = (n for n in names if is_computed(physical, n) and not is_constant(physical, n))
        return self.source_rows is None or next(computed, None) is not None

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
        return is_simple(self.physical)

    def pre_partitioned(self, keys: Sequence[str]) -> bool:
        """Return whether the user repartitioned the frame by some of these columns just before.

        >>> PlanFacts(spark.range(9).repartition(3, "id")).pre_partitioned(["id"])
        True
        >>> PlanFacts(spark.range(9)).pre_partitioned(["id"])
        False
        """
        return self._among(placed_by(self._whole), keys)

    def unique_by(self, keys: Sequence[str]) -> bool:
        """Return whether the frame is grouped by some of these columns, so that it has every key once.

        >>> PlanFacts(spark.range(9).groupBy("id").count()).unique_by(["id"])
        True
        """
        return self._among(grouped_by(self._whole_text), keys)

    def _among(self, names: set[str] | None, keys: Sequence[str]) -> bool:
        """Return whether all of these columns are keys, whose names have upper and lower case only if the session's."""
        if names is None:
            return False
        fold = str if tells_case(self.frame.sparkSession) else str.lower
        return set(map(fold, names)) <= set(map(fold, keys))

    @property
    def positioned(self) -> bool:
        """Whether a row is at the same place of the same task whenever the frame is computed."""
        return is_positioned(self.physical)

    @property
    def parquet(self) -> bool:
        """Whether the frame's rows are those of Parquet files, one by one."""
        return is_of_parquet(self.physical)

    @property
    def cached(self) -> bool:
        """Whether the frame only reads what is cached, and selects and filters of it."""
        return self.simple and is_of_cache(self.physical)

    @cached_property
    def rows_depend_on_columns(self) -> str | None:
        """Why the frame may have more or fewer rows when other columns of it are read, or None.

        Of CSV, JSON and XML Spark parses no more than is asked for, and finds no more malformed.
        """
        if is_parsed(self.physical):
            return _PARSED
        corrupt = conf_reader(self.frame.sparkSession)(_CORRUPT) or ""
        return _CORRUPTED if corrupt.strip().lower() == "true" and reads_files(self.physical) else None


def _physical(text: str) -> str:
    logical, _, physical = text.rpartition("== Physical Plan ==")
    return with_results(logical, physical) if physical.strip() else physical


def _only_named(columns: Sequence[Column]) -> bool:
    """Return whether these are columns of the frame by name, and as steady as it is."""
    return all(_NAMED.fullmatch(str(column)) for column in columns)


def _again(physical: str) -> Verdict:
    """Return how stable a frame of this plan is when it is read again; sources are trusted."""
    unsafe, ordered = unsafe_to_read_twice(physical), depends_on_order(physical)
    return _verdict(unsafe).worse(Verdict.of(Stability.BY_ROW_ORDER, ordered))


def _of_rerun(physical: str) -> Verdict:
    """Return how stable the values of this plan are when a task runs again."""
    if not physical.strip():
        return _verdict(unsafe_to_read_twice(physical))
    ordered = Verdict.of(Stability.BY_ROW_ORDER, depends_on_order(physical))
    return ordered if ordered.reason is not None else _verdict(is_changing(physical))


def _verdict(unsafe: str | None) -> Verdict:
    drawn = unsafe is not None and re.match("holds (random|positions|a limit)", unsafe) is not None
    return Verdict.of(Stability.RANDOM if drawn else Stability.UNKNOWN, unsafe)
