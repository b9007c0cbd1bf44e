"""The figures of Huang, "Efficient Time-Evolving Stream Processing at Scale" (simulations)."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewkit.reproduce.figure import Axis, Claim, Figure, Paper, Plot, Row, Rows, Size, pick
from skewkit.reproduce.fish_runs import by_skew, evolving, measure, skews, workers
from skewkit.reproduce.real import changes, words
from skewkit.simulator import AddWorker, RemoveWorker, replay

SKEW = Axis("exponent", "skew z")
TIME = Axis("execution time", "execution time (SG = 1)")
LOG_TIME = Axis("execution time", "execution time (SG = 1)", log=True)
MEMORY = Axis("memory", "memory (FG = 1)", log=True)
COMPARED = ("two_choices", "d_choices", "w_choices", "fish")


def on_real_streams(size: Size, seed: int) -> list[Row]:
    """Figure 9."""
    found = words(size.of(2_000_000, 60_000, 3000)), changes(size.of(600_000, 60_000, 3000))
    return [
        measure(stream.keys, n, seed, name, {"stream": stream.name, "workers": n, "scheme": name})
        for stream in found
        for name in COMPARED
        for n in workers(size)
    ]


def schemes(size: Size, seed: int) -> list[Row]:
    """Figure 10."""
    return by_skew(size, seed, "scheme", [(name, name, {}) for name in COMPARED])


def memory(size: Size, seed: int) -> list[Row]:
    """Figure 11, with the cured FISH."""
    names = ("key", "shuffle", *COMPARED, "fish, margin")
    return by_skew(size, seed, "scheme", [(name, name, {}) for name in names])


def decay(size: Size, seed: int) -> list[Row]:
    """Figure 12."""
    alphas = size.of(full=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), quick=(0.0, 0.2, 0.6, 1.0), tiny=(0.2, 1.0))
    return by_skew(size, seed, "decay", [(f"α = {a}", "fish", {"alpha": a}) for a in alphas], ends=True)


def threshold(size: Size, seed: int) -> list[Row]:
    """Figure 13."""
    rows: list[Row] = []
    for n in size.of(full=(16, 32, 64, 128), quick=(16, 128), tiny=(16,)):
        for name, times in (
            ("θ = 2/n", 2.0),
            ("θ = 1/n", 1.0),
            ("θ = 1/(2n)", 0.5),
            ("θ = 1/(4n)", 0.25),
            ("θ = 1/(8n)", 0.125),
        ):
            for z in skews(size):
                head = {"workers": n, "threshold": name, "exponent": z}
                rows.append(measure(evolving(size, z, seed), n, seed, "fish", {**head}, theta=times / n))
    return rows


def epochs(size: Size, seed: int) -> list[Row]:
    """Figure 14."""
    return by_skew(size, seed, "counting", [("by epochs", "fish", {}), ("whole lifetime", "fish", {"alpha": 1.0})])


def classification(size: Size, seed: int) -> list[Row]:
    """Figure 15."""
    rules = (("CHK", "chk"), ("W-C's rule", "all"), ("D-C's rule", "optimal"))
    return [
        measure(evolving(size, z, seed), n, seed, "fish", {"workers": n, "rule": name, "exponent": z}, hot_rule=rule)
        for n in size.of(full=(64, 128), quick=(64, 128), tiny=(16,))
        for name, rule in rules
        for z in skews(size)
    ]


def assignment(size: Size, seed: int) -> list[Row]:
    """Figure 16: half of the workers are twice as fast."""
    rows: list[Row] = []
    for n in workers(size):
        capacities = np.where(np.arange(n) % 2 == 0, 2.0, 1.0) / 1.5
        for name, how in (("HWA", "wait"), ("by load", "load")):
            for z in size.of(full=skews(size), quick=(1.0, 2.0), tiny=(1.0,)):
                stream = evolving(size, z, seed)
                trace = replay(
                    stream, "fish", n, seed=seed, service_times=0.9 * n, capacities=capacities, assignment=how
                )
                best = 0.9 * stream.size
                rows.append(
                    {"workers": n, "assignment": name, "exponent": z, "execution time": trace.execution_time / best}
                )
    return rows


def ring(size: Size, seed: int) -> list[Row]:
    """Figure 17: a worker joins or leaves in the middle."""
    rows: list[Row] = []
    n = size.of(full=64, quick=64, tiny=16)
    for z in skews(size):
        stream = evolving(size, z, seed)
        half = stream.size / 2
        for change, event in (("a worker joins", AddWorker(half)), ("a worker leaves", RemoveWorker(half, n // 2))):
            for name, points in (("on a ring", 100), ("hash modulo n", 0)):
                options: dict[str, Any] = {"points": points, "events": [event]}
                rows.append(
                    measure(stream, n, seed, "fish", {"change": change, "hashing": name, "exponent": z}, **options)
                )
    return rows


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
    "key. Words of novels stand for MemeTracker and git directories for the movie reviews.",
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
                    _NOT_TWELVE,
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
                    "Right after a decay any new key passes theta and gets many workers: by the letter FISH needs more "
                    "memory than W-C. With `margin=2` a key must first show that it is hot.",
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
                    "Without decay the lifetime counts still find a key that has become hot, only later.",
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
                    "Only theta = 2/n is clearly uneven; memory hardly depends on theta; 1/(4n) is chosen.",
                    lambda rows: _both(rows, "threshold"),
                    "Memory does depend on theta here: a smaller one lets more keys pass by chance after a decay.",
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
                    "CHK keeps the largest number a key ever had (M_k), so what it saves depends on the stream.",
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
                    "None.",
                ),
            ),
        ),
    ),
)
