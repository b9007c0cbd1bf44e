"""How many messages above the mean `wrap` lets a worker run: by what W-Choices has had of late."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 20.0  # messages that count at most, of what W-Choices has above the mean
_WIDE, _SHARED = 5000.0, 250.0  # the same, times workers, and times sources
_STEEP, _OFF = 1.5, 1.0  # beyond two messages what may be allowed grows half as fast again
APART = 3.0  # messages allowed, from which on sources do not care to begin their lists at different places
_BEGINNING = 200  # messages per worker, in which nobody knows whether a stream is calm,
_OF_ALL = 100_000  # but of all sources no more than these
_FADING = 2.0  # a peak counts a quarter when twice as many messages have come
_QUIET, _WILD = 4.0, 8.0  # peaks up to which a stream is calm, and from which on it is not
_CHEAP, _COSTLY = 0.4, 0.7  # share of the further pairs of D-Choices up to which they are cheap, and from which on not
_TIGHT, _GONE = 0.85, 0.95  # the same, from which on some of the budget is spent, and all of it


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


class Both(NamedTuple):
    """Part of the load with heavy keys up to which light keys have both candidates, from which on none, and how many.

    `most` is the part of the light keys that have both up to `up_to`; in between fewer have.
    """

    up_to: float
    none_from: float
    most: float


class Rungs(NamedTuple):
    """Messages above the mean up to which a worker is not full for a key, now.

    That is for heavy keys, for light keys, for light keys with one worker, and how far the latter are apart by their
    `lateness`. `slack` is what heavy keys have of it for what W-Choices was lately. `both` is the part of the light
    keys that take the less loaded of two candidates whatever their loads: those whose `lateness` is below both - 1/2.
    """

    heavy: float
    light: float
    alone: float
    spread: float
    slack: float
    both: float


_ONE = Rule(1.25, 4.5, 1.5, 0.0, free=2.0, least=0.0)
_SOME = Rule(1.5, 6.0, 1.5, 4.0, free=2.0, least=0.15)  # two to eight sources: each sees few messages of a light key
_CALM = Rule(0.75, 5.0, 1.0, 3.0, free=0.3, least=0.15)  # the same where the stream is calm
_EARLY = Rule(0.25, 2.5, 0.0, 3.0, free=0.3, least=0.0)  # the same where it is not, but further pairs are cheap
_MANY = Rule(0.5, 5.0, 0.0, 4.0, free=1.0, least=0.0)  # what each allows itself adds up
_UNSPENT = Rule(0.5, 2.5, 0.0, 4.0, free=1.0, least=0.0)  # the same as long as nothing is spent
_BOTH_ONE, _BOTH_SOME, _BOTH_MANY = Both(0.0, 1.0, 0.0), Both(0.05, 0.25, 0.98), Both(0.2, 0.5, 1.0)
FEW = 8  # sources, up to which one sees enough to tell what the others do
_LATELY, _NEARLY = 4.0, 8.0  # the average is mostly that of the last quarter of the stream; eighth with some sources


def lateness(hashed: int) -> float:
    """Return whether a light key gets its second worker early, -1/2, or late, 1/2, or when in between.

    It is the same at every source. So sources that have to move some of a worker's light keys move the same ones, where
    each would move those that come just then, and in the end most of them would have been moved by one or another.

    >>> lateness(0), lateness(1023), lateness(1024) == lateness(0)
    (-0.49951171875, 0.49951171875, True)
    """
    return ((hashed & 1023) + 0.5) / 1024.0 - 0.5


class Slack:
    """What `wrap` allows itself, in messages of average weight: rungs, and slack beside them.

    W-Choices is within one or two messages of the mean where the stream is steady, and hundreds above it at times where
    keys come in bursts. `recent` is the average of that, mostly over the last quarter of the stream, each message
    counted with 20 at most (5000 / workers, and 250 / sources, where these are less). So much may be allowed, and of
    what is beyond two messages half as much again: up to two messages whatever has been spent of the further pairs of
    D-Choices (`Budget`), and what is beyond in proportion to what is spent, from 85 % of them (0) to 95 % (1).

    With several sources what each allows itself adds up, and no source sees how many pairs all of them have. With more
    than eight the rung for light keys is lower as long as nothing is spent. With two to eight light keys get at least
    0.15 of what is beyond, while further pairs are not few, the average is that of the last eighth, and the rungs are
    lower, and 0.3 messages free,

    * while the stream is calm. It is when W-Choices was within 4 messages of the mean since the first 200 messages per
      worker (100,000 of all sources, if that is less), where a peak counts a quarter when twice as many messages have
      come; it is not from 8 messages on (where a message counts with less than 8 at most: from that on, and calm up to
      half of it), nor where all is spent, and what is between is between. Pairs once made stay: so a source waits
      first, and a burst is remembered.
    * and lower still where it is not, or nobody knows, as long as one has at most 40 % of the further pairs of
      D-Choices; from 70 % on no more.

    Light keys that have one worker until it is full leave loads uneven in the same way at every source. Heavy keys fill
    that up. Where these have little of the load, nothing does, and so light keys take the less loaded of two candidates
    from the beginning, as in W-Choices: with two to eight sources 98 % of them as long as heavy keys have at most 5 %
    of the load, and none from a quarter on; with more sources all up to 20 %, and none from half on. Those are nearly
    the same keys at every source, by `lateness`, and a key keeps the second worker it got. That is the (1 +
    beta)-choice process of Peres, Talwar and Wieder (2010), by keys.

    * Slack is between 0 and 29, for light keys no less than for heavy ones; with one source, at most 2 where nothing
      is spent.

    Args:
        workers: number of workers n.
        sources: number of sources of the stream.

    >>> slack = Slack(workers=100)
    >>> [slack.allowed(above, unit=1.0, messages=1, share=1.0, heavy=True).slack for above in (0.5, 2.0, 900.0)]
    [0.5, 2.0, 29.0]
    >>> slack.allowed(900.0, unit=1.0, messages=1, share=0.8, heavy=False)
    Rungs(heavy=3.25, light=6.5, alone=3.5, spread=0.0, slack=2.0, both=0.0)
    >>> Slack(workers=100, sources=5).allowed(1.0, unit=1.0, messages=1, share=0.8, heavy=True)
    Rungs(heavy=2.5, light=7.0, alone=2.5, spread=4.0, slack=1.0, both=0.0)
    >>> Slack(workers=100, sources=5).allowed(0.2, unit=1.0, messages=1, share=0.4, heavy=False)
    Rungs(heavy=0.45, light=2.7, alone=0.2, spread=3.0, slack=0.2, both=0.98)
    """

    def __init__(self, workers: int, sources: int = 1) -> None:
        some, many = 1 < sources <= FEW, sources > FEW
        most = min(_MOST, _WIDE / workers, _SHARED / sources)
        self.rule = _SOME if some else _MANY if many else _ONE
        self.calm, self.early = (_CALM, _EARLY) if some else (_UNSPENT, _UNSPENT) if many else (_ONE, _ONE)
        self.both_by = _BOTH_SOME if some else _BOTH_MANY if many else _BOTH_ONE
        self.law = _NEARLY if some else _LATELY, most, _STEEP, _OFF
        wild = min(_WILD, most)
        self.peaks = min(_BEGINNING * workers, _OF_ALL / sources), _FADING, min(_QUIET, wild / 2.0), wild
        self.shares = *((_TIGHT, _GONE) if many else (_CHEAP, _COSTLY)), _TIGHT, _GONE
        self.recent = 0.0  # messages that W-Choices was above the mean, on average
        self.peak = most  # the same, at most
        self.filling = 0.0  # part of the load that heavy keys have, of late

    def allowed(
        self, above: float, unit: float, messages: int, share: float, heavy: bool, part: float | None = None
    ) -> Rungs:
        """Take notice of W-Choices' greatest load above the mean; return what is allowed now.

        Args:
            above: greatest load of W-Choices less the mean, after this message.
            unit: average weight of a message.
            messages: number of messages so far, this one among them.
            share: one's own further pairs over those of D-Choices.
            heavy: whether the message has a heavy key.
            part: its weight over that of all messages so far; 1 / messages by default.
        """
        horizon, most, steep, off = self.law
        beginning, fading, quiet, wild = self.peaks
        cheap, costly, tight, gone = self.shares
        seen = min(above / unit, most) if unit > 0.0 else 0.0
        self.recent += (seen - self.recent) * min(1.0, horizon / messages)
        self.peak = most if messages <= beginning else max(seen, self.peak * (1.0 - fading / messages))
        part = 1.0 / messages if part is None else part
        self.filling += (float(heavy) - self.filling) * min(1.0, horizon * part)
        up_to, none_from, most_both = self.both_by
        both = most_both * (1.0 - _part(self.filling, up_to, none_from))
        spent = _part(share, tight, gone)
        rule = _between(self.early, self.rule, _part(share, cheap, costly))
        rule = _between(self.calm, rule, max(_part(self.peak, quiet, wild), spent))
        wanted = max(self.recent, steep * self.recent - off)
        beyond = max(0.0, wanted - rule.free)
        slack = min(wanted, rule.free) + beyond * spent
        easy = min(wanted, rule.free) + beyond * max(spent, rule.least)
        return Rungs(rule.heavy + slack, rule.light + easy, rule.alone + easy, rule.spread, slack, both)


def _between(one: Rule, other: Rule, part: float) -> Rule:
    """Return the rule that is such a part of the way from one to the other."""
    return Rule(*(low + (high - low) * part for low, high in zip(one, other, strict=True)))


def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
