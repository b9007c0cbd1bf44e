"""What a joined frame was made of, so that a sample of it can be drawn before the join runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.joinrules import Side


@dataclass(frozen=True, eq=False)
class Origin:
    """A join as `DataFrame.join` takes it.

    `hot` are the rows that its hot keys have on the left and on the right, `rows` those of the sides, `output` those
    that it is expected to return; 0 where nobody has measured them.
    """

    left: DataFrame
    right: DataFrame
    on: Any
    how: str
    hot: tuple[tuple[float, float], ...] = ()
    rows: tuple[float, float] = (0.0, 0.0)
    output: float = 0.0

    @property
    def sides(self) -> tuple[tuple[Side, DataFrame], ...]:
        """The sides of which a part can be joined in place of the whole, with their frames.

        With a part of the right side a semi join would lose rows, and an anti join would find more.
        """
        left: tuple[Side, DataFrame] = ("left", self.left)
        return (left,) if self.how in ("semi", "anti") else (left, ("right", self.right))

    def rows_of_hot(self, side: Side) -> tuple[float, ...]:
        """Return the rows of each hot key on a side."""
        return tuple(rows[side == "right"] for rows in self.hot)

    def rows_of(self, side: Side) -> float:
        """Return the rows of a side, 0 where nobody has measured them."""
        return self.rows[side == "right"]

    def joined(self, side: Side, part: DataFrame) -> DataFrame:
        """Return the join of a small part of one side; what of the other side meets none of it is left out.

        In an inner join the part is broadcast, so that the other side is not shuffled for so few rows, if it is certain
        that they are few.

        >>> numbers = spark.range(4)
        >>> Origin(numbers, numbers, "id", "full").joined("right", numbers.where("id = 3")).collect()
        [Row(id=3)]
        """
        kept = self.how if self.how in ("inner", "semi", "anti", side) else side if self.how == "full" else "inner"
        part = F.broadcast(part) if kept == "inner" and self.rows_of(side) else part
        left, right = (part, self.right) if side == "left" else (self.left, part)
        return left.join(right, self.on, kept)
