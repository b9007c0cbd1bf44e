"""Runs of the FISH paper: the time-evolving stream, schemes by name, execution time and memory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from skewkit.reproduce.figure import Cell, Row, Size
from skewkit.reproduce.measuring import execution_time
from skewkit.simulator import replay, streams
from skewkit.simulator.streams import Stream

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
