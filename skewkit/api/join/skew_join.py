"""`skew_join`: a join whose hot keys are spread over several tasks, with exactly the rows of `DataFrame.join`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark import errors as spark_errors
from pyspark.sql import Column, DataFrame

from skewkit.api.arguments import (
    analysed,
    check_batch,
    check_frame,
    check_partitions,
    check_strategy,
    first_line,
    given_profile,
    settings_of,
)
from skewkit.api.join.decision import decide, told
from skewkit.api.join.evidence import Asked
from skewkit.api.join.on import join_keys, without_hopeless_rows
from skewkit.api.join.sides import Sides
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.plan.choice import Choice
from skewkit.plan.join.kinds import SIDES
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.join.joining import broadcast_head, broadcast_side, salted
from skewkit.spark.sampling.sources import joined_from
from skewkit.spark.session.compat import differing_conf, in_force, is_column, is_of_a_task, is_off
from skewkit.spark.session.remembered import remember

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
_ZONE = "spark.sql.session.timeZone"
_RETAIN = "spark.sql.retainGroupColumns"
_GROUPS_LOSE_KEYS = f"{_RETAIN} is off, and skewkit counts rows by key"
STRATEGIES = ("auto", "native", "broadcast_head", "salt")
HOWS = {
    "inner": "inner",
    **dict.fromkeys(("left", "leftouter"), "left"),
    **dict.fromkeys(("right", "rightouter"), "right"),
    **dict.fromkeys(("outer", "full", "fullouter"), "full"),
    **dict.fromkeys(("semi", "leftsemi"), "semi"),
    **dict.fromkeys(("anti", "leftanti"), "anti"),
    "cross": "cross",
}


def skew_join(
    left: DataFrame,
    right: DataFrame,
    on: str | Column | Sequence[str] | Sequence[Column],
    how: str | None = "inner",
    *,
    strategy: str = "auto",
    partitions: int | None = None,
    heavy: Sequence[Any] | None = None,
    left_profile: KeyProfile | None = None,
    right_profile: KeyProfile | None = None,
) -> DataFrame:
    """Join two frames of which some keys may be hot.

    * The rows and columns are those of `left.join(right, on, how)`, whatever the profiles say.
    * Hot keys are treated on the left, on the right and on both sides, in every type of join. The condition may have
      equalities, null-safe ones, too, and anything else beside them; keys of different types are compared in the
      type that Spark compares them in. Where only plain Spark can answer, it does, and `explain` says why.
    * Whether a hot key is on the other side at all is found inside the query where rows that the join keeps are
      copied; this reads the other side's keys once more. A side that may have other rows then is not read again, and
      its hot keys stay whole. With a residual condition, rows that the join keeps are not copied at all.
    * Rows whose null matches nothing are left out early or, where the join keeps them, spread.
    * Other columns stay the very same ones, so `left["x"]` and aliases work on the result as after a join; only
      on Connect `broadcast_head` hides them. By name, the keys that do not show are hidden as Spark hides them, and
      `right["k"]` (in a right join `left["k"]`) finds them, but not after an inner join of a right frame with a column
      that cannot be null, after `broadcast_head` where either frame has such a column or two of one name, and
      after a join of a frame with itself.
    * Where keys are hot, few tasks run at a time, and a whole side surely fits into the memory of the driver and of
      every executor, `auto` may broadcast it: no row of the other side is shuffled then. Where Spark's own threshold is
      negative, so that it may broadcast nothing, `auto` broadcasts no whole side either.
    * Where a broadcast or the data's evenness makes plain Spark right, its plan is returned (`strategy="auto"`); so it
      is where a side is repartitioned by the key, as its hot rows are in one task by then, unless a row meets many or
      the other side has hot keys, too.
    * A side that is itself what `skew_join` returned need not run to be profiled: a sample of one of its sides is
      joined, so that the keys of a chain of joins are found at a fraction of its cost. It does run where it is a full
      join, a row of that side brings many of the other one, or nobody has looked at its sides; so do other joins.

    Args:
        left: the left frame.
        right: the other frame.
        on: as in `DataFrame.join`: a name, a list of names, a Column or a list of Columns.
        how: as in `DataFrame.join`, all aliases; `cross` is refused, as it has no key.
        strategy: `auto` (the cheapest); `native`; `broadcast_head`: hot rows of one side are joined to a broadcast of
            the other side's rows of these keys, which reads both frames twice; `salt`: hot rows are spread and the
            other side's are copied.
        partitions: number of partitions n; the session's shuffle partitions if None. Where there are more than 200 and
            adaptive execution may coalesce them, `auto` takes one per MB, and 200 at least, of what is only read,
            selected and filtered.
        heavy: hot keys that you know, as a list of values (tuples for composite keys); then nothing is profiled, but
            the right side for `broadcast_head`. They are taken to be hot in the frame that surely has more rows, as far
            as the optimizer knows, else in the left one (in a right join the right one). What Spark broadcasts as a
            whole is left to it with `auto`, and so is a side that is repartitioned by the key, whatever the other has.
        left_profile: profile of the left keys; without it both sides are profiled as far as need be, as a rule in one
            query.
        right_profile: profile of the right keys, used with `left_profile`. Without it `auto` does not broadcast, and
            `broadcast_head` profiles the right side; with it the rows to be broadcast are counted first.

    Raises:
        ColumnNotFoundError: a key is not in a frame.
        KeyTypeError: a key is, or holds, a map, a variant or a geometry.
        ArgumentError: unknown `how` or strategy, or partitions below 1.
        ProfileError: a profile is of other keys.
        UnsupportedError: a cross join, a stream, or a strategy that this join cannot have, such as `broadcast_head`
            in a full join.

    >>> facts = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS v")
    >>> names = spark.createDataFrame([("hot", "H")], "k string, name string")
    >>> joined = skew_join(facts, names, "k", "left", strategy="salt", partitions=4)
    >>> joined.count(), joined.where("name = 'H'").count()
    (90, 60)
    """
    for frame, side in ((left, "left"), (right, "right")):
        check_batch(check_frame(frame, f"skew_join ({side})"), f"skew_join ({side})")
    settings = settings_of(left)
    kind = _how(how)
    on = list(on) if isinstance(on, (tuple, list)) else on
    check_strategy(strategy, STRATEGIES)
    n = check_partitions(left, partitions, *((left, right) if strategy == "auto" else ()))

    def joined(frame: DataFrame, choice: Choice, in_full: Callable[[], Choice] | None = None) -> DataFrame:
        return remember(frame, choice, joined_from(left, right, on, kind, keys, choice), in_full)

    differing = differing_conf(left.sparkSession, right.sparkSession)
    if differing is None:
        loses = any(is_off(frame.sparkSession, _RETAIN) for frame in (left, right))
        keys = _GROUPS_LOSE_KEYS if loses else join_keys(left, right, on)
    else:
        keys = f"the frames' sessions differ in {differing}"
    native = analysed(lambda: left.join(right, on, how))  # type: ignore[arg-type]
    title = f"{kind} join on {_on_text(on)}, {n} partitions"
    if strategy == "native":
        return joined(native, Choice(title, "native", "asked for"))
    if isinstance(keys, str):
        return joined(native, _left_to_spark(title, strategy, keys))
    given = left, right

    def plain_plan() -> str:  # must not refer to the frame that is returned
        return PlanFacts(given[0].join(given[1], on, how)).physical  # type: ignore[arg-type]

    left, right, keys = without_hopeless_rows(left, right, keys, kind)
    sides = Sides(PlanFacts(left), PlanFacts(right), keys, trusted=strategy != "auto")
    rules = sides.rules(kind, residual=keys.residual is not None)
    # Where a residual condition keeps every hot key whole, there may still be null keys to be spread.
    nulls = rules.residual and strategy == "auto" and heavy is None and sides.may_be_free and not sides.unsafe
    profiles = _given_profiles(keys, heavy, left_profile, right_profile, in_force(left.sparkSession, _ZONE))
    lost = _left_out((left_profile, right_profile), profiles, null_safe=any(keys.null_safe))
    asked = Asked(title, strategy, keys, rules, n, settings, *profiles, lost)
    if rules.closed and not nulls:
        choice = _left_to_spark(title, strategy, sides.closed_reason(kind, residual=rules.residual))
        return joined(native, choice, None if heavy is not None else partial(_told, asked, sides, plain_plan, choice))
    if strategy == "broadcast_head":
        sides.check_broadcast(kind)
    physical = PlanFacts(native).physical
    try:
        choice = decide(asked, sides, physical)
    except Exception as error:
        if strategy != "auto" or not _is_of_keys(error):
            raise
        # Plain Spark may compute fewer keys, or may fail as well, when it is asked for rows.
        return joined(native, Choice(title, "native", _unprofiled(error)))
    if choice.unread:
        return joined(native, choice, partial(_told, asked, sides, lambda: physical, choice))
    if choice.strategy == "native" or choice.join is None:
        return joined(native, choice)
    if choice.whole is not None:
        return joined(broadcast_side(*given, on, how, choice.whole[0]), choice)
    if choice.head is not None:
        return joined(broadcast_head(left, right, keys, choice.join, choice.head, shuffle_hash=choice.hashed), choice)
    return joined(salted(left, right, keys, choice.join, shuffle_hash=choice.hashed, seen=dict(sides.named)), choice)


def _told(asked: Asked, sides: Sides, physical: Callable[[], str], choice: Choice) -> Choice:
    try:
        return told(asked, sides, physical(), choice)
    except Exception as error:
        if not _is_of_keys(error):
            raise
        return replace(choice, notes=(*choice.notes, _unprofiled(error)))


def _is_of_keys(error: Exception) -> bool:
    return isinstance(error, _FAILED) or is_of_a_task(error)


def _unprofiled(error: Exception) -> str:
    return f"the keys could not be profiled: {first_line(error)}"


def _given_profiles(
    keys: JoinKeys,
    heavy: Sequence[Any] | None,
    left: KeyProfile | None,
    right: KeyProfile | None,
    zone: str | None,
) -> tuple[KeyProfile | None, KeyProfile | None]:
    if right is not None and left is None:
        raise ArgumentError("right_profile is used together with left_profile; give that one too")
    known, other = given_profile(left, heavy, keys.left, zone), given_profile(right, None, keys.right)
    return (
        rehashed(known, keys.left.types, zone) if known else None,
        rehashed(other, keys.right.types, zone) if other else None,
    )


def _left_out(
    given: Sequence[KeyProfile | None], used: Sequence[KeyProfile | None], *, null_safe: bool
) -> tuple[str, ...]:
    """Return notes on the heavy keys of profiles that cannot be told in the types of the join."""
    notes = []
    for side, before, after in zip(SIDES, given, used, strict=True):
        if before is None or after is None:
            continue
        had, has = (len(each.heavy) + null_safe * len(each.null_heavy) for each in (before, after))
        if has < had:
            types = f"{', '.join(before.types)} cast to {', '.join(after.types)}"
            notes.append(f"{had - has} of the {had} heavy keys of the {side} profile are not known as {types}")
    return tuple(notes)


def _left_to_spark(title: str, strategy: str, reason: str) -> Choice:
    """Return the choice where no hot key can be split, which is an error for who asks for another strategy."""
    if strategy != "auto":
        raise UnsupportedError(f"strategy {strategy!r} is not possible here: {reason}; use 'auto' or 'native'")
    return Choice(title, "native", reason)


def _how(how: str | None) -> str:
    how = "inner" if how is None else how  # as `DataFrame.join` has it
    if not isinstance(how, str):
        raise ArgumentTypeError(f"how is a string such as 'inner' or 'left', not {how!r}")
    kind = HOWS.get(how.lower().replace("_", ""))
    if kind is None:
        raise ArgumentError(f"unknown join type how={how!r}: {nearest(how, HOWS)}")
    if kind == "cross":
        raise UnsupportedError("a cross join has no key, so no key can be hot; use left.crossJoin(right)")
    return kind


def _on_text(on: Any) -> str:
    parts = [on] if isinstance(on, str) or is_column(on) else list(on)
    return ", ".join(re.sub(r"^Column<'(.*)'>$", r"\1", str(part), flags=re.DOTALL) for part in parts)
