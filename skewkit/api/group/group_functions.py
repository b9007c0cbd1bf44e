"""`applyInPandas` and `applyInArrow`: group functions over hot keys, cut where there is a merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from skewkit.api.arguments import analysed, check_frame
from skewkit.api.group.function_checks import check_arguments, declared, is_plain, with_schema
from skewkit.api.group.grouping import Grouping, noted
from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.plan.choice import Choice
from skewkit.plan.group.group_prices import function_work
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.window.window_plan import WindowPlan, window_plan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.group.group_map import (
    GroupMap,
    apply_in_order,
    apply_in_parts,
    apply_in_parts_where_read,
    apply_whole,
)
from skewkit.spark.group.sending import UNWEIGHED, WEIGHT
from skewkit.spark.sampling.ask import Answer
from skewkit.spark.session.compat import VERSION, conf_reader, tasks_at_a_time
from skewkit.spark.session.jobs import counted
from skewkit.spark.session.remembered import remember
from skewkit.spark.window.ordering import OrderBy, find_order

_WEIGHED = (
    f"Spark weighs every row that goes to Python; where rows are small, {WEIGHT}={UNWEIGHED} saves that time "
    "(docs/speed.md)"
)
_EVEN = 1.5
"""The largest task that reads the frame, in mean tasks, up to which hot rows are computed where they are read."""
_STRAGGLES = 1.2
"""Plain Spark's longest task, in mean tasks, from which on a native plan names what would cut its hot groups."""
_FEW_KEYS = 16
"""With more hot keys than this, a task must have `_LEAST_ROWS` of each: every key is a call in every task."""
_LEAST_ROWS = 1000
"""A call of a Python function costs about as much as these rows."""

GroupFunction = Callable[..., Any]
OrderLike = str | Column | Sequence[str | Column]


@dataclass(frozen=True)
class Functions:
    """What a call was given: the function, its schema, how to merge its results, along which order, and what it costs.

    `seconds_per_row` is what the function takes for a row, where the caller knows it.
    """

    func: GroupFunction
    schema: StructType | str
    merge: GroupFunction | None
    order_by: OrderLike | None
    arrow: bool
    allow_empty: bool = False
    seconds_per_row: float | None = None

    @property
    def plain(self) -> bool:
        """Whether the functions take frames, and not iterators of them."""
        return is_plain(self.func) and (self.merge is None or is_plain(self.merge))


@counted()
def apply_function(group: Grouping, given: Functions) -> DataFrame:
    """Run a group function, in parts for hot keys if there is a merge. Nothing of the user's runs before an action."""
    check_frame(group.df, "skew_groupby")
    by = _checked(group, given)
    group = replace(group, work=function_work(given.seconds_per_row))
    plain = with_schema(given.schema, lambda: _plain(group, given))
    if not given.plain:
        return remember(plain, group.native("functions of iterators see their group as plain Spark has it"))
    task = GroupMap(
        given.func,
        declared(group.df, plain.schema, arrow=given.arrow),
        given.merge,
        group.settings.group_rows,
        group.settings.group_bytes,
        _positions(plain.schema, group.keys.names),
        given.allow_empty,
    )
    native = task.over(group.df, group.keys.columns)
    if group.strategy == "native":
        return remember(native, group.native())
    most = group.settings.group_rows if given.merge is not None else float("inf")
    unread = group.unread(most)
    if unread is not None:
        return remember(native, noted(group.native(unread), _cost_note(given)))
    why_whole = _why_whole(group, by) if given.merge is not None else None
    if why_whole is not None:
        return remember(native, group.native(why_whole))
    found = group.asked(order=by)
    choice = group.decide(found, divisible=given.merge is not None, most_rows=most)
    if given.merge is None:
        choice = _with_cure(choice, found)
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    if given.merge is None:
        return remember(apply_whole(group.df, group.keys, choice.plan, task), choice)
    if by is not None:
        return _in_order(group, by, found, choice, choice.plan, task)
    return _in_parts(group, found, choice, choice.plan, task)


def _plain(group: Grouping, given: Functions) -> DataFrame:
    grouped = group.df.groupBy(*group.keys.columns)
    return (grouped.applyInArrow if given.arrow else grouped.applyInPandas)(given.func, given.schema)


def _positions(schema: StructType, keys: Sequence[str]) -> tuple[int, ...]:
    """Return where a schema has the key's columns."""
    names = {name.lower() for name in keys}
    return tuple(i for i, name in enumerate(schema.names) if name.lower() in names)


