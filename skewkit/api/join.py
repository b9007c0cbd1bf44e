"""`skew_join`: a join whose hot keys are spread over several tasks, with exactly the rows of `DataFrame.join`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.api.common import (
    analysed,
    check_batch,
    check_frame,
    check_partitions,
    check_strategy,
    given_profile,
    measured,
    settings_of,
    stale_note,
)
from skewkit.api.joinkeys import join_keys
from skewkit.api.joinsides import Sides
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.options import Settings
from skewkit.plan.adaptive import adaptive_note
from skewkit.plan.choice import Choice, JoinOptions, choose_join, cold_reason, hot_reason
from skewkit.plan.grid import Grid
from skewkit.plan.joinplan import JoinPlan, join_plan, rehashed
from skewkit.plan.joinrules import SIDES, JoinRules, Side, opposite
from skewkit.plan.price import Widths
from skewkit.plan.profile import KeyProfile
from skewkit.spark.compat import conf_reader
from skewkit.spark.frames import remember
from skewkit.spark.joining import broadcast_head, salted
from skewkit.spark.joinsides import JoinKeys
from skewkit.spark.looking import Glance, look
from skewkit.spark.physical import top_join
from skewkit.spark.profiling import auto_fraction
from skewkit.spark.seen import Seen

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
    * Hot keys are treated on the left, on the right and on both sides, in every type of join. The condition may have
      equalities, null-safe ones, too, and anything else beside them; keys of different types are compared in the
      type that Spark compares them in. Where only plain Spark can answer, it does, and `explain` says why.
    * Whether a hot key is on the other side at all is found inside the query where rows that the join keeps are
      copied; this reads the other side's keys once more. A side that may have other rows then is not read again, and
      its hot keys stay whole. With a residual condition, rows that the join keeps are not copied at all.
    * Rows whose null matches nothing are left out early or, where the join keeps them, spread.
    * Other columns stay the very same ones, so `left["x"]` and aliases work on the result as after a join; only
      on Connect `broadcast_head` hides them. By name, the keys that do not show are hidden as Spark hides them. Only
      in an inner join of a right frame with columns that cannot be null, `right["k"]` is gone.
    * Where a broadcast or the data's evenness makes plain Spark right, its plan is returned (`strategy="auto"`).

    Args:
        left: the left frame.
        right: the other frame.
        on: as in `DataFrame.join`: a name, a list of names, a Column or a list of Columns.
        how: as in `DataFrame.join`, all aliases; `cross` is refused, as it has no key.
        strategy: `auto` (the cheapest); `native`; `broadcast_head`: hot rows of one side are joined to a broadcast of
            the other side's rows of these keys, which reads both frames twice; `salt`: hot rows are spread and the
            other side's are copied.
        partitions: number of partitions n; the session's shuffle partitions if None.
        heavy: hot keys that you know, as a list of values (tuples for composite keys); then nothing is profiled.
        left_profile: profile of the left keys; without it one query profiles both sides.
        right_profile: profile of the right keys, used with `left_profile`. Without it `auto` does not broadcast, and
            `broadcast_head` profiles the right side.

    Raises:
        ColumnNotFoundError: a key is not in a frame.
        KeyTypeError: a key is, or holds, a map or a variant.
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
    on = list(on) if isinstance(on, tuple) else on
    check_strategy(strategy, STRATEGIES)
    n = check_partitions(left, partitions)
    keys = join_keys(left, right, on)
    native = analysed(lambda: left.join(right, on, how))  # type: ignore[arg-type]
    title = f"{kind} join on {_on_text(on)}, {n} partitions"
    if strategy == "native":
        return remember(native, Choice(title, "native", "asked for"))
    sides = Sides(Seen(left), Seen(right))
    rules = None if isinstance(keys, str) else sides.rules(kind, residual=keys.residual is not None)
    if isinstance(keys, str) or rules is None or rules.closed:
        reason = keys if isinstance(keys, str) else sides.closed_reason(kind)
        if strategy != "auto":
            raise UnsupportedError(f"strategy {strategy!r} is not possible here: {reason}; use 'auto' or 'native'")
        return remember(native, Choice(title, "native", reason))
    if strategy == "broadcast_head":
        _check_broadcast(kind, sides)
    known, other = _given_profiles(keys, heavy, left_profile, right_profile)
    physical = Seen(native).physical
    if strategy == "auto" and heavy is None:
        join = top_join(physical)
        if join is not None and join.startswith("Broadcast"):
            return remember(native, Choice(title, "native", f"Spark broadcasts one side ({join}): nothing is shuffled"))
    if known is None and strategy == "auto":
        cold = _cold_at_a_look(sides, keys, rules, n, settings)
        if cold is not None:
            return remember(native, Choice(title, "native", cold))
    if known is None:
        measure = [(sides.left, keys.left), (sides.right, keys.right)]
        known, other = (f.profile for f in measured(measure, n, settings))
    elif other is None and strategy == "broadcast_head":
        other = measured([(sides.right, keys.right)], n, settings)[0].profile
    scheme = "w_choices" if known.named else "wrap"
    plan = join_plan(known, other, n, rules, null_safe=keys.null_safe, scheme=scheme)
    hashed = plan.build_rows is not None and plan.build_rows <= settings.hash_join_rows
    no_broadcast = sides.no_broadcast if strategy in ("auto", "broadcast_head") else None
    chosen, reason = strategy, "asked for; " + hot_reason(plan.keys)
    if strategy == "auto" and known.named:
        chosen, reason = "salt", "these keys were named as hot"
    elif strategy == "auto":
        options = JoinOptions(sides.widths, hashed, no_broadcast)
        chosen, reason = choose_join(plan, (known, other), settings, options)
    notes = (*_adaptive(left, kind, plan, physical, sides.widths), *stale_note(known, n))
    choice = Choice(title, chosen, reason, known, plan.keys, plan, notes=notes)
    if chosen == "native":
        return remember(native, choice)
    if chosen == "salt":
        stored: dict[Side, bool] = {side: seen.stored for side, seen in sides.named}
        return remember(salted(left, right, keys, plan, shuffle_hash=hashed, stored=stored), choice)
    head = plan.head(settings.broadcast_rows)
    if head is None:
        raise UnsupportedError(f"broadcast_head is not possible in a {kind} join; use 'salt'")
    warning = (f"a frame is read twice, though {no_broadcast}",) if no_broadcast else ()
    frame = broadcast_head(left, right, keys, plan, head, shuffle_hash=hashed)
    return remember(frame, replace(choice, head=head, notes=(*warning, *notes)))


def _cold_at_a_look(sides: Sides, keys: JoinKeys, rules: JoinRules, n: int, settings: Settings) -> str | None:
    """Return why plain Spark is right, if a small sample of large frames shows it; None where it takes a profile."""
    fractions = [auto_fraction(seen.rows, _LOOK * n) for _, seen in sides.named]
    plain = all(seen.rows is not None and seen.simple for _, seen in sides.named)
    if not plain or min(fractions) == 1.0 or settings.sample_rows <= _LOOK:
        return None
    glances = [
        Glance(seen.frame, each, fraction, keys.unmatched(each))
        for (_, seen), each, fraction in zip(sides.named, (keys.left, keys.right), fractions, strict=True)
    ]
    left, right = look(glances, n)
    plan = join_plan(left, right, n, rules)
    nearly = replace(settings, min_straggler=settings.min_straggler * _NEARLY)
    cold = cold_reason(plan.keys, max(left, right, key=lambda profile: profile.rows), nearly)
    return cold and f"{cold} (from a look at about {_LOOK * n:,} rows of each side)"


_LOOK = 1000  # rows per partition: a key that makes a task half as long again has some 500 of them
_NEARLY = 0.9  # what is near the line is profiled


def _check_broadcast(kind: str, sides: Sides) -> None:
    """Refuse a broadcast that cannot be, or to read a side twice that may have other rows the second time."""
    if kind == "full":
        raise UnsupportedError("broadcast_head is not possible in a full join, which keeps both sides; use 'salt'")
    for side, seen in sides.named:
        if seen.unsafe_again is not None:
            raise UnsupportedError(
                f"broadcast_head reads both sides twice, and the {side} side {seen.unsafe_again}; "
                "cache() it first, or use 'salt'"
            )


def _adaptive(left: DataFrame, kind: str, plan: JoinPlan, physical: str, widths: Widths) -> tuple[str, ...]:
    """Return the note on what adaptive execution would do."""
    read = conf_reader(left.sparkSession)
    names = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled")
    enabled = all((read(name) or "true") == "true" for name in names)
    hot = {s: max((_rows(grid, s) for grid in plan.grids), default=0.0) * widths.of(s) for s in SIDES}
    listed = tuple(s for s in SIDES if any(_rows(grid, s) >= _rows(grid, opposite(s)) for grid in plan.grids))
    return (adaptive_note(kind, listed, physical, max(hot.values()), enabled=enabled),)


def _rows(grid: Grid, side: Side) -> float:
    return grid.left_rows if side == "left" else grid.right_rows


def _given_profiles(
    keys: JoinKeys, heavy: Sequence[Any] | None, left: KeyProfile | None, right: KeyProfile | None
) -> tuple[KeyProfile | None, KeyProfile | None]:
    if right is not None and left is None:
        raise ArgumentError("right_profile is used together with left_profile; give that one too")
    known, other = given_profile(left, heavy, keys.left), given_profile(right, None, keys.right)
    return (
        rehashed(known, keys.left.types) if known else None,
        rehashed(other, keys.right.types) if other else None,
    )


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
