"""Which of some frames another frame was made of: their plans are parts of its plan, or all of it but for selects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

from skewkit.spark.explained.functions import makes_one_value
from skewkit.spark.explained.plan_columns import calls_in
from skewkit.spark.session.compat import explained_whole, is_connect
from skewkit.spark.session.written_plan import resolved_plan

_KNOWN: WeakKeyDictionary[DataFrame, list[str]] = WeakKeyDictionary()
"""The plans of frames that were asked about before."""
_NUMBER = re.compile(r"#\d+L?")
_TREE = re.compile(r"^[\s:|+-]+")


def frames_within(frame: DataFrame, others: Sequence[DataFrame]) -> list[DataFrame]:
    """Return those of the other frames, of the same session, whose plan is a part of a frame's plan.

    >>> made = spark.range(9).selectExpr("id * 2 AS k")
    >>> frames_within(made.where("k > 4").groupBy("k").count(), [spark.range(5), made]) == [made]
    True
    """
    others = [each for each in others if each.sparkSession is frame.sparkSession]
    if is_connect(frame):
        inside = {id(part) for part in _parts(frame._plan)}
        return [each for each in others if id(each._plan) in inside]
    whole, parts = _lines(frame), [_known_lines(each) for each in others]
    found = [each for each, part in zip(others, parts, strict=True) if _stand_in(part, whole)]
    if found:
        return found
    # Columns have other numbers on the right side of a join whose left side has them as well.
    whole, parts = _without_numbers(whole), list(map(_without_numbers, parts))
    alike = [i for i, part in enumerate(parts) if _stand_in(part, whole) and part not in parts[:i]]
    return [others[i] for i in alike]


def selected_from(frame: DataFrame, others: Sequence[DataFrame], names: Sequence[str]) -> DataFrame | None:
    """Return the one of other frames that a frame was made of by selects alone, which left columns of these names be.

    So both have the same rows. None also where that cannot be told.

    >>> made = spark.range(9).selectExpr("id * 2 AS k", "id")
    >>> selected_from(made.withColumn("v", made.k + 1).drop("id"), [made], ["k"]) is made
    True
    >>> selected_from(made.withColumn("k", made.k + 1), [made], ["k"]) is None
    True
    """
    others = [each for each in others if each.sparkSession is frame.sparkSession]
    if is_connect(frame):
        return _by_client(frame, others, {name.lower() for name in names})
    try:
        return _by_plan(frame, others, names)
    except Exception:  # plans are not public, and a session may refuse to show them
        return None


def _by_plan(frame: DataFrame, others: Sequence[DataFrame], names: Sequence[str]) -> DataFrame | None:
    """Answer by the plans of a classic session: a frame's plan holds those of the frames that it was made of."""
    plan = resolved_plan(frame)
    numbers = _numbers(str(plan.output().toString()), names)
    plans = [(each, resolved_plan(each)) for each in others] if numbers is not None else []
    # A column keeps its number as long as nothing changes it.
    made = [(each, own) for each, own in plans if _numbers(str(own.output().toString()), names) == numbers]
    while made:
        for each, own in made:
            if plan.equals(own):
                return each
        if plan.nodeName() not in ("Project", "SubqueryAlias"):
            break
        plan = plan.child()
    return None


def _numbers(output: str, names: Sequence[str]) -> list[str] | None:
    """Return the numbers of columns by their names, or None where a name is not there once.

    >>> _numbers("List(k#1L, v#2, V#3)", ["K"]), _numbers("List(k#1L, v#2, V#3)", ["k", "v"])
    (['1'], None)
    """
    found = [re.findall(rf"(?:\(|, ){re.escape(name)}#(\d+)L?(?=, |\)$)", output, re.IGNORECASE) for name in names]
    return [numbers[0] for numbers in found] if all(len(numbers) == 1 for numbers in found) else None


def _by_client(frame: DataFrame, others: Sequence[DataFrame], names: set[str]) -> DataFrame | None:
    """Answer by the plan of a Connect client: each server request gives columns other numbers."""
    known = {id(each._plan): each for each in others}
    plan: Any = frame._plan
    while plan is not None and id(plan) not in known:
        try:
            plan = plan._child if _keeps(plan, names) else None
        except AttributeError:  # PySpark keeps all of this to itself, so another version may be without it
            plan = None
    return known[id(plan)] if plan is not None else None


def _keeps(plan: Any, names: set[str]) -> bool:
    """Return whether a step of a Connect client's plan keeps all rows, and columns of these names as they are."""
    kind = type(plan).__name__
    if kind in ("SubqueryAlias", "Drop"):
        return True
    if kind == "WithColumnsRenamed":
        return names.isdisjoint(name.lower() for pair in plan._colsMap.items() for name in pair)
    if kind == "WithColumns":
        made, kept = {name.lower() for name in plan._columnNames}, names
    elif kind == "Project":
        made, kept = set(), set()
        for expression in (column._expr for column in plan._columns):
            what = type(expression).__name__
            if what == "UnresolvedStar":
                kept |= names
            elif what == "ColumnReference":
                kept.add(str(expression._unparsed_identifier).strip("`").lower())
            elif what == "ColumnAlias":
                made |= {name.lower() for name in expression._alias}
            else:
                return False
    else:
        return False
    named = [column for column in plan._columns if type(column._expr).__name__ != "UnresolvedStar"]
    calls = {call for column in named for call in calls_in(str(column))}
    return names <= kept and names.isdisjoint(made) and all(makes_one_value(call) for call in calls)


def _parts(plan: Any) -> Iterator[Any]:
    """Yield a plan of a Connect client and all that it is made of."""
    yield plan
    for value in vars(plan).values():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            inner = getattr(each, "_plan", each)
            if hasattr(inner, "plan") and hasattr(inner, "_plan_id"):
                yield from _parts(inner)


def _known_lines(frame: DataFrame) -> list[str]:
    if frame not in _KNOWN:
        _KNOWN[frame] = _lines(frame)
    return _KNOWN[frame]


def _lines(frame: DataFrame) -> list[str]:
    """Return the steps of a frame's plan as it was resolved: columns have numbers that no other step's have."""
    text = explained_whole(frame, "EXTENDED").partition("== Analyzed Logical Plan ==")[2].partition("\n\n==")[0]
    lines = [_TREE.sub("", line) for line in text.splitlines()]
    own = next((i for i, line in enumerate(lines) if line.startswith("Filter isnotnull(explained by skewkit)")), None)
    return [] if own is None else lines[own + 1 :]


def _without_numbers(lines: Sequence[str]) -> list[str]:
    return [_NUMBER.sub("", line) for line in lines]


def _stand_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether lines stand in others one after the other. Those of a step with all below it do."""
    found = range(len(whole) - len(part) + 1)
    return bool(part) and any(whole[i] == part[0] and list(whole[i : i + len(part)]) == list(part) for i in found)
