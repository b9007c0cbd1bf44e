"""How `auto` chooses among the strategies of a join: what is known without reading a key first, then seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from skewkit.api.join.join_decision import JoinDecision
from skewkit.api.join.strategies import STRATEGIES, JoinStrategy
from skewkit.errors import UnsupportedError
from skewkit.plan.choice import Choice, hot_reason, native_reason, opening_of, small_reason, unbalanced_reason
from skewkit.plan.costs import QUERY
from skewkit.plan.explanation import placeholder_lines
from skewkit.plan.join.prices import makes_many_pairs
from skewkit.spark.explained.plan_facts import made_of

Chosen = tuple[DataFrame, Choice]


def answer(decision: JoinDecision) -> Chosen:
    """Return the joined frame and the choice behind it."""
    request = decision.request
    unread = _without_keys(decision) if request.auto else None
    if unread is not None:
        known = request.kept_profile(decision.sides.map(lambda side: side.given))
        choice = Choice(request.title(), "native", unread, notes=decision.lost, kind="join", result=known)
        made_of(request.native, list(request.frames))
        return request.native, choice
    closed = decision.closed_reason()
    if closed is not None:
        return request.native, replace(request.left_to_spark(closed), notes=decision.lost)
    if request.auto:
        return _answered(_cheapest(decision))
    strategy = STRATEGIES[request.strategy](decision)
    impossible = strategy.impossible()
    if impossible is not None:
        other = "'salt'" if request.strategy != "salt" else "'auto'"
        raise UnsupportedError(f"strategy {request.strategy!r} is not possible here: {impossible}; use {other}")
    reason = f"asked for; {hot_reason(decision.plan.keys, named=decision.evidence.main.named)}"
    return _answered(_Taken(strategy, reason))


@dataclass(frozen=True)
class _Taken:
    """The strategy that is taken and why, and the sentence that `explain` begins with where seconds were compared."""

    strategy: JoinStrategy
    reason: str
    opening: str = ""


def _without_keys(decision: JoinDecision) -> str | None:
    """Return why plain Spark is right, from what the optimizer knows and the user says, or None."""
    request, terms = decision.request, decision.terms
    if not request.informed and terms.margin >= 0:
        made = decision.most_work.of_made
        if made is not None and not terms.worth_asking(made, QUERY):
            return small_reason(terms, made, request.partitions, QUERY, pairs=decision.most_work.pairs)
    join = decision.native_facts.top_join(request.kind)
    together = decision.most_work.of_sources
    if join is not None and join.startswith("Broadcast"):
        return f"Spark broadcasts one side ({join}): nothing is shuffled"
    if join == "CartesianProduct":
        return "the key is a constant, so that Spark pairs all rows (CartesianProduct): nothing is shuffled"
    if request.informed or terms.margin < 0:
        return None
    if together is not None and not terms.worth_asking(together, QUERY):
        return small_reason(terms, together, request.partitions, QUERY, pairs=decision.most_work.pairs)
    unknown = next((side for side in decision.sides if decision.is_unknown(side)), None)
    if unknown is not None:
        return (
            f"nobody knows how many rows the {unknown.side} side has, so nothing can be weighed; name hot keys "
            "(heavy=) or give a profile to have them treated"
        )
    most = decision.most_work.of_sides
    if not terms.worth_asking(most, decision.asking):
        return small_reason(terms, most, request.partitions, decision.asking, pairs=decision.most_work.pairs)
    return None


def _cheapest(decision: JoinDecision) -> _Taken:
    """Return the strategy that `auto` takes, and why."""
    if decision.evidence.main.named:
        return _cheapest_of_named(decision)
    native, keys = STRATEGIES["native"](decision), decision.plan.keys
    if not keys.heavy and not keys.spread:
        return _Taken(native, f"no key holds {1 / (5 * keys.partitions):.2%} of the work or more: hashing is balanced")
    if not keys.is_more_balanced:
        return _Taken(native, unbalanced_reason(keys))
    bound = decision.pre_partitioned_reason()
    if bound is not None and not makes_many_pairs(decision.plan):
        return _Taken(native, f"{bound}; {native_reason(keys)}")
    best, treated, missing = _priced(decision)
    prices = {"native": native.price(), **treated}
    terms = decision.terms
    pays = terms.pays(prices["native"], prices[best.name], decision.deciding)
    seconds = prices["native"], terms.longest(decision.native_stages), prices[best.name]
    opening = opening_of(keys, terms, seconds, best.name, taken=pays, of="work")
    longest = f"its longest task {terms.longest(decision.native_stages):,.1f} s"
    reason = f"{hot_reason(keys)}; expected on {terms.slots}: {_seconds(prices)} (of plain Spark {longest})"
    if pays:
        without = [f"no {name}, because {why}" for name, why in missing.items()]
        return _Taken(best, "; ".join([reason, *without]), opening)
    remedy = terms.remedy(decision.native_stages, decision.partitions)
    return _Taken(native, f"{reason}: no plan saves {terms.margin:g} s{remedy}", opening)


def _cheapest_of_named(decision: JoinDecision) -> _Taken:
    """Return the strategy that `auto` takes for keys that the user names as hot, and why."""
    native, main, keys = STRATEGIES["native"](decision), decision.evidence.main, decision.plan.keys
    if not main.heavy and not main.null_heavy and not decision.request.heavy:
        return _Taken(native, "no key was named as hot")
    spread = keys.spread and decision.may_have_null_keys and (main.heavy or main.null_heavy)
    if not keys.heavy and not spread:
        return _Taken(native, "of the keys that were named, the join has no row to spread")
    most = decision.most_work.of_named
    if most is not None and not decision.terms.worth_asking(most, 0.0):
        return _Taken(native, small_reason(decision.terms, most, decision.request.partitions, 0.0))
    if decision.most_work.small_but_for_pairs:
        found = _cheapest(decision.unnamed)
        said = f"small but for what named keys may pair, so a query says which keys are hot: {found.reason}"
        return replace(found, reason=said)
    named = hot_reason(keys, named=True)
    bound = decision.pre_partitioned_reason()
    if bound is not None:
        return _Taken(native, f"{bound}; {named}")
    if decision.weighed is None:
        doubt = (
            f"; a sample of the keys does not find {', '.join(decision.doubted)} to be hot" if decision.doubted else ""
        )
        return _Taken(STRATEGIES["salt"](decision), f"{named}{doubt}")
    best, prices, _ = _priced(decision.weighed)
    return _Taken(best, f"{named}; expected on {decision.terms.slots}: {_seconds(prices)}")


def _priced(decision: JoinDecision) -> tuple[JoinStrategy, dict[str, float], dict[str, str]]:
    """Return the cheapest way to treat the hot keys, the seconds of each, and why the others are not possible."""
    treated = [strategy(decision) for name, strategy in STRATEGIES.items() if name != "native"]
    missing = {each.name: why for each in treated if (why := each.impossible()) is not None}
    possible = [each for each in treated if each.name not in missing]
    prices = {each.name: each.price() for each in possible}
    return min(possible, key=lambda each: prices[each.name]), prices, missing


def _seconds(prices: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {price:,.1f} s" for name, price in prices.items())


def _answered(taken: _Taken) -> Chosen:
    strategy, decision = taken.strategy, taken.strategy.decision
    native, shown = strategy.name == "native", decision.shown
    lines = strategy.explain()
    if not native and decision.rules.residual:
        lines += ("  residual   the rest of the condition is compared with each pair of rows, as plain Spark does",)
    if not native:
        lines += placeholder_lines(decision.plan.keys)
    choice = Choice(
        decision.request.title(decision.partitions),
        strategy.name,
        taken.reason,
        shown.left,
        decision.plan.keys,
        (*strategy.notes(), *decision.notes()),
        shown.right,
        "join",
        lines,
        decision.request.kept_profile(decision.evidence.profiles),
        taken.opening,
    )
    return strategy.build(), choice
