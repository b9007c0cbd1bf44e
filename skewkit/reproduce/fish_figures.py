"""The figures of Huang, "Efficient Time-Evolving Stream Processing at Scale" (simulations)."""

from __future__ import annotations

from typing import Any

from skewkit.reproduce.figure import Axis, Claim, Figure, Paper, Plot, Rows, pick
from skewkit.reproduce.fish_runs import (
    assignment,
    classification,
    decay,
    epochs,
    memory,
    on_real_streams,
    ring,
    schemes,
    threshold,
)

SKEW = Axis("exponent", "skew z")
TIME = Axis("execution time", "execution time (SG = 1)")
LOG_TIME = Axis("execution time", "execution time (SG = 1)", log=True)
MEMORY = Axis("memory", "memory (FG = 1)", log=True)


def _worst(rows: Rows, column: str, by: str, **where: Any) -> str:
    names = dict.fromkeys(str(row[by]) for row in rows)
    return ", ".join(f"{LABELS.get(name, name)} {max(pick(rows, column, **{by: name}, **where)):.2f}" for name in names)


LABELS = {
    "key": "FG",
    "shuffle": "SG",
    "two_choices": "PKG",
    "d_choices": "D-C",
    "w_choices": "W-C",
    "fish": "FISH",
    "fish, margin": "FISH with margin = 2",
    "wrap": "wrap (skewkit's own)",
}


def _most_workers(rows: Rows) -> int:
    return max(int(row["workers"]) for row in rows)


def _times(rows: Rows) -> str:
    n = _most_workers(rows)
    return f"worst execution time with n = {n} (SG = 1): {_worst(rows, 'execution time', 'scheme', workers=n)}"


def _memories(rows: Rows) -> str:
    n = _most_workers(rows)
    return f"greatest memory with n = {n} (FG = 1): {_worst(rows, 'memory', 'scheme', workers=n)}"


def _both(rows: Rows, by: str) -> str:
    n = _most_workers(rows)
    return (
        f"n = {n}, worst over z: execution time {_worst(rows, 'execution time', by, workers=n)}; "
        f"memory {_worst(rows, 'memory', by, workers=n)}"
    )


def _gain(rows: Rows, by: str, ours: str, other: str) -> str:
    mine, theirs = (pick(rows, "execution time", **{by: name}) for name in (ours, other))
    gains = [b / a for a, b in zip(mine, theirs, strict=True)]
    return f"execution time without it {min(gains):.2f} to {max(gains):.2f} times that with it"


def _ring_gain(rows: Rows) -> str:
    parts = []
    for z in dict.fromkeys(float(row["exponent"]) for row in rows):
        with_ring, without = (pick(rows, "memory", hashing=name, exponent=z) for name in ("on a ring", "hash modulo n"))
        parts.append(f"z = {z:g}: {max(b / a for a, b in zip(with_ring, without, strict=True)):.2f}")
    return "memory without the ring over that with it, the worse of joining and leaving: " + ", ".join(parts)


_SETTING = (
    "The time-evolving Zipf stream: 5 M messages of 100,000 keys (60,000 of 10,000 with --quick), the ranks turn round "
    "after 80 %. One source, epochs of 1,000 messages, alpha = 0.2, theta = 1/(4n)."
)
_NOT_TWELVE = (
    "The paper's factor over W-C and D-C does not appear: with a sketch large enough (10 counters per worker) both "
    "find the new hot keys soon after the change."
)

