"""What a physical plan's text says: which join is on top, and what speaks against reading a frame twice."""

from __future__ import annotations

import re

_JOIN = re.compile(r"(BroadcastHashJoin|BroadcastNestedLoopJoin|SortMergeJoin|ShuffledHashJoin|CartesianProduct)")
_AGAINST = (
    ("holds a limit or a sample, which may differ the second time", r"Limit\b|\bSample\b|TakeOrdered"),
    ("holds random values", r"\b(rand|randn|uuid|shuffle|randstr|uniform)\("),
    ("holds positions of rows", r"(?i)monotonically_increasing_id|spark_partition_id"),
    ("is computed by Python", r"Python|InPandas|InArrow|ExistingRDD"),
    ("is the result of a shuffle", r"Exchange|Join|Window"),
)


def top_join(physical: str) -> str | None:
    """Return the topmost join operator of a physical plan.

    >>> top_join("SortMergeJoin [k#1], [k#2], Inner")
    'SortMergeJoin'
    """
    found = _JOIN.search(physical)
    return found.group(1) if found else None


def against_reading_twice(physical: str) -> str | None:
    """Return why a frame should not be computed twice, or None; what is cached may be read twice.

    >>> against_reading_twice("*(1) ColumnarToRow")
    >>> against_reading_twice("")
    'has a plan that cannot be seen'
    """
    lines, cached = [], None
    for line in physical.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if cached is not None and depth > cached:
            continue
        cached = depth if "InMemoryRelation" in line else None
        lines.append(line)
    text = "\n".join(lines)
    if not text.strip():
        return "has a plan that cannot be seen"
    return next((reason for reason, pattern in _AGAINST if re.search(pattern, text)), None)
