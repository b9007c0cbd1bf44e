"""Which side's rows of a hot key may be copied: what keeps each type of join exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
KEPT: dict[str, tuple[Side, ...]] = {
    "inner": (),
    "left": ("left",),
    "right": ("right",),
    "full": SIDES,
    "semi": ("left",),
    "anti": ("left",),
}
"""Sides whose rows a join keeps, or tests, one by one: a copy of such a row could come out twice."""


def opposite(side: Side) -> Side:
    """Return the other side of a join.

    >>> opposite("left")
    'right'
    """
    return "right" if side == "left" else "left"


@dataclass(frozen=True)
class JoinRules:
    """The rules of one join: its type, whether it has a residual condition, and what may be read again.

    To split a hot key on one side, its rows on the other side are copied. That is exact

    * always, where the join does not keep the copied side: each pair of rows meets exactly once;
    * else only where rows that met nobody are looked at again, inside the query: if their key is on the split side
      at all, every copied row has a match somewhere, and a copy without one is dropped; if it is not, one copy of
      the row is kept. A residual condition rules this out, because then a row may match nobody although its key is
      there.

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

    def keeps(self, side: Side) -> bool:
        """Whether the join keeps (or tests) every row of this side."""
        return side in KEPT[self.how]

    def copies(self, side: Side) -> Literal["freely", "checked", "never"]:
        """Return whether rows of a hot key may be copied on this side."""
        if not self.keeps(side):
            return "freely"
        return "checked" if not self.residual and opposite(side) in self.again else "never"

    @property
    def answers(self) -> bool:
        """Whether a semi or anti join may answer a hot key by the look-up alone, without the right side's rows."""
        return self.how in ("semi", "anti") and self.copies("left") == "checked"

    @property
    def closed(self) -> bool:
        """Whether no hot key can be split on any side."""
        return not self.answers and all(self.copies(side) == "never" for side in SIDES)
