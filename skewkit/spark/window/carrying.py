"""What the other blocks of a cut partition hold: totals per block, carried over the blocks, one small row per block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from skewkit.plan.window.window_split import Carried, fill
from skewkit.spark.expressions.keys import Names, quoted
from skewkit.spark.session.compat import place
from skewkit.spark.window.blocks import Blocks


@dataclass
class Helpers:
    """Helper columns by what they hold, so that what two functions need is computed once."""

    names: Names
    prefix: str
    known: dict[object, str] = field(default_factory=dict)

    def of(self, content: object) -> str:
        """Return the column that holds this."""
        return self.known.setdefault(content, self.names(f"{self.prefix}{len(self.known)}"))


def carried(blocks: Blocks, wanted: Sequence[Carried], names: Sequence[str], ties: Sequence[str]) -> DataFrame:
    """Return one row per block with what other blocks hold, all in one partition.

    Its columns: `to_partition`, `to_block`, `to_key0` and so on, and `names` for what is wanted, in order. The
    totals are computed where the blocks are. Only one row per block is sent. Rows that are equal in the order are
    taken in the order of `ties`.
    """
    helper = blocks.names
    rows, totals = _prepared(blocks, wanted, ties)
    to = {"to_partition": blocks.partition, "to_block": blocks.block}
    to |= {f"to_key{i}": key for i, key in enumerate(blocks.keys.columns)}
    placed = [column.alias(helper(role)) for role, column in to.items()]
    computed = [F.expr(sql).alias(helper(f"total{i}")) for i, sql in enumerate(totals)]
    by_block = rows.groupBy(blocks.partition, blocks.block, *blocks.keys.columns).agg(*placed, *computed)
    names_here = [helper(role) for role in (*to, *(f"total{i}" for i in range(len(wanted))))]
    by_block = by_block.select(*names_here).repartition(1)
    keys = [helper(f"to_key{i}") for i in range(len(blocks.keys.columns))]
    if any(each.near for each in wanted):
        by_block = _with_near(by_block, wanted, helper, keys)
    of_key = Window.partitionBy(*keys).orderBy(helper("to_block"))
    frames = {
        "before": of_key.rowsBetween(Window.unboundedPreceding, -1),
        "after": of_key.rowsBetween(1, Window.unboundedFollowing),
        "all": of_key.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing),
    }
    sums = []
    for i, each in enumerate(wanted):
        total = helper(f"total{i}")
        carry = F.col(helper(f"near{i}") if each.near else total)
        if each.side != "own" and not each.near:
            carry = F.expr(each.carry.replace("{t}", total)).over(frames[each.side])
        sums.append(carry.alias(helper(f"sum{i}")))
    summed = by_block.select("*", *sums)
    folded = [
        F.expr(each.fold.replace("{c}", helper(f"sum{i}"))).alias(name)
        for i, (each, name) in enumerate(zip(wanted, names, strict=True))
    ]
    return summed.select(*(helper(role) for role in to), *folded)


def beside(blocks: Blocks, rows: DataFrame) -> DataFrame:
    """Return rows with a `to_partition` on the partitions of that number, where the blocks are."""
    return place(rows, blocks.plan.keys.partitions, F.col(blocks.names("to_partition")))


def meets(blocks: Blocks) -> Column:
    """Return whether a row of the blocks is in the block of a row of `carried`.

    Only partition and block are keys of the join, so that it is one of integers. Where a block does not tell the key,
    keys are compared besides, in a way that Spark does not take for a third key: two hot keys may have one hash.
    """
    helper = blocks.names
    condition = (blocks.partition == F.col(helper("to_partition"))) & (blocks.block == F.col(helper("to_block")))
    if blocks.block_tells_key:
        return condition
    return condition & same_keys(blocks.keys.columns, [helper(f"to_key{i}") for i in range(len(blocks.keys.columns))])


def same_keys(keys: Sequence[Column], names: Sequence[str]) -> Column:
    """Return whether keys are those of these names, in a way that Spark does not take for keys of a join."""
    pairs = zip(keys, map(F.col, names), strict=True)
    return reduce(and_, [((key >= o) & (key <= o)) | (key.isNull() & o.isNull()) for key, o in pairs])


def in_order(blocks: Blocks, ties: Sequence[str]) -> list[Column]:
    """Return the order columns, and after them those that tell rows apart which the order does not."""
    return [*blocks.by.sorting, *(F.col(quoted(name)) for name in ties)]


def _prepared(blocks: Blocks, wanted: Sequence[Carried], ties: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """Return the rows of cut keys with what the totals need of windows over a block, and the totals over that."""
    helper = blocks.names
    rows = blocks.frame.where(blocks.block >= 0)
    if blocks.has_copies:
        rows = rows.where(blocks.own)
    needed = Helpers(helper, "needed")
    ordered = Window.partitionBy(*blocks.within).orderBy(*in_order(blocks, ties))
    every = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    running = ordered.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    windows: dict[str, Column] = {}
    totals = []
    for each in wanted:
        places = {}
        if each.ordered:
            number, size = needed.of(("rn", each.among)), needed.of(("size", each.among))
            counted = F.expr(f"count({each.among or 1})")
            windows[number] = counted.over(running) if each.among else F.row_number().over(ordered)
            windows[size] = counted.over(every)
            places = {"rn": number, "size": size}
        if each.prior is not None:
            places["prior"] = needed.of(each.prior)
            windows[places["prior"]] = F.expr(each.prior.sql).over(ordered)
        totals.append(fill(each.total, places))
    return rows.select("*", *(column.alias(name) for name, column in windows.items())), totals


def _with_near(by_block: DataFrame, wanted: Sequence[Carried], helper: Names, keys: Sequence[str]) -> DataFrame:
    """Return the blocks with the lists of the rows next to them, `near0` and so on, from the lists of all blocks.

    The blocks of a key are one array for that, along which the list is handed on. So it takes no more than two lists
    for every block, however many rows they have.
    """
    block, all_blocks, at = helper("to_block"), helper("blocks"), helper("at")
    plain = [name for name in by_block.columns if name not in keys]
    collected = F.expr(f"collect_list(named_struct({', '.join(f'{name!r}, {name}' for name in plain)}))")
    by_key = by_block.groupBy(*keys).agg(
        *(F.col(key).alias(f"{key}_") for key in keys),
        F.array_sort(collected, lambda a, b: a[block] - b[block]).alias(all_blocks),
    )
    by_key = by_key.select(*(F.col(f"{key}_").alias(key) for key in keys), all_blocks)
    lists = {i: each for i, each in enumerate(wanted) if each.near}
    scans = [
        F.expr(_scan(all_blocks, helper(f"total{i}"), each.side, each.near)).alias(helper(f"scan{i}"))
        for i, each in lists.items()
    ]
    apart = by_key.select("*", *scans)
    apart = apart.select("*", F.posexplode(all_blocks).alias(at, helper("each")))
    found = [F.col(helper("each"))[name].alias(name) for name in plain]
    near = [F.get(helper(f"scan{i}"), F.col(at)).alias(helper(f"near{i}")) for i in lists]
    return apart.select(*keys, *found, *near)


def _scan(blocks: str, total: str, side: str, k: int) -> str:
    """Return SQL for the list of every block: the k rows before it, after it, or the first k of all blocks."""
    lists = f"transform({blocks}, b -> b.{total})"
    nothing, none = f"filter(flatten({lists}), e -> false)", f"filter({lists}, e -> false)"
    if side == "all":
        first = f"aggregate({lists}, {nothing}, (l, t) -> slice(concat(l, t), 1, {k}))"
        return f"array_repeat({first}, size({blocks}))"
    joined, listed, order = f"slice(concat(t, s.l), 1, {k})", "concat(array(s.l), s.o)", f"reverse({lists})"
    if side == "before":
        joined, listed, order = f"reverse(slice(reverse(concat(s.l, t)), 1, {k}))", "concat(s.o, array(s.l))", lists
    start = f"named_struct('l', {nothing}, 'o', {none})"
    return f"aggregate({order}, {start}, (s, t) -> named_struct('l', {joined}, 'o', {listed}), s -> s.o)"
