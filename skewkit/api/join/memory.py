"""What of a join fits into memory: the build side of a hash join, and a side that is broadcast as a whole."""

from __future__ import annotations

from math import inf

from skewkit.api.join.evidence import TIMES_TOO_LOW, Asked
from skewkit.api.join.sides import Sides
from skewkit.plan.join.join_plan import JoinPlan
from skewkit.plan.join.kinds import Side
from skewkit.plan.join.price import table_bytes
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.session.compat import conf_reader, is_off
from skewkit.spark.session.heap import least_heap
from skewkit.spark.session.remembered import origin_of

_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_PART = 8
"""A table that is broadcast takes no more than this part of a heap; while it is made, some two or three times that."""


def fits_a_hash_table(asked: Asked, sides: Sides, plan: JoinPlan, used: tuple[KeyProfile, KeyProfile | None]) -> bool:
    """Return whether a shuffled hash join is faster than sorting, and its build side small enough: it cannot spill.

    In a full join Spark also has to remember which rows of a hash table were met, and takes no map of single ints.
    """
    rows, settings = plan.build_rows, asked.settings
    if plan.rules.how == "full" or rows is None:
        return False
    times = _times_of_profile(asked, sides, plan.build, used)
    memory = sides.memory(*used)
    # Bytes that make rows wider, because the profile has few, are there once.
    computed = sides.unmeasured.of(plan.build)
    width = max(sides.widths.of(plan.build), (memory.of(plan.build) - computed) / times) + computed
    return rows * times <= settings.hash_join_rows and rows * times * width <= settings.hash_join_bytes


def whole_tables(
    asked: Asked, sides: Sides, plan: JoinPlan, physical: str, used: tuple[KeyProfile, KeyProfile | None]
) -> dict[Side, float]:
    """Return the bytes of a hash table of each side that may be broadcast as a whole.

    Its rows were counted by this call, or bounded by a sample of it; its table keeps to the budget, and to a part of
    the least heap that shrinks with the broadcasts that the query has anyway. A session in which Spark may broadcast
    nothing (a negative threshold) has no such side. With adaptive execution off, what takes long to compute would fail.
    """
    read = conf_reader(sides.left.frame.sparkSession)
    if not asked.auto or asked.left is not None or (read(_THRESHOLD) or "").strip().startswith("-"):
        return {}
    may_take_long = not is_off(sides.left.frame.sparkSession, "spark.sql.adaptive.enabled")
    most = min(asked.settings.broadcast_side, least_heap(read) / _PART / (1 + physical.count("BroadcastExchange")))
    memory, found = sides.memory(*used), dict[Side, float]()
    for side, seen in sides.named:
        rows = plan.totals(side).rows * _times_of_profile(asked, sides, side, used)
        size = table_bytes(rows, memory.of(side))
        if side in plan.broadcastable and size <= most and (seen.simple or may_take_long):
            found[side] = size
    return found


def _times_of_profile(asked: Asked, sides: Sides, side: Side, used: tuple[KeyProfile, KeyProfile | None]) -> float:
    """Return how many times the rows of a side's profile the side may have; infinity where nobody knows.

    One that was given may be of a part of the frame, or of last year, decayed, or of weights and not of rows. A sample
    that was drawn before a join may miss what few rows of one side meet on the other.
    """
    profile, seen = (asked.left, sides.left) if side == "left" else (asked.right, sides.right)
    if profile is None:
        own = used[side == "right"]
        before = not seen.simple and origin_of(seen.frame) is not None and own is not None and own.sampled
        return inf if before else 1.0
    if seen.source_rows is None or not seen.simple:
        return inf
    if profile.rows >= seen.source_rows:
        return 1.0
    return seen.source_rows * (1.0 if seen.source_rows_counted else TIMES_TOO_LOW) / max(1.0, profile.rows)
