"""How many messages above the mean `wrap` lets a worker run: by the pairs that it has, and by what W-Choices has."""

from __future__ import annotations

from typing import NamedTuple

from skewkit.partitioners.wrap.heavy import Fetch

_MOST = 20.0  # messages that count at most, of what W-Choices has above the mean
_WIDE, _SHARED = 5000.0, 250.0  # the same, times workers, and times sources
_STEEP, _OFF = 1.5, 1.0  # beyond two messages what may be allowed grows half as fast again
APART = 3.0  # messages allowed, from which on sources do not care to begin their lists at different places
_FURTHER = 1.5  # times the way from `level` to `thrift` that rungs go, where there are too many pairs
_TIGHT, _GONE = 0.85, 0.95  # share of the further pairs of D-Choices from which on some of them are spent, and all


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
    """Part of the light keys that have both candidates from the beginning.

    It is `most` as long as heavy keys have at most the part `up_to` of the load, and none from `none_from` on. It is
    also less from the share `ample` on of the further pairs of D-Choices, as the source itself counts them, and none
    where it has them `all`.
    """

    up_to: float
    none_from: float
    most: float
    ample: float = 0.98
    all: float = 1.0


class Terms(NamedTuple):
    """The rules for a number of sources: which is in force is a matter of the further pairs of D-Choices.

    Up to the share `cheap` of them `level` is, at `costly` `thrift`, and in between what is between; beyond that the
    rungs go on rising, for half as much again. Heavy keys have up to `wide` messages more, in proportion to how much
    more than half of the load is theirs. What W-Choices was lately is an average over the last part 1 / `horizon` of
    the stream, mostly. `fetch` is when a worker that lags joins a list.
    """

    level: Rule
    thrift: Rule
    cheap: float
    costly: float
    wide: float
    both: Both
    horizon: float
    fetch: Fetch


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


_ONE = Terms(
    level=Rule(0.0, 1.5, -0.5, 0.0, free=0.0, least=0.0),
    thrift=Rule(1.5, 6.0, 4.0, 0.0, free=2.0, least=0.0),
    cheap=0.3,
    costly=0.9,
    wide=0.0,
    both=Both(0.0, 1.0, 0.0),
    horizon=4.0,
    fetch=Fetch(much=5.0, lag=5.0, spare=0.85, looks=8),  # sooner it is no more level, and drifts cost more pairs
)
_SOME = Terms(  # each sees few messages of a light key
    level=Rule(0.25, 2.5, 0.0, 3.0, free=0.3, least=0.0),
    thrift=Rule(0.75, 6.0, 4.0, 0.0, free=2.0, least=0.15),
    cheap=0.4,
    costly=0.9,
    wide=0.0,
    both=Both(0.05, 0.25, 0.97),
    horizon=8.0,
    fetch=Fetch(much=2.0, lag=2.0, spare=1.0, looks=32),
)
_MANY = Terms(  # what each allows itself adds up
    level=Rule(0.5, 2.0, -0.5, 4.0, free=0.3, least=0.0),
    thrift=Rule(1.0, 5.0, 1.0, 4.0, free=1.0, least=0.0),
    cheap=0.85,
    costly=1.05,
    wide=1.0,
    both=Both(0.2, 0.5, 0.97),
    horizon=4.0,
    fetch=Fetch(much=3.0, lag=1.0, spare=1.0, looks=32),
)
FEW = 8  # sources, up to which one sees enough to tell what the others do


def lateness(hashed: int) -> float:
    """Return whether a light key gets its second worker early, -1/2, or late, 1/2, or when in between.

    It is the same at every source. So sources that have to move some of a worker's light keys move the same ones, where
    each would move those that come just then, and in the end most of them would have been moved by one or another.

    >>> lateness(0), lateness(1023), lateness(1024) == lateness(0)
    (-0.49951171875, 0.49951171875, True)
    """
    return ((hashed & 1023) + 0.5) / 1024.0 - 0.5


