"""Windows that are inside of a frame, as its plan shows them; cut ones by a number in their helper columns' names."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count

from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.spark.expressions.keys import Keys

_MARK = re.compile(r"_skew_w(\d+)_")
_STEP = re.compile(r"^[ :+-]*(?:\*(?:\(\d+\))? )?")
_SORTED = re.compile(r" (?:ASC|DESC) NULLS")
_ATTRIBUTE = re.compile(r"([^\s,\[(]+)#\d+L?")
_MOST = 200
"""Windows that are remembered, the latest ones, so that a long session does not keep all."""
_KNOWN: OrderedDict[int, KnownCuts] = OrderedDict()
_NUMBERS = count(1)


@dataclass(frozen=True, eq=False)
class KnownCuts:
    """What was known of the keys of a window, and where its partitions were cut."""

    keys: Keys
    partitions: int
    profile: KeyProfile
    plan: WindowPlan

    def is_of(self, keys: Keys, partitions: int) -> bool:
        """Return whether these are the same keys, by name and type, in as many partitions."""
        mine = [(name.lower(), type_) for name, type_ in zip(self.keys.names, self.keys.types, strict=True)]
        asked = [(name.lower(), type_) for name, type_ in zip(keys.names, keys.types, strict=True)]
        return mine == asked and self.partitions == partitions


def marked(known: KnownCuts) -> str:
    """Remember a window's cuts, and return the beginning of the names of its helper columns.

    Only the latest are remembered. A window that finds none, or those of another one, asks anew or is cut
    at other places, which costs time and no row.
    """
    number = next(_NUMBERS)
    _KNOWN[number] = known
    while len(_KNOWN) > _MOST:
        _KNOWN.popitem(last=False)
    return f"_skew_w{number}_"


def cut_windows(plan: str) -> list[KnownCuts | None]:
    """Return the cut windows that a plan's text shows, the latest last. None where it is not remembered."""
    return [_KNOWN.get(number) for number in sorted({int(found) for found in _MARK.findall(plan)})]


def windowed_by(physical: str) -> set[str] | None:
    r"""Return the names of the partition columns of the window that a plan ends with, in lower case, or None.

    Columns may have been selected, rows filtered, and small frames joined by a broadcast since, but those columns must
    still be there. All rows of a partition are in one task then, sorted.

    >>> windowed_by("AdaptiveSparkPlan isFinal=false\n+- Window [sum(v#2L) AS n#3], [K#1], [v#2L ASC NULLS]")
    {'k'}
    >>> windowed_by("Project [(k#1 + 1) AS k#4]\n+- Window [sum(v#2L) windowspec() AS n#3], [k#1]")
    >>> windowed_by("Project [(k#1 + 1) AS k#4, k#1]\n+- Sort [k#1 ASC], false, 0\n+- Window [sum() AS n#3], [k#1]")
    >>> joined = "BroadcastHashJoin [k#1], [k#8], LeftOuter, BuildRight, false"
    >>> windowed_by(f"{joined}\n:- Window [sum() AS n#3], [k#1]\n+- BroadcastExchange\n   +- Scan")
    {'k'}
    """
    lists: list[str] = []
    for line in filter(str.strip, physical.splitlines()):
        operator, _, rest = _STEP.sub("", line).partition(" ")
        if operator == "Window":
            by = [part.strip(" []") for part in rest.split("], [")[1:2]]
            columns = by[0].split(", ") if by and not _SORTED.search(by[0]) else []
            kept = all(re.search(rf"[\[ ]{re.escape(c)}[,\]]", text) for text in lists for c in columns)
            names = {found[1].lower() for found in map(_ATTRIBUTE.fullmatch, columns) if found}
            new = {name.lower() for text in lists for name in re.findall(r" AS (\S+)#\d+", text)}
            return names if columns and kept and len(names) == len(columns) and not names & new else None
        if operator == "Project":
            lists.append(rest)
        elif operator not in ("AdaptiveSparkPlan", "Filter") and not _joins_in_place(operator, rest):
            return None
    return None


def _joins_in_place(operator: str, rest: str) -> bool:
    """Return whether a step joins rows where they are. Those of its left side come next in the text."""
    return operator == "BroadcastHashJoin" and ", BuildRight" in rest
