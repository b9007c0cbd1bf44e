"""What a joined frame was made of, so that a sample of it can be drawn before the join runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.join.kinds import SIDES, Side, opposite
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.session.compat import is_of_a_task


@dataclass(frozen=True, eq=False)
class OriginSide:
    """A side of a join: its rows, 0 where nobody has counted them, and the bytes that a row may take in memory.

    `most` are the rows that a key has at most, None where nobody knows.
    """

    frame: DataFrame
    keys: Keys
    rows: float = 0.0
    width: float = 0.0
    most: float | None = None

    @cached_property
    def most_rows(self) -> float:
        """The rows that a key has at most, counted now where nobody knows; infinity where that fails."""
        if self.most is not None:
            return self.most
        names = [f"k{i}" for i in range(len(self.keys.columns))]
        keys = self.frame.select(*(c.alias(name) for c, name in zip(self.keys.columns, names, strict=True)))
        known = keys.where(~self.keys.selected(names).any_null)
        try:
            row = known.groupBy(*names).agg(F.count(F.lit(1)).alias("n")).agg(F.max("n")).first()
        except Exception as error:
            if not (isinstance(error, PySparkException) or is_of_a_task(error)):
                raise
            return inf
        return 0.0 if row is None or row[0] is None else float(row[0])


@dataclass(frozen=True, eq=False)
class Origin:
    """A join as `DataFrame.join` takes it.

    `output` are the rows that it is expected to return, 0 where nobody knows; `streamed` is the side that Spark does
    not broadcast, where it broadcasts one.
    """

    left: OriginSide
    right: OriginSide
    on: Any
    how: str
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

    def met_by(self, side: Side) -> float:
        """Return how many rows a row of a side meets at most."""
        return 1.0 if self.how in ("semi", "anti") else self.side(opposite(side)).most_rows

    def joined(self, side: Side, part: DataFrame, *, broadcast: bool) -> DataFrame:
        """Return the join of a part of one side; an inner join may broadcast it, so as not to shuffle the other side.

        >>> keys = Keys((F.col("id"),), ("id",), ("bigint",))
        >>> one, two = OriginSide(spark.range(4), keys), OriginSide(spark.range(2, 9), keys)
        >>> Origin(one, two, "id", "inner").joined("right", two.frame.where("id < 3"), broadcast=True).collect()
        [Row(id=2)]
        """
        part = F.broadcast(part) if broadcast and self.how == "inner" else part
        left, right = (part, self.right.frame) if side == "left" else (self.left.frame, part)
        return left.join(right, self.on, self.how)
