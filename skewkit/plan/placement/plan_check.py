"""Whether the numbers of a plan can be routed by: a plan may come from a file that somebody edited."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from skewkit.plan.profile.profile_check import check_hash

_SUM = 1e-6


def check_routes(plan: Mapping[str, Any]) -> None:
    """Check that every row has a partition of the plan, given as its fields by name.

    Raises:
        ValueError: a number is none, or out of range.
    """
    n, buckets, loads = plan["partitions"], plan["buckets"], plan["loads"]
    if type(n) is not int or n < 1:
        raise ValueError(f"partitions is {n!r}")
    if not buckets or len(loads) != n:
        raise ValueError(f"{len(buckets)} buckets and {len(loads)} loads for {n} partitions")
    _check_partitions(buckets, n)
    for parts in (*(route.parts for route in plan["heavy"]), *([plan["spread"]] if plan["spread"] else [])):
        _check_partitions((p for p, _ in parts), n)
        shares = [share for _, share in parts]
        if not shares or min(shares) < 0 or not math.isclose(sum(shares), 1.0, abs_tol=_SUM):
            raise ValueError(f"shares {shares}, which are not parts of 1")
    for route in plan["heavy"]:
        check_hash(route.key, route.hash)


def _check_partitions(partitions: Iterable[Any], n: int) -> None:
    for partition in partitions:
        if type(partition) is not int or not 0 <= partition < n:
            raise ValueError(f"partition {partition!r} of {n}")
