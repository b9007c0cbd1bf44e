"""`ProfileHistory`: profiles of earlier runs in a Delta table, so that tonight's run plans without reading its keys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.checks import one_of, real_number, whole_number
from skewkit.delta.delta_table import TableName, check_free, table_detail, table_name
from skewkit.errors import ArgumentError, ArgumentTypeError, ProfileError, shown
from skewkit.logs import warn_caller
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.profile_plot import as_label
from skewkit.plan.write.file_plan import FilePlan
from skewkit.spark.session.compat import is_frame
from skewkit.spark.session.jobs import labelled
from skewkit.spark.session.remembered import choice_of

_SCHEMA = "name string, keys array<string>, run_id string, recorded timestamp_ltz, rows double, profile string"
_COLUMNS = ("name", "keys", "run_id", "recorded", "rows", "profile")
_MOST_RUNS = 30
_SHOWN = 5


@dataclass(frozen=True)
class RecordedProfile:
    """A profile of the history, and the run that it is of."""

    run_id: str
    profile: KeyProfile


class ProfileHistory:
    """Profiles by run and keyed frame in a Delta table, which the first record creates.

    * A run that is repeated counts once. Every record carries `txnAppId` (name, keys and run) and `txnVersion` 1, which
      Delta commits once. A reader takes the first record of a run.
    * Records only append, so runs that record at the same time do not conflict.
    * A record of another format, of other types than later ones, or a damaged one is passed over with a warning. A
      profile is a hint: it costs time, never rows.

    Args:
        spark: the session, classic or Connect.
        path_or_table: a path, which has a slash, or the name of a table as SQL writes it.

    Raises:
        ArgumentError: the table is there and is no history of this layout.
    """

    def __init__(self, spark: SparkSession, path_or_table: str | os.PathLike[str]) -> None:
        self._spark = spark
        self._table: TableName = table_name(path_or_table)
        self._found = False
        self._is_there()

    def record(self, name: str, profile: KeyProfile, *, run_id: str | int) -> None:
        """Append a run's profile of a frame. The same run, name and keys once more change nothing.

        Raises:
            ArgumentTypeError: something has another type.
            ArgumentError: the name or the run is empty, or the table cannot be made where it is to be.
        """
        name, run = _text("name", name), _text("run_id", str(run_id) if isinstance(run_id, int) else run_id)
        if not isinstance(profile, KeyProfile):
            raise ArgumentTypeError(f"record() takes a KeyProfile, not {type(profile).__name__}; see skew_profile")
        self._create()
        keys = list(profile.keys)
        # Literals: `createDataFrame` of a list starts Python workers.
        frame = self._spark.range(1, numPartitions=1).select(
            F.lit(name).alias("name"),
            F.array(*map(F.lit, keys)).alias("keys"),
            F.lit(run).alias("run_id"),
            F.current_timestamp().alias("recorded"),
            F.lit(float(profile.rows)).alias("rows"),
            F.lit(profile.to_json()).alias("profile"),
        )
        application = "skewkit profile of " + "\x1f".join((name, *keys, run))
        writer = frame.write.format("delta").mode("append").option("txnAppId", application).option("txnVersion", "1")
        try:
            with labelled(self._spark, f"skewkit history: record {name}"):
                if self._table.path is not None:
                    writer.save(self._table.path)
                else:
                    writer.saveAsTable(str(self._table.name))
        except Exception as error:  # of PySpark or of Py4J, as Delta's classes of errors are known to the session
            if "DELTA_CONCURRENT_TRANSACTION" not in str(error):  # else the same run was recorded at this moment
                raise

    def watch(self, name: str, result: DataFrame | FilePlan, *, run_id: str | int, side: str = "left") -> bool:
        """Record the profile that an operator took anyway for `result`. It is appended; no key is read for it.

        `result` is the very frame that an operator returned, or the plan that `delta.write` returned. Return whether
        there was a profile: an operator that planned by one that it was given has seen nothing new.

        Args:
            name: the frame's name in the history.
            result: what an operator returned.
            run_id: the run.
            side: of a join, `left` or `right`.

        Raises:
            ArgumentError: skewkit did not return this frame.
        """
        one_of("side", side, ("left", "right"))
        if isinstance(result, FilePlan):
            found = result.profile
        elif is_frame(result):
            choice = choice_of(result)
            found = choice.profile if side == "left" else choice.other
        else:
            raise ArgumentTypeError(f"watch() takes a frame or the plan of a write, not {type(result).__name__}")
        if found is None or found.named or found.given or not found.fraction:
            return False
        self.record(name, found, run_id=run_id)
        return True

    def profile(
        self,
        name: str,
        *keys: str,
        decay: float = 0.5,
        runs: int = _MOST_RUNS,
        version: int | None = None,
        timestamp: str | None = None,
    ) -> KeyProfile | None:
        """Return the profile to expect of a frame: the mean of its runs, each older one weighing `decay` times as much.

        Pass it to an operator's `profile=`, or a join's `left_profile=`. It is None where no run is recorded, which
        operators take for no profile.

        Args:
            name: the frame's name.
            *keys: its key columns, in order.
            decay: 1 for the plain mean of all runs, 0 for the last run alone (FISH, epoch decay).
            runs: so many of the last runs at most.
            version: of the table, for the history as it was then.
            timestamp: the same by time.
        """
        decay = real_number("decay", decay, high=1.0)
        found = self.runs(name, *keys, runs=runs, version=version, timestamp=timestamp)
        merged: KeyProfile | None = None
        total = 0.0
        for each in found:
            try:
                merged = each.profile if merged is None else merged.decay(decay).merge(each.profile)
            except ProfileError as error:
                warn_caller(f"run {each.run_id!r} of {name!r} does not go with later ones and is passed over: {error}")
                merged = each.profile
                total = 0.0
            total = total * decay + 1.0
        if merged is None:
            return None
        return merged if total <= 1.0 else merged.decay(1.0 / total)

    def runs(
        self,
        name: str,
        *keys: str,
        runs: int = _MOST_RUNS,
        version: int | None = None,
        timestamp: str | None = None,
    ) -> list[RecordedProfile]:
        """Return the last runs of a frame, oldest first, each once."""
        name, runs = _text("name", name), whole_number("runs", runs)
        if not keys or not all(isinstance(key, str) for key in keys):
            raise ArgumentTypeError(f"the keys of {name!r} are names of columns, at least one, not {shown(keys)}")
        if not self._is_there():
            return []
        wanted = self.frame(version=version, timestamp=timestamp).where(F.col("name") == F.lit(name))
        same = [F.get(F.col("keys"), i) == F.lit(key) for i, key in enumerate(keys)]
        wanted = wanted.where(F.size("keys") == len(keys))
        for test in same:
            wanted = wanted.where(test)
        # The first record of a run counts. The run is an aggregate too, as a session may leave out columns of groups.
        first = F.min_by(F.struct("run_id", "profile"), "recorded").alias("first"), F.min("recorded").alias("at")
        each_once = wanted.groupBy("run_id").agg(*first).select("first.run_id", "first.profile", "at")
        # Twice as many as are wanted, as some may be damaged.
        with labelled(self._spark, f"skewkit history: runs of {name}"):
            rows = each_once.orderBy(F.col("at").desc()).limit(2 * runs).collect()
        read = ((run_id, _read(text, keys, run_id)) for run_id, text, _ in reversed(rows))
        return [RecordedProfile(run_id, profile) for run_id, profile in read if profile is not None][-runs:]

    def frame(self, *, version: int | None = None, timestamp: str | None = None) -> DataFrame:
        """Return the history as a frame; with a version or a timestamp, as it was then.

        Raises:
            ArgumentError: both are given, or nothing is recorded yet.
        """
        if version is not None and timestamp is not None:
            raise ArgumentError("give either a version or a timestamp, not both")
        if not self._is_there():
            raise ArgumentError(f"nothing is recorded in {self._table.sql} yet")
        if version is None and timestamp is None:
            return self._table.read(self._spark).select(*_COLUMNS)
        option = ("versionAsOf", str(version)) if version is not None else ("timestampAsOf", str(timestamp))
        reader = self._spark.read.format("delta").option(*option)
        if self._table.path is not None:
            return reader.load(self._table.path).select(*_COLUMNS)
        return reader.table(str(self._table.name)).select(*_COLUMNS)

    def plot(self, name: str, *keys: str, ax: Any = None) -> Any:
        """Draw how the shares of the hottest keys moved from run to run. Needs matplotlib."""
        found = self.runs(name, *keys)
        if not found:
            raise ArgumentError(f"no run of {name!r} by {list(keys)} is recorded; there is nothing to draw")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot()
        hottest: dict[Any, float] = {}
        for each in found:
            for heavy in each.profile.heavy:
                share = heavy.estimate / each.profile.rows if each.profile.rows else 0.0
                hottest[heavy.key] = max(share, hottest.get(heavy.key, 0.0))
        names = [as_label(each.run_id) for each in found]
        for key in sorted(hottest, key=lambda key: -hottest[key])[:_SHOWN]:
            ax.plot(names, [_share(each.profile, key) for each in found], marker="o", label=as_label(key_text(key)))
        nulls = [each.profile.nulls / each.profile.rows if each.profile.rows else 0.0 for each in found]
        if any(nulls):
            ax.plot(names, nulls, marker="o", linestyle=":", label="null")
        ax.set(title=as_label(f"{name} by {', '.join(keys)}"), xlabel="run", ylabel="share of the rows", ylim=(0, None))
        ax.legend()
        return ax

    def _is_there(self) -> bool:
        """Return whether the table is there, and is a history of this layout. One that was found is not asked again.

        Raises:
            ArgumentError: it is another table.
        """
        if self._found:
            return True
        if table_detail(self._spark, self._table) is None:
            return False
        with labelled(self._spark, f"skewkit history: look at {self._table.sql}"):
            columns = self._table.read(self._spark).columns
        if tuple(columns) != _COLUMNS:
            raise ArgumentError(
                f"{self._table.sql} has the columns {columns}; a history of profiles of this version has "
                f"{list(_COLUMNS)}: take another table, and keep this one for what wrote it"
            )
        self._found = True
        return True

    def _create(self) -> None:
        if self._is_there():
            return
        check_free(self._spark, self._table)
        try:
            with labelled(self._spark, f"skewkit history: make {self._table.sql}"):
                self._spark.sql(f"CREATE TABLE IF NOT EXISTS {self._table.sql} ({_SCHEMA}) USING delta")
        except Exception:
            if not self._is_there():  # else another run was first
                raise


def _read(text: Any, keys: Sequence[str], run_id: str) -> KeyProfile | None:
    try:
        profile = KeyProfile.from_json(text)
    except ProfileError as error:
        warn_caller(f"the profile of run {run_id!r} is passed over: {error}")
        return None
    if profile.keys != tuple(keys):
        others = f"{list(profile.keys)}, not of {list(keys)}"
        warn_caller(f"the profile of run {run_id!r} is of {others}, and is passed over")
        return None
    return profile


def _share(profile: KeyProfile, key: tuple[Any, ...]) -> float:
    """Return the share of a key that was hot in some run, 0 in a run whose keys were of another type."""
    try:
        return profile.share(*key)
    except ArgumentError:
        return 0.0


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} is a text, not {type(value).__name__} {shown(value)}")
    if not value.strip():
        raise ArgumentError(f"{what} is empty; expected a text")
    return value