PAPER = Paper(
    name="fish",
    citation='Huang, "Efficient Time-Evolving Stream Processing at Scale" (FISH)',
    remarks="Execution time is the greatest load over the mean load, which is SG's; memory is key-worker pairs per "
    "key (FG is key grouping, KG). Words of novels stand for MemeTracker and git directories for the movie reviews. "
    "With --quick the changes are 20 even cuts out of the whole history.",
    departures=(
        "d_min, an input of Algorithm 2, is related to the sum of the frequencies of all hot keys; no more is said. "
        "Here it is 2, what all other keys get: by its first lines alone CHK gives hot keys at least as many workers "
        "together as that sum asks for, but for rounding. Until November 2026 it was the least d for which d hashed "
        "workers each would reach so many, by Equation (3) of the D-Choices paper: 26 instead of 2 at z = 2 and n = "
        "128, where it had more than twice the memory and was no more even. With 2 M messages of 100,000 keys, seed 1 "
        "and n = 128, memory is 1.35 times FG's at z = 1.4 and 1.66 times at z = 2.",
        "Algorithm 3 adds every message to C_w when it is sent and once more, as N_w, when the interval "
        "ends. Counted twice, C_w grows without end from half the capacity on; here each message counts "
        "once.",
        "It subtracts one interval, however long ago the last time was; here, the time that has really "
        "passed. With s sources a worker gives 1 / s of its time to each of them.",
        "P_w is the mean over about the last 32 reports of a worker; before the first report it is the "
        "number of workers present, which have just enough to do at one message per unit of time.",
        "When workers come or go, theta stays 1 / (4 workers), of those present, where none is asked for.",
        "The interval T, 10 seconds in the paper, is 10 units of time (`interval`); where nobody tells the time, a "
        "message takes one.",
        "How the ranks of the time-evolving stream change is lost in the text at hand: here they are reversed, once "
        "per stream, where the paper has several turns. One draw of the hash functions; the paper takes means of ten.",
        "f_k is the share of a key in what all messages count after the decay, and theta is compared with that.",
        "Every worker has 100 virtual nodes (`points`) on a ring of 2^64 places, where the paper's ring has 2^32.",
        "M_k, the most workers that a key has had while it was hot, is kept for good, as in Algorithm 2: memory grows "
        "with the keys that ever were hot.",
    ),
    figures=(
        Figure(
            "fish-9",
            "Fig. 9: execution time on real streams",
            "2 M words and 522,000 git changes (60,000 of each with --quick).",
            on_real_streams,
            Plot(Axis("workers", "workers n"), (LOG_TIME,), "scheme", across="stream", kind="bar"),
            (
                Claim(
                    "FISH is within 1.07 of SG; PKG is up to 8.3 times slower, W-C and D-C 7 times.",
                    _times,
                    "The paper's factor over W-C and D-C does not appear: their sketches have 10 counters per worker.",
                ),
            ),
        ),
        Figure(
            "fish-10",
            "Fig. 10: execution time by skew",
            _SETTING,
            schemes,
            Plot(SKEW, (LOG_TIME,), "scheme", across="workers"),
            (
                Claim(
                    "FISH is within 1.32 of SG, up to 13.6 times faster than D-C and 12 times than W-C.",
                    _times,
                    _NOT_TWELVE,
                ),
            ),
        ),
        Figure(
            "fish-11",
            "Fig. 11: memory by skew",
            _SETTING + " `margin` is skewkit's cure.",
            memory,
            Plot(SKEW, (MEMORY,), "scheme", across="workers"),
            (
                Claim(
                    "FISH needs 1.11 to 2.61 times the memory of FG with 128 workers, SG 15.5 to 88 times; PKG, D-C "
                    "and W-C are close to FG.",
                    _memories,
                    "Right after a decay any new key passes theta and gets many workers: at low skew FISH by the "
                    "letter needs more memory than W-C. With `margin=2` a key must first show that it is hot. How "
                    "many messages a key has (6 with --quick, 50 in full) bounds SG; at high skew few keys come at "
                    "all, so those that all workers hold weigh more in W-C.",
                ),
            ),
        ),
        Figure(
            "fish-12",
            "Fig. 12: decay factor",
            _SETTING,
            decay,
            Plot(SKEW, (TIME, MEMORY), "decay", across="workers"),
            (
                Claim(
                    "Without decay (alpha = 1) it takes up to 12 times as long; alpha = 0 needs up to 2.65 times the "
                    "memory; 0.2 is best.",
                    lambda rows: _both(rows, "decay"),
                    "Without decay the lifetime counts still find a key that has become hot, only later. A slower "
                    "decay (0.6) is as even as 0.2, within 1 %, and needs no more memory where that is greatest.",
                ),
            ),
        ),
        Figure(
            "fish-13",
            "Fig. 13: threshold of hot keys",
            _SETTING,
            threshold,
            Plot(SKEW, (TIME, MEMORY), "threshold", across="workers"),
            (
                Claim(
                    "Only theta = 2/n is clearly uneven; memory hardly depends on theta, but for 1/(8n) with many "
                    "workers and little skew, which needs more; 1/(4n) is chosen.",
                    lambda rows: _both(rows, "threshold"),
                    "Even 2/n is balanced within 1 % here. The greatest memory hardly depends on theta, as in the "
                    "paper. With little skew and many workers it grows with every smaller theta, not only at 1/(8n): "
                    "more keys pass by chance after a decay.",
                ),
            ),
        ),
        Figure(
            "fish-14",
            "Fig. 14: with and without epochs",
            _SETTING,
            epochs,
            Plot(SKEW, (TIME,), "counting", across="workers"),
            (
                Claim(
                    "Counting by epochs is up to 11.9 times faster.",
                    lambda rows: _gain(rows, "counting", "by epochs", "whole lifetime"),
                    "Keys that are hot get their workers in both cases; a factor like the paper's would need a hot "
                    "key that is never found.",
                ),
            ),
        ),
        Figure(
            "fish-15",
            "Fig. 15: rules for the number of workers of a hot key",
            _SETTING,
            classification,
            Plot(SKEW, (TIME, MEMORY), "rule", across="workers"),
            (
                Claim(
                    "CHK saves 25 % (n = 64) and 45 % (n = 128) of the memory of W-C's rule; D-C's rule needs less in "
                    "some cases, but is slower.",
                    lambda rows: _both(rows, "rule"),
                    "CHK saves more than in the paper where the skew is high. D-C's rule is hardly slower here "
                    "(within 2 %). It needs less memory than CHK only with little skew: right after a decay many keys "
                    "look hot, and all of them get the same d.",
                ),
            ),
        ),
        Figure(
            "fish-16",
            "Fig. 16: heuristic worker assignment, half of the workers twice as fast",
            _SETTING + " Execution time of the busiest worker over that of perfect balance by capacity.",
            assignment,
            Plot(SKEW, (Axis("execution time", "execution time (best = 1)"),), "assignment", across="workers"),
            (
                Claim(
                    "HWA is up to 2.61 times faster than assignment by load.",
                    lambda rows: _gain(rows, "assignment", "HWA", "by load"),
                    "By load every worker gets as many messages, so a slow one takes 1.5 times as long as with "
                    "perfect balance: more than that cannot be gained here.",
                ),
            ),
        ),
        Figure(
            "fish-17",
            "Fig. 17: memory when a worker joins or leaves half-way",
            _SETTING + " 64 workers.",
            ring,
            Plot(SKEW, (Axis("memory", "memory (FG = 1)"),), "hashing", across="change"),
            (
                Claim(
                    "Without consistent hashing low skew needs almost twice the memory; high skew needs less more.",
                    _ring_gain,
                    "Low skew needs most here, too, but the factor is smaller: keys that come once or twice, most of "
                    "them at low skew, have no more pairs with any hashing.",
                ),
            ),
        ),
    ),
)
