"""Which of some frames another frame was made of: their plans are parts of its plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

from skewkit.spark.session.compat import explained, is_connect

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
    for each in others:
        if each not in _KNOWN:
            _KNOWN[each] = _lines(each)
    whole, parts = _lines(frame), [_KNOWN[each] for each in others]
    found = [each for each, part in zip(others, parts, strict=True) if _stand_in(part, whole)]
    if found:
        return found
    # Columns have other numbers on the right side of a join whose left side has them as well.
    whole, parts = _without_numbers(whole), list(map(_without_numbers, parts))
    alike = [i for i, part in enumerate(parts) if _stand_in(part, whole) and part not in parts[:i]]
    return [others[i] for i in alike]


def _parts(plan: Any) -> Iterator[Any]:
    """Yield a plan of a Connect client and all that it is made of."""
    yield plan
    for value in vars(plan).values():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            inner = getattr(each, "_plan", each)
            if hasattr(inner, "plan") and hasattr(inner, "_plan_id"):
                yield from _parts(inner)


def _lines(frame: DataFrame) -> list[str]:
    """Return the steps of a frame's plan as it was resolved: columns have numbers that no other step's have."""
    text = explained(frame, "EXTENDED").partition("== Analyzed Logical Plan ==")[2].partition("\n\n==")[0]
    lines = [_TREE.sub("", line) for line in text.splitlines()]
    own = next((i for i, line in enumerate(lines) if line.startswith("Filter isnotnull(explained by skewkit)")), None)
    return [] if own is None else lines[own + 1 :]


def _without_numbers(lines: Sequence[str]) -> list[str]:
    return [_NUMBER.sub("", line) for line in lines]


def _stand_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether lines stand in others one after the other. Those of a step with all below it do."""
    found = range(len(whole) - len(part) + 1)
    return bool(part) and any(whole[i] == part[0] and list(whole[i : i + len(part)]) == list(part) for i in found)
