"""Runs of the FISH paper: the time-evolving stream, execution time and memory, and what each figure varies."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from skewkit.reproduce.figure import Cell, Row, Size
from skewkit.reproduce.measuring import execution_time
from skewkit.reproduce.real import changes, words
from skewkit.simulator import AddWorker, RemoveWorker, replay, streams
from skewkit.simulator.streams import Stream

COMPARED = ("two_choices", "d_choices", "w_choices", "fish", "wrap")
SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "key": ("key", {}),
    "shuffle": ("shuffle", {}),
    "two_choices": ("two_choices", {}),
    "d_choices": ("d_choices", {}),
    "w_choices": ("w_choices", {}),
    "fish": ("fish", {}),
    "fish, margin": ("fish", {"margin": 2.0}),
    "wrap": ("wrap", {}),
}


def skews(size: Size) -> tuple[float, ...]:
    """Return the skews of a figure."""
    return size.of(full=(1.0, 1.2, 1.4, 1.6, 1.8, 2.0), quick=(1.0, 1.5, 2.0), tiny=(1.0, 2.0))


def workers(size: Size) -> tuple[int, ...]:
    """Return the numbers of workers of a figure."""
    return size.of(full=(16, 32, 64, 128), quick=(16, 32, 64, 128), tiny=(16,))


@cache
def evolving(size: Size, exponent: float, seed: int) -> Stream:
    """Return the stream of Section 6.1 whose ranks turn round after 80 %."""
    messages, keys = size.of(full=(5_000_000, 100_000), quick=(60_000, 10_000), tiny=(3000, 500))
    return streams.turning_zipf(messages, keys, exponent, seed=seed)


def measure(stream: Stream, n: int, seed: int, name: str, head: dict[str, Cell], **options: Any) -> Row:
    """Return a row: `head`, execution time over that of SG, and memory over that of FG (one worker per key)."""
    scheme, own = SCHEMES[name]
    trace = replay(stream, scheme, n, seed=seed, **{**own, **options})
    return {**head, "execution time": execution_time(trace), "memory": trace.memory_against("key")}


def by_skew(
    size: Size, seed: int, column: str, variants: Iterable[tuple[str, str, dict[str, Any]]], ends: bool = False
) -> list[Row]:
    """Return rows of schemes with options, by workers and skew.

    Args:
        size: how much.
        seed: of stream and schemes.
        column: name of the column that tells the variants apart.
        variants: name in that column, name in SCHEMES, and options.
        ends: whether to take the smallest and the largest number of workers only (unless in full).
    """
    listed = list(variants)
    counts = workers(size)
    if ends and size is not Size.FULL:
        counts = tuple(dict.fromkeys((counts[0], counts[-1])))
    return [
        measure(evolving(size, z, seed), n, seed, scheme, {"workers": n, column: name, "exponent": z}, **options)
        for n in counts
        for name, scheme, options in listed
        for z in skews(size)
    ]


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
    for n in size.of(full=workers(size), quick=(16, 128), tiny=(16,)):
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
