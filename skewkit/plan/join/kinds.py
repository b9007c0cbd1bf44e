"""What each type of join keeps, copies, drops, splits, builds and hides: one table, and the rules that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skewkit.plan.join.pair import SIDES, Side, opposite


@dataclass(frozen=True)
class JoinKind:
    """One type of join.

    * `aliases`: what `DataFrame.join` calls it beside its name.
    * `keeps`: sides whose rows come out, or are tested, one by one: a copy of such a row could come out twice.
    * `returns_unmatched`: sides whose rows come out though they match nothing.
    * `drops_early`: sides of which rows that the condition alone rules out may be left out before the join.
    * `streams`: sides whose rows can meet a broadcast of the other side's.
    * `builds`: the side that a shuffled hash join must build its table of. None where it may be either.
    * `adaptive_splits`: sides of which adaptive execution can split a partition.
    * `hides`: the side whose key does not show after a join by name. None where both are merged.
    * `pairs`: whether pairs of rows come out, and not rows of the left side alone.
    """

    name: str
    aliases: tuple[str, ...]
    keeps: tuple[Side, ...]
    returns_unmatched: tuple[Side, ...]
    drops_early: tuple[Side, ...]
    streams: tuple[Side, ...]
    builds: Side | None
    adaptive_splits: tuple[Side, ...]
    hides: Side | None
    pairs: bool = True


_L: tuple[Side, ...] = ("left",)
_R: tuple[Side, ...] = ("right",)
KINDS: dict[str, JoinKind] = {
    kind.name: kind
    for kind in (
        JoinKind("inner", (), (), (), SIDES, SIDES, None, SIDES, "right"),
        JoinKind("left", ("leftouter",), _L, _L, _R, _L, "right", _L, "right"),
        JoinKind("right", ("rightouter",), _R, _R, _L, _R, "left", _R, "left"),
        JoinKind("full", ("outer", "fullouter"), SIDES, SIDES, (), (), None, (), None),
        JoinKind("semi", ("leftsemi",), _L, (), SIDES, _L, "right", _L, "right", pairs=False),
        JoinKind("anti", ("leftanti",), _L, _L, _R, _L, "right", _L, "right", pairs=False),
    )
}
NAMES: dict[str, str] = {name: kind.name for kind in KINDS.values() for name in (kind.name, *kind.aliases)}
"""What `DataFrame.join` takes for `how`, without underscores, and the name of the type here."""


@dataclass(frozen=True)
class JoinRules:
    """The rules of one join: its type, whether it has a residual condition, and what may be read again.

    To split a hot key on one side, its rows on the other side are copied. That is exact

    * always, where the join does not keep the copied side: each pair of rows meets exactly once;
    * else only where rows that met nobody are checked again, inside the query. If their key is on the split side at
      all, every copied row has a match somewhere, and a copy without one is dropped. If it is not, one copy of the row
      is kept. A residual condition rules this out, because then a row may match nobody although its key is there.

    The look-up reads the key columns of the split side a second time, so that side must give the same rows again
    (`again`).

    >>> JoinRules("left").copies("right"), JoinRules("left").copies("left"), JoinRules("left", True).copies("left")
    ('freely', 'checked', 'never')
    >>> rules = JoinRules("full", again=("left",))
    >>> rules.copies("right"), rules.copies("left")
    ('checked', 'never')
    """

    how: str
    residual: bool = False
    again: tuple[Side, ...] = SIDES

    @property
    def kind(self) -> JoinKind:
        """The type of join."""
        return KINDS[self.how]

    def keeps(self, side: Side) -> bool:
        """Whether the join keeps (or tests) every row of this side."""
        return side in self.kind.keeps

    def copies(self, side: Side) -> Literal["freely", "checked", "never"]:
        """Return whether rows of a hot key may be copied on this side."""
        if not self.keeps(side):
            return "freely"
        return "checked" if not self.residual and opposite(side) in self.again else "never"

    @property
    def answers(self) -> bool:
        """Whether a semi or anti join may answer a hot key by the look-up alone, without the right side's rows."""
        return not self.kind.pairs and self.copies("left") == "checked"

    @property
    def closed(self) -> bool:
        """Whether no hot key can be split on any side."""
        return not self.answers and all(self.copies(side) == "never" for side in SIDES)
