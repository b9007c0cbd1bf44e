"""What a physical plan says: shuffles, what it reads, and whether it is costly to read again."""

from __future__ import annotations

import re

from skewkit.spark.explained.plan_tree import CACHED, PlanNode

_ROWS_OF_FILES = frozenset(("FileScan", "ColumnarToRow", "Project", "Filter"))
_FROM_CACHE = frozenset(("InMemoryTableScan", "Scan In-memory table"))
_POSITIONED = _ROWS_OF_FILES | _FROM_CACHE | {CACHED, "Range", "LocalTableScan", "Generate", "Union"}
"""Operators whose tasks give the same rows in the same order each time; what is cached may have to be made again."""
_PARSED = re.compile(r"(?:csv|json|xml)\b")


def count_shuffles(physical: PlanNode) -> int:
    r"""Return the number of shuffles of a plan, below a cached frame none.

    >>> from skewkit.spark.explained.plan_tree import read_tree
    >>> count_shuffles(read_tree("SortMergeJoin\n:- Exchange hashpartitioning(k#1)\n+- Exchange hashpartitioning(k#2)"))
    2
    """
    return sum(node.operator == "Exchange" for node in physical.walk())


def costly_to_read_twice(physical: PlanNode) -> str | None:
    """Return why it is costly to compute a frame twice, or None.

    >>> costly_to_read_twice(PlanNode("Exchange", "SinglePartition"))
    'is the result of a shuffle, which is costly'
    """
    costly = any(re.search("Exchange|Join|Window", operator) for operator in physical.operators)
    return "is the result of a shuffle, which is costly" if costly else None


def is_positioned(physical: PlanNode) -> bool:
    r"""Return whether a row is at the same place of the same task whenever the plan runs.

    >>> from skewkit.spark.explained.plan_tree import read_tree
    >>> is_positioned(read_tree("*(1) ColumnarToRow\n+- FileScan parquet"))
    True
    >>> is_positioned(PlanNode("Scan JDBCRelation"))
    False
    >>> cached = "InMemoryTableScan [k#1]\n      +- InMemoryRelation [k#1]\n            +- {}"
    >>> is_positioned(read_tree(cached.format("Range"))), is_positioned(read_tree(cached.format("Exchange")))
    (True, False)
    """
    return physical.operator in _POSITIONED and all(map(is_positioned, physical.inner + physical.children))


def is_of_parquet(physical: PlanNode) -> bool:
    r"""Return whether a plan's rows are those of Parquet files, one by one.

    >>> from skewkit.spark.explained.plan_tree import read_tree
    >>> is_of_parquet(read_tree("*(1) ColumnarToRow\n+- FileScan parquet [k#1]"))
    True
    """
    scans = [node.arguments for node in physical.walk() if node.operator == "FileScan"]
    return physical.operators <= _ROWS_OF_FILES and any(re.match(r"parquet\b", scan) for scan in scans)


def is_of_cache(physical: PlanNode) -> bool:
    """Return whether a plan reads what is cached, and no file."""
    return not physical.operators.isdisjoint(_FROM_CACHE) and "FileScan" not in physical.operators


def is_parsed(physical: PlanNode) -> bool:
    """Return whether a plan reads files of CSV, JSON or XML, of which it parses no more than is asked for.

    >>> is_parsed(PlanNode("FileScan", "csv [k#1]")), is_parsed(PlanNode("FileScan", "orc [csv#1]"))
    (True, False)
    """
    return any(node.operator == "FileScan" and _PARSED.match(node.arguments) is not None for node in physical.walk())


def reads_files(physical: PlanNode) -> bool:
    """Return whether a plan reads files that are not cached."""
    return "FileScan" in physical.operators
