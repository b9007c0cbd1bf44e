"""Two values, one of each side of a join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
T = TypeVar("T")
U = TypeVar("U")


def opposite(side: Side) -> Side:
    """Return the other side of a join.

    >>> opposite("left")
    'right'
    """
    return "right" if side == "left" else "left"


@dataclass(frozen=True)
class Pair(Generic[T]):
    """A value of the left side and one of the right side.

    >>> rows = Pair(3, 4)
    >>> rows.of("right"), rows.map(lambda n: n * 2), dict(rows.items())
    (4, Pair(left=6, right=8), {'left': 3, 'right': 4})
    """

    left: T
    right: T

    def of(self, side: Side) -> T:
        """Return one side's value."""
        return self.left if side == "left" else self.right

    def map(self, function: Callable[[T], U]) -> Pair[U]:
        """Return the pair of what a function makes of both values."""
        return Pair(function(self.left), function(self.right))

    def items(self) -> tuple[tuple[Side, T], tuple[Side, T]]:
        """Return both sides with their values."""
        return ("left", self.left), ("right", self.right)

    def __iter__(self) -> Iterator[T]:
        yield self.left
        yield self.right
