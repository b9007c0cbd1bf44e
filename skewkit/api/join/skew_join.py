"""`skew_join`: a join whose hot keys are spread over several tasks, with exactly the rows of `DataFrame.join`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.api.arguments import is_of_a_key, unread_reason
from skewkit.api.join.choosing import Chosen, answer
from skewkit.api.join.join_decision import JoinDecision
from skewkit.api.join.on import join_keys, without_ruled_out_rows
from skewkit.api.join.profiles import given_profiles
from skewkit.api.join.request import JoinRequest, hinted, join_request
from skewkit.api.join.sides import JoinSide
from skewkit.api.join.strategies import STRATEGIES
from skewkit.api.strategy_names import check_strategy
from skewkit.plan.choice import Choice
from skewkit.plan.join.pair import SIDES, Pair
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.session.compat import is_connect, lateral_alias_reason
from skewkit.spark.session.jobs import counted
from skewkit.spark.session.remembered import known_profile, remember


def skew_join(
    left: DataFrame,
    right: DataFrame,
    on: str | Column | Sequence[str] | Sequence[Column],
    how: str | None = "inner",
    *,
    strategy: str = "auto",
    partitions: int | None = None,
    heavy: Sequence[Any] | None = None,
    left_profile: KeyProfile | None = None,
    right_profile: KeyProfile | None = None,
) -> DataFrame:
    """Join two frames of which some keys may be hot.

    * The rows and columns are those of `left.join(right, on, how)`, whatever the profiles say.
    * Hot keys are treated on the left, on the right and on both sides, in every type of join. The condition may have
      equalities, null-safe ones, too, and anything else beside them. Keys of different types are compared in the
      type that Spark compares them in. Where only plain Spark can answer, it does, and `explain` says why.
    * Whether a hot key is on the other side at all is found inside the query where rows that the join keeps are copied.
      This reads the other side's keys once more. A side that may have other rows then is not read again, and its hot
      keys stay whole. With a residual condition, rows that the join keeps are not copied at all.
    * Rows whose null matches nothing are left out early or, where the join keeps them, spread.
    * Other columns stay the very same ones, so `left["x"]` and aliases work on the result as after a join. By name, the
      keys that do not show are hidden as Spark hides them, and `right["k"]` (in a right join `left["k"]`) finds them.
      The schema then allows nulls in more columns: in the right ones of a salted inner join, in all after
      `broadcast_head`. After a treated join of a frame with itself no reference to them is certain.
    * `broadcast_head` ends in a union, which loses some references: on Connect all by frame. Elsewhere it is the key
      that does not show, where both frames have the very same column, or one of them has two of a name. `auto` does
      not take it there.
    * `auto` takes another plan than plain Spark's only where it saves `spark.skewkit.margin` seconds by its own
      estimate, for the slots that the session has (`spark.skewkit.slots`). Else the plan is the user's own.
    * Without a profile `auto` runs at most one query, which samples the keys of both sides, and none where the
      optimizer knows that no plan would pay. With a left profile it runs none, but for `broadcast_head`,
      which has to know the right keys. With `heavy` it runs one in a large join, and in a small one whose named
      keys may have so many pairs that another plan pays.

    Args:
        left: the left frame.
        right: the other frame.
        on: as in `DataFrame.join`: a name, a list of names, a Column or a list of Columns.
        how: as in `DataFrame.join`, all aliases; `cross` is refused, as it has no key.
        strategy: `auto` (the cheapest); `native`; `broadcast_side`: a whole side is broadcast, where it surely fits;
            `broadcast_head`: hot rows of one side are joined to a broadcast of the other side's rows of these keys,
            which reads both frames twice; `salt`: hot rows are spread and the other side's are copied.
        partitions: number of partitions n; the session's shuffle partitions if None. If there are more than 200, and
            adaptive execution may coalesce them, `auto` takes fewer of frames that are only read, selected and
            filtered: one per MB, but 200 at least.
        heavy: hot keys that you know, as a list of values (tuples for composite keys). `auto` treats them by the
            cheapest strategy. In a large join, whose shuffle is expected to take eight times as long as a query, one
            query says which, and the other hot keys that it finds are treated, too. Frames so small that no plan could
            save the margin are left to plain Spark. If only a key with many rows on both sides could make it
            worthwhile, one query looks for such. Else nothing is profiled, but the right side for `broadcast_head`, and
            they are salted. They are taken to be hot in the frame that surely has
            more rows, as far as the optimizer knows. Else they are hot in the left one (in a right join the right one).
            What Spark broadcasts as a whole is left to it with `auto`, and so is a side that is repartitioned by the
            key. An empty list says that no key is hot. A key that one side has no room for, such as 300 where it is a
            tinyint, is spread only where the join returns unmatched rows of the other side. Values that
            `left.hint("skew", "k", value)` or `right.hint(...)` names for the key are the same as these.
        left_profile: profile of the left keys. Without it both sides are profiled as far as need be, as a rule in one
            query.
        right_profile: profile of the right keys, used with `left_profile`. Without it `broadcast_head` profiles the
            right side. With it the rows to be broadcast are counted first. `auto` broadcasts nothing by profiles.

    Raises:
        ColumnNotFoundError: a key is not in a frame.
        KeyTypeError: a key is, or holds, a map, a variant or a geometry.
        ArgumentError: unknown `how` or strategy, partitions below 1, or a heavy key that is no value of the key's type.
        ArgumentTypeError: a side is no DataFrame, or an argument is of another type.
        EnvironmentProblem: a side is of a session that was stopped.
        ProfileError: a profile is of other keys.
        UnsupportedError: a cross join, a stream, or a strategy that this join cannot have, such as `broadcast_head`
            in a full join.

    >>> facts = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS v")
    >>> names = spark.createDataFrame([("hot", "H")], "k string, name string")
    >>> joined = skew_join(facts, names, "k", "left", strategy="salt", partitions=4)
    >>> joined.count(), joined.where("name = 'H'").count()
    (90, 60)
    """
    profiles = Pair(left_profile, right_profile)
    check_strategy(strategy, ("auto", *STRATEGIES))
    request = join_request(Pair(left, right), on, how, strategy, partitions, heavy, profiles)
    with counted() as used:
        frame, choice = _answered(request)
    return remember(frame, choice, used)


def _answered(request: JoinRequest) -> Chosen:
    keys = join_keys(request.frames, request.on)
    native = request.native
    if request.strategy == "native":
        return native, Choice(request.title(), "native", "asked for", kind="join")
    if isinstance(keys, str):
        return native, request.left_to_spark(keys)
    request = hinted(request, keys)
    frames, keys = without_ruled_out_rows(request.frames, keys, request.kind)
    if request.informed:
        given, lost = given_profiles(request, keys)
    else:  # what the operators knew that made the frames
        given, lost = Pair(*map(known_profile, request.frames, (keys.left, keys.right))), ()
    sides = Pair(
        *(
            JoinSide(side, PlanFacts(frames.of(side)), own, given.of(side), trusted=not request.auto)
            for side, own in zip(SIDES, (keys.left, keys.right), strict=True)
        )
    )
    decision = JoinDecision(request, keys, sides, lost)
    try:
        frame, choice = answer(decision)
        if is_connect(frame) and choice.strategy != "native":
            frame.schema  # noqa: B018 - the server resolves the whole plan, which may fail; the schema is kept
        return frame, choice
    except Exception as error:
        lateral = lateral_alias_reason(error)
        if lateral is not None:
            return native, request.left_to_spark(lateral)
        if not request.auto or not is_of_a_key(error):
            raise
        # Plain Spark may compute fewer keys, or may fail as well, when it is asked for rows.
        return native, Choice(request.title(), "native", unread_reason(error), kind="join")
