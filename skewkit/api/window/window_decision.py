"""One call of `select`: what was asked, how each function splits over blocks, the evidence, the plan, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from skewkit.api.arguments import analysed, first_line, stale_note
from skewkit.errors import ArgumentError
from skewkit.options import Settings
from skewkit.plan.choice import Choice, Weighed, cold_reason, hot_reason, small_reason
from skewkit.plan.costs import QUERY, Terms
from skewkit.plan.placement.key_plan import KeyPlan, key_plan
from skewkit.plan.placement.load import group_load
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.window.overflow import clear_of_overflow, wraps_around
from skewkit.plan.window.reach import Reach, reach_of
from skewkit.plan.window.session_form import session_split
from skewkit.plan.window.split_forms import split_of
from skewkit.plan.window.window_frame import RUNNING, WHOLE, Frame
from skewkit.plan.window.window_functions import LIMITED, SHIFTS, plain_name
from skewkit.plan.window.window_plan import Order, WindowPlan, spaced, turned, uniform_plan, window_plan
from skewkit.plan.window.window_prices import cut_window_stages, native_window_stages
from skewkit.plan.window.window_split import MOST_LISTED, WindowSplit, listed
from skewkit.spark.explained.plan_facts import PlanFacts, made_of
from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.expressions.columns import read_literal
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.sampling.ask import Answer, Question, ask
from skewkit.spark.session.compat import in_force, is_on, places_by_id
from skewkit.spark.session.remembered import known_profile
from skewkit.spark.session.slots import terms_of
from skewkit.spark.window.cut_window import native, split
from skewkit.spark.window.known_cuts import KnownCuts, cut_windows, marked, windowed_by
from skewkit.spark.window.ordering import LONGEST, OrderBy, is_text
from skewkit.spark.window.same_window import same_window
from skewkit.spark.window.window_calls import Expression, Function, Leaf, read_expression, read_function, text_of

AQE_NOTE = "adaptive execution never splits a window, so it would not help"
FIRST_ROWS = (
    "where only the first rows of each key are kept afterwards, as by rn <= 3, plain Spark keeps no more of them "
    "before its shuffle, and a hot key costs little: strategy='native' there"
)
_OF_ONE_ROW = "spark.sql.legacy.statisticalAggregate"
"""A sample's deviation and variance of one row are NaN with it, and null without."""
_MOST_INSIDE = 3
"""Each cut window reads its frame twice, the cut windows inside of it too."""
Calls = dict[Leaf, tuple[Function, WindowSplit | None]]


@dataclass(frozen=True, eq=False)
class Asked:
    """A frame with partition keys and an order, and what was asked for."""

    df: DataFrame
    keys: Keys
    by: OrderBy
    strategy: str
    partitions: int
    settings: Settings
    profile: KeyProfile | None = None
    frame: Frame | None = None

    @property
    def title(self) -> str:
        """How `explain` and errors name the window."""
        order = f" ordered by {', '.join(map(str, self.by.orders))}" if self.by.orders else ""
        frame = f", {self.frame}" if self.frame is not None else ""
        return f"window partitioned by {', '.join(self.keys.names)}{order}{frame}"

    def expression(self, name: str, column: Column) -> Expression:
        """Return a result column with the window functions in it."""
        return read_expression(name, column, self.frame, lambda over: same_window(self.df, self.keys, self.by, over))


