"""The slack of `wrap` turned over the streams of the papers and real ones, beside PKG, D-Choices and W-Choices."""

import sys
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.balance import REAL, real
from skewkit.reproduce.real import RealStream, changes, words
from skewkit.reproduce.wrap_curve import DIAL, Point, beaten
from skewkit.simulator import replay, streams

TENTHS = (0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
OTHERS = ("two_choices", "d_choices", "w_choices")
FEW = 2.0  # messages of imbalance that do not count, beside the strict comparison


class Line(NamedTuple):
    """A stream with numbers of workers and sources, and the figures of the papers that it is from."""

    figures: str
    stream: RealStream
    workers: int
    sources: int


def zipf(rows: int, keys: int, exponent: float) -> RealStream:
    """Return a Zipf stream and its name."""
    return RealStream(f"z = {exponent}, K = {keys:,}", streams.zipf(rows, keys, exponent))


def cases(rows: int) -> Iterator[Line]:
    """Yield the streams; Zipf streams of the D-Choices paper have `rows` messages."""
    for keys in (10_000, 100_000, 1_000_000):
        for z in TENTHS:
            stream = zipf(rows, keys, z)
            yield from (Line("D-Choices 7 to 10", stream, n, 5) for n in (5, 10, 50, 100))
    all_words, some = words(2 * rows), changes(rows)
    yield from (Line("D-Choices 1, 11, 12", stream, n, 5) for n in (5, 10, 20, 50, 100) for stream in (all_words, some))
    for z in (1.4, 1.7, 2.0):
        yield Line("D-Choices 13, 14", zipf(2 * rows, 10_000, z), 80, 48)
    for z in (0.2, 0.8, 1.2, 1.6, 2.0):
        stream = zipf(rows, rows // 10, z)
        yield from (Line("CG 4", stream, n, 1) for n in (10, 100, 1000))
    yield from (Line("CG 6 to 10", all_words, n, 1) for n in (10, 50, 100, 500, 1000))
    yield from (Line("CG 11", all_words, n, sources) for sources in (5, 10, 50) for n in (10, 50, 100))
    for stream in (zipf(rows, 1_000, 1.0), all_words, some):
        yield from (Line("DKG", stream, n, 1) for n in (4, 5, 6, 8, 10))
    for z in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        yield Line("POSG 4 to 10", zipf(32_768, 4096, z), 5, 1)
    yield from (Line("POSG 4 to 10", zipf(32_768, 4096, 1.0), n, 1) for n in (2, 3, 4, 6, 8, 10))
    for z in (1.0, 1.2, 1.4, 1.6, 1.8, 2.0):
        stream = RealStream(f"turning, z = {z}", streams.turning_zipf(5 * rows, 100_000, z))
        yield from (Line("FISH 10 to 16", stream, n, 1) for n in (16, 32, 64, 128))
    yield from (Line("FISH 9", stream, n, 1) for n in (16, 32, 64, 128) for stream in (all_words, some))
    for name, column in REAL:
        keys = real(name, column, rows)
        if keys is not None:
            stream = RealStream(f"{name}, {column}", keys)
            yield from (Line("none: real", stream, n, sources) for sources in (1, 5) for n in (20, 100))


def main(rows: int = 1_000_000, runs: int = 3) -> None:
    """Print the lines on which no slack of `wrap` beats another scheme, and how many there are.

    A slack beats a scheme that has fewer pairs and no more imbalance, or less imbalance and no more pairs. `few`
    counts imbalance up to two messages above the other's as the same.
    """
    rows = min(rows, 1_000_000)
    print(f"Zipf streams mostly of {rows:,} messages, medians of {runs} draws; max load - mean load in messages, and")
    print("key-worker pairs. Lines that a scheme of the papers keeps; the last columns are wrap by default:")
    counts: dict[str, list[list[bool]]] = {}
    for figures, stream, n, sources in cases(rows):

        def point(scheme: str, **slack: float) -> Point:
            traces = [replay(stream.keys, scheme, n, sources, seed=s, **slack) for s in range(runs)]  # noqa: B023
            return Point.of(traces)

        others = {scheme: point(scheme) for scheme in OTHERS}
        curve: list[Point] = []
        for slack in DIAL:
            curve.append(point("wrap", **slack))
            if all(beaten(other, curve) for other in others.values()):
                break
        usual = point("wrap")
        found = []
        for scheme, other in others.items():
            strictly, few = beaten(other, curve), beaten(other, curve, FEW)
            found += [strictly, few, usual.pairs <= other.pairs, usual.above <= other.above + FEW]
            if not few and scheme != "two_choices":
                print(f"{figures:<20}{stream.name:<26}{n:>5}{sources:>4}  {scheme:<12}", end="")
                print(f"{other.above:>9.1f}{other.pairs:>9.0f}{usual.above:>9.1f}{usual.pairs:>9.0f}", flush=True)
        print(end=".", flush=True, file=sys.stderr)
        counts.setdefault("real" if figures.startswith("none") else f"{sources} sources", []).append(found)
    head = "".join(f"{scheme:>42}" for scheme in OTHERS)
    print(f"\n{'':<14}{'lines':>6}{head}")
    print(f"{'':<20}" + f"{'beaten':>18}{'few':>8}{'pairs':>8}{'even':>8}" * len(OTHERS))
    for name, lines in counts.items():
        sums = [sum(column) for column in zip(*lines, strict=True)]
        cells = "".join(f"{value:>{18 if i % 4 == 0 else 8}}" for i, value in enumerate(sums))
        print(f"{name:<14}{len(lines):>6}{cells}")
    print("\nbeaten: by one of the slacks; few: give or take two messages; pairs, even: wrap by default has no more")
    print("pairs than the scheme, and is no more than two messages above its imbalance")
