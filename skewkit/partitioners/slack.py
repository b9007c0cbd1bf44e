"""How many messages above the mean `wrap` lets a worker run: by what W-Choices has had of late."""

from __future__ import annotations

_ALONE = (1.25, 2.5, 1.5)  # messages above the mean: for heavy keys, for light keys, for light keys with one worker
_BESIDE = (0.5, 2.25, 1.0)  # the same where there are several sources: what each allows itself adds up
_HORIZON = 4.0  # the average is that of the last quarter of the stream, mostly
_MOST = 15.0  # messages that count at most, of what W-Choices has above the mean
_WIDE, _SHARED = 5000.0, 250.0  # the same, times workers, and times sources
_STEEP, _OFF = 1.5, 1.0  # beyond two messages what is allowed grows half as fast again
APART = 3.0  # messages allowed, from which on sources do not care to begin their lists at different places


class Slack:
    """What `wrap` allows itself beside its rungs, in messages of average weight.

    W-Choices is within one or two messages of the mean where the stream is steady, and hundreds above it at times where
    keys come in bursts. `wrap` allows itself the average of that over the last quarter of the stream, each message
    counted with 15 messages at most (5000 / workers, and 250 / sources, where these are less), and half as much again
    of what is beyond two.

    * `allowed` is between 0 and 21.5.

    Args:
        workers: number of workers n.
        sources: number of sources of the stream.

    >>> slack = Slack(workers=100)
    >>> [slack.allowed(above, 1.0, 1) for above in (0.5, 2.0, 900.0)]
    [0.5, 2.0, 21.5]
    """

    def __init__(self, workers: int, sources: int = 1) -> None:
        self.rungs = _ALONE if sources == 1 else _BESIDE
        self.law = _HORIZON, min(_MOST, _WIDE / workers, _SHARED / sources), _STEEP, _OFF, APART
        self.recent = 0.0

    def allowed(self, above: float, unit: float, messages: int) -> float:
        """Take notice of W-Choices' greatest load above the mean, and return what is allowed now.

        Args:
            above: greatest load of W-Choices less the mean, after this message.
            unit: average weight of a message.
            messages: number of messages so far, this one among them.
        """
        horizon, most, steep, off, _ = self.law
        seen = min(above / unit, most) if unit > 0.0 else 0.0
        self.recent += (seen - self.recent) * min(1.0, horizon / messages)
        return max(self.recent, steep * self.recent - off)
