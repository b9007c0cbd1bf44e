"""What a call of `skew_join` asks for: the frames, the condition, the type, and how hot keys are to be treated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame

from skewkit.api.arguments import analysed, check_batch, check_partitions, settings_of
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest, shown
from skewkit.options import Settings
from skewkit.plan.choice import Choice
from skewkit.plan.join.kinds import KINDS, NAMES
from skewkit.plan.join.pair import Pair
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.expressions.skew_hint import skew_hint
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.session.compat import is_column


@dataclass(frozen=True, eq=False)
class JoinRequest:
    """A call of `skew_join`, with its arguments checked.

    `how` is as the user gave it, `kind` the type's name here. `fixed` says that the user gave the partitions.
    """

    frames: Pair[DataFrame]
    on: Any
    how: str | None
    kind: str
    strategy: str
    partitions: int
    fixed: bool
    settings: Settings
    heavy: Sequence[Any] | None
    profiles: Pair[KeyProfile | None]

    @property
    def auto(self) -> bool:
        """Whether skewkit is to decide."""
        return self.strategy == "auto"

    @property
    def informed(self) -> bool:
        """Whether the user says which keys are hot, so that no key needs to be read."""
        return self.heavy is not None or self.profiles.left is not None

    def kept_profile(self, profiles: Pair[KeyProfile | None]) -> KeyProfile | None:
        """Return what is known of the keys of the joined frame: those of the side that it keeps, or None.

        A join by name has one column of each key. Where both sides repeat a key, its rows in the result are not known.
        """
        names = self.on if isinstance(self.on, list) else [self.on]
        if self.kind == "full" or not all(isinstance(name, str) for name in names):
            return None
        kept, other = (profiles.right, profiles.left) if self.kind == "right" else (profiles.left, profiles.right)
        if kept is None or kept.named:
            return None
        once = other is not None and all(heavy.low <= 1 for heavy in (*other.heavy, *other.null_heavy))
        return kept if once or not KINDS[self.kind].pairs else None

    def title(self, partitions: int | None = None) -> str:
        """Return how `explain` names the join; with the partitions of its plan, where it has another number."""
        parts = [self.on] if isinstance(self.on, str) or is_column(self.on) else list(self.on)
        text = ", ".join(re.sub(r"^Column<'(.*)'>$", r"\1", str(part), flags=re.DOTALL) for part in parts)
        return f"{self.kind} join on {text}, {partitions or self.partitions} partitions"

    @cached_property
    def native(self) -> DataFrame:
        """The join that the user would have written without skewkit."""
        return analysed(lambda: self.frames.left.join(self.frames.right, self.on, self.how))

    def left_to_spark(self, reason: str) -> Choice:
        """Return the choice of plain Spark where no hot key can be split.

        Raises:
            UnsupportedError: the user asks for another strategy.
        """
        if self.strategy not in ("auto", "native"):
            raise UnsupportedError(f"strategy {self.strategy!r} is not possible here: {reason}; use 'auto' or 'native'")
        return Choice(self.title(), "native", reason, kind="join")


def join_request(
    frames: Pair[DataFrame],
    on: Any,
    how: str | None,
    strategy: str,
    partitions: int | None,
    heavy: Sequence[Any] | None,
    profiles: Pair[KeyProfile | None],
) -> JoinRequest:
    """Return the request of a call, its arguments checked before any job."""
    check_batch(frames.left, "skew_join (left)")
    check_batch(frames.right, "skew_join (right)", place="second")
    if profiles.right is not None and profiles.left is None:
        raise ArgumentError("right_profile is used together with left_profile; give that one too")
    kind = _kind(how)
    n = check_partitions(frames.left, partitions)
    on = list(on) if isinstance(on, (tuple, list)) else on
    settings = settings_of(frames.left)
    return JoinRequest(frames, on, how, kind, strategy, n, partitions is not None, settings, heavy, profiles)


def hinted(request: JoinRequest, keys: JoinKeys) -> JoinRequest:
    """Return the request with the hot keys that skew hints on its frames name, where the call itself says nothing.

    Raises:
        ColumnNotFoundError, ArgumentError: a hint names a column that its frame has not, or a value that does not fit.
    """
    if request.informed:
        return request
    heavy: list[Any] = []
    for own, frame in zip((keys.left, keys.right), request.frames, strict=True):
        hint = skew_hint(frame)
        values = hint.fitted(frame) if hint is not None else []
        if hint is not None and [name.lower() for name in own.names] == [hint.column.lower()]:
            heavy += [value for value in values if value not in heavy]
    return replace(request, heavy=heavy) if heavy else request


def _kind(how: str | None) -> str:
    how = "inner" if how is None else how  # as `DataFrame.join` has it
    if not isinstance(how, str):
        raise ArgumentTypeError(f"how is a string such as 'inner' or 'left', not {shown(how)}")
    plain = how.lower().replace("_", "")
    if plain == "cross":
        raise UnsupportedError("a cross join has no key, so no key can be hot; use left.crossJoin(right)")
    if plain not in NAMES:
        raise ArgumentError(f"unknown join type how={shown(how)}: {nearest(how, [*NAMES, 'cross'])}")
    return KINDS[NAMES[plain]].name
