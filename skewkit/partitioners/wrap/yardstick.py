"""What W-Choices would have on the same messages: the measure of balance that `wrap` keeps to."""

from __future__ import annotations

from array import array

from skewkit.partitioners.rules.least_loaded import LeastLoaded


class Yardstick:
    """Loads that W-Choices would have, by the rule of Nasir et al., Algorithm 1, for the same keys and messages.

    * Loads only grow, and sum up to the weights counted.
    * `top` is the greatest of them.

    Args:
        workers: number of workers n.

    >>> yardstick = Yardstick(workers=3)
    >>> [yardstick.count(0, 1, 1.0, head) for head in (False, False, False, True)]
    [1.0, 1.0, 2.0, 2.0]
    >>> list(yardstick.loads)
    [2.0, 1.0, 1.0]
    """

    def __init__(self, workers: int) -> None:
        self.loads = array("d", bytes(8 * workers))
        self.top = 0.0
        self._least = LeastLoaded(self.loads)

    def count(self, first: int, second: int, weight: float, head: bool) -> float:
        """Count a message, of a key of the head or of the tail, and return the greatest load."""
        loads = self.loads
        if head:
            worker = self._least.worker()
        else:
            worker = first if loads[first] <= loads[second] else second
        load = loads[worker] = loads[worker] + weight
        if load > self.top:
            self.top = load
        return self.top
