"""All that a call asks of its frames, in one query: a sample of raw rows, from which the driver works out the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.errors import SkewkitError
from skewkit.hashing.spark import xxhash64
from skewkit.options import Settings
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sampled_profile import (
    PLAIN,
    UNMATCHED,
    WITH_NULL,
    FilesTaken,
    SampledRows,
    sampled_profile,
)
from skewkit.plan.window.window_plan import Cut
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, plain
from skewkit.spark.sampling.file_sample import FileSample, sample_files
from skewkit.spark.sampling.order_values import OrderValues
from skewkit.spark.sampling.profiling import is_without_value, shown
from skewkit.spark.sampling.row_sample import (
    Rate,
    Thinned,
    distinct_values,
    largest_shares,
    rate_for,
    sampled,
    thinned,
    uniforms_of,
)
from skewkit.spark.session.collecting import Collected, collect
from skewkit.spark.session.jobs import described
from skewkit.spark.window.ordering import OrderBy, as_text, cut_of, is_text

_LEAST, _MOST, _MOST_FOR_MANY = 64_000, 200_000, 1_000_000
"""Rows of a sample: at least, at most, and at most where there are thousands of partitions."""
_PER_PARTITION, _FEWEST_PER_PARTITION = 2_500, 200
"""A key of a fifth of a partition's rows has 500 of them: bounds at 4.5 standard errors are a fifth away. For more than
80 partitions the bound on all rows makes them wider (a third at 200)."""
_LONGEST = 256
"""Bytes of the longest key that a sample brings along."""
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_BY_ARROW = (*_WHOLE, "string", "boolean", "date", "float", "double", "binary", "decimal")
_TABLE = re.compile(r"\bFileScan \w+ (?:spark_catalog\.)?([\w.]+)\[")
_PATH = re.compile(r"Location: \w+\(1 paths\)\[([^\s\],]+)\]")


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of one frame: its keys, and more where the call needs it.

    `unmatched`: which rows of a join match nothing. `order`: order columns whose values in hot keys are wanted.
    `values`: columns whose distinct values per row are asked for. `finer`: how many times smaller shares than 1/(5n)
    are listed, as of keys that are on both sides of a join.
    """

    facts: PlanFacts
    keys: Keys
    unmatched: Column | None = None
    order: OrderBy | None = None
    values: tuple[Column, ...] = ()
    finer: int = 1


