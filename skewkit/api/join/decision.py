"""How a join is decided: what is known of its sides, then the plan, then the strategy; each question once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skewkit.api.arguments import stale_note
from skewkit.api.join.evidence import Asked, Known, gathered_sides, gathered_unread, known_of
from skewkit.api.join.memory import fits_a_hash_table, whole_tables
from skewkit.api.join.sides import Sides
from skewkit.errors import UnsupportedError
from skewkit.plan.choice import Choice, Chosen, JoinOptions, choose_join, cold_reason, hot_reason, native_reason
from skewkit.plan.join.adaptive import OneTask, adaptive_note, threshold_of, unshuffled
from skewkit.plan.join.join_plan import Head, JoinPlan, join_plan
from skewkit.plan.join.kinds import SIDES, Side, opposite
from skewkit.plan.join.matrix import Grid
from skewkit.plan.join.price import makes_many_pairs
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sample_bounds import most_rows, surely_unlisted
from skewkit.spark.explained.join_operator import streamed_side, top_join
from skewkit.spark.join.joining import rows_of
from skewkit.spark.session.compat import conf_reader, is_off, tasks_at_a_time
from skewkit.spark.session.remembered import origin_of

_SURELY = 10
"""A guess of rows is right within a factor of ten or so."""


def decide(asked: Asked, sides: Sides, physical: str) -> Choice:
    """Return the choice for a join; `physical` is the plan that plain Spark would run.

    The questions get dearer: the plan that Spark has, a look at some hashes, a profile of both sides. Of a choice that
    is `unread`, `told` knows the rest.
    """
    native = _without_a_job(asked, physical)
    if native is not None:
        return Choice(asked.title, "native", native, streamed=streamed_side(physical))
    unread = gathered_unread(asked, sides)
    if unread is not None:
        notes = (*asked.notes, _adaptive(asked, sides, (unread.side,), physical))
        return Choice(asked.title, "native", unread.reason, notes=notes, most_rows=unread.most_rows, unread=True)
    known = known_of(asked, sides)
    left, right = known.profiles
    plan = _plan(asked, sides, known)
    tables = whole_tables(asked, sides, plan, physical, known.profiles)
    chosen, reason, whole = _strategy(asked, sides, plan, physical, known, tables)
    notes = (
        *asked.notes,
        *(() if whole else sides.kept_whole(asked.rules, _hot_sides(plan, most=True))),
        *(() if whole else _twice(sides, plan)),
        _adaptive(asked, sides, _hot_sides(plan), physical, plan, known),
        *stale_note(left, asked.partitions),
    )
    dated = asked.left is not None
    # A look may know the heavy keys of a cold join by their hashes only: nothing to show.
    nameless = any(None in h.key for profile in known.profiles if profile is not None for h in profile.heavy)
    shown = (None, None) if nameless else known.profiles
    hashed = fits_a_hash_table(asked, sides, plan, (left, right))
    memory = None if dated else sides.memory(left, right)
    choice = Choice(
        asked.title,
        chosen,
        reason,
        shown[0],
        plan.keys,
        plan,
        notes=notes,
        other=shown[1],
        hashed=hashed,
        memory=memory,
        most_rows=None if dated or right is None else (most_rows(left), most_rows(right)),
        whole=(whole, tables[whole]) if whole else None,
    )
    if chosen != "broadcast_head" or whole:
        return choice
    head = plan.head(asked.settings.broadcast_rows)
    if head is None:
        raise UnsupportedError(f"broadcast_head is not possible in a {asked.rules.how} join; use 'salt'")
    broken = _nothing_to_broadcast(left, head) or _head_broken(asked, sides, head, (left, right))
    if broken is not None and not asked.auto:
        raise UnsupportedError(f"broadcast_head is not possible: {broken}; use 'salt'")
    if broken is not None:
        return replace(choice, strategy="salt", reason=f"{hot_reason(plan.keys)}; {broken}")
    warning = (f"a frame is read twice, though {sides.no_broadcast}",) if sides.no_broadcast else ()
    return replace(choice, head=head, notes=(*warning, *notes))


def told(asked: Asked, sides: Sides, physical: str, choice: Choice) -> Choice:
    """Return a choice for plain Spark that was made with keys unread, with the hot ones and what they cost it.

    Where none is hot there is nothing to be mended, and plain Spark is right for that reason.
    """
    known = known_of(replace(asked, strategy="native"), sides)
    plan = _plan(asked, sides, known)
    note = _adaptive(asked, sides, _hot_sides(plan), physical, plan, known)
    (left, right), notes = known.profiles, (*asked.notes, note)
    larger = max((left, right or left), key=lambda profile: profile.rows)
    even = plan.keys.native_straggler < asked.settings.min_straggler
    cold = cold_reason(plan.keys, larger, asked.settings, plan.work) if even else None
    reason = cold or f"{choice.reason}; {native_reason(plan.keys)}"
    return replace(
        choice, reason=reason, profile=left, other=right, plan=plan.keys, notes=notes, most_rows=None, unread=False
    )


def _plan(asked: Asked, sides: Sides, known: Known) -> JoinPlan:
    named = known.left.named
    return join_plan(
        *known.profiles,
        asked.partitions,
        asked.rules,
        null_safe=asked.keys.null_safe,
        scheme="w_choices" if named else "wrap",
        hot=_larger(asked, sides) if named else None,
        dated=asked.left is not None,
    )


def _head_broken(asked: Asked, sides: Sides, head: Head, used: tuple[KeyProfile, KeyProfile | None]) -> str | None:
    """Return why the broadcast would be too large, or None; rows are counted but where a profile bounds them."""
    side = opposite(head.side)
    seen, keys = (sides.left, asked.keys.left) if side == "left" else (sides.right, asked.keys.right)
    profiled = (asked.left if side == "left" else asked.right) is None and origin_of(seen.frame) is None
    # Who asks for a broadcast says that texts that are computed are short enough.
    width = sides.memory(*used).of(side) - (0.0 if asked.auto else sides.unmeasured.of(side))
    most = min(asked.settings.broadcast_rows, int(asked.settings.broadcast_bytes / width))
    if (profiled and head.rows <= most) or rows_of(seen.frame, keys, head, most + 1) <= most:
        return None
    why = f"of some {width:,.0f} bytes each" if profiled else "which is not what its profile says"
    return f"the {side} side has more than {most:,} rows of the hot keys, {why}"


def _nothing_to_broadcast(left: KeyProfile, head: Head) -> str | None:
    """Return why no key that the user has named can be broadcast, or None."""
    if not left.named or not left.heavy or head.keys.heavy:
        return None
    if head.side == "right":
        return "the left side would be broadcast, and nobody knows how many rows the keys that were named have there"
    return "the keys that were named have too many rows on the right side, where they may be hot"


def _larger(asked: Asked, sides: Sides) -> Side | None:
    """Return the side that surely holds more rows, as far as the optimizer knows; named keys are hot there."""
    keys = {"left": asked.keys.left, "right": asked.keys.right}
    rows = {side: 1 if seen.unique_by(keys[side].bare) else seen.source_rows for side, seen in sides.named}
    left, right = rows["left"], rows["right"]
    if left is None or right is None or left == right:
        return None
    counted = all(seen.source_rows_counted for _, seen in sides.named)
    if not counted and max(left, right) < _SURELY * min(left, right):
        return None
    return "left" if left > right else "right"


def _without_a_job(asked: Asked, physical: str) -> str | None:
    """Return why plain Spark is right, from its own plan, or None."""
    join = top_join(physical)
    if not asked.auto or join is None or not join.startswith("Broadcast"):
        return None
    return f"Spark broadcasts one side ({join}): nothing is shuffled"


def _strategy(
    asked: Asked, sides: Sides, plan: JoinPlan, physical: str, known: Known, tables: Mapping[Side, float]
) -> Chosen:
    left, right = known.profiles
    if not asked.auto:
        return Chosen(asked.strategy, "asked for; " + hot_reason(plan.keys, named=left.named))
    if left.named:
        why = next((why for side, why in gathered_sides(asked, sides).items() if side in _split_sides(plan)), None)
        named = hot_reason(plan.keys, named=True)
        return Chosen("salt", named) if why is None else Chosen("native", f"{why}; {named}")
    memory = sides.memory(left, right)
    hashed = fits_a_hash_table(asked, sides, plan, (left, right))
    options = JoinOptions(
        sides.widths,
        hashed,
        sides.no_broadcast,
        memory,
        sides.costly,
        unshuffled(physical),
        tables,
        tasks_at_a_time(sides.left.frame.sparkSession) if tables else None,
    )
    chosen = choose_join(plan, (left, right), asked.settings, options)
    # What comes out of a join can still be spread, where that is the work.
    unlisted = surely_unlisted(left), 1.0 if right is None else surely_unlisted(right)
    gathered = {} if chosen.strategy == "native" or makes_many_pairs(plan, unlisted) else gathered_sides(asked, sides)
    why = next((why for side, why in gathered.items() if side in _hot_sides(plan)), None)
    return chosen if why is None else Chosen("native", f"{why}; {native_reason(plan.keys)}")


def _twice(sides: Sides, plan: JoinPlan) -> list[str]:
    """Return which sides a look-up computes once more, though they come out of a shuffle."""
    costly = [side for side in plan.looked_up if side in sides.costly]
    return [f"the {side} side's shuffles run twice, once for the look-up: cache() it to save that" for side in costly]


def _hot_sides(plan: JoinPlan, *, most: bool = False) -> tuple[Side, ...]:
    """Return the sides on which keys are hot; with `most`, only those that have more rows of a key than the other."""
    least = 1 if most else 0
    return tuple(s for s in SIDES if any(_rows(grid, s) >= _rows(grid, opposite(s)) + least for grid in plan.grids))


def _split_sides(plan: JoinPlan) -> set[Side]:
    """Return the sides of which hot keys are cut."""
    return {side for grid in plan.grids for side, stripes in zip(SIDES, grid.shape, strict=True) if stripes > 1}


def _adaptive(
    asked: Asked,
    sides: Sides,
    hot: tuple[Side, ...],
    physical: str,
    plan: JoinPlan | None = None,
    known: Known | None = None,
) -> str:
    """Return the note on what adaptive execution would do; without a plan nobody knows the keys."""
    read = conf_reader(sides.left.frame.sparkSession)
    names = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled")
    enabled = not any(is_off(sides.left.frame.sparkSession, name) for name in names)
    threshold = threshold_of(read("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"))
    most_bytes, one_task = 0.0, None
    if plan is not None and known is not None:
        most_bytes, one_task = _most_bytes(asked, sides, plan), _one_task(plan, known, hot)
    how = asked.rules.how
    return adaptive_note(how, hot, physical, most_bytes, enabled=enabled, threshold=threshold, one_task=one_task)


def _one_task(plan: JoinPlan, known: Known, hot: tuple[Side, ...]) -> OneTask | None:
    """Return how many of the hottest key's rows come from one task, on its larger side, or None where nobody knows.

    What other keys have in one task is no reason for adaptive execution not to cut this one.
    """
    pairs = [(heavy, grid, side) for heavy, grid in zip(plan.keys.heavy, plan.grids, strict=True) for side in hot]
    if not pairs:
        return None
    heavy, _, side = max(pairs, key=lambda each: _rows(each[1], each[2]))
    share = known.one_task.get(side, {}).get(heavy.hash)
    return None if share is None else OneTask(side, _name(heavy.key), share)


def _name(key: tuple[Any, ...]) -> str:
    return "its hottest key" if None in key else key_text(key)


def _most_bytes(asked: Asked, sides: Sides, plan: JoinPlan) -> float:
    """Return the bytes of the hottest key's rows on either side; 0 where the user has named the keys."""
    if asked.left is not None and asked.left.named:
        return 0.0
    return max(max((_rows(grid, s) for grid in plan.grids), default=0.0) * sides.widths.of(s) for s in SIDES)


def _rows(grid: Grid, side: Side) -> float:
    return grid.left_rows if side == "left" else grid.right_rows
