"""Defects of the papers' rules beside their cures: DKG's empty buckets, FISH's false hot keys, POSG's slow start."""

import statistics
from typing import Any

import numpy as np

from skewkit.simulator import replay, streams


def dkg(runs: int) -> None:
    """Print the greatest load over the mean: buckets that were empty while learning, planned as empty or not."""
    print("dkg: greatest load / mean load; 10 workers, 60,000 messages over 20,000 keys alike, 1,000 to learn from")
    print(f"{'mu':>6}{'literal=True':>16}{'cured':>12}")
    for mu in (20, 100, 500):
        found = []
        for literal in (True, False):
            options: dict[str, Any] = {"mu": mu, "learning": 1000, "literal": literal}
            peaks = [
                1.0 + 10 * replay(streams.uniform(60_000, 20_000, seed), "dkg", 10, seed=seed, **options).imbalance
                for seed in range(runs)
            ]
            found.append(statistics.median(peaks))
        print(f"{mu:>6}{found[0]:>16.2f}{found[1]:>12.2f}", flush=True)


def fish(runs: int) -> None:
    """Print pairs per key and the greatest load: every new key looks hot right after a decay, or not."""
    print("fish: pairs per key, greatest load / mean load; 128 workers, 60,000 messages, 20,000 keys, 5 periods")
    print(f"{'z':>6}{'margin=None':>18}{'margin=2':>18}")
    for z in (0.8, 1.0, 1.4, 2.0):
        cells = []
        for margin in (None, 2.0):
            traces = [
                replay(streams.drifting_zipf(60_000, 20_000, z, 5, seed), "fish", 128, seed=seed, margin=margin)
                for seed in range(runs)
            ]
            pairs = statistics.median(trace.pairs / np.unique(np.asarray(trace.keys)).size for trace in traces)
            peak = statistics.median(1.0 + 128 * trace.imbalance for trace in traces)
            cells.append(f"{pairs:>11.2f}{peak:>7.3f}")
        print(f"{z:>6}" + "".join(cells), flush=True)


def posg(runs: int) -> None:
    """Print the mean time of a message with turns over that with POSG: by the letter, with early copies, pooled."""
    ways: dict[str, dict[str, Any]] = {
        "literal": {},
        "early=64": {"early": 64},
        "early=64, pooled": {"early": 64, "pooled": True},
    }
    print("posg: mean time of a message with turns (shuffle) / with POSG; 5 workers, Zipf 1.0 over 4,096 keys")
    print(f"{'messages':>9}" + "".join(f"{way:>18}" for way in ways))
    for rows in (6_000, 12_000, 32_768):
        gains: dict[str, list[float]] = {way: [] for way in ways}
        for seed in range(runs):
            keys = streams.zipf(rows, 4096, 1.0, seed=seed)
            per_key = np.repeat(np.arange(1.0, 65.0), 64)
            np.random.default_rng(seed).shuffle(per_key)
            times = per_key[keys]
            settings: dict[str, Any] = {
                "workers": 5,
                "service_times": times,
                "arrivals": np.arange(rows) * times.mean() / 5,
            }
            turns = replay(keys, "shuffle", **settings).latencies.mean()
            for way, options in ways.items():
                gains[way].append(float(turns / replay(keys, "posg", **settings, **options).latencies.mean()))
        print(f"{rows:>9}" + "".join(f"{statistics.mean(gains[way]):>18.3f}" for way in ways), flush=True)


def main(rows: int = 0, runs: int = 3) -> None:
    """Print a table per scheme; `rows` is not used, as every table has the size at which the defect shows."""
    for table in (dkg, fish, posg):
        table(runs)
        print()
