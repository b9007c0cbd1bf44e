"""Imbalance and memory of `wrap` beside other schemes: frequencies known or not, drift, sources, capacities."""

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from skewkit.partitioners import PARTITIONERS
from skewkit.simulator import Trace, replay, streams

KEYS = 10_000
EXPONENTS = (0.1, 0.4, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0)
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
REAL = (
    *(("novels_words", "word"), ("git_changes", "author"), ("git_changes", "dir"), ("git_changes", "path")),
    *(("retail_lines", "CustomerID"), ("retail_lines", "Country"), ("flights13", "tailnum"), ("flights13", "dest")),
    *(("tate_artworks", "artist_id"), ("tate_artwork_subjects", "subject"), ("babynames", "name")),
)
SPEEDS = {
    "1 in 5 at half": (1.0, 1.0, 1.0, 1.0, 0.5),
    "1, 2 and 4": (1.0, 1.0, 2.0, 2.0, 4.0),
    "1 in 5 at 20": (20.0, 1.0, 1.0, 1.0, 1.0),
    "3 in 10 at 5": (5.0,) * 3 + (1.0,) * 7,  # Figure 10 of the Consistent Grouping paper
}
EPSILON, MARGIN = 1e-4, 4.0  # the slack of `wrap` by default
OTHERS = ("w_choices", "d_choices", "two_choices")


