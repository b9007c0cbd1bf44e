"""How many messages above the mean `wrap` lets a worker run: by what W-Choices has had of late."""

from __future__ import annotations

from typing import NamedTuple

_HORIZON = 4.0  # the average is that of the last quarter of the stream, mostly
_MOST = 20.0  # messages that count at most, of what W-Choices has above the mean
_WIDE, _SHARED = 5000.0, 250.0  # the same, times workers, and times sources
_STEEP, _OFF = 1.5, 1.0  # beyond two messages what may be allowed grows half as fast again
APART = 3.0  # messages allowed, from which on sources do not care to begin their lists at different places


class Rule(NamedTuple):
    """What a source allows itself, in messages of average weight.

    The first four are rungs above the mean: for heavy keys, for light keys, for light keys with one worker, and how far
    the latter are apart by their `lateness`. `free` is allowed whatever has been spent, and light keys get at least the
    share `least` of what is beyond.
    """

    heavy: float
    light: float
    alone: float
    spread: float
    free: float
    least: float


_ONE = Rule(1.25, 2.5, 1.5, 0.0, free=2.0, least=0.0)
_SOME = Rule(1.5, 4.0, 1.75, 4.0, free=2.5, least=0.3)  # two to eight sources: each sees few messages of a light key
_MANY = Rule(0.5, 2.25, 1.0, 2.0, free=2.0, least=1.0)  # what each allows itself adds up
_FEW = 8


def lateness(hashed: int) -> float:
    """Return whether a light key gets its second worker early, -1/2, or late, 1/2, or when in between.

    It is the same at every source. So sources that have to move some of a worker's light keys move the same ones, where
    each would move those that come just then, and in the end most of them would have been moved by one or another.

    >>> lateness(0), lateness(1023), lateness(1024) == lateness(0)
    (-0.49951171875, 0.49951171875, True)
    """
    return ((hashed & 1023) + 0.5) / 1024.0 - 0.5


class Slack:
    """What `wrap` allows itself beside its rungs, in messages of average weight.

    W-Choices is within one or two messages of the mean where the stream is steady, and hundreds above it at times where
    keys come in bursts. `recent` is the average of that, mostly over the last quarter of the stream, each message
    counted with 20 at most (5000 / workers, and 250 / sources, where these are less). So much may be allowed, and of
    what is beyond two messages half as much again: up to two messages whatever has been spent of a budget of pairs, and
    what is beyond in proportion to what is spent. No source sees how many pairs all of them have; so with two to eight
    sources the first two and a half messages are free, and light keys get at least 0.3 of what is beyond, and with more
    sources all of it.

    * What is allowed is between 0 and 29, for light keys no less than for heavy ones; with one source, at most 2
      where nothing is spent.

    Args:
        workers: number of workers n.
        sources: number of sources of the stream.

    >>> slack = Slack(workers=100)
    >>> [slack.allowed(above, unit=1.0, messages=1, spent=1.0) for above in (0.5, 2.0, 900.0)]
    [(0.5, 0.5), (2.0, 2.0), (29.0, 29.0)]
    >>> slack.allowed(900.0, unit=1.0, messages=1, spent=0.0)
    (2.0, 2.0)
    >>> Slack(workers=100, sources=5).allowed(900.0, unit=1.0, messages=1, spent=0.0)
    (2.5, 10.45)
    """

    def __init__(self, workers: int, sources: int = 1) -> None:
        rule = _ONE if sources == 1 else _SOME if sources <= _FEW else _MANY
        self.rungs = rule.heavy, rule.light, rule.alone, rule.spread
        most = min(_MOST, _WIDE / workers, _SHARED / sources)
        self.law = _HORIZON, most, _STEEP, _OFF, rule.free, rule.least, APART
        self.recent = 0.0

    def allowed(self, above: float, unit: float, messages: int, spent: float) -> tuple[float, float]:
        """Take notice of W-Choices' greatest load above the mean; return what heavy and light keys are allowed now.

        Args:
            above: greatest load of W-Choices less the mean, after this message.
            unit: average weight of a message.
            messages: number of messages so far, this one among them.
            spent: what is spent of the budget of pairs, from 0 to 1.
        """
        horizon, most, steep, off, free, least, _ = self.law
        seen = min(above / unit, most) if unit > 0.0 else 0.0
        self.recent += (seen - self.recent) * min(1.0, horizon / messages)
        wanted = max(self.recent, steep * self.recent - off)
        beyond = max(0.0, wanted - free)
        return min(wanted, free) + beyond * spent, min(wanted, free) + beyond * max(spent, least)
