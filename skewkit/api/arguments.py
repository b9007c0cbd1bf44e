"""What the operators share: settings, argument checks, the profile that a call uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import errors as spark_errors
from pyspark.errors import AnalysisException, PySparkException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession

from skewkit.checks import whole_number
from skewkit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnNotFoundError,
    EnvironmentProblem,
    ProfileError,
    SkewkitError,
    UnsupportedError,
    nearest,
    shown,
)
from skewkit.logs import warn_caller
from skewkit.options import PREFIX, Settings, read_settings, unknown_settings
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import NO_KEY, recast
from skewkit.plan.profile.unread_profiles import named_heavy
from skewkit.plan.profile.values import hashable, is_value_of
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.session.compat import (
    conf_reader,
    confs_named,
    default_partitions,
    is_column,
    is_frame,
    is_of_a_task,
    is_off,
    is_session,
    is_stopped,
)

_TOLD: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
"""What each session was warned of. A session in it has been looked through."""
_FEW = 200
"""Spark's own default of partitions: no more than these are not worth a question."""
_LEAST_BYTES = 1 << 20
"""Default of `spark.sql.adaptive.coalescePartitions.minPartitionSize`."""
_COALESCING = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")
MOST_PARTITIONS = 1 << 16
"""The packed key of a join keeps the rest of an int for the key's hash."""


def check_session(spark: object, what: str) -> None:
    """Refuse what is no SparkSession, classic or Connect, and one that was stopped."""
    if not is_session(spark):
        raise ArgumentTypeError(f"{what} takes a SparkSession, not {type(spark).__name__}")
    if is_stopped(spark):  # type: ignore[arg-type]
        raise EnvironmentProblem(
            f"{what} got a session that was stopped; SparkSession.builder.getOrCreate() starts one"
        )


def check_frame(df: object, what: str, place: str = "first") -> DataFrame:
    """Return `df` if it is a DataFrame, classic or Connect, of a session that was not stopped.

    `place` says which argument it is.
    """
    if is_frame(df):
        if is_stopped(df.sparkSession):  # type: ignore[attr-defined]
            raise EnvironmentProblem(
                f"{what} got a frame of a session that was stopped; make the frame anew in a session that runs, as "
                "SparkSession.builder.getOrCreate() returns it"
            )
        return df  # type: ignore[return-value]
    module = type(df).__module__.partition(".")[0]
    if isinstance(df, str):
        instead = f"the name of a table; use spark.table({df!r})"
    elif type(df).__name__ == "DataFrame" and module == "pandas":
        instead = "one of pandas; use spark.createDataFrame(it)"
    elif type(df).__name__ == "DataFrame" and module == "pyspark":  # no message prints the rows of a frame
        instead = "one of pandas on Spark; use it.to_spark()"
    else:
        instead = type(df).__name__
    raise ArgumentTypeError(f"{what} takes a DataFrame as its {place} argument, not {instead}")


def check_batch(df: object, what: str, otherwise: str = "", *, place: str = "first") -> None:
    """Refuse what is no DataFrame, and a stream. `otherwise` says what to use where `foreachBatch` is not enough."""
    if check_frame(df, what, place).isStreaming:
        raise UnsupportedError(
            f"{what} takes batch frames and this one is a stream; use it inside foreachBatch, where every "
            f"micro-batch is a batch frame{otherwise}"
        )


def check_partitions(df: DataFrame, partitions: int | None, *shuffled: DataFrame) -> int:
    """Return the number of partitions: the argument, else the session's shuffle partitions, if it has not too many.

    Sessions with thousands of them leave it to adaptive execution to make fewer of small frames; so of the frames
    that are to be `shuffled`.
    """
    if partitions is None:
        n = min(default_partitions(df.sparkSession), MOST_PARTITIONS)
        return coalesced_partitions(n, [PlanFacts(frame) for frame in shuffled]) if shuffled else n
    n = whole_number("partitions", partitions)
    if n > MOST_PARTITIONS:
        raise ArgumentError(f"partitions is {n:,}; expected at most {MOST_PARTITIONS:,}")
    return n


