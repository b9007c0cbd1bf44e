"""The slack of `wrap` turned over the streams of the papers and real ones, beside PKG, D-Choices and W-Choices.

What it prints is part of wrap's page:

    python -m benchmarks papers --rows 200000 --runs 1 > skewkit/reproduce/wrap_streams.md
"""

import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.balance import REAL, real
from skewkit.reproduce.real import RealStream, changes, words
from skewkit.reproduce.wrap_curve import DIAL, EPSILONS, MARGINS, Point, beaten
from skewkit.simulator import replay, streams
from skewkit.simulator.streams import Stream

TENTHS = (0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
OTHERS = ("two_choices", "d_choices", "w_choices")
LABELS = {"d_choices": "D-Choices", "w_choices": "W-Choices"}
REST = "real streams besides"
FEW = 2.0  # messages of imbalance that do not count, beside the strict comparison
LENGTHENED = (1e-5, 1e-4, 3e-4, 1e-3)
USUAL = EPSILONS[0], MARGINS[0]  # the slack of `wrap` by default


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
            yield from (Line(REST, stream, n, sources) for sources in (1, 5) for n in (20, 100))


@dataclass(frozen=True)
class Found:
    """What was measured on a line: a point of each other scheme, and one per slack of `wrap` that was tried."""

    line: Line
    keys: int
    others: dict[str, Point]
    curve: dict[tuple[float, float], Point]
    shuffled: dict[str, bool]  # of the schemes that are not beaten: whether they are if the order is random

    @property
    def usual(self) -> Point:
        """`wrap` by default."""
        return self.curve[USUAL]

    def beats(self, scheme: str, few: float = FEW) -> bool:
        """Whether a slack of `wrap` beats a scheme."""
        return beaten(self.others[scheme], list(self.curve.values()), few)


def measured(line: Line, runs: int) -> Found:
    """Replay a line, and once more in random order if a scheme is not beaten on it."""
    keys = line.stream.keys
    found = Found(line, np.unique(keys).size, *_points(line, keys, runs, 0.0), {})
    kept = [scheme for scheme in LABELS if not found.beats(scheme)]
    if kept and line.stream.name.startswith("z ="):  # in random order as it is
        found.shuffled.update(dict.fromkeys(kept, False))
    elif kept:
        mixed = np.random.default_rng(0).permutation(keys)
        shuffled = Found(line, found.keys, *_points(line, mixed, runs, FEW), {})
        found.shuffled.update({scheme: shuffled.beats(scheme) for scheme in kept})
    return found


def _points(
    line: Line, keys: Stream, runs: int, few: float
) -> tuple[dict[str, Point], dict[tuple[float, float], Point]]:
    """Return the points of the other schemes, and of slacks of `wrap` until they are beaten.

    Every epsilon is tried with the default's margin, but where a few messages do not count.
    """

    def point(scheme: str, **slack: float) -> Point:
        return Point.of([replay(keys, scheme, line.workers, line.sources, seed=s, **slack) for s in range(runs)])

    others = {scheme: point(scheme) for scheme in OTHERS}
    curve: dict[tuple[float, float], Point] = {}
    for slack in sorted(DIAL, key=lambda slack: -slack["margin"]):  # all of the default's margin first
        done = all(beaten(others[scheme], list(curve.values()), few) for scheme in LABELS)
        if not done or (slack["margin"] == USUAL[1] and not few):
            curve[slack["epsilon"], slack["margin"]] = point("wrap", **slack)
    return others, curve


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print("| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |", sep="\n")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def by_figure(all_found: Sequence[Found]) -> None:
    """Print on how many lines `wrap` beats the others, for the figures of the papers."""
    groups: dict[str, Callable[[Found], bool]] = {}
    for name in dict.fromkeys(found.line.figures for found in all_found):
        groups[name] = lambda found, name=name: found.line.figures == name
    groups["all of the papers"] = lambda found: found.line.figures != REST
    if REST in groups:
        groups[REST] = groups.pop(REST)  # last
    rows = []
    for name, chosen in groups.items():
        some = [found for found in all_found if chosen(found)]
        cells = [sum(found.beats(scheme, few) for found in some) for scheme in LABELS for few in (FEW, 0.0)]
        rows.append([name, len(some), *cells])
    _table(
        ["Figures", "Lines", *(f"{label} is beaten{word}" for label in LABELS.values() for word in ("", ", strictly"))],
        rows,
    )


def kept(all_found: Sequence[Found]) -> None:
    """Print the lines on which a scheme is not beaten: what `wrap` by default does there, and what may be why."""
    columns: dict[tuple[str, str], Counter[str]] = {}
    for found in all_found:
        for scheme, shuffled in found.shuffled.items():
            other, pkg, usual = found.others[scheme], found.others["two_choices"], found.usual
            fewer, even = usual.pairs < other.pairs, usual.above <= other.above
            at = LABELS[scheme], found.line.stream.name
            columns.setdefault(at, Counter()).update(
                lines=1,
                fewer=int(fewer and not even),
                even=int(even and not fewer),
                neither=int(not fewer and not even),
                pkg=int(pkg.above <= other.above + FEW),
                shuffled=int(shuffled),
            )
    names = ("lines", "fewer", "even", "neither", "pkg", "shuffled")
    for label in LABELS.values():
        mine = [counts for (by, _), counts in columns.items() if by == label]
        columns[label, "all"] = sum(mine, Counter())
    rows = [
        [*at, *(counts[name] for name in names)] for at, counts in sorted(columns.items(), key=lambda item: item[0][0])
    ]
    head = ("Kept by", "Stream", "Lines", "fewer pairs, less balanced", "more balanced, more pairs", "neither")
    _table([*head, "PKG is as balanced", "beaten in random order"], rows)


def by_epsilon(all_found: Sequence[Found]) -> None:
    """Print what each epsilon gives over all lines, with the margin of the default."""
    rows = []
    for epsilon in sorted(EPSILONS):
        points = [found.curve[epsilon, USUAL[1]] for found in all_found]
        above = [point.above for point in points]
        cells: list[object] = [f"{epsilon:g}", f"{statistics.median(above):.1f}", f"{np.quantile(above, 0.9):.1f}"]
        extra = [point.pairs - found.keys for point, found in zip(points, all_found, strict=True)]
        for scheme in LABELS:
            theirs = [found.others[scheme].pairs - found.keys for found in all_found]
            cells.append(f"{statistics.median(a / max(b, 1.0) for a, b in zip(extra, theirs, strict=True)):.2f}")
        for scheme in LABELS:
            others = [found.others[scheme] for found in all_found]
            cells.append(sum(beaten(other, [point], FEW) for other, point in zip(others, points, strict=True)))
        rows.append(cells)
    head = ["epsilon", "imbalance, median", "imbalance, 90 %"]
    head += [f"extra pairs, those of {label} = 1" for label in LABELS.values()]
    _table([*head, *(f"{label} is beaten" for label in LABELS.values())], rows)


def by_length(rows: int) -> None:
    """Print what epsilons give on longer and longer streams: imbalance, and pairs beyond one per key."""
    lines = []
    for z in (0.8, 1.4, 2.0):
        for m in (rows, 5 * rows, 20 * rows):
            stream = streams.zipf(m, 10_000, z)
            keys = np.unique(stream).size
            points = [Point.of([replay(stream, "wrap", 100, epsilon=epsilon)]) for epsilon in LENGTHENED]
            lines.append([z, f"{m:,}", *(f"{point.above:.0f} and {point.pairs - keys:,.0f}" for point in points)])
    _table(["z", "Messages", *(f"epsilon {epsilon:g}" for epsilon in LENGTHENED)], lines)


def main(rows: int = 1_000_000, runs: int = 3) -> None:
    """Print tables in Markdown: lines by figure, those that another scheme keeps, and what each epsilon gives.

    A slack beats a scheme that has fewer pairs and no more imbalance, or less imbalance and no more pairs. Imbalance
    up to two messages above the other's counts as the same, but for `strictly`.
    """
    rows = min(rows, 1_000_000)
    all_found = []
    for line in cases(rows):
        all_found.append(measured(line, runs))
        print(end=".", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    print(f"Streams mostly of {rows:,} messages; {runs} draw{'s' if runs > 1 else ''} of the hash functions.\n")
    by_figure(all_found)
    print("Lines that another scheme keeps, and what `wrap` by default does there:\n")
    kept(all_found)
    print(f"All {len(all_found)} lines by epsilon, with a margin of {USUAL[1]:g}; imbalance in messages:\n")
    by_epsilon(all_found)
    print("Imbalance and extra pairs by epsilon on streams of 10,000 Zipf keys, 100 workers, one source:\n")
    by_length(rows)
