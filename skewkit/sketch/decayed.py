"""Decay by epochs: a sketch that forgets, so that what was heavy long ago is not heavy for ever.

Source: Huang, "Efficient Time-Evolving Stream Processing at Scale", Algorithm 1 (FISH: counting within an
epoch, decaying between epochs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy.typing as npt

from skewkit.checks import keys_and_weights, real_number, whole_number
from skewkit.errors import ArgumentTypeError


class Sketch(Protocol):
    """What a sketch must offer in order to decay."""

    total: float

    def add(self, key: Any, weight: float = 1.0) -> float:
        """Count a key."""

    def add_many(self, keys: Any, weights: Any = None) -> None:
        """Count many keys."""

    def low(self, key: Any) -> float:
        """Return a lower bound."""

    def high(self, key: Any) -> float:
        """Return an upper bound."""

    def scale(self, factor: float) -> None:
        """Multiply every weight."""


S = TypeVar("S", bound=Sketch)


class Decayed(Generic[S]):
    """A sketch whose weights are multiplied by `alpha` after every `epoch` messages.

    The decay takes place when the first message of the next epoch arrives, before that message is counted
    (Algorithm 1, lines 4 to 6). The weight of a message of e epochs ago is its own times alpha**e.

    * The bounds of the sketch hold for the decayed weights: low <= decayed true weight <= high.
    * `total` decays with the rest, so shares stay shares.
    * `add_many` gives the same state as one `add` after the other.

    Args:
        sketch: a SpaceSaving or a CountMin, best an empty one. It is filled and scaled in place.
        epoch: messages per epoch (the paper takes 1,000).
        alpha: factor per epoch, 0..1: 1 never forgets, 0 forgets all (the paper takes 0.2).

    Raises:
        ArgumentError: `epoch` is below 1, or `alpha` is outside 0..1.
        ArgumentTypeError: `sketch` is no sketch.

    >>> from skewkit.sketch import SpaceSaving
    >>> recent = Decayed(SpaceSaving(10), epoch=4, alpha=0.5)
    >>> recent.add_many(["old"] * 4 + ["new"] * 3)
    >>> recent.high("old"), recent.high("new"), recent.total
    (2.0, 3.0, 5.0)
    """

    def __init__(self, sketch: S, epoch: int = 1000, alpha: float = 0.2) -> None:
        if not all(callable(getattr(sketch, name, None)) for name in ("add", "add_many", "scale")):
            raise ArgumentTypeError(f"sketch is {sketch!r}; expected a SpaceSaving or a CountMin")
        self.sketch = sketch
        self.epoch = whole_number("epoch", epoch)
        self.alpha = real_number("alpha", alpha, high=1.0)
        self.epochs = 0  # decays so far
        self._left = self.epoch

    @property
    def total(self) -> float:
        """All weight added, decayed."""
        return self.sketch.total

    @property
    def full(self) -> bool:
        """Whether the epoch is full: the next message decays the weights before it is counted."""
        return self._left == 0

    @property
    def left(self) -> int:
        """Messages until the epoch is full."""
        return self._left

    def counted(self, messages: int) -> None:
        """Take notice that messages of this epoch were counted in another form of the sketch."""
        self._left -= messages

    def turned(self) -> None:
        """Take notice that another form of the sketch was scaled: a new epoch begins."""
        self.epochs += 1
        self._left = self.epoch

    def _turn(self) -> None:
        """Begin a new epoch if the present one is full."""
        if self._left == 0:
            self.sketch.scale(self.alpha)
            self.turned()

    def add(self, key: Any, weight: float = 1.0) -> float:
        """Count `weight` for `key` and return what `add` of the sketch returns."""
        self._turn()
        bound = self.sketch.add(key, weight)
        self._left -= 1
        return bound

    def add_many(
        self,
        keys: Sequence[Any] | npt.NDArray[Any],
        weights: Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        """Count many keys, epoch by epoch.

        Raises:
            ArgumentError: a weight is negative or not finite, or there are not as many weights as keys. Nothing is
                counted then.
            ArgumentTypeError: `keys` is no sequence of keys, or a weight is no number.
        """
        listed, checked = keys_and_weights(keys, weights)
        start = 0
        while start < len(listed):
            self._turn()
            end = min(start + self._left, len(listed))
            self.sketch.add_many(listed[start:end], None if checked is None else checked[start:end])
            self._left -= end - start
            start = end

    def low(self, key: Any) -> float:
        """Return a lower bound of the decayed weight of `key`."""
        return self.sketch.low(key)

    def high(self, key: Any) -> float:
        """Return an upper bound of the decayed weight of `key`."""
        return self.sketch.high(key)