def coalesced_partitions(partitions: int, all_facts: Sequence[PlanFacts]) -> int:
    """Return as many partitions as adaptive execution would leave of many, by the least size that it makes."""
    if partitions <= _FEW or any(is_off(facts.frame.sparkSession, name) for facts in all_facts for name in _COALESCING):
        return partitions
    sizes = [facts.source_bytes for facts in all_facts]
    if not sizes or None in sizes or not all(facts.simple and not facts.computed_widths for facts in all_facts):
        return partitions
    return min(partitions, max(_FEW, sum(size or 0 for size in sizes) // _LEAST_BYTES))


def tell_unknown_settings(spark: SparkSession, *, again: bool = True) -> None:
    """Warn of confs that are named as settings of skewkit and are none, of each once in a session.

    Without `again` each session is looked through once only, as Spark has to list its confs.
    """
    if not again and spark in _TOLD:
        return
    told = _TOLD.setdefault(spark, set())
    for warning in unknown_settings(confs_named(spark, PREFIX)):
        if warning not in told:
            told.add(warning)
            warn_caller(warning)


def settings_of(df: DataFrame) -> Settings:
    """Return the settings of a frame's session; operators ask once, before any job."""
    tell_unknown_settings(df.sparkSession, again=False)
    settings = read_settings(conf_reader(df.sparkSession))
    return replace(settings, margin=-inf) if _INSISTED.get() else settings


@contextmanager
def insisted() -> Iterator[None]:
    """Let `auto` treat the hot keys that its query finds, whatever that costs: somebody said that there are some."""
    token = _INSISTED.set(True)
    try:
        yield
    finally:
        _INSISTED.reset(token)


_INSISTED: ContextVar[bool] = ContextVar("insisted", default=False)


def analysed(build: Callable[[], DataFrame], functions: Iterable[str] = ()) -> DataFrame:
    """Return a frame whose columns have been resolved, so that what is wrong is told before a job starts.

    `functions` are names to choose from where a function is not known.

    Raises:
        ColumnNotFoundError: a column is not in the frame.
        ArgumentTypeError: PySpark refuses the type of an argument.
        ArgumentError: Spark refuses the call for another reason.
    """
    try:
        frame = build()
        frame.schema  # noqa: B018 - on Connect the schema is what triggers the analysis
        return frame
    except AnalysisException as error:
        text = first_line(error)
        if "UNRESOLVED_COLUMN" in text or "FIELD_NOT_FOUND" in text:
            raise ColumnNotFoundError(text) from error
        routine = re.search(r"UNRESOLVED_ROUTINE\].*?`([^`]+)`", text)
        if routine:
            name, known = routine.group(1), list(functions)
            if name.lower() in known:  # such as product
                raise ArgumentError(f"SQL has no function {name!r}; write F.{name.lower()}(...)") from error
            raise ArgumentError(f"Spark has no function {name!r}: {nearest(name.lower(), known)}") from error
        raise ArgumentError(f"Spark refuses this call: {text}") from error
    except PySparkTypeError as error:
        raise ArgumentTypeError(f"Spark refuses this call: {first_line(error)}") from error
    except PySparkException as error:
        raise ArgumentError(f"Spark refuses this call: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    r"""Return the first line of what an error of Spark says; of one in Java its first cause of a named kind, or last.

    >>> first_line(ValueError("\n[PARSE_SYNTAX_ERROR] Syntax error\n== SQL =="))
    '[PARSE_SYNTAX_ERROR] Syntax error'
    >>> first_line(ValueError("An error occurred while calling o1.x.\n: E: a\n\tat f\nCaused by: E: b\n\tat g"))
    'E: b'
    >>> first_line(ValueError("[STAGE_MATERIALIZATION_MULTIPLE_FAILURES] Multiple failures (2):\n 1. E: a\n 2. E: b"))
    'E: a'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    several = next((line.strip()[3:] for line in lines if line.strip().startswith("1. ")), None)
    if "_MULTIPLE_FAILURES]" in "".join(lines[:2]) and several:
        return several
    if not lines[0].startswith("An error occurred while calling"):
        return lines[0]
    causes = [line.partition(": ")[2] for line in lines[1:] if line.startswith((": ", "Caused by: "))]
    named = (cause for cause in causes if re.search(r"\[[A-Z_.]+\]", cause))
    return next(named, causes[-1] if causes else lines[0])


def heavy_values(heavy: Sequence[Any], keys: Keys) -> list[tuple[Any, ...]]:
    """Return the keys that the user named as hot, one tuple per key."""
    if isinstance(heavy, str | bytes) or not isinstance(heavy, Sequence):
        several = isinstance(heavy, Iterable) and not (isinstance(heavy, str | bytes) or is_column(heavy))
        instead = "list(heavy)" if several else f"heavy=[{shown(heavy)}]"
        raise ArgumentTypeError(f"heavy is a list of key values, not {shown(heavy)}; write {instead}")
    width = len(keys.names)
    values = [tuple(h) if isinstance(h, tuple) else (h,) for h in heavy]
    for value in values:
        if len(value) != width:
            raise ArgumentError(
                f"heavy key {shown(value)} has {len(value)} value(s) and the key has {width} column(s) "
                f"{list(keys.names)}; give a tuple with one value per column"
            )
    return list({hashable(value): value for value in values}.values())


def given_profile(
    given: KeyProfile | None, heavy: Sequence[Any] | None, keys: Keys, zone: str | None = None
) -> KeyProfile | None:
    """Return the profile that needs no job: from `heavy=` or `profile=`, or None where there is neither.

    Values of `heavy` are of the column, or of the type that it is cast to, in the session's time zone.

    Raises:
        ArgumentError: both are given, or a heavy key has the wrong number of values.
        ProfileError: the profile is of other key columns.
    """
    if given is not None and heavy is not None:
        raise ArgumentError("give either a profile or heavy keys, not both")
    if heavy is not None:
        own = keys.given or keys.types
        try:
            values = [_as_cast(value, own, keys.types, zone) for value in heavy_values(heavy, keys)]
            _check_types(values, keys)
            return named_heavy(keys.names, keys.types, values)
        except (AttributeError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            if isinstance(error, SkewkitError):
                raise
            types = dict(zip(keys.names, own, strict=True))
            joined = f", compared as {', '.join(keys.types)}" if tuple(own) != keys.types else ""
            raise ArgumentError(
                f"a value of heavy={shown(heavy)} does not fit the key types {types}{joined}"
            ) from error
    if given is None:
        return None
    if not isinstance(given, KeyProfile):
        raise ArgumentTypeError(f"profile is a KeyProfile, not {type(given).__name__}; get one from skew_profile")
    if [n.lower() for n in given.keys] != [n.lower() for n in keys.names]:
        raise ProfileError(
            f"this profile is of the keys {list(given.keys)} and the call is by {list(keys.names)}; "
            f"profile {_columns_to_profile(keys.names)}"
        )
    return replace(given, given=True)


def _check_types(values: Sequence[tuple[Any, ...]], keys: Keys) -> None:
    """Check that hot keys that the user named are values of the types that keys are compared in: others are not met."""
    own = keys.given or keys.types
    for key in values:
        for value, name, before, type_ in zip(key, keys.names, own, keys.types, strict=True):
            if not is_value_of(value, type_):
                types = before if before == type_ else f"{before}, compared as {type_}"
                raise ArgumentError(
                    f"a value of heavy= is {type(value).__name__} {shown(value)}, and no value of the key column "
                    f"{name!r}, which is {types}; name keys as that column has them"
                )


def _columns_to_profile(names: Sequence[str]) -> str:
    if all(re.fullmatch(r"\w+", name) for name in names):  # else a path, or an expression
        return f"these columns: skew_profile(df, {', '.join(map(repr, names))})"
    return "the same Columns: skew_profile(df, df['name'] + 1, ...)"


def _as_cast(value: tuple[Any, ...], own: Sequence[str], types: Sequence[str], zone: str | None) -> tuple[Any, ...]:
    try:
        return recast(value, own, types, zone)
    except NO_KEY:
        return value  # it may be of the type that the join casts to


def stale_note(profile: KeyProfile, partitions: int) -> tuple[str, ...]:
    """Return a note for `explain` if the profile was taken for so few partitions that it may miss heavy keys."""
    if profile.named or profile.theta <= 1.01 / (5 * partitions):
        return ()
    return (
        f"the profile lists keys from {profile.theta:.2%} of the rows on, as for {1 / (5 * profile.theta):.0f} "
        f"partitions; take it with partitions={partitions} to see the smaller ones",
    )


_FAILURES = (
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeException",
    "IllegalArgumentException",
    "NumberFormatException",
    "PythonException",
    "SparkNoSuchElementException",
    "SparkRuntimeException",
    "SparkUpgradeException",
    "UnsupportedOperationException",
)
_FAILED: tuple[type[Exception], ...] = tuple(
    getattr(spark_errors, name) for name in _FAILURES if hasattr(spark_errors, name)
)
"""What a job raises when a key cannot be computed, such as a cast of a text that is no number."""


def is_of_a_key(error: Exception) -> bool:
    """Return whether a query for keys raised this because a key could not be computed."""
    return isinstance(error, _FAILED) or is_of_a_task(error)


def unread_reason(error: Exception) -> str:
    """Return why plain Spark is taken where the keys could not be read."""
    return f"the keys could not be profiled: {first_line(error)}"
