"""skewkit's own scheme on the streams of the papers: known frequencies, none known, and unequal workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewkit.partitioners import PARTITIONERS
from skewkit.reproduce.figure import Axis, Claim, Figure, Paper, Plot, Row, Rows, Size, pick
from skewkit.reproduce.measuring import draws, exponents, median
from skewkit.reproduce.wrap_curve import CURVE
from skewkit.simulator import replay, streams
from skewkit.simulator.streams import Stream

KEYS = 10_000
COMPARED = ("d_choices", "w_choices", "wrap")
PAIRS = Axis("extra pairs", "extra pairs", log=True)
CAPACITIES = {"1 in 5 at half": (1.0, 1.0, 1.0, 1.0, 0.5), "1, 2 and 4": (1.0, 1.0, 2.0, 2.0, 4.0)}
WAYS = ("wrap", "fish", "consistent", "d_choices", "w_choices")  # `wrap` is told the capacities
ABOVE = Axis("max over mean", "greatest load - mean (messages)", log=True)


def _row(stream: Stream, scheme: str, workers: int, size: Size) -> Row:
    """Return medians over draws of the hash functions."""
    keys, counts = np.unique(stream, return_counts=True)

    def one(seed: int) -> tuple[float, float]:
        p = PARTITIONERS[scheme](workers, seed)
        trace = replay(stream, p.fit(keys, counts) if scheme == "wrap" else p)
        return trace.imbalance * stream.size, float(trace.pairs - keys.size)

    found = [one(seed) for seed in range(draws(size))]
    return {
        "workers": workers,
        "max over mean": median(lambda seed: found[seed][0], len(found)),
        "extra pairs": median(lambda seed: found[seed][1], len(found)),
        "keys": keys.size,
    }


def known(size: Size, seed: int) -> list[Row]:
    """Imbalance and pairs beyond one per key, when `wrap` knows the frequencies."""
    rows: list[Row] = []
    for n in size.of(full=(10, 100, 1000), quick=(10, 100, 1000), tiny=(10,)):
        for z in exponents(size):
            stream = streams.zipf(size.of(1_000_000, 200_000, 3_000), KEYS, z, seed)
            for scheme in COMPARED:
                rows.append({"scheme": scheme, "exponent": z, **_row(stream, scheme, n, size)})
    return rows


def unequal(size: Size, seed: int) -> list[Row]:
    """How far the greatest load by capacity exceeds the mean, in percent of it, and pairs, on unequal workers."""
    m = size.of(200_000, 20_000, 3_000)
    rows: list[Row] = []
    for shape, fifth in CAPACITIES.items():
        speeds = np.tile(fifth, 4)
        for z in size.of(full=(0.8, 1.4, 2.0), quick=(0.8, 2.0), tiny=(1.4,)):
            stream = streams.zipf(m, KEYS, z, seed)
            for scheme in WAYS:
                options: dict[str, Any] = {"capacities": speeds} if scheme == "wrap" else {}
                found = []
                for draw in range(size.of(5, 3, 1)):
                    p = PARTITIONERS[scheme](20, draw, **options)
                    # As fast as the workers together can take 95 % of; only where somebody learns from it.
                    served = {"service_times": 0.95 * speeds.sum(), "capacities": speeds} if p.learns else {}
                    trace = replay(stream, p, **served)
                    fullest = float((trace.loads / speeds).max() * speeds.sum() / trace.loads.sum())
                    found.append((100 * (fullest - 1), float(trace.pairs - np.unique(stream).size)))
                above, pairs = (float(value) for value in np.median(found, axis=0))
                rows.append(
                    {"capacities": shape, "exponent": z, "scheme": scheme, "above": above, "extra pairs": pairs}
                )
    return rows


def _bound(rows: Rows) -> str:
    mine = [row for row in rows if row["scheme"] == "wrap"]
    worst = max(float(row["max over mean"]) for row in mine)
    within = sum(float(row["extra pairs"]) <= float(row["workers"]) - 1 for row in mine)
    return f"at most {worst:.2f} messages above the mean; pairs within the bound at {within} of {len(mine)} points"


def _by_capacity(rows: Rows) -> str:
    parts = []
    for scheme, label in (("wrap", "wrap"), ("fish", "FISH"), ("w_choices", "W-C")):
        parts.append(f"{label} {max(pick(rows, 'above', scheme=scheme)):.1f} %")
    ours, theirs = (pick(rows, "extra pairs", scheme=scheme) for scheme in ("wrap", "d_choices"))
    fewer = sum(one <= other for one, other in zip(ours, theirs, strict=True))
    return (
        f"greatest load by capacity above the mean, worst of all: {', '.join(parts)}; no more pairs than D-Choices at "
        f"{fewer} of {len(ours)} points"
    )


_REMARKS = """One source unless said otherwise; medians of 10 draws of the hash functions (3, in full 5, with
capacities). Extra pairs are key-worker pairs beyond one per key.