def _cost_note(given: Functions) -> str:
    """Return what to say of a function that nobody has looked into."""
    cost = "the function is taken to cost little for a row; seconds_per_row= says what it costs"
    parts = ", and with merge= a hot group is computed in parts" if given.merge is None else ""
    return f"{cost if given.seconds_per_row is None else 'its rows cost what seconds_per_row= says'}{parts}"


def _with_cure(choice: Choice, found: Answer) -> Choice:
    """Return the choice with what would cut the hot groups, if there are any."""
    plan, profile = choice.plan, found.profile
    if plan is None or not plan.heavy or (choice.strategy == "native" and plan.native_straggler < _STRAGGLES):
        return choice
    keys = ", ".join(key_text(heavy.key) for heavy in plan.heavy[:3])
    rows = "" if profile.named else f" of up to {max(heavy.weight for heavy in plan.heavy):,.0f} rows"
    return noted(
        choice,
        f"without a merge a hot group{rows} stays whole in one task ({keys}); give merge=, a function that makes one "
        "result of the results of parts, and it is computed in parts",
    )


def _checked(group: Grouping, given: Functions) -> OrderBy | None:
    """Check the arguments before any job, and return the order, if there is one."""
    for what, function in (("func", given.func), ("merge", given.merge)):
        if function is not None or what == "func":
            check_arguments(what, function)
    seconds = given.seconds_per_row
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ArgumentTypeError(f"seconds_per_row is {type(seconds).__name__} {shown(seconds)}; expected a number")
        if not 0 < seconds < float("inf"):
            raise ArgumentError(f"seconds_per_row is {shown(seconds)}; expected a positive number, such as 2e-6")
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
        differs = group.facts.stability(by.columns, rerun=True).reason
        if differs is not None:
            return f"sub-groups are ranges of an order that may be another when a task runs again: it {differs}"
    return group.drawn_twice([] if by is None else by.columns, whole=True)


def _in_parts(group: Grouping, found: Answer, choice: Choice, plan: KeyPlan, task: GroupMap) -> DataFrame:
    facts = PlanFacts(group.df.select("*", *group.keys.columns)) if group.keys.computed else group.facts
    if VERSION >= (4, 2) and conf_reader(group.df.sparkSession)(WEIGHT) is None:
        choice = noted(choice, _WEIGHED)
    against = facts.stability().reason or facts.cost_again
    if against is not None:
        frame = apply_in_parts(group.df, group.keys, plan, task, group.salt())
        return remember(frame, noted(choice, f"the frame is computed once, because it {against}"))
    if _balanced_where_read(group, found, plan):
        frame = apply_in_parts_where_read(group.df, group.keys, plan, task, None)
        return remember(frame, noted(choice, "hot rows are computed in the tasks that read them, and not shuffled"))
    frame = apply_in_parts_where_read(group.df, group.keys, plan, task, group.salt())
    return remember(frame, noted(choice, "the frame is read twice, for the hot keys and for the others"))


def _balanced_where_read(group: Grouping, found: Answer, plan: KeyPlan) -> bool:
    """Return whether the tasks that read the frame are balanced enough, and have enough rows per key."""
    if found.widest is None:
        return False
    rows = sum(h.weight for h in plan.heavy) * found.widest / max(1, len(plan.heavy))
    if len(plan.heavy) > _FEW_KEYS and rows < _LEAST_ROWS:
        return False
    cores = tasks_at_a_time(group.df.sparkSession) or group.partitions
    return found.widest * min(cores, group.partitions) <= _EVEN


def _in_order(group: Grouping, by: OrderBy, found: Answer, choice: Choice, plan: KeyPlan, task: GroupMap) -> DataFrame:
    """Run the function on ranges of an order. Hot keys are cut at quantiles of a sample."""
    cuts = WindowPlan(plan, by.orders[: by.cuttable], ())
    if by.cuttable and any(len(h.parts) > 1 for h in plan.heavy):
        if found.order_values is None:  # the profile was given: where to cut is asked now
            found = replace(group, profile=None).asked(order=by)
        cuts = window_plan(plan, cuts.orders, found.cuts([heavy.hash for heavy in plan.heavy]))
    frame = apply_in_order(group.df, group.keys, by, cuts, task)
    ranges = [f"{key_text(plan.heavy[i].key)} into {last - first + 1}" for i, (first, last) in cuts.spans.items()]
    note = f"hot keys are cut along {', '.join(map(str, by.orders))}: {', '.join(ranges[:8]) or 'none'} ranges"
    return remember(frame, noted(choice, note))