class Slack:
    """What `wrap` allows itself, in messages of average weight: rungs by the pairs that it has, and slack beside them.

    **Rungs.** The further pairs of D-Choices (`Budget`) are there to be spent: as long as `wrap` has few of them
    workers are full early, and loads are as level as those of W-Choices. Where it has nearly as many they are full
    late, above all for light keys with one worker, which are most of the pairs. That costs little balance: heavy keys
    fill workers to a rung below that, and one that light keys have lifted further gets no heavy ones for a while.

    ====================  ==================  ==================  ==================
    sources               1                   2 to 8              more
    ====================  ==================  ==================  ==================
    heavy keys            0 to 1.5            0.25 to 0.75        0.5 to 1
    light keys            1.5 to 6            2.5 to 6            2 to 5
    with one worker       -0.5 to 4           0 to 4              -0.5 to 1
    these are apart by    0                   3 to 0              4
    further pairs         30 to 90 %          40 to 90 %          85 to 105 %
    ====================  ==================  ==================  ==================

    Where it has still more, rungs go on rising, for half as much again.

    With more than eight sources heavy keys have up to one message more, where more than half of the load is theirs:
    each source makes its own lists, and what is in one of them nobody else knows.

    **Slack.** W-Choices is within one or two messages of the mean where the stream is steady, and hundreds above it at
    times where keys come in bursts. `recent` is the average of that, mostly over the last quarter of the stream (eighth
    with two to eight sources), each message counted with 20 at most (5000 / workers, and 250 / sources, where these are
    less). So much may be allowed, and of what is beyond two messages half as much again. From none to two messages are
    free, as further pairs become costly (from 0.3 with several sources, to one with more than eight); what is beyond
    in proportion to what is spent, from 85 % of the further pairs (0) to 95 % (1). With two to eight sources light keys
    get up to 0.15 of it before.

    **Both candidates.** With several sources light keys that have one worker until it is full leave loads uneven in
    the same way at every source, and that adds up. Heavy keys fill it up. Where these have little of the load, nothing
    does, and so light keys take the less loaded of two candidates from the beginning, as in W-Choices: 97 % of them as
    long as heavy keys have at most 5 % of the load, and none from a quarter on (20 % and half of it with more than
    eight sources), nor where there are as many further pairs as D-Choices has. Those are nearly the same keys at every
    source, by `lateness`, and a key keeps the second worker it got. That is the (1 + beta)-choice process of Peres,
    Talwar and Wieder (2010), by keys.

    * Slack is between 0 and 29, for light keys no less than for heavy ones; at most 2 where nothing is spent, but for
      light keys of two to eight sources.

    Args:
        workers: number of workers n.
        sources: number of sources of the stream.

    >>> slack = Slack(workers=100)
    >>> seen = dict(unit=1.0, messages=1, heavy=True, part=1.0)
    >>> [slack.allowed(above, share=1.0, own_share=1.0, **seen).slack for above in (0.5, 2.0, 900.0)]
    [0.5, 2.0, 29.0]
    >>> slack.allowed(900.0, share=0.3, own_share=0.3, **seen)
    Rungs(heavy=0.0, light=1.5, alone=-0.5, spread=0.0, slack=0.0, both=0.0)
    >>> seen = dict(unit=1.0, messages=1, heavy=False, part=1.0)
    >>> Slack(workers=100, sources=5).allowed(0.2, share=0.9, own_share=0.8, **seen)
    Rungs(heavy=0.95, light=6.2, alone=4.2, spread=0.0, slack=0.2, both=0.97)
    """

    def __init__(self, workers: int, sources: int = 1) -> None:
        self.terms = _ONE if sources == 1 else _SOME if sources <= FEW else _MANY
        self.law = self.terms.horizon, min(_MOST, _WIDE / workers, _SHARED / sources), _STEEP, _OFF, self.terms.wide
        self.shares = self.terms.cheap, self.terms.costly, _FURTHER, _TIGHT, _GONE
        self.recent = 0.0  # messages that W-Choices was above the mean, on average
        self.filling = 0.0  # part of the load that heavy keys have, of late

    def allowed(
        self, above: float, unit: float, messages: int, share: float, own_share: float, heavy: bool, part: float
    ) -> Rungs:
        """Take notice of W-Choices' greatest load above the mean; return what is allowed now.

        Args:
            above: greatest load of W-Choices less the mean, after this message.
            unit: average weight of a message.
            messages: number of messages so far, this one among them.
            share: further pairs over those of D-Choices, as they are estimated for all sources.
            own_share: the same of this source alone.
            heavy: whether the message has a heavy key.
            part: its weight over that of all messages so far.
        """
        terms, both = self.terms, self.terms.both
        horizon, most, steep, off, wide = self.law
        cheap, costly, further, tight, gone = self.shares
        seen = min(above / unit, most) if unit > 0.0 else 0.0
        self.recent += (seen - self.recent) * min(1.0, horizon / messages)
        self.filling += (float(heavy) - self.filling) * min(1.0, horizon * part)
        rule = _between(terms.level, terms.thrift, min(further, max(0.0, (share - cheap) / (costly - cheap))))
        spent = _part(share, tight, gone)
        wanted = max(self.recent, steep * self.recent - off)
        beyond = max(0.0, wanted - rule.free)
        slack = min(wanted, rule.free) + beyond * spent
        easy = min(wanted, rule.free) + beyond * max(spent, rule.least)
        wider = wide * max(0.0, 2.0 * self.filling - 1.0)
        few = both.most * (1.0 - _part(self.filling, both.up_to, both.none_from))
        few *= 1.0 - _part(own_share, both.ample, both.all)
        return Rungs(rule.heavy + wider + slack, rule.light + easy, rule.alone + easy, rule.spread, slack, few)


def _between(one: Rule, other: Rule, part: float) -> Rule:
    """Return the rule that is such a part of the way from one to the other; rungs may go on beyond it."""
    heavy, light, alone, spread = (low + (high - low) * part for low, high in zip(one[:4], other[:4], strict=True))
    free, least = (low + (high - low) * min(1.0, part) for low, high in zip(one[4:], other[4:], strict=True))
    return Rule(heavy, light, alone, max(0.0, spread), free, least)


def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
