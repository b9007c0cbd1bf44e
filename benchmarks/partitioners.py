"""Messages per second of every scheme in bulk: compiled and plain, integer and text keys, n = 100, z = 1.4."""

import statistics
import time
from typing import Any

import numpy as np

from skewkit import compiled
from skewkit.partitioners import PARTITIONERS
from skewkit.simulator import streams

WORKERS, KEYS, EXPONENT = 100, 10_000, 1.4


def speed(name: str, keys: Any, runs: int, fast: bool) -> tuple[float, float]:
    """Return millions of messages per second of wall time and of CPU time, medians over new instances."""
    walls, cpus = [], []
    with compiled.forced(fast):
        PARTITIONERS[name](workers=WORKERS).route_many(keys[:5000])  # compiles, or reads machine code from disk
        for seed in range(runs):
            p = PARTITIONERS[name](workers=WORKERS, seed=seed)
            wall, cpu = time.perf_counter(), time.process_time()
            p.route_many(keys)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
    return len(keys) / statistics.median(walls) / 1e6, len(keys) / statistics.median(cpus) / 1e6


def main(rows: int = 5_000_000, runs: int = 3) -> None:
    """Print a line per scheme: hashing, sketch and loads included, as `route_many` is called by users."""
    stream = streams.zipf(rows, KEYS, EXPONENT, seed=1)
    names = np.array([f"customer-{key}" for key in range(KEYS)])
    few = stream[: max(1, rows // 20)]  # for the slow ones
    columns: dict[str, tuple[Any, bool]] = {
        "int64": (stream, True),
        "text array": (names[stream[: rows // 5]], True),
        "list of str": (names[stream[: rows // 5]].tolist(), True),
        "int64, plain": (few, False),
        "list, plain": (names[few].tolist(), False),
    }
    if not compiled.available():
        columns = {name: column for name, column in columns.items() if not column[1]}
        print("numba is not installed (pip install 'skewkit[fast]'): plain Python only")
    print(f"millions of messages per second, {rows:,} messages, {WORKERS} workers, {KEYS:,} keys, z = {EXPONENT},")
    print(f"median of {runs} runs, one core; wall time, then (CPU time)")
    print(" " * 15 + "".join(f"{name:>18}" for name in columns))
    for name in PARTITIONERS:
        found = [speed(name, keys, runs, fast) for keys, fast in columns.values()]
        print(f"{name:<15}" + "".join(f"{wall:9.2f} ({cpu:6.2f})" for wall, cpu in found), flush=True)
