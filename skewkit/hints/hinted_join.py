"""Hinted joins: the FROM up to the last of them becomes one frame, joined by `skew_join` where a hint says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.api.join.skew_join import skew_join
from skewkit.hints.asked import Ask, FollowedHint, ask_of, done, followed, strongest
from skewkit.hints.hinted_condition import Condition, joined_scope, pairs_of_where, parts_of, read_condition, using
from skewkit.hints.scope import Scope, WithClauses
from skewkit.hints.text.from_clause import Chain, FromClause, Join
from skewkit.hints.text.hint_grammar import Hint
from skewkit.hints.text.mentions import Mentions
from skewkit.hints.text.tokens import NotCut, written

_MARKERS = ("?", ":", "select")
_SQL_KINDS = {"left": "LEFT", "right": "RIGHT", "full": "FULL", "semi": "LEFT SEMI", "anti": "LEFT ANTI"}


@dataclass
class Joined:
    """A FROM as far as it was joined: the scope, after which token it ends, and what became of the hints."""

    scope: Scope
    end: int
    done: list[FollowedHint] = field(default_factory=list)
    changed: bool = False
    alone: int | None = None
    """Which relation it is, where it is but one."""


@dataclass(frozen=True)
class Joins:
    """Joins the relations of a FROM. `hinted` has the hints of each relation's alias, under our scopes.

    Joins of the relations in `forced` are Spark's, as a hint of its own says how it joins them.
    """

    source: str
    clause: FromClause
    scopes: Sequence[Scope]
    hinted: Sequence[tuple[Hint, int]]
    where: str
    context: WithClauses
    forced: frozenset[int] = frozenset()

    def own(self, scope: Scope, index: int) -> dict[str, str]:
        """Return the user's names of a relation's columns in a scope, by ours; none where it is not there."""
        there = set(scope.frame.columns)
        return {own: name for name, own in self.scopes[index].star if own in there}

    def all(self) -> Joined:
        """Return all relations joined, the chains between commas in an order in which each has a key, if there is."""
        at, built = 0, []
        for chain in self.clause.chains:
            built.append(self.chain(chain, at)[-1])
            at += len(chain.relations)
        whole = built.pop(0)
        parts = parts_of(self.where, whole.scope.cased)
        while built:
            linked = (i for i, each in enumerate(built) if pairs_of_where(whole.scope, each.scope, parts))
            other = built.pop(next(linked, 0))
            pairs = pairs_of_where(whole.scope, other.scope, parts)
            before = (whole, other)
            forced = not self.forced.isdisjoint((whole.alone, other.alone))
            asks = Condition(whole.scope, other.scope, pairs)
            whole = self._step(whole.scope, other.scope, asks, "inner", (), forced=forced)
            whole.done = [became for each in (*before, whole) for became in each.done]
            whole.changed = any(each.changed for each in (*before, whole))
        star = {own for _, own in whole.scope.star}
        order = [pair for scope in self.scopes for pair in scope.star if pair[1] in star]
        # A USING inside a chain has columns of its own; there the chains are in the user's order as they are.
        if len(order) == len(star):
            in_chains = len(self.clause.chains) == 1
            whole.scope = whole.scope if in_chains else replace(whole.scope, star=tuple(order))
        whole.end = self.clause.behind
        return whole

    def chain(self, chain: Chain, at: int) -> list[Joined]:
        """Return the chain joined so far, after its first relation and after each join."""
        built = [Joined(self.scopes[at], chain.ends[0], alone=at)]
        for i, join in enumerate(chain.joins):
            left, right = built[-1].scope, self.scopes[at + 1 + i]
            forced = not self.forced.isdisjoint((built[-1].alone, at + 1 + i))
            step = self._join(left, right, join, forced)
            step.done = built[-1].done + step.done
            step.changed = built[-1].changed or step.changed
            step.end = chain.ends[1 + i]
            built.append(step)
        return built

    def _join(self, left: Scope, right: Scope, join: Join, forced: bool) -> Joined:
        text = written(self.source, join.on)
        if join.using:
            return self._step(left, right, using(left, right, join.using), join.kind, join.using, forced=forced)
        if text and not forced and (self._named(left) or self._named(right)):
            return self._step(left, right, read_condition(left, right, text, self.context), join.kind, (), text)
        if text:
            return self._plain(left, right, join.kind, text)
        parts = parts_of(self.where, left.cased) if join.kind in ("inner", "cross") else ()
        pairs = pairs_of_where(left, right, parts)
        return self._step(left, right, Condition(left, right, pairs), join.kind, (), forced=forced)

    def _named(self, scope: Scope) -> bool:
        return any(self.own(scope, index) for _, index in self.hinted)

    def _step(
        self,
        left: Scope,
        right: Scope,
        asks: Condition,
        kind: str,
        using: Sequence[str],
        text: str = "",
        *,
        forced: bool = False,
    ) -> Joined:
        kind = "inner" if kind == "cross" and asks.pairs else kind
        scope, computed = joined_scope(left, right, kind, using)
        hinted = () if forced else self.hinted
        asked = [ask for ask in (self._ask(hint, index, asks) for hint, index in hinted) if ask is not None]
        inner = kind == "inner"
        rest = [] if inner else list(asks.texts)
        if asked and asks.pairs and not any(sign in part.lower() for part in rest for sign in _MARKERS):
            frame, became = self._skew_join(asks, kind, rest, asked)
            joined = Joined(replace(scope, frame=_shown(frame, scope, computed)), 0, [became])
            joined.changed = became.strategy != "native"
            if inner and asks.texts:
                condition = " AND ".join(f"({part})" for part in asks.texts)
                joined.scope = joined.scope.where(condition, self.context)
            return joined
        if text:
            return self._plain(left, right, kind, text)
        if asks.pairs:
            on = reduce(lambda a, b: a & b, (pair.condition for pair in asks.pairs))
            frame = left.frame.join(right.frame, on, "inner" if kind == "cross" else kind)
        elif kind in ("inner", "cross"):
            frame = left.frame.crossJoin(right.frame)
        else:
            raise NotCut(f"a {kind} join without a condition is left to plain Spark")
        return Joined(replace(scope, frame=_shown(frame, scope, computed)), 0)

    def _plain(self, left: Scope, right: Scope, kind: str, text: str) -> Joined:
        """Return a join that no hint is about, as its text has it."""
        scope, _ = joined_scope(left, right, kind)
        mentions = Mentions.of(text)
        names = [left.runner.add(side.readable(mentions)) for side in (left, right)]
        ours = ", ".join(_ours(scope))
        join = f"{names[0]} {_SQL_KINDS.get(kind, 'INNER')} JOIN {names[1]}"
        frame = left.runner.query(self.context(f"SELECT {ours} FROM {join} ON {text}"))
        return Joined(replace(scope, frame=frame), 0)

    def _ask(self, hint: Hint, index: int, asks: Condition) -> tuple[str, Ask] | None:
        """Return what a hint asks of a join and on which side, None where the join is not by its relation's columns."""
        safe = [pair.null_safe for pair in asks.pairs]
        for side, scope in (("left", asks.left), ("right", asks.right)):
            keys = [getattr(pair, side) for pair in asks.pairs]
            ask = ask_of(hint, self.own(scope, index), keys, safe, scope)
            if ask is not None:
                return side, ask
        return None

    def _skew_join(
        self, asks: Condition, kind: str, rest: Sequence[str], asked: Sequence[tuple[str, Ask]]
    ) -> tuple[DataFrame, FollowedHint]:
        frames = {"left": asks.left.frame, "right": asks.right.frame}
        parts = [pair.condition for pair in asks.pairs] + [F.col(flag) for flag in asks.flags]
        if rest:
            mentions = Mentions.of(" ".join(rest))
            frames = {"left": asks.left.readable(mentions), "right": asks.right.readable(mentions)}
            parts += [F.expr(part) for part in rest]
        ask = strongest([each for _, each in asked])
        on = reduce(lambda a, b: a & b, parts)
        with followed(ask):
            joined = skew_join(frames["left"], frames["right"], on, kind, heavy=ask.hot)
        return joined, done([each for _, each in asked], "join", joined, asks.left)


def _ours(scope: Scope) -> list[str]:
    """Return our names of all columns that a scope shows."""
    named = [own for columns in scope.aliases.values() for _, own in columns]
    return list(dict.fromkeys([*named, *(own for _, own in scope.star)]))


def _shown(frame: DataFrame, scope: Scope, computed: dict[str, Any]) -> DataFrame:
    """Return a joined frame's columns that its scope shows, and no helper columns."""
    return frame.select(*(computed.get(own, F.col(own)).alias(own) for own in _ours(scope)))
