"""The join that a physical plan ends in."""

from __future__ import annotations

import re

from skewkit.plan.join.pair import Side

_JOIN = re.compile(r"(BroadcastHashJoin|BroadcastNestedLoopJoin|SortMergeJoin|ShuffledHashJoin|CartesianProduct)")
_BROADCAST = re.compile(r"Broadcast.*\bBuild(Left|Right)\b")


def top_join(physical: str, kind: str = "") -> str | None:
    r"""Return the topmost join operator of a physical plan.

    Spark moves a semi or anti join below other joins of its left side. The topmost one of that kind is taken then.

    >>> top_join("SortMergeJoin [k#1], [k#2], Inner")
    'SortMergeJoin'
    >>> top_join("BroadcastHashJoin [k#1], [k#2], Inner\n:- SortMergeJoin [k#1], [k#3], LeftSemi", "semi")
    'SortMergeJoin'
    """
    below = re.search(rf"{_JOIN.pattern}[^\n]*\bLeft{kind.title()}\b", physical) if kind in ("semi", "anti") else None
    found = below or _JOIN.search(physical)
    return found.group(1) if found else None


def streamed_side(physical: str) -> Side | None:
    """Return which side the topmost join of a physical plan does not broadcast, or None.

    >>> streamed_side("+- BroadcastHashJoin [k#1], [k#2], Inner, BuildRight, false")
    'left'
    """
    found = _JOIN.search(physical)
    built = None if found is None else _BROADCAST.match(physical, found.start())
    return None if built is None else "right" if built.group(1) == "Left" else "left"
