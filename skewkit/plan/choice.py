"""What an operator decided to do and why: the data behind `skewkit.explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skewkit.options import Settings
from skewkit.plan.join.join_plan import Head, JoinPlan
from skewkit.plan.join.kinds import Side, opposite
from skewkit.plan.join.price import (
    Price,
    Widths,
    broadcast_fits,
    broadcast_price,
    makes_many_pairs,
    native_price,
    salt_price,
    whole_price,
)
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.key_profile import KeyProfile


@dataclass(frozen=True)
class Choice:
    """The chosen strategy with its reason, the profile and plan it rests on, and notes for the reader.

    A join rests on two profiles, of its left side and, in `other`, of its right side; `hashed` says whether one side
    of a partition is small enough for a hash table. `memory` is what a row of its sides may take, and `most_rows` how
    many rows a key has at most on either side, where both were profiled for it; `streamed` is the side that Spark does
    not broadcast, where it broadcasts one. `unread` says that a side's keys were not looked at. `whole` is the side
    that is broadcast as a whole, with the bytes that its hash table may take.
    """

    operator: str
    strategy: str
    reason: str
    profile: KeyProfile | None = None
    plan: KeyPlan | None = None
    join: JoinPlan | None = None
    head: Head | None = None
    notes: tuple[str, ...] = ()
    other: KeyProfile | None = None
    hashed: bool = False
    memory: Widths | None = None
    most_rows: tuple[float, float] | None = None
    streamed: Side | None = None
    unread: bool = False
    whole: tuple[Side, float] | None = None


def cold_reason(plan: KeyPlan, profile: KeyProfile, settings: Settings, work: float | None = None) -> str | None:
    """Return why the native plan is right, or None where treating the hot keys pays.

    `work` is what there is to do, in rows, where that is more than the rows of the profile.
    """
    rows = profile.rows
    if profile.weight is None and max(rows, work or 0.0) < settings.min_rows:
        return f"{rows:,.0f} rows are too few to be worth another plan (fewer than {settings.min_rows:,})"
    if not plan.heavy and not plan.spread:
        return f"no key holds {1 / (5 * plan.partitions):.2%} of the rows or more: hashing is level"
    if plan.native_straggler < settings.min_straggler:
        return (
            f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean, "
            f"below {settings.min_straggler:g}: it does not pay to change the plan"
        )
    if plan.straggler > plan.native_straggler * 0.8:
        return (
            f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean and no plan "
            f"here is much better ({plan.straggler:.2f})"
        )
    return None


def hot_reason(plan: KeyPlan, *, named: bool = False) -> str:
    """Return what plain Spark's longest task would do, and the plan's; of keys that are only `named` nobody knows."""
    if named:
        return "these keys were named as hot"
    return f"{native_reason(plan)}, this plan's at {plan.straggler:.2f} times"


def native_reason(plan: KeyPlan) -> str:
    """Return how long plain Spark's longest task is expected to be."""
    return f"plain Spark's longest task is expected at {plan.native_straggler:.1f} times the mean"


@dataclass(frozen=True)
class JoinOptions:
    """What `auto` may choose from: `no_broadcast` says why there can be no broadcast, or None where there can.

    `memory` is what a row takes in memory, where that is known better than from its types; `costly` are the sides that
    come out of shuffles, with how many joins or group-bys these are worth; `unshuffled` are those that plain Spark does
    not shuffle for the join. `tables` has the bytes of a hash table of each side that may be broadcast as a whole, and
    `slots` is how many tasks run at a time, where anybody knows.
    """

    widths: Widths
    hashed: bool
    no_broadcast: str | None
    memory: Widths | None = None
    costly: Mapping[Side, float] = field(default_factory=dict)
    unshuffled: tuple[Side, ...] = ()
    tables: Mapping[Side, float] = field(default_factory=dict)
    slots: int | None = None


class Chosen(NamedTuple):
    """What `auto` takes and why; `whole` is the side that is broadcast as a whole, None where none is."""

    strategy: str
    reason: str
    whole: Side | None = None


def choose_join(
    plan: JoinPlan, profiles: Sequence[KeyProfile | None], settings: Settings, options: JoinOptions
) -> Chosen:
    """Return what `auto` takes: the cheapest by `skewkit.plan.join.price`.

    Strategies that share all their work among the tasks are compared for as many slots as partitions. A broadcast of a
    whole side has the driver work alone, which is little beside the work of few slots and much beside that of many.
    """
    larger = max((p for p in profiles if p is not None), key=lambda p: p.rows)
    cold = cold_reason(plan.keys, larger, settings, plan.work)
    if cold is not None:
        return Chosen("native", cold)
    n = plan.keys.partitions
    prices = {
        "native": native_price(plan, options.widths, options.unshuffled),
        "salt": salt_price(plan, options.widths, hashed=options.hashed, costly=options.costly),
    }
    head = plan.head(settings.broadcast_rows)
    missing = _no_head(plan, head, settings, options)
    if head is not None and missing is None:
        prices["broadcast_head"] = broadcast_price(plan, head, options.widths, hashed=options.hashed)
    chosen = min(prices, key=lambda name: prices[name].of(n))
    shown = ", ".join(f"{name} {price.of(n) / prices['native'].of(n):.2f}" for name, price in prices.items())
    why = f"{hot_reason(plan.keys)}; price: {shown}"
    whole = _whole(plan, prices[chosen], options)
    if whole is not None:
        return Chosen("broadcast_head", f"{why}; {whole[1]}", whole[0])
    if missing is not None:
        why += f"; no broadcast of the hot keys, because {missing}"
    return Chosen(chosen, why)


def _whole(plan: JoinPlan, best: Price, options: JoinOptions) -> tuple[Side, str] | None:
    """Return the side of which a broadcast as a whole is cheaper than the `best` other strategy, and by how much."""
    sides = [side for side in options.tables if side in plan.broadcastable]
    if not sides or makes_many_pairs(plan):
        return None
    side = min(sides, key=lambda s: options.tables[s])
    slots = min(plan.keys.partitions, options.slots or plan.keys.partitions)
    price, other = whole_price(plan, side, options.widths).of(slots), best.of(slots)
    if price >= other:
        return None
    return side, f"with {slots} tasks at a time a broadcast of the whole {side} side takes {price / other:.2f} of that"


def _no_head(plan: JoinPlan, head: Head | None, settings: Settings, options: JoinOptions) -> str | None:
    if head is None:
        return f"a {plan.rules.how} join keeps the rows of both sides"
    side = opposite(head.side)
    if not plan.totals(side).measured:
        return f"the {side} side was not profiled, so nobody knows what a broadcast would hold"
    if not head.all:
        return f"the {side} side's rows of the hot keys may be too many"
    if not broadcast_fits(head, options.memory or options.widths, settings.broadcast_bytes):
        return f"the {side} side's rows of the hot keys may be more than {settings.broadcast_bytes:,} bytes"
    if options.no_broadcast is None and makes_many_pairs(plan):
        return "their pairs are many, and would come out where the hot rows lie, which may be one file"
    return options.no_broadcast
