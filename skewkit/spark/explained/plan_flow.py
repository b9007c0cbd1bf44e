"""What comes out of an operator of a plan: how stable its rows and each of its columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal

from skewkit.spark.explained.expression_stability import UNSEEN
from skewkit.spark.explained.plan_tree import CACHED, PlanNode
from skewkit.spark.explained.stability import Verdict

Origin = Literal["stored", "constant", "computed"]
_STABLE = Verdict()
_WHOLE_ROWS = frozenset(
    (
        *("Project", "Filter", "Union", "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"),
        *("GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample", "CollectMetrics"),
        *("BatchEvalPython", "ArrowEvalPython"),
        *("Relation", "RelationV2", "HiveTableRelation", "LogicalRDD", "ExternalRDD", CACHED),
        *("LocalRelation", "OneRowRelation", "EmptyRelation", "Range"),
    )
)
"""Operators that make each row of one row below them, or read what is stored."""


@dataclass(frozen=True)
class Trust:
    """What a walk may trust.

    `sources` are those that nobody sees into, `rdds` of these the RDDs alone. `rerun` is the input of a task that runs
    again.
    """

    sources: bool = False
    rerun: bool = False
    rdds: bool = False


@dataclass(frozen=True)
class Output:
    """A column of an operator's result: its name and the numbers that it may have, and what is known of it.

    `numbers_rows` says that it is a row number, so above 0 in every row, whatever the order of rows.
    """

    name: str
    ids: frozenset[int]
    verdict: Verdict = _STABLE
    origin: Origin = "stored"
    numbers_rows: bool = False


@dataclass(frozen=True)
class Flow:
    """What comes out of an operator: how stable its rows are, without their values, and its columns.

    `positioned` says that a row is at the same place of the same task whenever the plan runs.
    """

    rows: Verdict = _STABLE
    columns: tuple[Output, ...] = ()
    positioned: bool = False
    unknown: Verdict = UNSEEN
    """What is to be said of a column that is not among these."""

    @cached_property
    def by_id(self) -> Mapping[int, Output]:
        """The columns by number; of several with one number the least stable."""
        found: dict[int, Output] = {}
        for column in self.columns:
            for number in column.ids:
                if number not in found or column.verdict.level > found[number].verdict.level:
                    found[number] = column
        return found

    @property
    def all(self) -> Verdict:
        """The rows with all their values."""
        return worst([self.rows, *(column.verdict for column in self.columns)])


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of some verdicts; without any, all is stable."""
    return reduce(Verdict.worse, verdicts, _STABLE)


def takes_whole_rows(logical: PlanNode) -> bool:
    """Return whether each row of a plan is made of one row of a source, whichever rows are taken.

    >>> takes_whole_rows(PlanNode("GlobalLimit", "9", children=(PlanNode("Range", "(0, 99)"),)))
    True
    >>> takes_whole_rows(PlanNode("Window", "[row_number() AS rn#1]", children=(PlanNode("Range", "(0, 99)"),)))
    False
    """
    return logical.operators <= _WHOLE_ROWS
