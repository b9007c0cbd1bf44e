"""`skew_join`: a join whose hot keys are spread over several tasks, with exactly the rows of `DataFrame.join`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.api.common import (
    analysed,
    check_frame,
    check_partitions,
    check_strategy,
    given_profile,
    limits,
    measured,
    option,
)
from skewkit.api.joinkeys import join_keys
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.plan.choice import Choice, choose_join, hot_reason
from skewkit.plan.joinplan import SPLITTABLE, JoinPlan, join_plan, rehashed
from skewkit.plan.profile import KeyProfile
from skewkit.spark.compat import explained
from skewkit.spark.frames import remember
from skewkit.spark.joining import JoinKeys, broadcast_head, salted
from skewkit.spark.size import against_reading_twice, top_join

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
    how: str = "inner",
    *,
    strategy: str = "auto",
    partitions: int | None = None,
    heavy: Sequence[Any] | None = None,
    left_profile: KeyProfile | None = None,
    right_profile: KeyProfile | None = None,
) -> DataFrame:
    """Join two frames of which some keys may be hot.

    * The rows and columns are those of `left.join(right, on, how)`, whatever the profiles say.
    * Hot keys are treated in inner joins (either side split) and left joins (the left side split). Other types of
      join, conditions that are not equalities of columns, and keys of types that differ by more than the width of
      an integer are answered by plain Spark, and `explain` says so.
    * Rows with a null key match nothing: an inner join leaves them out early, a left join spreads them.
    * Where a broadcast or the data's evenness makes plain Spark right, its plan is returned (`strategy="auto"`).

    Args:
        left: frame whose rows a left join keeps.
        right: the other frame.
        on: as in `DataFrame.join`: a name, a list of names, a Column or a list of Columns.
        how: as in `DataFrame.join`, all aliases; `cross` is refused, as it has no key.
        strategy: `auto`; `native`; `broadcast_head`: hot left rows are joined to a broadcast of the right side's
            hot rows, which reads both frames twice; `salt`: hot rows are spread and the other side's are copied.
        partitions: number of partitions n; the session's shuffle partitions if None.
        heavy: hot keys that you know, as a list of values (tuples for composite keys); then nothing is profiled.
        left_profile: profile of the left keys; without it one query profiles both sides.
        right_profile: profile of the right keys, used with `left_profile`.

    Raises:
        ColumnNotFoundError: a key is not in a frame.
        KeyTypeError: a key is, or holds, a map or a variant.
        ArgumentError: unknown `how` or strategy, or partitions below 1.
        ProfileError: a profile is of other keys.
        UnsupportedError: a cross join, a stream, or a strategy that this join cannot have.

    >>> facts = spark.range(90).selectExpr("if(id < 60, 'hot', id) AS k", "id AS v")
    >>> names = spark.createDataFrame([("hot", "H")], "k string, name string")
    >>> joined = skew_join(facts, names, "k", "left", strategy="salt", partitions=4)
    >>> joined.count(), joined.where("name = 'H'").count()
    (90, 60)
    """
    for frame, side in ((left, "left"), (right, "right")):
        check_frame(frame, f"skew_join ({side})")
        if frame.isStreaming:
            raise UnsupportedError(f"skew_join takes batch frames and {side} is a stream; use it inside foreachBatch")
    kind = _how(how)
    check_strategy(strategy, STRATEGIES)
    n = check_partitions(left, partitions)
    keys = join_keys(left, right, on)
    native = analysed(lambda: left.join(right, on, how))  # type: ignore[arg-type]
    title = f"{kind} join on {_on_text(on)}, {n} partitions"
    if strategy == "native":
        return remember(native, Choice(title, "native", "asked for"))
    if kind not in SPLITTABLE or isinstance(keys, str):
        reason = keys if isinstance(keys, str) else f"hot keys of {kind} joins are not treated"
        if strategy != "auto":
            raise UnsupportedError(f"strategy {strategy!r} is not possible here: {reason}; use 'auto' or 'native'")
        return remember(native, Choice(title, "native", reason))
    profiles = _given_profiles(keys, heavy, left_profile, right_profile)
    if strategy == "auto" and heavy is None:
        join = top_join(explained(native, "EXTENDED").rpartition("== Physical Plan ==")[2])
        if join is not None and join.startswith("Broadcast"):
            return remember(native, Choice(title, "native", f"Spark broadcasts one side ({join}): nothing is shuffled"))
    if profiles is None:
        found = measured([(left, keys.left), (right, keys.right)], n)
        profiles = (found[0], found[1])
    plan = join_plan(*profiles, n, how=kind, scheme="w_choices" if profiles[0].theta == 0 else "wrap")
    choice = _choose(left, title, strategy, plan, profiles, heavy is not None)
    if choice.strategy == "native":
        return remember(native, choice)
    if choice.head is not None:
        return remember(broadcast_head(left, right, keys, choice.head.keys, kind), choice)
    fits = plan.build_rows is not None and plan.build_rows <= option(left, "hashJoinRows")
    return remember(salted(left, right, keys, plan, shuffle_hash=fits), choice)


def _choose(
    left: DataFrame,
    title: str,
    strategy: str,
    plan: JoinPlan,
    profiles: tuple[KeyProfile, KeyProfile | None],
    named: bool,
) -> Choice:
    chosen, reason = strategy, "asked for; " + hot_reason(plan.keys)
    if strategy == "auto" and named:
        chosen, reason = "salt", "these keys were named as hot"
    elif strategy == "auto":
        twice = against_reading_twice(explained(left, "EXTENDED"))
        chosen, reason = choose_join(plan, profiles[0].rows, limits(left), reads_twice=twice)
    notes = () if chosen == "native" else (AQE_NOTE,)
    head = plan.head(limits(left).broadcast_rows) if chosen == "broadcast_head" else None
    return Choice(title, chosen, reason, profiles[0], plan.keys, plan, head, notes)


AQE_NOTE = (
    "adaptive execution splits a partition of such a join only where its compressed bytes pass "
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes (256 MB), and never names the key"
)


def _given_profiles(
    keys: JoinKeys, heavy: Sequence[Any] | None, left: KeyProfile | None, right: KeyProfile | None
) -> tuple[KeyProfile, KeyProfile | None] | None:
    if right is not None and left is None:
        raise ArgumentError("right_profile is used together with left_profile; give that one too")
    known = given_profile(left, heavy, keys.left)
    if known is None:
        return None
    other = given_profile(right, None, keys.right)
    return rehashed(known, keys.left.types), rehashed(other, keys.right.types) if other else None


def _how(how: str) -> str:
    if not isinstance(how, str):
        raise ArgumentTypeError(f"how is a string such as 'inner' or 'left', not {how!r}")
    kind = HOWS.get(how.lower().replace("_", ""))
    if kind is None:
        raise ArgumentError(f"unknown join type how={how!r}: {nearest(how, HOWS)}")
    if kind == "cross":
        raise UnsupportedError("a cross join has no key, so no key can be hot; use left.crossJoin(right)")
    return kind


def _on_text(on: Any) -> str:
    parts = [on] if isinstance(on, str | Column) else list(on)
    return ", ".join(str(part) for part in parts)
