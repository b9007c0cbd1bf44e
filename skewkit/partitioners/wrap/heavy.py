"""Which keys `wrap` takes as heavy, and when one of the heaviest takes a worker that lags behind."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

SEEN = 10.0  # messages (of average weight) that a key must have before it counts as heavy,
DOUBT = 0.4  # less so many standard deviations;
EARLY, WIDE = 3.0, 2.0  # or so many messages, and more than so many workers can take
LEVEL = 4.0  # messages that W-Choices is above the mean, at most, where a worker that lags is fetched


class Fetch(NamedTuple):
    """When a worker that lags joins the list of a key, though none of the list is full.

    The key must have the load of `much` workers, and all of its list `lag` messages more than the worker. There must be
    at most the share `spare` of the further pairs of D-Choices (`Budget`). Somebody looks `looks` times in as many
    messages as there are workers.
    """

    much: float
    lag: float
    spare: float
    looks: int


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


def every(workers: int, looks: int) -> int:
    """Return after how many messages somebody looks for a worker that lags.

    >>> every(5, looks=8), every(100, looks=8)
    (1, 12)
    """
    return max(1, workers // looks)


def may_fetch(low: float, total: float, unit: float, workers: int, above: float, share: float, fetch: Fetch) -> bool:
    """Return whether a heavy key may take a worker that lags behind all it has.

    As long as no worker is full nobody needs a further one, and a worker that got few keys may have nothing to do. In
    the end it would get all at once what it missed: its load is level then, but its queue is long, the longer the more
    sources it is behind at. And what it misses others have: one pair with a key that has enough for it makes room for
    many light keys. A stream where W-Choices is not level is another matter: there nearly all workers are below the
    mean, but for a few.

    Args:
        low: weight that the key has at least.
        total: weight of all messages.
        unit: average weight of a message.
        workers: number of workers n.
        above: greatest load of W-Choices less the mean.
        share: one's own further pairs over those of D-Choices (`Budget`).
        fetch: what the key and its workers must have.

    >>> seen = dict(low=60.0, total=100.0, unit=1.0, workers=10, share=0.5, fetch=Fetch(2.0, 2.0, 1.0, 32))
    >>> may_fetch(above=1.0, **seen), may_fetch(above=9.0, **seen)
    (True, False)
    """
    return low * workers >= fetch.much * total and above <= LEVEL * unit and share <= fetch.spare
