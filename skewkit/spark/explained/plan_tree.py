"""The text of EXPLAIN COST as trees of operators: the optimized logical plan and the physical one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

_PHYSICAL = "== Physical Plan =="
_LINE = re.compile(r"(?P<indent>(?:[ :]  )*(?:[+:]- )?)(?P<stage>\*\(\d+\) |\* )?(?P<text>[A-Z].*)")
_OPERATOR = re.compile(r"(?:(?:Batch)?Scan )?(?:In-memory table|[A-Za-z]\w*)")
_HEADING = re.compile(r"== \w+ Plan ==\s*$")
_STATISTICS = re.compile(
    r",? Statistics\(sizeInBytes=(-?[\d.E+]+) (B|KiB|MiB|GiB|TiB|PiB|EiB)(?:, rowCount=([\d.E+]+))?[^()]*\)\s*$"
)
_UNIT = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}
_CUT_LIST = re.compile(r"\.\.\. \d+ more fields")
UNKNOWN = 2.0**63
"""Bytes of what Spark knows nothing of."""
CACHED = "InMemoryRelation"
"""What stands for a cached frame; the plan that made it is below."""


@dataclass(frozen=True)
class Statistics:
    """What the optimizer expects of an operator's result: bytes, and rows where it knows them."""

    bytes: float
    rows: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether the bytes are known: a filter or a selection of what is not has a part of `UNKNOWN`."""
        return self.bytes < UNKNOWN / 8


@dataclass(frozen=True)
class PlanNode:
    """An operator with the rest of its line, and what is below it. `inner` are plans of subqueries and of a cache."""

    operator: str
    arguments: str = ""
    statistics: Statistics | None = None
    children: tuple[PlanNode, ...] = ()
    inner: tuple[PlanNode, ...] = ()

    def walk(self) -> Iterator[PlanNode]:
        """Yield this node and all below it, subqueries too, but nothing below a cached frame."""
        yield self
        for node in (() if self.operator == CACHED else self.inner) + self.children:
            yield from node.walk()

    @cached_property
    def operators(self) -> frozenset[str]:
        """The operators of the plan, but for those below a cached frame."""
        return frozenset(node.operator for node in self.walk())


@dataclass(frozen=True)
class PlanTree:
    """Both plans of a frame. None where there is none, or where its text is no tree."""

    logical: PlanNode | None = None
    physical: PlanNode | None = None
    cut: bool = False
    """Whether EXPLAIN left out some of many columns."""


def read_plans(explained: str) -> PlanTree:
    r"""Read the text of EXPLAIN COST.

    >>> text = "== Optimized Logical Plan ==\nFilter (id#0L > 3), Statistics(sizeInBytes=8.0 B)\n+- Range (0, 9)\n"
    >>> plans = read_plans(text + "\n== Physical Plan ==\n*(1) Filter (id#0L > 3)\n+- *(1) Range (0, 9)")
    >>> plans.logical.arguments, plans.logical.statistics.bytes, plans.physical.children[0].operator
    ('(id#0L > 3)', 8.0, 'Range')
    """
    logical, _, physical = explained.rpartition(_PHYSICAL)
    logical = logical.partition("== Optimized Logical Plan ==")[2]
    return PlanTree(read_tree(logical), read_tree(physical), _CUT_LIST.search(explained) is not None)


@dataclass
class _Draft:
    depth: int
    text: str
    below: list[_Draft] = field(default_factory=list)

    def node(self) -> PlanNode:
        found = _STATISTICS.search(self.text)
        line = self.text if found is None else self.text[: found.start()]
        statistics = None
        if found is not None:
            size = float(found[1]) * _UNIT[found[2]]
            statistics = Statistics(size if size >= 0 else UNKNOWN, None if found[3] is None else float(found[3]))
        name = _OPERATOR.match(line)
        operator = line if name is None else name[0]
        children = tuple(draft.node() for draft in self.below if draft.depth == self.depth + 1)
        inner = tuple(draft.node() for draft in self.below if draft.depth > self.depth + 1)
        return PlanNode(operator, line[len(operator) :].strip(), statistics, children, inner)


def read_tree(text: str) -> PlanNode | None:
    r"""Read one plan. A line that is no operator goes on with the one before, as texts may hold line ends.

    A plan two levels below a node, and nothing between, is that of a subquery or of a cached frame.

    >>> node = read_tree("Filter (a#1 = scalar-subquery#2 [])\n:     +- Range (0, 1)\n+- Relation [a#1] parquet")
    >>> [each.operator for each in node.children], [each.operator for each in node.inner]
    (['Relation'], ['Range'])
    """
    path: list[_Draft] = []
    root: _Draft | None = None
    last: _Draft | None = None
    headed = False
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        depth = len(found["indent"]) // 3 if found else 0
        # The root of a plan of adaptive execution stands by itself below its heading.
        below = found is not None and (found["indent"].endswith("- ") or headed)
        headed = _HEADING.search(line) is not None
        if found is None or (root is not None and not below):
            if last is not None and line.strip():
                last.text += "\n" + line
            continue
        last = _Draft(depth, found["text"])
        while path and path[-1].depth >= depth:
            path.pop()
        if path:
            path[-1].below.append(last)
        elif root is None:
            root = last
        path.append(last)
    return None if root is None else root.node()