def cases(rows: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield name, stream, workers and sources."""
    for n in (5, 20, 50, 100, 1000):
        for z in EXPONENTS:
            yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), n, 1
    yield "uniform", streams.uniform(rows, KEYS, seed=1), 100, 1
    for sources in (1, 5):
        for few, n in ((300, 5), (1_000, 5), (1_000, 20)):  # many messages per key: D-Choices has no more pairs to make
            yield f"uniform, {few}", streams.uniform(rows, few, seed=1), n, sources
    yield "uniform, 300", streams.uniform(rows, 300, seed=1), 100, 1
    for sources in (1, 5, 48):
        yield "uniform, 100", streams.uniform(rows, 100, seed=1), 100, sources
    yield "uniform", streams.uniform(rows, KEYS, seed=1), 1000, 5
    yield "uniform", streams.uniform(rows, KEYS, seed=1), 100, 48
    yield "100,000 keys", streams.zipf(rows, 100_000, 1.0, seed=1), 100, 1
    for n in (5, 20, 100, 1000):
        for z in (0.8, 1.4, 2.0):
            for periods in (2, 5, 10, 20):
                yield f"drift {z}, {periods}", streams.drifting_zipf(rows, KEYS, z, periods, seed=1), n, 1
    for n in (16, 32, 64, 128):
        for z in (1.0, 1.2, 1.5, 2.0):
            yield f"turning {z}", streams.turning_zipf(rows, 100_000, z, seed=1), n, 1
    for n in (20, 50, 100):
        for z in EXPONENTS[2:]:
            yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), n, 5
    for n in (200, 1000):
        for z in (0.1, 0.8, 1.4, 2.0):
            yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), n, 5
    for z in (0.8, 1.4, 2.0):
        yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), 100, 2
        yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), 100, 16
        yield f"drift {z}, 10", streams.drifting_zipf(rows, KEYS, z, 10, seed=1), 1000, 5
        for n, periods in ((20, 5), (100, 5), (100, 10), (100, 20)):
            yield f"drift {z}, {periods}", streams.drifting_zipf(rows, KEYS, z, periods, seed=1), n, 5
    for short in (rows // 50, rows // 10):  # a few messages per key and source
        for sources, n in ((1, 20), (2, 20), (5, 20), (5, 100)):
            yield f"zipf 0.4, {short // 1000}k", streams.zipf(short, KEYS, 0.4, seed=1), n, sources
            yield f"zipf 1.4, {short // 1000}k", streams.zipf(short, KEYS, 1.4, seed=1), n, sources
            yield f"drift 1.4, 5, {short // 1000}k", streams.drifting_zipf(short, KEYS, 1.4, 5, seed=1), n, sources
            yield f"turning 1.2, {short // 1000}k", streams.turning_zipf(short, 100_000, 1.2, seed=1), n, sources
    for z in (1.4, 1.7, 2.0):  # as in Figures 13 and 14 of the D-Choices paper
        yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), 80, 48
    for z in (0.8, 1.4, 2.0):
        yield f"zipf {z}", streams.zipf(rows, KEYS, z, seed=1), 100, 48
        for periods in (10, 20):
            yield f"drift {z}, {periods}", streams.drifting_zipf(rows, KEYS, z, periods, seed=1), 100, 48
    for name, column in REAL:
        keys = real(name, column, rows)
        if keys is not None:
            for sources, n in itertools.product((1, 5), (5, 20, 100)):
                yield f"{name[:6]}, {column}", keys, n, sources


def real(name: str, column: str, rows: int) -> Any:
    """Return the first rows of a column of a real trace, as numbers; None where the data is not at hand."""
    if not (DATA / f"{name}.parquet").exists():
        return None
    values = pq.read_table(DATA / f"{name}.parquet", columns=[column])[column].drop_null()
    return values.combine_chunks().dictionary_encode().indices.to_numpy()[:rows].astype(np.int64)


def figures(traces: list[Trace]) -> tuple[float, float, float]:
    """Return medians: max load - mean in messages, at the end and on average over the stream, and the pairs."""
    above = statistics.median(trace.imbalance * len(trace.keys) for trace in traces)
    average = statistics.median(mean_above(trace) for trace in traces)
    return above, average, statistics.median(trace.pairs for trace in traces)


def mean_above(trace: Trace) -> float:
    """Return max load - mean load in messages, on average over 100 points of the stream."""
    times, imbalances = trace.imbalance_over_time()
    return float(np.mean(times * imbalances))


def main(rows: int = 1_000_000, runs: int = 3) -> None:
    """Print a line per stream; a star marks where `wrap` has more than the bound of its column.

    The bounds: for a fitted plan an imbalance of 1e-3 of the mean load, and keys + n - 1 pairs; else the theorem,
    epsilon of all messages plus `margin` messages per source, and the pairs of D-Choices.
    """
    rows = min(rows, 1_000_000)
    print(f"{rows:,} messages, {KEYS:,} keys; {runs} seeds; max load - mean load in messages, at the end and (but for")
    print("`fitted`) on average over the stream, and key-worker pairs")
    print(f"{'stream':<18}{'n':>5}{'s':>3}{'keys+n-1':>10}{'fitted':>16}{'wrap':>24}", *(f"{o:>23}" for o in OTHERS))
    missed: dict[int, list[list[bool]]] = {}
    for name, stream, n, sources in cases(rows):
        keys, counts = np.unique(stream, return_counts=True)
        most = keys.size + n - 1
        fits = [PARTITIONERS["wrap"](workers=n, seed=seed).fit(keys, counts) for seed in range(runs)]
        fitted = figures([replay(stream, p, sources=sources) for p in fits])
        found = {
            scheme: figures([replay(stream, scheme, workers=n, sources=sources, seed=s) for s in range(runs)])
            for scheme in ("wrap", *OTHERS)
        }
        ours, d = found["wrap"], found["d_choices"]
        misses = [
            fitted[0] > 1e-3 * len(stream) / n,
            fitted[2] > most,
            ours[0] > EPSILON * len(stream) + MARGIN * sources,
            ours[2] > d[2],
        ]
        missed.setdefault(sources, []).append(misses)
        marks = ["*" if miss else " " for miss in misses]
        print(
            f"{name:<18}{n:>5}{sources:>3}{most:>10}{fitted[0]:>8.1f}{marks[0]}{fitted[2]:>6.0f}{marks[1]}"
            f"{ours[0]:>8.1f}{marks[2]}{ours[1]:>7.1f}{ours[2]:>7.0f}{marks[3]}",
            *(f"{found[scheme][0]:>8.1f}{found[scheme][1]:>8.1f}{found[scheme][2]:>7.0f}" for scheme in OTHERS),
            flush=True,
        )
    print("\nlines, and those with a star, in the order of the columns")
    for sources, lines in missed.items():
        print(
            f"{sources:>2} sources: {len(lines):>4} lines",
            *(f"{sum(column):>4}" for column in zip(*lines, strict=True)),
        )
    print()
    capacities(min(rows, 50_000), runs)


def capacities(rows: int, runs: int) -> None:
    """Print imbalance by capacities: of `wrap` that knows them, fitted and not, and of others."""
    ways: dict[str, tuple[str, dict[str, Any], bool]] = {
        "fitted": ("wrap", {}, True),
        "wrap": ("wrap", {}, False),
        "wrap, untold": ("wrap", {"capacities": None}, False),
        "fish": ("fish", {}, False),
        "consistent": ("consistent", {}, False),
        "w_choices": ("w_choices", {}, False),
        "d_choices": ("d_choices", {}, False),
    }
    print(f"{rows:,} messages, {KEYS:,} keys, workers with capacities; by how many percent the greatest")
    print("load / capacity exceeds the mean, and key-worker pairs; 'fitted' and 'wrap' are given the capacities")
    print(f"{'capacities':<16}{'stream':<15}{'n':>5}{'s':>3}" + "".join(f"{way:>16}" for way in ways))
    cases = {
        "zipf 0.8": streams.zipf(rows, KEYS, 0.8, seed=1),
        "zipf 1.4": streams.zipf(rows, KEYS, 1.4, seed=1),
        "drift 1.4, 5": streams.drifting_zipf(rows, KEYS, 1.4, 5, seed=1),
        "drift 1.4, 10": streams.drifting_zipf(rows, KEYS, 1.4, 10, seed=1),
        "drift 2.0, 10": streams.drifting_zipf(rows, KEYS, 2.0, 10, seed=1),
    }
    for name, column in (("novels_words", "word"), ("git_changes", "dir")):
        if (keys := real(name, column, rows)) is not None:
            cases[f"{name[:6]}, {column}"] = keys
    for (shape, some), (n, sources) in itertools.product(SPEEDS.items(), ((20, 1), (100, 1), (20, 5))):
        speeds = np.tile(some, n // len(some))
        for name, stream in cases.items():
            cells = []
            for scheme, options, fitted in ways.values():
                if scheme == "wrap" and not options:
                    options = {"capacities": speeds}
                found = []
                for seed in range(runs):
                    p = PARTITIONERS[scheme](workers=n, seed=seed, **options)
                    if fitted:
                        p.fit(*np.unique(stream, return_counts=True))
                    times = 0.95 * speeds.sum()
                    found.append(replay(stream, p, sources=sources, service_times=times, capacities=speeds))
                above = 100 * n * statistics.median(trace.normalised_imbalance for trace in found)
                cells.append(f"{above:>10.2f}{statistics.median(trace.pairs for trace in found):>6.0f}")
            print(f"{shape:<16}{name:<15}{n:>5}{sources:>3}" + "".join(cells), flush=True)
