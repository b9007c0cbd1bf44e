"""Whether Spark's adaptive execution would have split a skewed join itself, and why not: text for `explain`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from skewkit.options import byte_size
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import SIDES, Side

THRESHOLD = 256 << 20
"""Default of `spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes`."""

_JOIN = re.compile(r"(SortMergeJoin|ShuffledHashJoin)")
_PASSED = re.compile(r"^(?:\*\(\d+\) )?(?:Sort|Filter|Project|ColumnarToRow)\b")
_ONE_TASK = re.compile(r"\bCoalesce 1\b|\bsplits=1\b")
_ALONE = "it splits only what was shuffled for this join alone, and the {} side {}"
_APART = "it cuts a partition only between the tasks that wrote it, and one task writes {}"
_ALL = "all rows of the {} side"
_MOSTLY = 0.8
"""The share of a key's rows from which on cutting off the others is no cure."""
_NEARLY_ALL = 0.99
_BUCKETED = "is not shuffled at all, as its table is bucketed by the key"
_MADE = (
    (re.compile(r"Aggregate"), "is already grouped by the key"),
    (re.compile(r"Window"), "comes from a window over the key"),
    (re.compile(r"SortMergeJoin|ShuffledHashJoin"), "comes from a join on the key"),
    (re.compile(r"InMemoryTableScan"), "is cached, and already partitioned by the key"),
    (re.compile(r"REPARTITION"), "was repartitioned by the user"),
)


def threshold_of(conf: str | None) -> int:
    """Return the bytes from which adaptive execution takes a partition for skewed, from the text of its setting.

    >>> threshold_of("4MB"), threshold_of(None)
    (4194304, 268435456)
    """
    size = byte_size(conf)
    return THRESHOLD if size is None else size


@dataclass(frozen=True)
class OneTask:
    """The largest share of the hottest key's rows on a side that one task reads, and writes to the join's shuffle."""

    side: Side
    key: str
    share: float

    def __str__(self) -> str:
        return f"about {self.share:.0%} of the {self.side} side's rows of {self.key}"


def adaptive_note(
    how: str,
    hot: tuple[Side, ...],
    physical: str,
    hot_bytes: float,
    *,
    enabled: bool,
    threshold: int = THRESHOLD,
    one_task: OneTask | None = None,
) -> str:
    """Return why adaptive execution would not cure the join of this physical plan, or what it needs to do so.

    `hot` are the sides on which keys are hot, `hot_bytes` the estimated bytes of the largest one, uncompressed, 0
    where nobody knows. `threshold` is the bytes from which Spark takes a partition for skewed. `one_task` says how
    many of the hottest key's rows come from one task, None where nobody knows.

    >>> adaptive_note("full", ("left",), "", 1e9, enabled=True)
    'adaptive execution would not act: it never splits a full join'
    >>> note = adaptive_note("inner", ("left",), "", 1e9, enabled=True, one_task=OneTask("left", "7", 0.97))
    >>> note[:34], note[-68:]
    ('adaptive execution would not help:', "wrote it, and one task writes about 97% of the left side's rows of 7")
    """
    if not enabled:
        return "adaptive execution is off, so plain Spark splits no partition"
    reason = _shape_reason(how, hot, physical)
    if reason is None and one_task is not None and one_task.share >= _MOSTLY:
        small = 0 < hot_bytes < threshold
        verb = "act" if small or one_task.share >= _NEARLY_ALL else "help"
        return f"adaptive execution would not {verb}: {_APART.format(one_task)}"
    if reason is None and 0 < hot_bytes < threshold:
        reason = (
            f"it splits partitions from {threshold / (1 << 20):,.0f} MB (compressed) on, and the largest hot key has "
            f"about {hot_bytes / (1 << 20):,.1f} MB"
        )
    if reason is not None:
        return f"adaptive execution would not act: {reason}"
    apart = "so not where a key's rows come from one file" if one_task is None else f"of which one writes {one_task}"
    return (
        f"adaptive execution may split partitions from {threshold / (1 << 20):,.0f} MB on, unless a group-by, window "
        f"or join by the same key follows, and only between the tasks that wrote them, {apart}; it goes by compressed "
        "bytes, not by rows or output, and never names the key"
    )


def unshuffled(physical: str) -> tuple[Side, ...]:
    r"""Return the sides of the topmost shuffled join that plain Spark does not shuffle for it.

    >>> unshuffled("SortMergeJoin [k#1], [k#2], Inner\n:- HashAggregate(keys=[k#1])\n+- Exchange hash(k#2)")
    ('left',)
    """
    return tuple(side for side, reason in _sides_made(physical).items() if reason != _ALL)


def _shape_reason(how: str, hot: tuple[Side, ...], physical: str) -> str | None:
    """Return why the join's type or its sides rule adaptive execution out, or None."""
    if not KINDS[how].adaptive_splits:
        return f"it never splits a {how} join"
    for side in hot:
        if side not in KINDS[how].adaptive_splits:
            return f"it never splits the {side} side of a {how} join"
    made = _sides_made(physical)
    for side, reason in made.items():
        if reason != _ALL:
            return _ALONE.format(side, reason)
    one = next((side for side in hot if made.get(side) == _ALL), None)
    return None if one is None else _APART.format(_ALL.format(one))


def _sides_made(physical: str) -> dict[Side, str]:
    """Return the sides of the topmost shuffled join that are not shuffled for it, with what they are."""
    lines = physical.splitlines()
    top = next((i for i, line in enumerate(lines) if _JOIN.search(line)), None)
    if top is None:
        return {}
    depth = _depth(lines[top])
    starts = [i for i in range(top + 1, len(lines)) if _depth(lines[i]) == depth + 3]
    found: dict[Side, str] = {}
    for side, start in zip(SIDES, starts, strict=False):
        end = next((i for i in range(start + 1, len(lines)) if _depth(lines[i]) <= depth + 3), len(lines))
        reason = _made([line.lstrip(" :+-") for line in lines[start:end]])
        if reason is not None:
            found[side] = reason
    return found


def _made(subtree: list[str]) -> str | None:
    for at, line in enumerate(subtree):
        if _PASSED.match(line):
            continue
        if "FileScan" in line:  # whose paths and columns may hold any word
            return _BUCKETED if "Bucketed: true" in line else None
        if "Exchange" in line and "REPARTITION" not in line:
            return _ALL if _from_one_task(subtree[at + 1 :]) else None
        return next((reason for pattern, reason in _MADE if pattern.search(line)), None)
    return None


def _from_one_task(subtree: list[str]) -> bool:
    """Whether what is below a shuffle runs in one task."""
    before = takewhile(lambda line: "Exchange" not in line, subtree)
    return any(_ONE_TASK.search(line) for line in before)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" :+-"))
