"""Whether Spark's adaptive execution would have split a skewed join itself, and why not: text for `explain`."""

from __future__ import annotations

import re

from skewkit.plan.joinrules import SIDES, Side

THRESHOLD = 256 << 20
"""Default of `spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes`."""

_SPLITS: dict[str, tuple[Side, ...]] = {
    "inner": SIDES,
    "left": ("left",),
    "right": ("right",),
    "full": (),
    "semi": ("left",),
    "anti": ("left",),
}
_JOIN = re.compile(r"(SortMergeJoin|ShuffledHashJoin)")
_PASSED = re.compile(r"^(?:\*\(\d+\) )?(?:Sort|Filter|Project)\b")
_MADE = (
    (re.compile(r"Aggregate"), "is already grouped by the key"),
    (re.compile(r"Window"), "comes from a window over the key"),
    (re.compile(r"SortMergeJoin|ShuffledHashJoin"), "comes from a join on the key"),
    (re.compile(r"InMemoryTableScan"), "is cached, and already partitioned by the key"),
    (re.compile(r"REPARTITION"), "was repartitioned by the user"),
)


def adaptive_note(how: str, hot: tuple[Side, ...], physical: str, hot_bytes: float, *, enabled: bool) -> str:
    """Return why adaptive execution would not cure the join of this physical plan, or what it needs to do so.

    `hot` are the sides on which keys are hot, `hot_bytes` the estimated bytes of the largest one, uncompressed.

    >>> adaptive_note("full", ("left",), "", 1e9, enabled=True)
    'adaptive execution never splits a full join'
    """
    if not enabled:
        return "adaptive execution is off, so plain Spark splits no partition"
    if not _SPLITS[how]:
        return f"adaptive execution never splits a {how} join"
    for side in hot:
        if side not in _SPLITS[how]:
            return f"adaptive execution never splits the {side} side of a {how} join"
    for side, reason in _sides_made(physical).items():
        return f"adaptive execution splits only what was shuffled for this join alone, and the {side} side {reason}"
    if hot_bytes < THRESHOLD:
        return (
            f"adaptive execution splits partitions from {THRESHOLD >> 20} MB (compressed) on, and the largest hot key "
            f"has about {hot_bytes / (1 << 20):,.1f} MB; it never names the key"
        )
    return (
        "adaptive execution may split this join, unless a group-by, window or join by the same key follows; "
        "it goes by compressed bytes, not by rows or output, and never names the key"
    )


def _sides_made(physical: str) -> dict[Side, str]:
    """Return the sides of the topmost shuffled join that are not shuffled for it, with what they are."""
    lines = physical.splitlines()
    top = next((i for i, line in enumerate(lines) if _JOIN.search(line)), None)
    if top is None:
        return {}
    depth = _depth(lines[top])
    starts = [i for i in range(top + 1, len(lines)) if _depth(lines[i]) == depth + 3]
    found: dict[Side, str] = {}
    for side, start in zip(SIDES, starts, strict=False):
        end = next((i for i in range(start + 1, len(lines)) if _depth(lines[i]) <= depth + 3), len(lines))
        reason = _made([line.lstrip(" :+-") for line in lines[start:end]])
        if reason is not None:
            found[side] = reason
    return found


def _made(subtree: list[str]) -> str | None:
    for line in subtree:
        if _PASSED.match(line):
            continue
        if "Exchange" in line and "REPARTITION" not in line:
            return None
        return next((reason for pattern, reason in _MADE if pattern.search(line)), None)
    return None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" :+-"))
