"""skewkit's own scheme on the streams of the papers: known frequencies, none known, and unequal workers."""

from __future__ import annotations

from pathlib import Path
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


_REMARKS = """One source unless said otherwise; medians of 10 draws of the hash functions (3, in full 5, of the curve
and with capacities). Extra pairs are key-worker pairs beyond one per key.

* No worker ends above its fair share by more than epsilon of all weight and `margin` messages per source, whatever the
  stream does: the docstring of `wrap` has the proof, and the tests try it on orders made to break it.
* Fitted to the frequencies, one source is within one message of the mean on all streams of `python -m benchmarks
  balance`, and all are within keys + n - 1 pairs. Several sources know what all send, but not what each has sent: five
  end up to 3 messages above the mean, 48 up to 15.

## All streams of the papers, and real ones

Measured by `python -m benchmarks papers --rows 200000 --runs 1`, which prints the four tables. A line is a stream with
numbers of workers and sources. `wrap` beats a scheme on a line if one of its slacks has fewer pairs and no more
imbalance, or less imbalance and no more pairs. Imbalance up to two messages above the other's counts as the same, but
for `strictly`.

* The aim is not reached on every stream of the papers: D-Choices keeps 23 of 210 lines, W-Choices 24. With the real
  streams besides they keep 82, of 254 each.
* On 31 of these 82 `wrap` by default has fewer pairs and is less balanced. On 25 it is more balanced and has more
  pairs. On 26 it is neither.
* The order of the messages is the reason on all 26 lines of git changes: in random order `wrap` beats both there.
* Two hashed workers per key are enough on 48 lines: PKG, which has no more, is as balanced. So it is on all 13 with
  10,000 keys and z = 0.2 or 0.6.

The default `epsilon`, 1e-4, is the greatest that stays within a few messages on long streams. With 1 or 4 million
messages it is at most 6 above the mean, as 1e-5 is at most 5, and has a quarter of the extra pairs at z = 0.8; 3e-4 is
up to 356 above. On short streams 1e-5 is the better one: half the imbalance in the median for 8 % more pairs.

"""

_STREAMS = Path(__file__).with_name("wrap_streams.md").read_text(encoding="utf-8").strip()
"""What `python -m benchmarks papers` printed."""

PAPER = Paper(
    name="wrap",
    citation="skewkit's own scheme: `wrap` beside D-Choices and W-Choices",
    remarks=_REMARKS + _STREAMS,
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