@dataclass(frozen=True, eq=False)
class WindowDecision:
    """What was asked of one window, the evidence, and what comes of it. Each is worked out once, when it is needed."""

    asked: Asked
    expressions: tuple[Expression, ...]

    @cached_property
    def plain(self) -> DataFrame:
        """The frame that plain Spark makes.

        Raises:
            ArgumentError: Spark refuses a function over this window.
        """
        try:
            return self._native(self.expressions)
        except ArgumentError as error:
            for each in self.expressions:
                text = next(filter(None, map(text_of, each.leaves)), None)
                if text is not None and self._refused(each):
                    raise ArgumentError(
                        f"{each.name}=F.expr({text!r}) is SQL text of more than one call, and Spark takes one call "
                        f"OVER a window; write it with functions, such as {each.name}=F.col('v') - F.lag('v'), and "
                        "text that has its own OVER with df.withColumn"
                    ) from error
            raise

    def _native(self, expressions: Sequence[Expression]) -> DataFrame:
        asked = self.asked
        return analysed(lambda: native(asked.df, asked.keys, asked.by, expressions))

    def _refused(self, expression: Expression) -> bool:
        """Return whether Spark refuses this expression where it stands alone."""
        try:
            self._native([expression])
        except ArgumentError:
            return True
        return False

    @cached_property
    def facts(self) -> PlanFacts:
        """The frame as EXPLAIN shows it."""
        return PlanFacts(self.asked.df)

    @cached_property
    def reach(self) -> Reach | str:
        """How far the frames reach past a block, or why blocks cannot serve them all."""
        return reach_of(leaf.frame for each in self.expressions for leaf in each.leaves)

    @cached_property
    def calls(self) -> Calls | str:
        """Every function with how it splits (None: right as it is, with the rows around), or why the call is native."""
        by, reach, partitions = self.asked.by, self.reach, self.asked.partitions
        if by.columns and not by.cuttable:
            return f"partitions cannot be cut along {by.orders[0].name} of type {by.orders[0].type}"
        if isinstance(reach, str):
            return reach
        if reach.rows and not places_by_id():
            return f"the frame {reach.only or 'of rows'} needs rows of other blocks, and those need Spark 4.1 or later"
        found: Calls = {}
        for each in self.expressions:
            for leaf in each.leaves:
                function = read_function(self.asked.df, each.name, leaf)
                how = function if isinstance(function, str) else self._split(function)
                if isinstance(function, str) or isinstance(how, str):
                    return str(how)
                if how and self._too_long([carried.near for carried in how.carried], function.arguments):
                    return f"{each.name} would send too many rows between {partitions} blocks"
                found[leaf] = function, how
        handed = [*by.columns, *(each for function, _ in found.values() for each in function.arguments)]
        if reach.rows and self._too_long(reach.rows, handed):
            return f"the frame {reach.only or 'of rows'} would send too many rows between {partitions} blocks"
        return found

    def _split(self, function: Function) -> WindowSplit | str | None:
        ordered = bool(self.asked.by.columns)
        frame = function.leaf.frame or (RUNNING if ordered else WHOLE)
        if not ordered and not frame.whole:
            return "without an order the rows of a frame are any rows"
        overflow = wraps_around(frame, self.asked.by.orders[0].type, self.ansi) if ordered else None
        if overflow:
            return overflow
        if function.leaf.gap is not None:
            return session_split(function.leaf.gap)
        name = plain_name(function.call.name)
        if name in ("stddev_samp", "var_samp") and is_on(self.asked.df.sparkSession, _OF_ONE_ROW):
            return f"{name} of one row is another with {_OF_ONE_ROW}=true"
        if name in SHIFTS and frame.finite and function.call.ignore_nulls:
            return f"{name} that ignores nulls looks further than its frame"
        return None if frame.finite else split_of(function.call, frame, ordered=ordered)

    @cached_property
    def ansi(self) -> bool:
        """Whether sums that overflow fail in this session."""
        return in_force(self.asked.df.sparkSession, "spark.sql.ansi.enabled") == "true"

    def _too_long(self, near: Sequence[int], columns: Sequence[Column]) -> bool:
        """Return whether lists of so many rows of these columns are too long to hand from block to block."""
        if not any(near):
            return False
        width = PlanFacts(self.asked.df.select(*columns)).row_bytes if columns else 0.0
        return listed(near, self.asked.partitions, width) > MOST_LISTED

    @cached_property
    def native_because(self) -> str | None:
        """Why the call is native whatever the keys' loads are, or None."""
        asked = self.asked
        if asked.strategy == "native":
            return "asked for"
        if asked.keys.native_because:
            return asked.keys.native_because
        if self.small_because is not None:
            return self.small_because
        if isinstance(self.calls, str):
            return self.calls
        functions = [function for function, _ in self.calls.values()]
        given = (c for f in functions for c in (*f.arguments, *f.all) if read_literal(c) is None)
        read = [*asked.keys.columns, *asked.by.columns, *given]
        again = self.facts.stability(read)  # only the rows and these columns are read again
        numbered = (again.reason or "").startswith("holds positions") and self.facts.positioned
        same = again.deterministic if self.facts.shares_shuffles else again.repeatable
        if not same and not numbered:  # positions of what is stored are the same again
            return f"blocks read the frame more than once, and it {again.reason}: cache() it to have it cut"
        if len(self.inside) >= _MOST_INSIDE:
            return f"the frame holds {len(self.inside)} cut windows, and another one would read them twice: cache() it"
        differs = self.facts.stability(asked.by.columns, rerun=True).reason
        differs = differs or self.facts.drawn_per_place(read)
        if differs is not None:
            return f"rows may be in other blocks when a task runs again, as the order or a function {differs}"
        return None

    @cached_property
    def terms(self) -> Terms:
        """What the decision weighs: slots, margin, memory."""
        return terms_of(self.asked.df.sparkSession, self.asked.settings, self.asked.partitions)

    @cached_property
    def small_because(self) -> str | None:
        """Why `auto` is native before anything is asked of the keys, or None."""
        asked, terms = self.asked, self.terms
        if asked.strategy != "auto":
            return None
        small = self._small(QUERY) if self.facts.made else None
        if small is not None:
            return small
        if self.windowed:
            return "a window before has put the rows of each key together, in order, so this one shuffles nothing"
        if self.known is not None or asked.profile is not None or terms.margin < 0:
            return None
        if self.facts.source_rows is None:
            return "nobody knows how many rows the frame has, so nothing can be weighed; give a profile to have it cut"
        return self._small(self.asking)

    def _small(self, asking: float) -> str | None:
        """Return why no plan can pay for a query of so many seconds, whatever the keys are, or None."""
        asked, terms = self.asked, self.terms
        if asked.profile is not None or terms.margin < 0 or self.facts.source_rows is None:
            return None
        stages = native_window_stages(self.facts.most_source_rows, row_bytes(asked.df.schema), 1.0)
        return None if terms.worth_asking(stages, asking) else small_reason(terms, stages, asked.partitions, asking)

    @property
    def asking(self) -> float:
        """Expected seconds of the key sample."""
        rows = self.facts.most_source_rows if self.facts.rows is None else float(self.facts.rows)
        return self.terms.asking(rows, self.facts.shuffles_for_sample)

    @cached_property
    def weighed(self) -> Weighed:
        """What plain Spark takes, and what the plan takes."""
        width, keys = row_bytes(self.asked.df.schema), self.keys
        rows = self.profile.rows if self.profile.weight is None else self.facts.most_source_rows
        native = native_window_stages(rows, width, keys.native_straggler / keys.partitions)
        deciding = 0.0 if self.asked.profile is not None or self.is_cut else self.asking
        return Weighed(self.terms, native, cut_window_stages(keys, rows, width), deciding)

    @cached_property
    def windowed(self) -> bool:
        """Whether the frame ends with a window by some of these keys, after which another one shuffles nothing."""
        by = windowed_by(self.facts.physical)
        return by is not None and by <= {name.lower() for name in self.asked.keys.bare}

    @cached_property
    def inside(self) -> list[KnownCuts | None]:
        """The cut windows inside of the frame."""
        return cut_windows(self.facts.physical)

    @cached_property
    def known(self) -> KnownCuts | None:
        """The latest cut window inside of the frame, if it is of the same keys: its profile holds here, too."""
        latest = self.inside[-1] if self.inside else None
        return latest if latest is not None and latest.is_of(self.asked.keys, self.asked.partitions) else None

    @cached_property
    def known_profile(self) -> KeyProfile | None:
        """What the operator that made the frame knew of the keys."""
        return known_profile(self.asked.df, self.asked.keys, with_nulls=True)

    @cached_property
    def answer(self) -> Answer:
        """What one query says of the keys, and of the order where there is one."""
        asked = self.asked
        order = asked.by if asked.by.columns else None
        why = f"skew_window on {', '.join(asked.keys.names)}"
        return ask([Question(self.facts, asked.keys, order=order)], asked.partitions, asked.settings, why=why)[0]

    @property
    def profile(self) -> KeyProfile:
        """The profile that was given, else that of a cut window inside the frame, else what its operator knew.

        Without all of these it is the sample's. What an operator knew is taken only where no key is hot.
        """
        known = self.known.profile if self.known is not None else None
        return self.asked.profile or known or self.known_profile or self.answer.profile

    @cached_property
    def keys(self) -> KeyPlan:
        """Where the keys go, and which are spread."""
        return key_plan(group_load(self.profile), self.asked.partitions, "wrap")

    @cached_property
    def cold_because(self) -> str | None:
        """Why it does not pay to cut any partition, or None."""
        cold = cold_reason(self.keys, self.weighed) if self.asked.strategy == "auto" else None
        if cold is None and not any(len(h.parts) > 1 for h in self.keys.heavy):
            return "no partition is so hot that it had to be cut"
        return cold

    @property
    def is_cut(self) -> bool:
        """Whether the window before is cut where this one may be, so that nothing is asked."""
        return self._known_plan is not None

    @cached_property
    def _known_plan(self) -> WindowPlan | None:
        """The plan of the window before, if this one has its order, or the opposite one."""
        if self.known is None or self.reach != Reach():
            return None
        plans = (self.known.plan, turned(self.known.plan))
        return next((plan for plan in plans if plan.orders == self.orders), None)

    @property
    def orders(self) -> tuple[Order, ...]:
        """The order columns that partitions can be cut along."""
        return self.asked.by.orders[: self.asked.by.cuttable]

    @cached_property
    def plan(self) -> WindowPlan | str:
        """Where hot partitions are cut, along a sample of the order, or why there is nowhere to cut them."""
        asked = self.asked
        if self._known_plan is not None:
            return self._known_plan
        if asked.by.columns:
            sampled = self.answer.cuts([heavy.hash for heavy in self.keys.heavy])
            plan = window_plan(self.keys, self.orders, sampled)
        else:
            sampled, plan = {}, uniform_plan(self.keys)
        if plan.blocks and isinstance(self.reach, Reach) and self.reach.frame is not None:
            plan = clear_of_overflow(plan, self.reach.frame)
            if not plan.blocks:
                return f"all cuts are so near an end of {self.orders[0].type} that {self.reach.frame} may wrap around"
            plan = spaced(plan, sampled, self.reach.frame)
            if not plan.blocks:
                return f"the frame {self.reach.frame} reaches over most of a hot partition, so blocks would hold it all"
        if plan.blocks:
            return plan
        if not asked.by.orders:
            return "what is to be cut off the hot partitions is too small"
        if not any(len(h.parts) > 1 and sampled.get(i) for i, h in enumerate(self.keys.heavy)):
            return "no row of a hot partition was found"
        texts = any(is_text(order.type) for order in asked.by.orders)
        long = f" (of long values the first {LONGEST:,} characters or bytes count)" if texts else ""
        return f"the hot partitions have one value of the order, so there is nowhere to cut them{long}"

    def made(self) -> tuple[DataFrame, Choice]:
        """Return the frame, and how it is computed."""
        plain = self.plain
        if self.native_because is not None or isinstance(self.calls, str) or isinstance(self.reach, str):
            made_of(plain, [self.asked.df])
            return plain, self._choice("native", str(self.native_because))
        if self.cold_because is not None:
            choice = self._choice("native", self.cold_because, self.profile)
            return plain, replace(choice, opening=self._opening, notes=self._asked_notes)
        plan, asked = self.plan, self.asked
        if isinstance(plan, str):
            return plain, replace(self._choice("native", plan, self.profile), notes=self._asked_notes)
        prefix = marked(KnownCuts(asked.keys, asked.partitions, self.profile, plan))
        try:
            frame = split(asked.df, asked.keys, asked.by, plan, self.expressions, self.calls, self.reach, prefix)
        except AnalysisException as error:
            choice = self._choice("native", f"Spark does not take the split form: {first_line(error)}")
            return plain, replace(choice, notes=self._asked_notes)
        choice = self._choice("split", hot_reason(self.keys, self.weighed), self.profile)
        return frame, replace(choice, plan=self.keys, notes=self._notes(plan, self.calls), opening=self._opening)

    @property
    def _opening(self) -> str:
        """The sentence that `explain` begins with; none where the strategy was asked for."""
        if self.asked.strategy != "auto":
            return ""
        of = "rows" if self.profile.weight is None else "weight"
        return self.weighed.opening(self.keys, "a window in blocks", taken=self.cold_because is None, of=of)

    @property
    def _asked_notes(self) -> tuple[str, ...]:
        """What is to be said of the query for the keys, if there was one."""
        return self.answer.notes if "answer" in vars(self) else ()

    def _notes(self, plan: WindowPlan, calls: Calls) -> tuple[str, ...]:
        blocks = [f"{key_text(plan.keys.heavy[i].key)} into {b - a + 1} blocks" for i, (a, b) in plan.spans.items()]
        along = ", ".join(map(str, plan.orders[: plan.depth]))
        notes = [f"hot partitions are cut along {along}: {', '.join(blocks[:8])}", AQE_NOTE]
        notes += stale_note(self.profile, self.asked.partitions)
        if self.known is not None and self.asked.profile is None:
            cuts = " and cuts" if self._known_plan is plan else ""
            notes.append(f"keys{cuts} are those of the window before")
        notes += self._asked_notes
        if all(function.call.name.lower() in LIMITED for function, _ in calls.values()):
            notes.append(FIRST_ROWS)
        return tuple(notes)

    def _choice(self, strategy: str, reason: str, profile: KeyProfile | None = None) -> Choice:
        return Choice(
            f"{self.asked.title}, {self.asked.partitions} partitions",
            strategy,
            reason,
            profile,
            kind="window",
            result=profile or self.known_profile,
        )
