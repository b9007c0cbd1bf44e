"""What a plan's text says a frame is gathered by: the columns it was grouped by, or repartitioned by."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skewkit.spark.explained.physical import OPERATOR, is_cut

_GROUPED = re.compile(r"Aggregate \[([^\[\]]+)\]")
_PLACED = re.compile(r"Exchange (?:hash|range)partitioning\(([^()]+)\), REPARTITION_BY")
_PLACEMENT = re.compile(r" (?:ASC|DESC) NULLS (?:FIRST|LAST)|, \d+$")
_ATTRIBUTE = re.compile(r"([^\s,\[(]+)#\d+L?")


def grouped_by(explained: str) -> set[str] | None:
    r"""Return the names of the columns that a frame is grouped by; None where its top is no group-by.

    Columns may have been selected and rows filtered since, but those columns must still be there.

    >>> grouped_by("== Optimized Logical Plan ==\nAggregate [k#1, J#2L], [k#1, J#2L, count(1) AS n#3L]") == {"k", "J"}
    True
    >>> grouped_by("Project [k#1], Statistics(sizeInBytes=9.0 B)\n+- Aggregate [k#1], [n#3L, k#1], Statistics(8.0 B)")
    {'k'}
    >>> grouped_by("== Optimized Logical Plan ==\nAggregate [k#1], [(k#1 % 2) AS k#4, count(1) AS n#3L]")
    >>> grouped_by("Aggregate [k#1L, k#2L], [k#1L, k#2L]"), grouped_by("Aggregate [my k#1, k#2L], [my k#1, k#2L]")
    (None, None)
    >>> grouped_by("Filter (d#1 = scalar-subquery#9 [])\n:  +- Aggregate [d#7], [d#7]\n+- Relation f[d#1]")
    """
    logical = explained.partition("== Physical Plan ==")[0].splitlines()
    selected: list[str] = []
    steps = (line.lstrip(" :+-").partition("], Statistics(")[0] for line in logical if not line.startswith("=="))
    for line in filter(None, steps):
        if "subquery#" in line:
            return None  # its plan stands next, before the one that is read on
        if line.startswith("Project "):
            selected.append(line.removeprefix("Project "))
        elif not line.startswith("Filter "):
            found = _GROUPED.match(line)
            return None if found is None else _kept(found.group(1), [*selected, line[found.end() :]])
    return None


def placed_by(physical: str) -> set[str] | None:
    r"""Return the names of the columns that the user repartitioned a frame by, as its last shuffle.

    Columns may have been selected and rows filtered since, but those columns must still be there.

    >>> placed_by("AdaptiveSparkPlan isFinalPlan=false\n+- Exchange hashpartitioning(K#1, 8), REPARTITION_BY_NUM")
    {'K'}
    >>> placed_by("Project [k#1, (v#2 + 1) AS w#3]\n+- Exchange hashpartitioning(k#1, 8), REPARTITION_BY_NUM")
    {'k'}
    >>> placed_by("Project [k#1]\n+- Exchange rangepartitioning(k#1 ASC NULLS FIRST, 8), REPARTITION_BY_NUM")
    {'k'}
    >>> placed_by("Project [(k#1 + 1) AS k#3]\n+- Exchange hashpartitioning(k#1, 8), REPARTITION_BY_NUM")
    """
    selected: list[str] = []
    for line in physical.splitlines():
        step = OPERATOR.match(line)
        if step is None:
            continue
        found = _PLACED.match(line.lstrip(" :+-"))
        if found is not None:
            return _kept(_PLACEMENT.sub("", found.group(1)), selected)
        if step.group(1) == "Project":
            selected.append(line[step.end() :])
        elif step.group(1) not in ("AdaptiveSparkPlan", "Filter"):
            return None
    return None


def _kept(columns: str, selected: Sequence[str]) -> set[str] | None:
    """Return the names in a list of columns; None where one is not in all that was selected since.

    Nor may another one have been given its name.
    """
    if any(is_cut(text) for text in (columns, *selected)):
        return None
    listed = [_ATTRIBUTE.fullmatch(column) for column in columns.split(", ")]
    names = {found[1] for found in listed if found is not None}
    folded = {name.lower() for name in names}
    if len(folded) < len(listed):  # a name with a space, two columns of one name, or what is no column
        return None
    named_anew = {name.lower() for text in selected for name in re.findall(r" AS ([^\s,]+)#\d+", text)}
    kept = all(set(columns.split(", ")) <= set(text.strip(" ,[]").split(", ")) for text in selected)
    return names if kept and not folded & named_anew else None
