"""`wrap` beside W-Choices and D-Choices on the streams of the papers' figures: imbalance and memory."""

from collections.abc import Iterator

from benchmarks.balance import FEW, figures
from skewkit.reproduce.real import RealStream, changes, words
from skewkit.simulator import replay, streams

TENTHS = (0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
SCHEMES = ("wrap", "w_choices", "d_choices")
Line = tuple[str, RealStream, int, int]


def zipf(rows: int, keys: int, exponent: float) -> RealStream:
    """Return a Zipf stream and its name."""
    return RealStream(f"z = {exponent}, K = {keys:,}", streams.zipf(rows, keys, exponent))


def cases(rows: int) -> Iterator[Line]:
    """Yield figures, stream, workers and sources; Zipf streams of the D-Choices paper have `rows` messages."""
    for keys in (10_000, 100_000, 1_000_000):
        for z in TENTHS:
            stream = zipf(rows, keys, z)
            yield from (("D-Choices 7 to 10", stream, n, 5) for n in (5, 10, 50, 100))
    for keys in (1_000, 10_000):  # where Equation (3) has just a few choices, so that D-Choices has few pairs
        for z in (0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6):
            stream = zipf(rows, keys, z)
            yield from (("few choices", stream, n, sources) for n in (4, 5, 8, 10, 20) for sources in (1, 5))
    all_words, some = words(2 * rows), changes(rows)
    yield from (("D-Choices 1, 11, 12", stream, n, 5) for n in (5, 10, 20, 50, 100) for stream in (all_words, some))
    for z in (1.4, 1.7, 2.0):
        yield "D-Choices 13, 14", zipf(2 * rows, 10_000, z), 80, 48
    for z in (0.2, 0.8, 1.2, 1.6, 2.0):
        stream = zipf(rows, rows // 10, z)
        yield from (("CG 4", stream, n, 1) for n in (10, 100, 1000))
    yield from (("CG 6 to 10", all_words, n, 1) for n in (10, 50, 100, 500, 1000))
    yield from (("CG 11", all_words, n, sources) for sources in (5, 10, 50) for n in (10, 50, 100))
    for stream in (zipf(rows, 1_000, 1.0), all_words, some):
        yield from (("DKG", stream, n, 1) for n in (4, 5, 6, 8, 10))
    for z in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        yield "POSG 4 to 10", zipf(32_768, 4096, z), 5, 1
    yield from (("POSG 4 to 10", zipf(32_768, 4096, 1.0), n, 1) for n in (2, 3, 4, 6, 8, 10))
    for z in (1.0, 1.2, 1.4, 1.6, 1.8, 2.0):
        stream = RealStream(f"turning, z = {z}", streams.turning_zipf(5 * rows, 100_000, z))
        yield from (("FISH 10 to 16", stream, n, 1) for n in (16, 32, 64, 128))
    yield from (("FISH 9", stream, n, 1) for n in (16, 32, 64, 128) for stream in (all_words, some))


def main(rows: int = 1_000_000, runs: int = 3) -> None:
    """Print a line per stream where `wrap` misses an aim, and how many lines miss it.

    The aims: at the end and on average over the stream no more imbalance than W-Choices, give or take two messages,
    and no more pairs than D-Choices. `at all` counts lines that end as little as one message above W-Choices, `1e-4`
    those that end, or are on average, more than that share of the messages above, which is what D-Choices tolerates.
    """
    rows = min(rows, 1_000_000)
    print(f"Zipf streams mostly of {rows:,} messages; medians of {runs} draws; max load - mean load in messages, at")
    print("the end and on average over the stream, and key-worker pairs. Lines that miss an aim:")
    print(f"{'figures':<20}{'stream':<24}{'n':>5}{'s':>4}", *(f"{scheme:>26}" for scheme in SCHEMES))
    missed: dict[int, list[list[bool]]] = {}
    for name, stream, n, sources in cases(rows):
        found = [
            figures([replay(stream.keys, scheme, workers=n, sources=sources, seed=seed) for seed in range(runs)])
            for scheme in SCHEMES
        ]
        ours, w, d = found
        end, average, size = ours[0] - w[0], ours[1] - w[1], len(stream.keys)
        misses = [end > FEW, average > FEW, ours[2] > d[2], end > 1e-6, max(end, average) > 1e-4 * size]
        missed.setdefault(sources, []).append(misses)
        if any(misses[:3]):
            cells = (f"{one[0]:>9.1f}{one[1]:>9.1f}{one[2]:>8.0f}" for one in found)
            marks = "".join("*" if miss else "." for miss in misses[:3])
            print(f"{name:<20}{stream.name:<24}{n:>5}{sources:>4}", *cells, marks, flush=True)
    print("\nsources  lines     end  average   pairs  at all    1e-4")
    for sources, lines in missed.items():
        print(f"{sources:>7}{len(lines):>7}", *(f"{sum(column):>7}" for column in zip(*lines, strict=True)))
