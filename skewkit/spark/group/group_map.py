"""Python functions of groups over a plan: groups whole on their partitions, or hot groups in parts that are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.spark.expressions.keys import Keys, Names, quoted
from skewkit.spark.expressions.selecting import without
from skewkit.spark.group.grouped_exchange import Placed, placed
from skewkit.spark.group.null_flags import changed_by_nulls, extension_ints, with_null_flags
from skewkit.spark.group.sending import on_batches
from skewkit.spark.group.worker.chunks import Chunking, KnownColumn, on_chunks
from skewkit.spark.group.worker.merging import Merging, on_parts
from skewkit.spark.group.worker.results import Declared, checked
from skewkit.spark.group.worker.whole_groups import GroupFunction, on_whole_cogroups, on_whole_groups
from skewkit.spark.routing.route import element, with_heavy_index, with_partition
from skewkit.spark.session.compat import place
from skewkit.spark.window.blocks import kept_whole
from skewkit.spark.window.blocks import placed as placed_in_blocks
from skewkit.spark.window.ordering import OrderBy
from skewkit.spark.window.window_calls import named

_MOST_COMPARED = 16
"""So many hot keys at most are told by comparing their texts, without a hash."""


@dataclass(frozen=True)
class GroupMap:
    """A group function with what it is declared to return, and a merge where groups may be cut.

    * A sub-group of a hot key has at most `most_rows` rows and `most_bytes` bytes of Arrow data.
    * `merged_keys` are the positions of the group's key columns in the declared schema, which a merge must keep.
      With `allow_empty` it may leave a key without a row.
    """

    func: GroupFunction
    declared: Declared
    merge: GroupFunction | None = None
    most_rows: int = 1_000_000
    most_bytes: int = 1 << 23
    merged_keys: tuple[int, ...] = ()
    allow_empty: bool = False

    def over(self, df: DataFrame, keys: Sequence[Column], func: GroupFunction | None = None) -> DataFrame:
        """Apply the function, or another of its kind and schema, to the groups of a frame."""
        grouped, applied = df.groupBy(*keys), func or self.checked
        if self.declared.arrow:
            return grouped.applyInArrow(applied, self.declared.schema)
        return grouped.applyInPandas(applied, self.declared.schema)

    @property
    def checked(self) -> GroupFunction:
        """The function, which fails with a `SchemaError` of the task where its result does not fit the schema."""
        return checked(self.func, self.declared, f"the group function {getattr(self.func, '__name__', '')}".rstrip())


def apply_whole(df: DataFrame, keys: Keys, plan: KeyPlan, task: GroupMap) -> DataFrame:
    """Return what the group function returns for every group, each whole on the partition that the plan names."""
    at = placed(df, keys, plan, None)
    return _whole_groups(at, at.bare(), task)


def apply_cogrouped(
    left: tuple[DataFrame, Keys], right: tuple[DataFrame, Keys], plan: KeyPlan, func: GroupFunction, declared: Declared
) -> DataFrame:
    """Return what a function of pairs of groups returns, each pair whole on the partition that the plan names."""
    sides = [placed(df, keys, plan, None) for df, keys in (left, right)]
    whole = on_whole_cogroups(func, (sides[0].width, sides[1].width), 1)
    grouped = [at.bare().groupBy(F.col(at.names("partition")), *at.keys.columns) for at in sides]
    return grouped[0].cogroup(grouped[1]).applyInPandas(whole, declared.schema)


def apply_in_parts(df: DataFrame, keys: Keys, plan: KeyPlan, task: GroupMap, row_hash: Column) -> DataFrame:
    """Return what the group function returns. Hot groups in sub-groups, whose results are merged once per key.

    The frame is computed once: both the branch of the cold keys and that of the hot ones read one exchange.
    """
    at, flagged = placed(df, keys, plan, row_hash), _flagged(df, keys, task)
    if flagged:
        at = replace(at, frame=kept_whole(at.frame))
    parts = _parts(at.hot(), at.keys, at.width, at.names, task, flagged, one=len(plan.heavy) == 1)
    return _whole_groups(at, at.cold(), task).unionAll(_merged(parts, at.names, task))


def apply_in_parts_where_read(
    df: DataFrame, keys: Keys, plan: KeyPlan, task: GroupMap, row_hash: Column | None
) -> DataFrame:
    """Return what `apply_in_parts` returns, from a frame that may be computed twice.

    The cold keys are computed as plain Spark does it. The hot rows go to the partitions of the plan by `row_hash`. If
    there is none, they are computed in the very tasks that read them, and only partial results are shuffled.
    """
    names, width, over, flagged = Names(df), len(df.columns), task, _flagged(df, keys, task)
    known = {} if task.declared.arrow else _known_texts(df, keys, plan)
    if keys.computed:
        # Once: a sliding time window makes several rows of one wherever it is computed.
        df, found = named(df, {f"key{i}": column for i, column in enumerate(keys.columns)}, names)
        keys = keys.renamed([found[f"key{i}"] for i in range(len(keys.columns))])
        over = replace(task, func=on_whole_groups(task.func, width, 0))
    heavy = F.col(names("heavy"))
    by_value = row_hash is None and set(known) == set(keys.names) and 0 < len(plan.heavy) <= _MOST_COMPARED
    marked = _with_index_by_value(df, known, names) if by_value else with_heavy_index(df, keys, plan, names)
    if known and not by_value:
        # Another key may have the hash of a heavy one: where values are taken from the plan, they are compared.
        same = [element(texts, "string", heavy) == F.col(quoted(name)) for name, texts in known.items()]
        exact = F.when(reduce(and_, same), heavy).otherwise(F.lit(-1))
        marked = without(marked, names("heavy"), last={names("heavy"): F.when(heavy >= 0, exact).otherwise(F.lit(-1))})
    hashes = [] if by_value else [names("hash")]
    cold = without(marked.where(heavy < 0), *hashes, names("heavy"))
    hot = marked.where(heavy >= 0)
    if row_hash is not None:
        hot = place(with_partition(hot, plan, names, row_hash), plan.partitions, F.col(names("partition")))
        hot = without(hot, names("partition"))
    hot = without(hot, *hashes) if hashes else hot
    parts = _parts(hot, keys, width, names, task, flagged, known, one=len(plan.heavy) == 1)
    return over.over(cold, keys.columns).unionAll(_merged(parts, names, task))


def apply_in_order(df: DataFrame, keys: Keys, by: OrderBy, plan: WindowPlan, task: GroupMap) -> DataFrame:
    """Return what `apply_in_parts` returns. Sub-groups are ranges of an order, and are merged in that order.

    * The sub-groups of a key are consecutive ranges of the order: rows that tie are in one of them.
    * Their rows are sorted, and `merge` sees their results in order.
    """
    names, width, flagged = Names(df), len(df.columns), _flagged(df, keys, task)
    columns = {f"key{i}": column for i, column in enumerate(keys.columns)}
    columns |= {f"order{i}": column for i, column in enumerate(by.columns)}
    base, found = named(df, columns, names)
    keys = keys.renamed([found[f"key{i}"] for i in range(len(keys.columns))])
    order = [found[f"order{i}"] for i in range(len(by.columns))]
    by = by.renamed(order)
    blocks = placed_in_blocks(base, keys, by, order, plan, names, None)
    marked = with_heavy_index(blocks.frame, keys, plan.keys, names)
    heavy = F.col(names("heavy"))
    whole = on_whole_groups(task.checked, width, 1)
    cold = task.over(marked.where(heavy < 0), [blocks.partition, *keys.columns], whole)
    hot = marked.where(heavy >= 0).select("*", F.xxhash64(*by.columns).alias(names("tie")))
    sorting = [heavy, blocks.block, *by.sorting]
    parts = _parts(hot, keys, width, names, task, flagged, one=len(plan.keys.heavy) == 1, sorting=sorting)
    return cold.unionAll(_merged(parts, names, task))


def _whole_groups(at: Placed, rows: DataFrame, task: GroupMap) -> DataFrame:
    whole = on_whole_groups(task.checked, at.width, 1)
    return task.over(rows, [F.col(at.names("partition")), *at.keys.columns], whole)


def _with_index_by_value(df: DataFrame, known: Mapping[str, Sequence[str]], names: Names) -> DataFrame:
    """Return the frame with the heavy index of texts that are compared. Filters compute a hash once per comparison."""
    columns = [F.col(quoted(name)) for name in known]
    index: Column | None = None
    for i, texts in enumerate(zip(*known.values(), strict=True)):
        same = reduce(and_, [column == F.lit(text) for column, text in zip(columns, texts, strict=True)])
        index = F.when(same, i) if index is None else index.when(same, i)
    return df.select("*", (F.lit(-1) if index is None else index.otherwise(-1)).alias(names("heavy")))


def _known_texts(df: DataFrame, keys: Keys, plan: KeyPlan) -> dict[str, list[str]]:
    """Return the columns of the key that need not be sent to Python, with their texts by heavy index.

    They are text keys that are plain columns: texts are dear to send. The plan must know every value, and none may be
    null, as two keys with nulls may have one hash.
    """
    nulls = any(value is None for heavy in plan.heavy for value in heavy.key)
    if nulls or keys.computed or keys.given or keys.padded:
        return {}
    found = {}
    for i, (name, type_) in enumerate(zip(keys.names, keys.types, strict=True)):
        texts = [heavy.key[i] for heavy in plan.heavy]
        alike = [column for column in df.columns if column.lower() == name.lower()]
        if type_ == "string" and name in keys.bare and alike == [name] and all(isinstance(t, str) for t in texts):
            found[name] = texts
    return found


def _parts(
    hot: DataFrame,
    keys: Keys,
    width: int,
    names: Names,
    task: GroupMap,
    flagged: Sequence[int] = (),
    known: Mapping[str, Sequence[str]] | None = None,
    *,
    one: bool,
    sorting: Sequence[Column] = (),
) -> DataFrame:
    """Run the function on bounded sub-groups of the hot rows, where they are. One row for each result.

    Texts of the keys that are `known` are not sent to Python, nor is the heavy index where there is `one` hot key.
    """
    known = known or {}
    hot, answers = with_null_flags(hot, flagged, names)
    hot = hot.sortWithinPartitions(*sorting) if sorting else hot
    rows, found = named(hot, {f"part{i}": column for i, column in enumerate(keys.columns)}, names)
    columns = rows.columns
    ordered = names("tie") in columns
    one = one and len(columns) > len(known) + 1  # some column has to say how many rows there are
    how = Chunking(
        width=width,
        keys=tuple(columns.index(found[f"part{i}"]) for i in range(len(keys.columns))),
        heavy=columns.index(names("heavy")),
        one=one,
        most_rows=max(1, task.most_rows),
        most_bytes=max(1, task.most_bytes),
        out=_out(names),
        arrow=task.declared.arrow,
        extension_ints=extension_ints(hot.sparkSession),
        flagged=tuple(flagged),
        answers=tuple(map(columns.index, answers)),
        tie=columns.index(names("tie")) if ordered else None,
        block=columns.index(names("block")) if ordered else None,
        known=tuple(sorted(KnownColumn(columns.index(name), name, tuple(texts)) for name, texts in known.items())),
    )
    unsent = [*known, *([names("heavy")] if one else [])]
    rows = without(rows, *unsent) if unsent else rows
    types = ("int", "int", "int", "binary")
    schema = ", ".join(f"{quoted(name)} {type_}" for name, type_ in zip(how.out, types, strict=True))
    return on_batches(rows, on_chunks(task.checked, how), schema)


def _flagged(df: DataFrame, keys: Keys, task: GroupMap) -> tuple[int, ...]:
    """Return the columns of which a part must know whether the whole group has nulls. Arrow has nulls of all types."""
    return () if task.declared.arrow else changed_by_nulls(df, keys.bare)


def _merged(parts: DataFrame, names: Names, task: GroupMap) -> DataFrame:
    """Merge the results of sub-groups, once per key."""
    if task.merge is None:
        return parts
    group, *order, packed = _out(names)
    zone = names("zone")
    how = Merging(task.declared, tuple(order), packed, zone, task.merged_keys, task.allow_empty)
    zoned = parts.select("*", F.current_timezone().alias(zone))  # that of the run
    return task.over(zoned, [F.col(quoted(group))], on_parts(task.merge, how))


def _out(names: Names) -> tuple[str, str, str, str]:
    return names("group"), names("place"), names("number"), names("packed")
