"""How stable the value of an expression in a plan is: the worst of the columns that it reads and of what it calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce

from skewkit.spark.explained.functions import FunctionKind, kind_of
from skewkit.spark.explained.plan_columns import calls_in, calls_with, ids_read
from skewkit.spark.explained.stability import Stability, Verdict

SALT = "skewkit salt"
"""Stands in a plan before a position that says where a row goes, and not what is in it."""
_SALTED = re.compile(rf"{SALT}, (?:monotonically_increasing_id|spark_partition_id)\(\)", re.IGNORECASE)
_ALWAYS = re.compile(r"spark_partition_id\(\) >= 0\b", re.IGNORECASE)
_PRUNING = re.compile(r"dynamicpruning#\d+ \[[^\]]*\]")
_SUBQUERY = re.compile(r"scalar-subquery#\d+ \[[^\]]*\]")
_STATIC_INVOKE = re.compile(r"\bstaticinvoke\(class (?:[\w$]+\.)*(\w+)\$?, [A-Z].*?, ([a-z]\w*)(?=, )")
"""How Spark 3.5 writes what later versions write as `static_invoke(Class.method(...))`."""
_INVOKE = re.compile(r"\binvoke\((?=[A-Z]\w*(?:Evaluator|Parser)[.(]|[^(),]*\.\w+\()")
_OTHER_INVOKE = re.compile(r"\binvoke\(")
_ROW_FRAME = re.compile(r"specifiedwindowframe\(RowFrame, (?!unboundedpreceding\$\(\), unboundedfollowing)")
_BY_BLOCK = re.compile(r"_skew_w\d+_to_block#\d+ ASC NULLS FIRST, specifiedwindowframe\(RowFrame, ")
"""A cut window's totals over blocks before a block: one row a block, so they are in one order."""
_ORDER = "holds the first of several values, or another one that depends on the order of rows"
_DIGITS = "sums floating-point numbers, whose last digits depend on the order of rows"
_VERDICTS = {
    FunctionKind.STABLE: Verdict(),
    FunctionKind.SESSION: Verdict(),
    FunctionKind.RANK: Verdict(),
    FunctionKind.ROW_ORDER: Verdict(Stability.BY_ROW_ORDER, _ORDER),
    FunctionKind.DIGITS: Verdict(Stability.BY_ROW_ORDER, _DIGITS),
    FunctionKind.SUM: Verdict(Stability.BY_ROW_ORDER, _DIGITS),
    FunctionKind.RANDOM: Verdict(Stability.RANDOM, "holds random values"),
    FunctionKind.UNSEEDED: Verdict(Stability.RANDOM, "holds random values"),
    FunctionKind.POSITION: Verdict(Stability.RANDOM, "holds positions of rows"),
    FunctionKind.FILE: Verdict(Stability.RANDOM, "holds positions of rows"),
    FunctionKind.JAVA: Verdict(Stability.UNKNOWN, "calls Java, which may return something else the second time"),
}
UNSEEN = Verdict(Stability.UNKNOWN, "has a plan that cannot be seen")
_HIDDEN = Verdict(Stability.UNKNOWN, "reads a column that the plan does not show")
_BY_PLACE = (FunctionKind.RANDOM, FunctionKind.POSITION)


@dataclass(frozen=True)
class Context:
    """Where an expression stands: the stability of the columns there, by number, and of the subqueries.

    `positioned`: rows are at the same place of the same task whenever it runs.
    `rerun`: the question is about such a task that runs again, not about a second reading of the frame.
    """

    columns: Mapping[int, Verdict]
    subqueries: Verdict = UNSEEN
    positioned: bool = False
    rerun: bool = False
    exact_sums: Collection[str] = ()


def stability_of(text: str, context: Context, *, long: bool = False) -> Verdict:
    """Return how stable the value of an expression is. `long` says that it is a whole number of 64 bits.

    >>> where = Context({1: Verdict()})
    >>> stability_of("(k#1L + 1)", where).level.name, stability_of("first(k#1L, false)", where).level.name
    ('STABLE', 'BY_ROW_ORDER')
    >>> stability_of("my_function(k#1L)", where).reason
    'calls my_function, of which it is not known whether it returns the same each time'
    """
    text = _PRUNING.sub("", _ALWAYS.sub("", _SALTED.sub("", text)))
    text = _OTHER_INVOKE.sub("method_of_java(", _INVOKE.sub("known_invoke(", _STATIC_INVOKE.sub(r"\1.\2(", text)))
    verdicts = [context.subqueries] if _SUBQUERY.search(text) else []
    text = _SUBQUERY.sub("", text)
    verdicts += [context.columns.get(number, _HIDDEN) for number in ids_read(text)]
    calls = calls_in(text)
    kinds = {name: kind_of(name) for name in calls}
    for name, kind in kinds.items():
        if kind is None:
            reason = f"calls {name}, of which it is not known whether it returns the same each time"
            verdicts.append(Verdict(Stability.UNKNOWN, reason))
        elif not _excused(kind, text, context, long=long):
            verdicts.append(_VERDICTS[kind])
    if _ROW_FRAME.search(_BY_BLOCK.sub("", text)) and FunctionKind.RANK not in kinds.values():
        verdicts.append(_VERDICTS[FunctionKind.ROW_ORDER])
    return reduce(Verdict.worse, verdicts, Verdict())


def _excused(kind: FunctionKind, text: str, context: Context, *, long: bool) -> bool:
    """Return whether what holds of a function in general does not hold here."""
    if kind in _BY_PLACE:
        return context.rerun and context.positioned
    if kind is FunctionKind.FILE:
        return context.positioned
    if kind is FunctionKind.SUM:
        whole = long and re.match(r"(?:try_)?sum\(", text) is not None
        sums = [argument for name, argument in calls_with("(?=sum|try_sum)", text) if name in ("sum", "try_sum")]
        return whole or set(sums) <= set(context.exact_sums)
    return False
