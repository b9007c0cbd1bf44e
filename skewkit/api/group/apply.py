"""`applyInPandas`, `applyInArrow` and cogroups: group functions over hot keys, cut where there is a merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from skewkit.api.arguments import analysed, measured
from skewkit.api.group.function_checks import check_arguments, check_function, is_plain
from skewkit.api.group.grouping import Grouping, noted
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.plan.choice import Choice
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile, named_heavy
from skewkit.plan.profile.values import hashable
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.group.group_map import (
    GroupMap,
    apply_cogrouped,
    apply_in_order,
    apply_in_parts,
    apply_in_parts_where_read,
    apply_whole,
)
from skewkit.spark.group.sending import UNWEIGHED, WEIGHT
from skewkit.spark.sampling.profiling import Found
from skewkit.spark.sampling.quantiles import cut_along
from skewkit.spark.session.compat import VERSION, conf_reader, is_connect, is_off, tasks_at_a_time
from skewkit.spark.session.remembered import remember
from skewkit.spark.window.ordering import OrderBy, find_order

_BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
_WEIGHED = (
    f"Spark weighs every row that goes to Python; where rows are small, {WEIGHT}={UNWEIGHED} saves that time "
    "(docs/speed.md)"
)
_FEW_KEYS = 16
_LEAST_ROWS = 1000
"""A call of a Python function costs about as much as these rows."""

GroupFunction = Callable[..., Any]
OrderLike = str | Column | Sequence[str | Column]


@dataclass(frozen=True)
class Functions:
    """What a call was given: the function, its schema, how to merge its results, and along which order."""

    func: GroupFunction
    schema: StructType | str
    merge: GroupFunction | None
    order_by: OrderLike | None
    arrow: bool

    @property
    def plain(self) -> bool:
        """Whether the functions take frames, and not iterators of them."""
        return is_plain(self.func) and (self.merge is None or is_plain(self.merge))


def apply_function(group: Grouping, given: Functions) -> DataFrame:
    """Run a group function, in parts for hot keys if there is a merge."""
    by = _checked(group, given)
    task = GroupMap(
        given.func, given.schema, given.merge, given.arrow, group.settings.group_rows, group.settings.group_bytes
    )
    native = analysed(lambda: task.over(group.df, group.keys.columns))
    if group.strategy == "native":
        return remember(native, group.native())
    task = replace(task, schema=native.schema)
    _try(group, given, native.schema)
    if not given.plain:
        return remember(native, group.native("functions of iterators see their group as plain Spark has it"))
    why_whole = _why_whole(group, by) if given.merge is not None else None
    if why_whole is not None:
        return remember(native, group.native(why_whole))
    found = group.measured(inputs=given.merge is not None and by is None)
    most = group.settings.group_rows if given.merge is not None else float("inf")
    choice = group.decide(found, divisible=given.merge is not None, most_rows=most)
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    if given.merge is None:
        return remember(apply_whole(group.df, group.keys, choice.plan, task), choice)
    if by is not None:
        return _in_order(group, by, choice, choice.plan, task)
    return _in_parts(group, found, choice, choice.plan, task)


def _checked(group: Grouping, given: Functions) -> OrderBy | None:
    """Check the arguments before any job, and return the order, if there is one."""
    for what, function in (("func", given.func), ("merge", given.merge)):
        if function is not None or what == "func":
            check_arguments(what, function)
    if given.order_by is None:
        return None
    listed: list[Any] = list(given.order_by) if isinstance(given.order_by, list | tuple) else [given.order_by]
    if given.merge is None:
        raise ArgumentError(
            "order_by says along which order hot groups are cut, and without a merge no group is cut; give a merge, "
            "or sort inside the function"
        )
    if not listed:
        raise ArgumentError("order_by is an empty list; name at least one column, or leave it out")
    by = find_order(group.df, listed)
    analysed(lambda: group.df.orderBy(*by.sorting))
    return by


def _why_whole(group: Grouping, by: OrderBy | None) -> str | None:
    """Return why no group may be cut, although there is a merge, or None."""
    if by is not None:
        if by.collated:
            return "the order has a collation, under which different strings tie"
        moving = group.seen.stability(by.columns, rerun=True).reason
        if moving is not None:
            return f"sub-groups are ranges of an order that may be another when a task runs again: it {moving}"
    return group.drawn_twice([] if by is None else by.columns, whole=True)


def _in_parts(group: Grouping, found: Found, choice: Choice, plan: KeyPlan, task: GroupMap) -> DataFrame:
    seen = PlanFacts(group.df.select("*", *group.keys.columns)) if group.keys.computed else group.seen
    if VERSION >= (4, 2) and conf_reader(group.df.sparkSession)(WEIGHT) is None:
        choice = noted(choice, _WEIGHED)
    against = seen.stability().reason or seen.cost_again
    if against is not None:
        frame = apply_in_parts(group.df, group.keys, plan, task, group.salt())
        return remember(frame, noted(choice, f"the frame is computed once, because it {against}"))
    if _level_where_read(group, found, plan):
        frame = apply_in_parts_where_read(group.df, group.keys, plan, task, None)
        return remember(frame, noted(choice, "hot rows are computed in the tasks that read them, and not shuffled"))
    frame = apply_in_parts_where_read(group.df, group.keys, plan, task, group.salt())
    return remember(frame, noted(choice, "the frame is read twice, for the hot keys and for the others"))


def _level_where_read(group: Grouping, found: Found, plan: KeyPlan) -> bool:
    """Return whether the tasks that read the frame are as level as a plan has to be, and have enough rows per key."""
    if found.widest is None:
        return False
    rows = sum(h.weight for h in plan.heavy) * found.widest / max(1, len(plan.heavy))
    if len(plan.heavy) > _FEW_KEYS and rows < _LEAST_ROWS:
        return False
    cores = tasks_at_a_time(group.df.sparkSession) or group.partitions
    return found.widest * min(cores, group.partitions) <= group.settings.min_straggler


def _in_order(group: Grouping, by: OrderBy, choice: Choice, plan: KeyPlan, task: GroupMap) -> DataFrame:
    """Run the function on ranges of an order; hot keys are cut at quantiles of a sample."""
    cuts = WindowPlan(plan, by.orders[: by.cuttable], ())
    if by.cuttable and any(len(h.parts) > 1 for h in plan.heavy):
        cuts, _ = cut_along(group.seen, group.keys, by, plan, group.settings, profiled=group.profile is None)
    frame = apply_in_order(group.df, group.keys, by, cuts, task)
    ranges = [f"{key_text(plan.heavy[i].key)} into {last - first + 1}" for i, (first, last) in cuts.spans.items()]
    note = f"hot keys are cut along {', '.join(map(str, by.orders))}: {', '.join(ranges[:8]) or 'none'} ranges"
    return remember(frame, noted(choice, note))


def _try(group: Grouping, given: Functions, schema: StructType) -> None:
    """Try the functions, unless Spark takes their columns by position, whatever they are called."""
    if group.settings.check_functions and not is_off(group.df.sparkSession, _BY_NAME):
        check_function(given.func, given.merge, group.df.schema, schema, group.keys.names, arrow=given.arrow)


def cogrouped(left: Grouping, right: object) -> tuple[Grouping, Grouping]:
    """Return two groupings that pair by key.

    Raises:
        ArgumentTypeError: the other is no result of `skew_groupby`.
        ArgumentError: the keys differ in number.
        UnsupportedError: the frames are of two sessions.
    """
    if not isinstance(right, Grouping):
        raise ArgumentTypeError(
            f"cogroup takes what skew_groupby returned, not {type(right).__name__}; write "
            f"cogroup(skew_groupby(other, {', '.join(map(repr, left.keys.names))}))"
        )
    if len(left.keys.names) != len(right.keys.names):
        raise ArgumentError(
            f"cogroup pairs groups by key, and the left has the keys {list(left.keys.names)}, the right "
            f"{list(right.keys.names)}; group both by as many columns"
        )
    if is_connect(left.df) != is_connect(right.df):
        raise UnsupportedError(
            "cogroup takes two frames of one session, and one of these is of a classic session, the other of a "
            "Connect one; make both with the same session"
        )
    return left, right


def apply_cogroup(left: Grouping, right: Grouping, func: GroupFunction, schema: StructType | str) -> DataFrame:
    """Run a function of pairs of groups, each pair whole on a partition of its own plan."""
    check_arguments("func", func, frames=2)
    grouped = [side.df.groupBy(*side.keys.columns) for side in (left, right)]
    native = analysed(lambda: grouped[0].cogroup(grouped[1]).applyInPandas(func, schema))
    for side in (left, right):
        if side.strategy == "native":
            return remember(native, side.native())
    if left.keys.types != right.keys.types:
        reason = f"the keys are of different types, {list(left.keys.types)} and {list(right.keys.types)}"
        return remember(native, left.native(reason))
    choice = left.decide(Found(_together(left, right)), divisible=False)
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    frame = apply_cogrouped((left.df, left.keys), (right.df, right.keys), choice.plan, func, native.schema)
    return remember(frame, choice)


def _together(left: Grouping, right: Grouping) -> KeyProfile:
    """Return the profile of the rows of both sides; one query profiles what is not known.

    Where keys were named, for either side, they are the hot ones, and nothing is profiled.
    """
    named = [side.profile for side in (left, right) if side.profile is not None and side.profile.named]
    if named:
        keys = {hashable(h.key): h.key for each in named for h in (*each.heavy, *each.null_heavy)}
        return named_heavy(left.keys.names, left.keys.types, list(keys.values()))
    unknown = [side for side in (left, right) if side.profile is None]
    found = measured([(s.seen, s.keys) for s in unknown], left.partitions, left.settings) if unknown else []
    new = [each.profile for each in found]
    first, second = (side.profile or new.pop(0) for side in (left, right))
    return first.merge(replace(second, keys=first.keys))