`python -m benchmarks papers` has 370 lines of the papers' streams: the Zipf streams, words and git changes of the
D-Choices paper with its numbers of workers and sources, those of the Consistent Grouping, DKG, POSG and FISH papers,
and more of them where Equation (3) gives a few choices. Lines that miss the aim, give or take two messages of
imbalance; beside them those that end one message or more above W-Choices, and those that are more than 1e-4 of all
messages above it at the end or on average, which is what D-Choices tolerates:

| sources | lines | above at the end | on average | more pairs than D-Choices | above at all | above 1e-4 |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 1 | 160 | 0 | 0 | 0 | 20 | 0 |
| 5 | 201 | 0 | 0 | 0 | 49 | 0 |
| 10, 48 | 6 | 0 | 0 | 0 | 0 | 0 |
| 50 | 3 | 0 | 1 | 0 | 1 | 0 |

The one that misses it: words from 50 sources on 50 workers, on average over the stream 26 messages above the mean,
where W-Choices is 22 and D-Choices 303 (at the end 24, 22 and 641).

`python -m benchmarks balance` has 233 more streams, most of which no paper has (1 M messages, 32 of them 20,000 and
100,000; 5 to 1,000 workers, drift, real columns, 1 to 48 sources):

| sources | lines | above at the end | on average | more pairs than D-Choices |
| ---: | ---: | ---: | ---: | ---: |
| 1 | 131 | 1 | 0 | 4 |
| 2 | 11 | 1 | 0 | 0 |
| 5 | 74 | 11 | 12 | 4 |
| 16 | 3 | 0 | 0 | 0 |
| 48 | 14 | 1 | 7 | 1 |

* Pairs: with one source the fastest drifts at z = 2 on 1,000 workers (1.5 and 17.8 % more than D-Choices), 300 even
  keys on 100 workers (963 for 890; every key is heavy, D-Choices ends 447 messages above the mean, `wrap` 1), and git
  changes by author on 20 workers (2,158 for 2,151). With five sources 100 even keys (1,129 for 608), a drift on 1,000
  workers (16,816 for 14,039), and git changes by author on 20 and 100 workers (2,190 for 2,147, 3,398 for 3,272); with
  48 the 100 even keys (1,852 for 907: at each source their shares differ by chance, and W-Choices has all 10,000).
* Five sources, messages above the mean at the end, `wrap`, W-Choices and D-Choices: 10, 7 and 46 (git changes by
  author, 5 workers; on average over the stream 313, 634 and 880), 15, 6 and 1,700 (drift at z = 0.8, 100; on average
  34, 42 and 759); on 1,000 workers 26, 19 and 669, 43, 8 and 613 (drifts), 13, 10 and 11 (z = 0.1). On 1,000 workers
  the averages are up to 10 messages above those of W-Choices, as each source needs some time to learn. All that is
  below 1e-4 of the messages.
* Short streams: one source is as level as W-Choices. With several sources short streams that drift or turn miss: all
  sources send a key that has become hot to the same workers, until these are full at each of them, and that adds up.
  Of 20,000 messages of five sources the end is 10 to 16 messages above the mean there, where W-Choices has 4 or 5 and
  D-Choices 16 to 154; of 100,000 it is up to 9, 5, and 62 to 714. Pairs are 4 to 11 % fewer than those of D-Choices.
  With two sources, 20,000 messages and 20 workers it is 8, 2 and 34 on the stream of FISH's Section 6.1, which turns.
