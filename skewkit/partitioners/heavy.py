"""Which keys `wrap` takes as heavy, and when one of the heaviest takes a worker that lags behind."""

from __future__ import annotations

from math import sqrt

SEEN = 10.0  # messages (of average weight) that a key must have before it counts as heavy,
DOUBT = 0.4  # less so many standard deviations;
EARLY, WIDE = 3.0, 2.0  # or so many messages, and more than so many workers can take
MUCH = 5.0  # workers' shares of the load that a key must have to take a worker that lags,
LEVEL = 4.0  # messages that W-Choices is above the mean then at most,
SPARE = 0.85  # of the further pairs of D-Choices (`Budget`), at most,
LAG = 5.0, 2.5  # messages that the worker is below all those of the key: with up to eight sources, and with more
_LOOKS = 8  # times that somebody looks for such a worker, in as many messages as there are workers


def is_heavy(low: float, total: float, unit: float, theta: float, workers: int) -> bool:
    """Return whether a key of the head is heavy: by chance light keys are in the head, too, as long as it is small.

    Args:
        low: weight that the key has at least.
        total: weight of all messages.
        unit: average weight of a message.
        theta: least share of a heavy key.
        workers: number of workers n.

    >>> is_heavy(3.0, 20.0, 1.0, 0.02, 10), is_heavy(3.0, 15.0, 1.0, 0.02, 10), is_heavy(12.0, 500.0, 1.0, 0.02, 10)
    (False, True, True)
    """
    sure = low >= SEEN * unit and low - DOUBT * sqrt(low) * sqrt(unit) >= theta * total
    return sure or (low >= EARLY * unit and low * workers >= WIDE * total)


def every(workers: int) -> int:
    """Return after how many messages somebody looks for a worker that lags.

    >>> every(5), every(100)
    (1, 12)
    """
    return max(1, workers // _LOOKS)


def may_fetch(low: float, total: float, unit: float, workers: int, above: float, share: float) -> bool:
    """Return whether a heavy key may take a worker that lags behind all it has.

    As long as no worker is full nobody needs a further one, and a worker that got few keys may have nothing to do. In
    the end it would get all at once what it missed: its load is level then, but its queue is long. One pair with a key
    that has enough for it is all that it needs. A stream where W-Choices is not level is another matter: there nearly
    all workers are below the mean, but for a few.

    Args:
        low: weight that the key has at least.
        total: weight of all messages.
        unit: average weight of a message.
        workers: number of workers n.
        above: greatest load of W-Choices less the mean.
        share: one's own further pairs over those of D-Choices.

    >>> may_fetch(60.0, 100.0, 1.0, 10, above=1.0, share=0.5), may_fetch(60.0, 100.0, 1.0, 10, above=9.0, share=0.5)
    (True, False)
    """
    return low * workers >= MUCH * total and above <= LEVEL * unit and share <= SPARE
