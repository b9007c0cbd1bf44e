"""What a joined frame was made of, so that a sample of it can be drawn before the join runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.joinrules import SIDES, Side


@dataclass(frozen=True, eq=False)
class OriginSide:
    """A side of a join: its rows, 0 where nobody has counted them, and the bytes that a row may take in memory."""

    frame: DataFrame
    rows: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, eq=False)
class Origin:
    """A join as `DataFrame.join` takes it.

    `hot` are the rows that its hot keys have on the left and on the right, `output` the rows that it is expected to
    return (0: nobody knows); `streamed` is the side that Spark does not broadcast, where it broadcasts one.
    """

    left: OriginSide
    right: OriginSide
    on: Any
    how: str
    hot: tuple[tuple[float, float], ...] = ()
    output: float = 0.0
    streamed: Side | None = None

    @property
    def divisible(self) -> tuple[Side, ...]:
        """The sides of which a part can be joined in place of the whole.

        The result has the rows of a part of the join then; so the join must not keep rows of the other side.
        """
        sides: dict[str, tuple[Side, ...]] = {"inner": SIDES, "right": ("right",), "full": ()}
        return tuple(side for side in sides.get(self.how, ("left",)) if self.streamed in (None, side))

    def side(self, side: Side) -> OriginSide:
        """Return one of both sides."""
        return self.left if side == "left" else self.right

    def rows_of_hot(self, side: Side) -> tuple[float, ...]:
        """Return the rows of each hot key on a side."""
        return tuple(rows[side == "right"] for rows in self.hot)

    def joined(self, side: Side, part: DataFrame, *, broadcast: bool) -> DataFrame:
        """Return the join of a part of one side; an inner join may broadcast it, so as not to shuffle the other side.

        >>> one, two = OriginSide(spark.range(4)), OriginSide(spark.range(2, 9))
        >>> Origin(one, two, "id", "inner").joined("right", two.frame.where("id < 3"), broadcast=True).collect()
        [Row(id=2)]
        """
        part = F.broadcast(part) if broadcast and self.how == "inner" else part
        left, right = (part, self.right.frame) if side == "left" else (self.left.frame, part)
        return left.join(right, self.on, self.how)
