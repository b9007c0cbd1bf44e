"""`cogroup`: functions of pairs of groups, each pair whole on a partition of one plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from skewkit.api.arguments import check_frame
from skewkit.api.group.function_checks import check_arguments, declared, with_schema
from skewkit.api.group.grouping import Grouping
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.plan.group.group_prices import function_work
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.unread_profiles import named_heavy
from skewkit.plan.profile.values import hashable
from skewkit.spark.group.group_map import apply_cogrouped
from skewkit.spark.group.worker.results import checked
from skewkit.spark.sampling.ask import Answer, Question, ask
from skewkit.spark.session.compat import is_connect
from skewkit.spark.session.jobs import counted
from skewkit.spark.session.remembered import remember

GroupFunction = Callable[..., Any]


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


@counted()
def apply_cogroup(left: Grouping, right: Grouping, func: GroupFunction, schema: StructType | str) -> DataFrame:
    """Run a function of pairs of groups, each pair whole on a partition of its own plan."""
    check_frame(left.df, "skew_groupby")
    check_arguments("func", func, frames=2)
    first, second = (side.df.groupBy(*side.keys.columns) for side in (left, right))
    plain = with_schema(schema, lambda: first.cogroup(second).applyInPandas(func, schema))
    returned = declared(left.df, plain.schema)
    func = checked(func, returned, f"the group function {getattr(func, '__name__', '')}".rstrip(), frames=2)
    native = first.cogroup(second).applyInPandas(func, plain.schema)
    for side in (left, right):
        if side.strategy == "native":
            return remember(native, side.native())
    if left.keys.types != right.keys.types:
        reason = f"the keys are of different types, {list(left.keys.types)} and {list(right.keys.types)}"
        return remember(native, left.native(reason))
    left = replace(left, work=function_work())
    unread = None if right.profile is not None else left.unread() and right.unread()
    if unread is not None:
        return remember(native, left.native(unread))
    choice = left.decide(Answer(_together(left, right), {}), divisible=False)
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    frame = apply_cogrouped((left.df, left.keys), (right.df, right.keys), choice.plan, func, returned)
    return remember(frame, choice)


def _together(left: Grouping, right: Grouping) -> KeyProfile:
    """Return the profile of the rows of both sides. One query profiles what is not known.

    Where keys were named, for either side, they are the hot ones, and nothing is profiled.
    """
    named = [side.profile for side in (left, right) if side.profile is not None and side.profile.named]
    if named:
        keys = {hashable(h.key): h.key for each in named for h in (*each.heavy, *each.null_heavy)}
        return named_heavy(left.keys.names, left.keys.types, list(keys.values()))
    unknown = [side for side in (left, right) if side.profile is None]
    questions = [Question(side.facts, side.keys) for side in unknown]
    why = f"a cogroup of skew_groupby on {', '.join(left.keys.names)}"
    found = ask(questions, left.partitions, left.settings, why=why) if questions else []
    new = [each.profile for each in found]
    first, second = (side.profile or new.pop(0) for side in (left, right))
    return first.merge(replace(second, keys=first.keys))