* More sources: where no key is heavy and workers are alike `wrap` is as level as W-Choices, as light keys have two
  candidates from the beginning. Where some are, what the others leave uneven adds up: with 48 sources on average over
  the stream 27 messages for 22 (z = 0.8), and 4 to 26 more than W-Choices with drift, of 137 to 410. Where skew is
  high, `wrap` is more level: 13, 26 and 66 (z = 1.4), 13, 25 and 41 (z = 2). In queues (Figures 13 and 14 of the
  D-Choices paper, `d-choices-14`) its 99th percentile is up to twice that of W-Choices all the same: a worker that got
  few messages at first has to take them later.
* Fitted to the frequencies, one source is within one message of the mean on all lines, and all are within keys + n -
  1 pairs. Several sources know what all send, but not what each has sent: five end up to 3 messages above the mean,
  48 up to 15, which is more than 1e-3 of it on 1,000 workers, on most short streams, and with 48 sources on three
  lines.
* Workers of unlike capacities, in a second table of 84 lines (Zipf streams, drifts, words, git directories). `wrap`
  that is told them is up to 10 % above the mean by capacity for a while after many keys have changed (most on git
  directories), and without drift up to 1 %, where W-Choices is 53 to 133 % above it and D-Choices 53 to 346 %. `wrap`
  that learns them does as well: 10.5 % and 1 %. Neither has more pairs than D-Choices on any line. (One that learns
  may have more with several sources where service times vary by as much as their mean: each learns from its own
  reports only.)"""

PAPER = Paper(
    name="wrap",
    citation="skewkit's own scheme: `wrap` beside D-Choices and W-Choices",
    remarks=_REMARKS,
    departures=(
        "This scheme is no paper's. Its fitted plan is McNaughton's wrap-around rule (1959); the hashed candidate of a "
        "key is the first one of the D-Choices paper.",
        "Online, no plan is made of frequencies: the rule is applied to the loads as they are, at every message. The "
        "sketch only says which keys keep their lists. It counts the keys that have one, and takes a key in when its "
        "hashed candidate is full; where all places are taken, the lighter half goes at once, as in Anderson et al., "
        "A High-Performance Algorithm for Identifying Frequent Items in Data Streams (2017).",
        "Workers neither join nor leave (`elastic` is False): take `fish` or `consistent` for that.",
    ),
    figures=(
        Figure(
            "wrap-known",
            "wrap with known frequencies: imbalance and pairs",
            "10,000 Zipf keys, 1 M messages (200,000 with --quick). `wrap` is fitted to the frequencies, the others "
            "learn.",
            known,
            Plot(
                Axis("exponent", "skew z"),
                (ABOVE, Axis("extra pairs", "extra pairs", log=True)),
                "scheme",
                across="workers",
            ),
            (
                Claim(
                    "skewkit promises: less than one message above the mean (rounded up), with 1,000 messages per "
                    "worker or more, and at most n - 1 extra pairs.",
                    _bound,
                    "None.",
                ),
            ),
        ),
        CURVE,
        Figure(
            "wrap-capacities",
            "wrap on unequal workers, that it is told of",
            "20 workers, 200,000 messages (20,000 with --quick), as fast as the workers can take 95 % of; 10,000 Zipf "
            "keys. `fish` and CG learn from the workers' reports, D-C and W-C do not know of capacities.",
            unequal,
            Plot(
                Axis("exponent", "skew z"),
                (Axis("above", "load / capacity above mean (%)", log=True), PAIRS),
                "scheme",
                across="capacities",
                kind="bar",
            ),
            (
                Claim(
                    "The aim: as balanced by capacity as on equal workers.",
                    _by_capacity,
                    "FISH and CG learn from reports, and take workers to be alike until the first have come.",
                ),
            ),
        ),
    ),
)
