"""What a frame is pre-partitioned by: the columns that it was grouped by, or repartitioned by."""

from __future__ import annotations

import re
from collections.abc import Callable

from skewkit.spark.explained.plan_columns import columns_made, groups
from skewkit.spark.explained.plan_flow import Flow
from skewkit.spark.explained.plan_tree import PlanNode

_PLACED = re.compile(r"(?:hash|range)partitioning\((.+), \d+\), REPARTITION_BY")
_PLACEMENT = re.compile(r" (?:ASC|DESC) NULLS (?:FIRST|LAST)")


def grouped_by(logical: PlanNode, result: Flow, fold: Callable[[str], str] = str.lower) -> set[str] | None:
    """Return the names of the columns that a frame is grouped by. None where its top is no group-by.

    Columns may have been selected and rows filtered since, but those columns must still be there. Names that `fold`
    makes the same are the same name.

    >>> from skewkit.spark.explained.plan_flow import Output
    >>> result = Flow(columns=(Output("k", frozenset({1})), Output("n", frozenset({3}))))
    >>> grouped_by(PlanNode("Aggregate", "[k#1], [k#1, count(1) AS n#3L]"), result)
    {'k'}
    >>> grouped_by(PlanNode("Aggregate", "[k#1, j#2], [k#1, count(1) AS n#3L]"), result)
    """
    node = logical
    while node.operator in ("Project", "Filter") and len(node.children) == 1 and not node.inner:
        (node,) = node.children
    lists = groups(node.arguments)
    if node.operator != "Aggregate" or node.inner or len(lists) != 2:
        return None
    return _kept(lists[0], result, fold)


def placed_by(physical: PlanNode, result: Flow, fold: Callable[[str], str] = str.lower) -> set[str] | None:
    """Return the names of the columns that the user repartitioned a frame by, as its last shuffle.

    Columns may have been selected and rows filtered since, but those columns must still be there.

    >>> from skewkit.spark.explained.plan_flow import Output
    >>> result = Flow(columns=(Output("k", frozenset({1})), Output("n", frozenset({3}))))
    >>> placed_by(PlanNode("Exchange", "rangepartitioning(k#1 ASC NULLS FIRST, 8), REPARTITION_BY_NUM"), result)
    {'k'}
    >>> placed_by(PlanNode("Exchange", "hashpartitioning(k#1, 8), ENSURE_REQUIREMENTS"), result)
    """
    node = physical
    while node.operator in ("AdaptiveSparkPlan", "Project", "Filter") and len(node.children) == 1:
        (node,) = node.children
    found = _PLACED.match(node.arguments)
    if node.operator != "Exchange" or found is None:
        return None
    return _kept(_PLACEMENT.sub("", found[1]), result, fold)


def _kept(columns: str, result: Flow, fold: Callable[[str], str]) -> set[str] | None:
    """Return the names that these columns have in the result. None where one is not there, or another has its name."""
    keys = columns_made(columns)
    if not keys or any(key.source != key.id for key in keys):
        return None
    found = [column.name for key in keys for column in result.columns if key.id in column.ids]
    names = [fold(column.name) for column in result.columns]
    alone = len(found) == len(keys) and all(names.count(fold(name)) == 1 for name in found)
    return set(found) if alone else None
