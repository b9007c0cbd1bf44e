"""How many messages above the mean `wrap` lets a worker run: by what W-Choices has had of late."""

from __future__ import annotations

# Messages above the mean: for heavy keys, for light keys, for light keys with one worker; and how far light keys with
# one worker are apart by their turn.
_ALONE = (1.25, 2.5, 1.5, 0.0)
_BESIDE = (1.5, 4.0, 1.75, 4.0)  # for two to eight sources, each of which sees few messages of a light key
_AMONG = (0.5, 2.25, 1.0, 2.0)  # for more of them: what each allows itself adds up
_FEW = 8
_HORIZON = 4.0  # the average is that of the last quarter of the stream, mostly
_MOST = 20.0  # messages that count at most, of what W-Choices has above the mean
_WIDE, _SHARED = 5000.0, 250.0  # the same, times workers, and times sources
_STEEP, _OFF = 1.5, 1.0  # beyond two messages what may be allowed grows half as fast again
# Messages that are allowed whatever has been spent, and what light keys are allowed at least of all that is beyond.
_FREE_ALONE, _FREE_BESIDE, _FREE_AMONG = (2.0, 0.0), (2.5, 0.3), (2.0, 1.0)
APART = 3.0  # messages allowed, from which on sources do not care to begin their lists at different places


def turn(hashed: int) -> float:
    """Return when a light key's turn is to get a second worker, from -1/2, early, to 1/2, late.

    It is the same at every source. So sources that have to move some of a worker's light keys move the same ones, where
    each would move those that come just then, and in the end most of them would have been moved by one or another.

    >>> turn(0), turn(1023), turn(1024) == turn(0)
    (-0.49951171875, 0.49951171875, True)
    """
    return ((hashed & 1023) + 0.5) / 1024.0 - 0.5


class Slack:
    """What `wrap` allows itself beside its rungs, in messages of average weight.

    W-Choices is within one or two messages of the mean where the stream is steady, and hundreds above it at times where
    keys come in bursts. `recent` is the average of that, mostly over the last quarter of the stream, each message
    counted with 20 at most (5000 / workers, and 250 / sources, where these are less). So much is allowed, up to two
    messages; of what is beyond two, one and a half times as much, in proportion to what is spent of a budget of pairs.
    With up to eight sources it is two and a half messages, and light keys are allowed 0.3 of what is beyond, and with
    more sources all of it, whatever is spent: no source sees how many pairs all of them have.

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
        few = sources <= _FEW
        self.rungs = _ALONE if sources == 1 else _BESIDE if few else _AMONG
        free, least = _FREE_ALONE if sources == 1 else _FREE_BESIDE if few else _FREE_AMONG
        self.law = _HORIZON, min(_MOST, _WIDE / workers, _SHARED / sources), _STEEP, _OFF, free, least, APART
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