@dataclass(frozen=True, eq=False)
class Answer:
    """What a sample says of a frame.

    * `profile`: the heavy keys, with their values where these could be brought, else None with the right hash.
    * `one_task`: the largest share of a heavy key's rows that one task has, by the key's hash.
    * `distinct`: the distinct values per row of the question's values, of those of which there are most. None where
      none were asked for. `most_distinct`: which of them these are.
    * `order_values`: order values of the sample by key; None where none were asked for.
    * `widest`: the share of the rows that the task has that reads most. None of a frame without rows.
    * `tasks`: how many tasks have rows of the frame, as far as the sample tells.
    * `notes`: how the sample was taken, where that is worth a word.
    """

    profile: KeyProfile
    one_task: Mapping[int, float]
    distinct: float | None = None
    most_distinct: int = 0
    order_values: OrderValues | None = None
    widest: float | None = None
    tasks: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether all heavy keys have their values."""
        return all(None not in heavy.key for heavy in self.profile.heavy)

    def cuts(self, hashes: Sequence[int], only: int | None = None) -> dict[int, list[Cut]]:
        """Return the order values of keys by their place among these hashes, sorted, as `window_plan` takes them.

        They are rows of all order columns, or the values of the `only` one of this number.
        """
        if self.order_values is None:
            return {}
        values = self.order_values if only is None else self.order_values.only(only)
        found = values.of(hashes)
        return {i: found[each] for i, each in enumerate(hashes) if each in found}


def ask(questions: Sequence[Question], partitions: int, settings: Settings, *, why: str) -> list[Answer]:
    """Answer all questions in one query, for a plan of so many partitions. `why` says for which call.

    * The sample has a bounded number of rows, whatever the frame has, and needs no count of them beforehand.
    * Of a table of many files only some are read, evenly along their order (`FileSample`). The profile says so.
    * All numbers of a profile are those of a Bernoulli sample of one fraction, with bounds as `sample_bounds` has them.
    * A second query runs only where the values of keys cannot be brought to Python: without them.

    >>> from skewkit.spark.expressions.keys import find_keys
    >>> df = spark.range(1000).selectExpr("if(id < 700, 'hot', string(id)) AS k", "id AS v")
    >>> question = Question(PlanFacts(df), find_keys(df, ["k"]), values=(F.col("v"),))
    >>> answer = ask([question], 4, Settings(), why="skew_groupby on k")[0]
    >>> answer.profile.heavy[0].key, answer.profile.share("hot"), answer.distinct
    (('hot',), 0.7, 1.0)
    """
    wanted = _sample_rows(partitions, settings)
    asked = [_Asked.of(number, question, wanted) for number, question in enumerate(questions)]
    text = f"skewkit: keys of {' and '.join(_name(each.facts) for each in questions)} for {why}"
    with described(questions[0].facts.frame.sparkSession, text):
        columns = _collected(asked)
    return [each.answer(columns, partitions) for each in asked]


def _sample_rows(partitions: int, settings: Settings) -> float:
    """Return how many rows of each frame a sample is to have."""
    rows = min(max(_LEAST, _PER_PARTITION * partitions), _MOST)
    rows = max(rows, min(_MOST_FOR_MANY, _FEWEST_PER_PARTITION * partitions))
    return float(max(1, min(rows, settings.sample_rows * partitions)))


def _name(facts: PlanFacts) -> str:
    """Return what a frame is called: the one table, or the last step of the one path, that it reads."""
    found = _TABLE.findall(facts.physical) or [path.rsplit("/", 1)[-1] for path in _PATH.findall(facts.physical)]
    return found[0] if len(found) == 1 and facts.simple else "a frame"


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question, the files that are read for it, and the rate at which rows are taken."""

    number: int
    question: Question
    files: FileSample
    rate: Rate

    @classmethod
    def of(cls, number: int, question: Question, wanted: float) -> _Asked:
        files = sample_files(question.facts, wanted)
        return cls(number, question, files, rate_for(question.facts, wanted, files))

    @property
    def by_arrow(self) -> bool:
        """Whether Arrow brings the values of the keys."""
        return all(type_.partition("(")[0] in _BY_ARROW for type_ in self.question.keys.types)

    @property
    def cuttable(self) -> int:
        """How many order columns are asked for."""
        return self.question.order.cuttable if self.question.order is not None else 0

    def rows(self, *, named: bool) -> DataFrame:
        """Return the sample with the columns that all questions have, then those of this one."""
        question, keys = self.question, self.question.keys
        kind = F.when(keys.any_null, WITH_NULL).otherwise(PLAIN)
        if question.unmatched is not None:
            kind = F.when(question.unmatched, UNMATCHED).otherwise(kind)
        columns = {"number": F.lit(self.number), "hash": keys.hash, "kind": kind}
        own = {f"v{i}": F.coalesce(F.xxhash64(value), F.lit(0)) for i, value in enumerate(question.values)}
        if question.order is not None:
            orders = zip(question.order.columns, question.order.orders, strict=True)
            own |= {f"o{i}": as_text(c, o.type) for i, (c, o) in enumerate(orders) if i < self.cuttable}
        if self.files.file is not None and self.files.size is not None:
            own |= {"file": self.files.file, "size": self.files.size}
        if named:
            own |= {f"k{i}": c for i, c in enumerate(self._values())}
        columns |= {f"{name}_{self.number}": column for name, column in own.items()}
        return sampled(self.files.frame, columns, self.rate)

    def _values(self) -> list[Column]:
        keys = self.question.keys
        pairs = list(zip(keys.columns, keys.types, strict=True))
        if not self.by_arrow:
            fields = self.question.facts.frame.select(*keys.columns).schema.fields
            return [shown(column, field.dataType) for column, field in zip(keys.columns, fields, strict=True)]
        return [F.when(F.octet_length(c) <= _LONGEST, c) if t in ("string", "binary") else c for c, t in pairs]

    def answer(self, columns: Mapping[str, Collected], partitions: int) -> Answer:
        """Return the answer from the rows of all questions."""
        question, keys = self.question, self.question.keys
        mine = np.flatnonzero(columns["number"].numbers() == self.number)

        places = columns["place"].numbers()[mine]
        taken = thinned(places, uniforms_of(places), self.rate)
        rows = mine[taken.rows]
        hashes, kinds = columns["hash"].numbers()[rows], columns["kind"].numbers()[rows]
        files = None
        fraction = taken.fraction * self.files.thinned
        if self.files.of:
            file, size = (columns[f"{name}_{self.number}"].at(mine).numbers() for name in ("file", "size"))
            files = FilesTaken(file[taken.rows], self.files.taken, self.files.of)
            fraction *= self._part(file, size)
        sample = SampledRows(hashes, kinds, fraction, files)
        profile = sampled_profile(keys.names, keys.types, sample, partitions, finer=question.finer)
        if "k0_" + str(self.number) in columns:
            profile = self._named(profile, columns, hashes, rows)
        hot = np.isin(hashes, [heavy.hash for heavy in profile.heavy])
        distinct = [
            distinct_values(columns[f"v{i}_{self.number}"].at(rows).numbers(), profile.rows)
            for i in range(len(question.values))
        ]
        most = int(np.argmax(distinct)) if distinct else 0
        return Answer(
            profile,
            largest_shares(hashes[hot], taken.tasks[hot]),
            distinct[most] / profile.rows if distinct and profile.rows else None,
            most,
            self._order_values(columns, hashes, rows),
            self._widest(taken),
            max(1.0, taken.task_rows.size / self.files.part),
            self._notes(),
        )

    def _part(self, files: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> float:
        """Return which part of the table's bytes the files taken have, by the sizes of those that have a row."""
        part, all_bytes = self.files.part, self.question.facts.source_bytes
        if not all_bytes or not files.size:
            return part
        each = sizes[np.unique(files, return_index=True)[1]]
        by_bytes = float(each.mean()) * self.files.taken / all_bytes
        return by_bytes if part / 4 <= by_bytes <= min(1.0, 4 * part) else part

    def _named(
        self,
        profile: KeyProfile,
        columns: Mapping[str, Collected],
        hashes: npt.NDArray[np.int64],
        rows: npt.NDArray[np.intp],
    ) -> KeyProfile:
        """Return the profile with the values of its heavy keys, where what was brought has their hash."""
        keys = self.question.keys
        values = [columns[f"k{i}_{self.number}"] for i in range(len(keys.names))]
        there = np.flatnonzero(np.isin(hashes, [heavy.hash for heavy in (*profile.heavy, *profile.null_heavy)]))
        found, at = np.unique(hashes[there], return_index=True)
        firsts = dict(zip(found.tolist(), there[at].tolist(), strict=True))

        def named(heavy: HeavyKey) -> HeavyKey:
            row = rows[[firsts[heavy.hash]]]
            try:
                key = tuple(plain(column.values(row)[0]) for column in values)
                return replace(heavy, key=key) if xxhash64(key, keys.types) == heavy.hash else heavy
            except (SkewkitError, AttributeError, TypeError, ValueError, ArithmeticError):
                return heavy

        return replace(
            profile,
            heavy=tuple(map(named, profile.heavy)),
            null_heavy=tuple(map(named, profile.null_heavy)),
        )

    def _order_values(
        self, columns: Mapping[str, Collected], hashes: npt.NDArray[np.int64], rows: npt.NDArray[np.intp]
    ) -> OrderValues | None:
        order = self.question.order
        if order is None:
            return None
        texts = [columns[f"o{i}_{self.number}"].at(rows) for i in range(self.cuttable)]
        orders = order.orders[: self.cuttable]
        cut = partial(cut_of, orders=orders) if any(is_text(each.type) for each in orders) else tuple
        return OrderValues(hashes, texts, orders, cut)

    def _widest(self, taken: Thinned) -> float | None:
        rows = taken.task_rows
        return float(rows.max() / rows.sum()) * self.files.part if rows.size else None

    def _notes(self) -> tuple[str, ...]:
        if self.files.of:
            return (f"the keys are from a sample of {self.files.taken:,} of {self.files.of:,} files",)
        if self.files.why is None or (self.question.facts.source_rows or 0) <= _MOST_FOR_MANY:
            return ()
        return (f"all of the frame was read for the sample of its keys: {self.files.why}",)


def _collected(asked: Sequence[_Asked]) -> dict[str, Collected]:
    arrow = all(each.by_arrow for each in asked)
    frames = _side_by_side([each.rows(named=True) for each in asked])
    try:
        return dict(zip(frames.columns, collect(frames, arrow=arrow), strict=True))
    except Exception as error:
        if not is_without_value(error):
            raise
    frames = _side_by_side([each.rows(named=False) for each in asked])
    return dict(zip(frames.columns, collect(frames, arrow=True), strict=True))


def _side_by_side(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames. Columns that only some have are null in the others."""
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
