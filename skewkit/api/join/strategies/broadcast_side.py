"""`broadcast_side`: a whole side is broadcast, so that no row of the other one is shuffled, hot or not."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pyspark.sql import DataFrame

from skewkit.api.join.strategies.join_strategy import JoinStrategy
from skewkit.plan.explanation import keys_text, many
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Side, opposite
from skewkit.plan.join.prices import broadcast_side_stages, makes_many_pairs, table_bytes
from skewkit.spark.join.joining import broadcast_side
from skewkit.spark.session.compat import conf_reader, is_off
from skewkit.spark.session.slots import least_heap

_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_PART = 8
"""A table that is broadcast takes no more than this part of a heap; while it is made, some two or three times that."""


class BroadcastSide(JoinStrategy):
    """A join with one whole side broadcast.

    Its rows were counted by this call, or bounded by a sample of it. Its table keeps to the budget, and to a part of
    the least heap. That part shrinks with the broadcasts that the query has anyway. A session in which Spark may
    broadcast nothing (a negative threshold) has no such side. With adaptive execution off, what takes long to compute
    would fail.
    """

    name: ClassVar[str] = "broadcast_side"

    def impossible(self) -> str | None:
        """Return why no side can be broadcast as a whole, or None."""
        request = self.decision.request
        if not KINDS[request.kind].streams:
            return f"a {request.kind} join keeps the rows of both sides"
        if (conf_reader(request.native.sparkSession)(_THRESHOLD) or "").strip().startswith("-") and request.auto:
            return f"{_THRESHOLD} is negative, so that nothing is to be broadcast"
        if request.informed:
            return "nobody has counted the rows of a side: leave profiles and heavy keys out"
        if not self._tables:
            return "no side surely fits into the memory of the driver and of every executor"
        if request.auto and makes_many_pairs(self.decision.plan):
            return "the pairs of a hot key are many, and would come out where its rows lie"
        return None

    def price(self) -> float:
        """Return the seconds until the driver has made the table, alone, and the other side was joined to it."""
        decision = self.decision
        return decision.terms.seconds(broadcast_side_stages(decision.plan, self._side, decision.widths))

    def build(self) -> DataFrame:
        """Return plain Spark's join with one side broadcast."""
        request = self.decision.request
        return broadcast_side(request.frames, request.on, request.how, self._side)

    def explain(self) -> tuple[str, ...]:
        """Return which side is broadcast, and what its table takes."""
        side, plan = self._side, self.decision.plan
        return (
            f"  heavy      {keys_text(plan.keys, plan.totals.of(opposite(side)).null_keys)}",
            f"             no {opposite(side)} row is shuffled, hot or not: all are joined where they are read,",
            f"             to a broadcast of the whole {side} side, some {many(plan.rows.of(side), f'{side} row')}",
            f"  cost       a hash table of some {self._tables[side] / (1 << 20):,.0f} MB in the driver and in every "
            "executor",
        )

    def notes(self) -> tuple[str, ...]:
        """Return none: no row of the other side is shuffled, so no hot key stays whole."""
        return ()

    @property
    def _side(self) -> Side:
        return min(self._tables, key=lambda side: self._tables[side])

    @cached_property
    def _tables(self) -> dict[Side, float]:
        """The bytes of a hash table of each side that may be broadcast as a whole."""
        decision, found = self.decision, dict[Side, float]()
        spark, settings = decision.request.native.sparkSession, decision.request.settings
        may_take_long = not is_off(spark, "spark.sql.adaptive.enabled")
        broadcasts = 1 + decision.physical.count("BroadcastExchange")
        most = min(settings.broadcast_side, least_heap(conf_reader(spark)) / _PART / broadcasts)
        for side in decision.plan.broadcastable:
            if decision.sides.of(side).given is not None:
                continue  # what an operator before knew is no count
            if decision.sides.of(side).unique and not decision.sides.of(side).facts.bounded:
                continue  # it is not read, and may have any number of rows
            size = table_bytes(decision.plan.rows.of(side), decision.memory.of(side))
            if size <= most and (decision.sides.of(side).facts.simple or may_take_long):
                found[side] = size
        return found
