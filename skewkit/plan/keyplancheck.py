"""Whether the numbers of a plan can be routed by: a plan may come from a file that somebody edited."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from skewkit.plan.profilecheck import check_hash

if TYPE_CHECKING:
    from skewkit.plan.keyplan import KeyPlan

_SUM = 1e-6


def check_plan(plan: KeyPlan) -> KeyPlan:
    """Return the plan if every row has a partition of it.

    Raises:
        ValueError: a number is none, or out of range.
    """
    n = plan.partitions
    if type(n) is not int or n < 1:
        raise ValueError(f"partitions is {n!r}")
    if not plan.buckets or len(plan.loads) != n:
        raise ValueError(f"{len(plan.buckets)} buckets and {len(plan.loads)} loads for {n} partitions")
    _check_partitions(plan.buckets, n)
    for parts in (*(route.parts for route in plan.heavy), *([plan.spread] if plan.spread else [])):
        _check_partitions((p for p, _ in parts), n)
        shares = [share for _, share in parts]
        if not shares or min(shares) < 0 or not math.isclose(sum(shares), 1.0, abs_tol=_SUM):
            raise ValueError(f"shares {shares}, which are not parts of 1")
    for route in plan.heavy:
        check_hash(route.key, route.hash)
    return plan


def _check_partitions(partitions: Iterable[Any], n: int) -> None:
    for partition in partitions:
        if type(partition) is not int or not 0 <= partition < n:
            raise ValueError(f"partition {partition!r} of {n}")
