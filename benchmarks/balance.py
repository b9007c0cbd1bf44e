"""Imbalance and memory of `wrap` beside W-Choices and D-Choices: known frequencies, unknown ones, drift, sources."""

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

from skewkit.partitioners import PARTITIONERS
from skewkit.simulator import Trace, replay, streams

KEYS = 10_000
EXPONENTS = (0.1, 0.4, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0)
OTHERS = ("w_choices", "d_choices", "two_choices")


def cases(rows: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield name, stream, workers and sources."""
    for n in (5, 20, 50, 100, 1000):
        for z in EXPONENTS:
            yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), n, 1
    yield "uniform", streams.uniform(rows, KEYS, seed=1), 100, 1
    yield "100,000 keys", streams.zipf(rows, 100_000, 1.0, seed=1), 100, 1
    for n in (20, 100):
        for z in (0.8, 1.4, 2.0):
            for periods in (5, 10, 20):
                yield f"drift {z}, {periods}", streams.drifting_zipf(rows, KEYS, z, periods, seed=1), n, 1
    for z in (0.8, 1.4, 2.0):
        yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), 100, 5
    yield "drift 1.4, 10", streams.drifting_zipf(rows, KEYS, 1.4, 10, seed=1), 100, 5


def figures(traces: list[Trace]) -> tuple[float, float]:
    """Return the medians of max load - mean, in messages, and of the pairs."""
    above = statistics.median(trace.imbalance * len(trace.keys) for trace in traces)
    return above, statistics.median(trace.pairs for trace in traces)


def main(rows: int = 1_000_000, runs: int = 3) -> None:
    """Print a line per stream; a star marks where `wrap` has more than the bound of its column."""
    rows = min(rows, 1_000_000)
    print(f"{rows:,} messages, {KEYS:,} keys; max load - mean load in messages, key-worker pairs; {runs} seeds")
    print(f"{'stream':<15}{'n':>5}{'s':>3}{'keys+n-1':>10}{'fitted':>16}{'wrap':>17}", *(f"{o:>16}" for o in OTHERS))
    for name, stream, n, sources in cases(rows):
        keys, counts = np.unique(stream, return_counts=True)
        most = keys.size + n - 1
        fits = [PARTITIONERS["wrap"](workers=n, seed=seed).fit(keys, counts) for seed in range(runs)]
        fitted = figures([replay(stream, p) for p in fits])
        found = {
            scheme: figures([replay(stream, scheme, workers=n, sources=sources, seed=s) for s in range(runs)])
            for scheme in ("wrap", *OTHERS)
        }
        ours, w, d = (found[scheme] for scheme in ("wrap", "w_choices", "d_choices"))
        marks = [
            "*" if fitted[0] > 1e-3 * rows / n else " ",
            "*" if fitted[1] > most else " ",
            "*" if ours[0] > w[0] else " ",
            "*" if ours[1] > d[1] else " ",
        ]
        print(
            f"{name:<15}{n:>5}{sources:>3}{most:>10}{fitted[0]:>8.1f}{marks[0]}{fitted[1]:>6.0f}{marks[1]}"
            f"{ours[0]:>9.1f}{marks[2]}{ours[1]:>6.0f}{marks[3]}",
            *(f"{found[scheme][0]:>9.1f}{found[scheme][1]:>7.0f}" for scheme in OTHERS),
            flush=True,
        )
