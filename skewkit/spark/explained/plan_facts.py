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
    against_reading_twice,
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
from skewkit.spark.explained.row_counts import guess_rows, row_bytes, rows_are_counted, source_bytes, varying_widths
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
class Seen:
    """A frame as EXPLAIN shows it; every question is asked of the same text.

    >>> Seen(spark.range(1000)).rows
    1000
    """

    frame: DataFrame

    @cached_property
    def _text(self) -> str:
        return explained(self.frame)

    @property
    def rows(self) -> int | None:
        """Rows that the frame's sources hold, as far as the optimizer knows."""
        return guess_rows(self._text)

    @property
    def source_bytes(self) -> int | None:
        """Bytes that the frame's sources hold, as far as the optimizer knows."""
        return source_bytes(self._text)

    @property
    def rows_are_counted(self) -> bool:
        """Whether `rows` is what the sources say, and no guess by their bytes."""
        return rows_are_counted(self._text)

    @property
    def rows_by_bytes(self) -> int | None:
        """Rows that the bytes of the frame's sources make, if texts are short; more than `rows` where they are long."""
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

    @property
    def unsafe_again(self) -> str | None:
        """Why the frame may have other rows when it is read again, or None."""
        return unsafe_to_read_twice(self._whole)

    def varying(self, columns: Sequence[Column]) -> str | None:
        """Return why these columns may have other values when the frame is read again, or None.

        >>> firsts = spark.range(9).selectExpr("id % 2 AS k", "id AS v").groupBy("k").agg(F.first("v").alias("v"))
        >>> Seen(firsts).varying([F.col("k")]), Seen(firsts).varying([F.col("v")])
        (None, 'holds the first of several values, or another one that depends on the order of rows')
        """
        steady = not columns or (self._steady and _only_named(columns))
        return None if steady else _why_not_again(self._of(columns))

    @property
    def of_unknown(self) -> str | None:
        """Why the frame may hold other rows when it is read again, as nobody sees what makes them, or None."""
        return of_unknown(self.physical)

    def unsteady(self, columns: Sequence[Column]) -> str | None:
        """Return why these columns may have other values when a task runs again, or None; Python is trusted."""
        if self._steady and _only_named(columns):
            return None
        physical = self._of(columns)
        if not physical.strip():
            return unsafe_to_read_twice(physical)
        return is_changing(physical)

    def moving(self, columns: Sequence[Column]) -> str | None:
        """Return why rows may be elsewhere along these columns when a task runs again, or None.

        What is stored moves no row, whatever else the frame computes.

        >>> rows = spark.range(9).selectExpr("id % 2 AS k", "id AS v", "1D AS d")
        >>> sums = rows.groupBy("k", "v").agg(F.sum("d").alias("s"))
        >>> Seen(sums).moving([F.col("v")]), Seen(sums).moving([F.col("s")])
        (None, 'sums floating-point numbers, whose last digits depend on the order of rows')
        """
        if not columns or (self._steady and _only_named(columns)):
            return None
        physical = self._of(columns)
        names = zip(columns, self.frame.select(*columns).columns, strict=True)
        moved = [c for c, name in names if not _only_named([c]) or not is_stored(physical, name)]
        return self.unsteady(moved) if moved else None

    def drawn_twice(self, columns: Sequence[Column], *, whole: bool = False) -> str | None:
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

    def steady(self, names: Sequence[str], most: int) -> list[str]:
        """Return the first `most` of these columns that are stored and not computed, and the same each time.

        >>> Seen(spark.range(9).selectExpr("id AS a", "1 / id AS b", "rand() AS c")).steady(["c", "b", "a"], 2)
        ['a']
        """
        columns = {name: F.col(quoted(name)) for name in names}
        physical = self.physical if self._steady else self._of(list(columns.values()))
        stored = [name for name in names if not is_computed(physical, name)]
        if _why_not_again(physical) is None:
            return stored[:most]
        found, parts = list[str](), [stored]
        if self.varying([F.lit(1)]) is not None:
            return []
        while parts and len(found) < most:  # each question is a plan: halves of what is not steady as a whole
            part = parts.pop()
            if part and self.varying([columns[name] for name in part]) is None:
                found += part
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return found[:most]

    @cached_property
    def _steady(self) -> bool:
        """Whether all columns come out the same each time, as far as the plan shows without asking for some of them."""
        return not is_cut(self._text) and _why_not_again(self.physical) is None

    def _of(self, columns: Sequence[Column]) -> str:
        """Return the physical plan of some columns, with all of them."""
        asked = self.frame.select(*columns)
        text = explained(asked)
        return _physical(explained_whole(asked) if is_cut(text) else text)

    @property
    def costly_again(self) -> str | None:
        """Why the frame should not be read again, because it is unsafe or costly, or None."""
        return against_reading_twice(self._whole)

    @property
    def shuffles(self) -> int:
        """How often the frame's rows are shuffled; where a side of a join is read twice, its shuffles count twice.

        >>> Seen(spark.range(9).repartition(3, "id").groupBy("id").count()).shuffles
        1
        """
        return count_shuffles(self.physical)

    @cached_property
    def widened(self) -> bool:
        """Whether texts, arrays or the like are computed, so that the bytes of the sources say nothing of their width.

        Constants are not, nor is it asked of more than some columns.

        >>> Seen(spark.range(9).selectExpr("repeat(string(id), 999) AS a")).widened
        True
        >>> Seen(spark.range(9).selectExpr("id AS b", "'EU' AS c")).widened
        False
        """
        names = varying_widths(self.frame.schema)[:_MOST_WIDTHS]
        if not names:
            return False
        physical = self.physical
        computed = (n for n in names if is_computed(physical, n) and not is_constant(physical, n))
        return self.rows is None or next(computed, None) is not None

    @property
    def row_bytes(self) -> float:
        """Bytes that a row may take: what its types suggest, and more where texts, arrays or the like are computed.

        >>> Seen(spark.range(9).selectExpr("id", "repeat(string(id), 999) AS a")).row_bytes
        4124.0
        """
        return row_bytes(self.frame.schema) + COMPUTED * self.widened

    @property
    def simple(self) -> bool:
        """Whether the frame only reads, selects and filters, so that its sources' rows bound its own."""
        return is_simple(self.physical)

    def gathered(self, keys: Sequence[str]) -> bool:
        """Return whether the user repartitioned the frame by some of these columns just before.

        >>> Seen(spark.range(9).repartition(3, "id")).gathered(["id"]), Seen(spark.range(9)).gathered(["id"])
        (True, False)
        """
        return self._among(placed_by(self._whole), keys)

    def once(self, keys: Sequence[str]) -> bool:
        """Return whether the frame is grouped by some of these columns, so that it has every key once.

        >>> Seen(spark.range(9).groupBy("id").count()).once(["id"])
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
    def stored(self) -> bool:
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
    def dropping(self) -> str | None:
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


def _why_not_again(physical: str) -> str | None:
    return unsafe_to_read_twice(physical) or depends_on_order(physical)
