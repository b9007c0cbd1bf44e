"""Which sums of a plan are exact: those of whole numbers and of decimals, whose partial results show it."""

from __future__ import annotations

import re

from skewkit.spark.explained.plan_columns import calls_with, columns_made
from skewkit.spark.explained.plan_tree import PlanNode

_BUFFERS = {
    "count": ("count",),
    "min": ("min",),
    "max": ("max",),
    "avg": ("sum", "count"),
    "first": ("first", "valueSet"),
    "last": ("last", "valueSet"),
}
_SUMS = ("sum", "try_sum")
_COLUMN = re.compile(r"([^,#]+)#\d+(L?)(?=, |[\])]|$)")


def exact_sums(physical: PlanNode) -> frozenset[str]:
    """Return the arguments of sums that do not depend on the order of rows.

    A partial sum of whole numbers is a long, whose number ends in L. That of decimals is followed by `isEmpty`.

    >>> from skewkit.spark.explained.plan_tree import read_tree
    >>> line = "HashAggregate(keys=[k#0], functions=[partial_sum({}), partial_sum(x#2)], output=[k#0, {}, sum#5])"
    >>> [exact_sums(read_tree(line.format(*each))) for each in (("v#1L", "sum#4L"), ("d#1", "sum#4, isEmpty#6"))]
    [frozenset({'v#1L'}), frozenset({'d#1'})]
    >>> by_double = line.replace("keys=[k#0]", "keys=[normalizenanandzero(k#0) AS k#0]")
    >>> exact_sums(read_tree(by_double.format("v#1L", "sum#4L")))
    frozenset({'v#1L'})
    """
    found = set[str]()
    inexact = set[str]()
    for node in physical.walk():
        _, functions, rest = node.arguments.partition("functions=[")
        functions, _, output = rest.partition("], output=[")
        if not functions or "partial_" not in functions:
            continue
        keys = node.arguments.partition("keys=[")[2].partition("], functions=")[0]
        made = columns_made(keys)  # of a float it is `normalizenanandzero(x#1) AS x#1`
        buffers = _COLUMN.findall(output)[len(made) :] if made is not None else []
        for name, argument in calls_with("partial_", functions):
            if name in _SUMS and buffers and buffers[0][0].strip() == "sum":
                decimal = len(buffers) > 1 and buffers[1][0].strip() == "isEmpty"
                (found if buffers[0][1] or decimal else inexact).add(argument)
                buffers = buffers[1 + decimal :]
            elif (
                name in _BUFFERS and tuple(each[0].strip() for each in buffers[: len(_BUFFERS[name])]) == _BUFFERS[name]
            ):
                buffers = buffers[len(_BUFFERS[name]) :]
            else:
                break
    return frozenset(found - inexact)
