"""Figures 4, 6 to 8 and 11 of the Consistent Grouping paper: imbalance against memory."""

from __future__ import annotations

import numpy as np

from skewkit.reproduce.figure import Axis, Cell, Claim, Figure, Plot, Row, Rows, Size, pick
from skewkit.reproduce.measuring import exponents
from skewkit.reproduce.real import words
from skewkit.simulator import Trace, replay, streams
from skewkit.simulator.streams import Stream

EPSILON = 0.01
VIRTUAL = 10
ON_RING = "bounded_hash, points"
ASSIGNMENTS = ("key", "two_choices", "power_of_two", "random_choices", "bounded_hash", "shuffle")
BALANCE = (
    Axis("imbalance", "normalised imbalance", log=True),
    Axis("memory", "pairs per key", log=True),
)
WORKERS = Axis("workers", "workers n", log=True)
NO_REPORTS = (
    "Nothing is served in this figure, so that workers have nothing to report and CG moves no virtual worker; "
    "Figs. 9, 10, 12 and 13 have what it does then."
)


def run(stream: Stream, scheme: str, workers: int, seed: int = 0, epsilon: float = EPSILON, sources: int = 1) -> Trace:
    """Replay with epsilon where the scheme has one. ON_RING is CH with VIRTUAL points per worker on its ring."""
    if scheme == ON_RING:
        return replay(stream, "bounded_hash", workers, sources=sources, seed=seed, epsilon=epsilon, points=VIRTUAL)
    if scheme in ("random_choices", "bounded_hash", "consistent"):
        return replay(stream, scheme, workers, sources=sources, seed=seed, epsilon=epsilon)
    return replay(stream, scheme, workers, sources=sources, seed=seed)


def balance(trace: Trace) -> Row:
    """Return normalised imbalance and memory."""
    return {"imbalance": trace.workers * trace.imbalance, "memory": trace.memory_against("key")}


def folded(stream: Stream, scheme: str, workers: int, seed: int) -> Row:
    """Return balance and memory of workers that hold VIRTUAL virtual workers each, assigned by any scheme.

    It is Consistent Grouping as long as no virtual worker moves.
    """
    routes = replay(stream, scheme, workers * VIRTUAL, seed=seed).routes % workers
    loads = np.bincount(routes, minlength=workers)
    pairs = np.unique(stream * workers + routes).size
    found: Row = {
        "imbalance": float(loads.max() / loads.mean() - 1.0),
        "memory": float(pairs / np.unique(stream).size),
    }
    return found


def by_skew(size: Size, seed: int) -> list[Row]:
    """Figure 4: schemes for virtual workers, by skew and by number of virtual workers."""
    rows: list[Row] = []
    messages = size.of(full=1_000_000, quick=200_000, tiny=4_000)
    for z in exponents(size):
        stream = streams.zipf(messages, messages // 10, z, seed)
        for n in (10, 100, 1000):
            for scheme in ASSIGNMENTS:
                head: Row = {"virtual": n, "scheme": scheme, "exponent": z}
                rows.append({**head, **balance(run(stream, scheme, n, seed))})
    return rows


def by_epsilon(size: Size, seed: int) -> list[Row]:
    """Figure 6: epsilon trades balance for memory."""
    rows: list[Row] = []
    stream = words(size.of(full=2_000_000, quick=150_000, tiny=4_000))
    ends = {scheme: folded(stream.keys, scheme, 10, seed) for scheme in ("key", "shuffle")}
    for epsilon in size.of(
        full=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        quick=(0.001, 0.01, 0.1, 1.0, 10.0),
        tiny=(0.01, 1.0),
    ):
        ours = balance(run(stream.keys, "consistent", 10, seed, epsilon))
        for scheme, found in (*ends.items(), ("consistent", ours)):
            rows.append({"stream": stream.name, "epsilon": epsilon, "scheme": scheme, **found})
    return rows


def on_words(size: Size, seed: int, schemes: tuple[str, ...], virtual: int) -> list[Row]:
    """Figures 7 and 8: schemes on a real stream, by number of workers."""
    stream = words(size.of(full=2_000_000, quick=200_000, tiny=4_000))
    rows: list[Row] = []
    for n in (10, 50, 100):
        for scheme in schemes:
            head: dict[str, Cell] = {"stream": stream.name, "workers": n * virtual, "scheme": scheme}
            rows.append({**head, **balance(run(stream.keys, scheme, n * virtual, seed))})
    return rows


def by_sources(size: Size, seed: int) -> list[Row]:
    """Figure 11: Consistent Grouping with several sources."""
    stream = words(size.of(full=2_000_000, quick=100_000, tiny=4_000))
    return [
        {
            "stream": stream.name,
            "workers": n,
            "sources": f"{sources} source" + "s" * (sources > 1),
            **balance(run(stream.keys, "consistent", n, seed, sources=sources)),
        }
        for sources in (1, 5, 10, 50)
        for n in (10, 50, 100)
    ]


LABELS = {
    "key": "KG",
    "two_choices": "PKG",
    "power_of_two": "PoTC",
    "random_choices": "PoRC",
    "bounded_hash": "CH",
    ON_RING: "CH, points = 10",
    "shuffle": "SG",
    "consistent": "CG",
}


def _all(rows: Rows, column: str, form: str, **where: float) -> str:
    schemes = dict.fromkeys(str(row["scheme"]) for row in rows)
    parts = [f"{LABELS[name]} {format(max(pick(rows, column, scheme=name, **where)), form)}" for name in schemes]
    return ", ".join(parts)


def _at_hundred(rows: Rows) -> str:
    return (
        f"100 virtual workers, worst over z: imbalance {_all(rows, 'imbalance', '.2g', virtual=100)}; "
        f"pairs per key {_all(rows, 'memory', '.2f', virtual=100)}"
    )


def _ends(rows: Rows) -> str:
    low, high = (fold(pick(rows, "epsilon")) for fold in (min, max))
    parts = []
    for epsilon in (low, high):
        imbalance, memory = (
            pick(rows, name, scheme="consistent", epsilon=epsilon)[0] for name in ("imbalance", "memory")
        )
        parts.append(f"epsilon = {epsilon:g}: imbalance {imbalance:.3g}, {memory:.2f} pairs per key")
    key, shuffle = (pick(rows, "memory", scheme=name)[0] for name in ("key", "shuffle"))
    return f"CG with {'; '.join(parts)}; KG {key:.2f} and SG {shuffle:.2f} pairs per key"


def _at_most_workers(rows: Rows) -> str:
    most = max(pick(rows, "workers"))
    return (
        f"{most:.0f} workers: imbalance {_all(rows, 'imbalance', '.2g', workers=most)}; "
        f"pairs per key {_all(rows, 'memory', '.2f', workers=most)}"
    )


def _spread(rows: Rows) -> str:
    parts = []
    for n in (10, 100):
        for column, form in (("imbalance", ".2g"), ("memory", ".2f")):
            values = pick(rows, column, workers=n)
            parts.append(f"n = {n}: {column} {format(min(values), form)} to {format(max(values), form)}")
    return "1 to 50 sources: " + "; ".join(parts)


def _words_figure(name: str, title: str, schemes: tuple[str, ...], virtual: int, claim: Claim) -> Figure:
    label = "virtual workers" if virtual > 1 else "workers n"
    return Figure(
        name,
        title,
        "2 M words (200,000 with --quick)" + (", each worker with 10 virtual workers." if virtual > 1 else "."),
        lambda size, seed: on_words(size, seed, schemes, virtual),
        Plot(Axis("workers", label), BALANCE, "scheme", kind="bar"),
        (claim,),
    )


FIGURES = (
    Figure(
        "consistent-4",
        "Fig. 4: imbalance and memory of six schemes by skew",
        "10 Zipf messages per key, 1 M messages (200,000 with --quick), 10, 100 and 1,000 virtual workers.",
        by_skew,
        Plot(Axis("exponent", "skew z"), BALANCE, "scheme", across="virtual"),
        (
            Claim(
                "KG and PKG get the more uneven, the more skew and virtual workers there are; the others are even. "
                "Balance costs memory.",
                _at_hundred,
                "PoRC and CH end exactly at epsilon where the bound binds; PoRC needs the least memory of the "
                "bounded ones.",
            ),
        ),
    ),
    Figure(
        "consistent-6",
        "Fig. 6: imbalance and memory of CG by epsilon",
        "10 workers with 10 virtual workers each, 2 M words (150,000 with --quick). KG and SG assign to the same "
        "virtual workers.",
        by_epsilon,
        Plot(Axis("epsilon", "epsilon", log=True), BALANCE, "scheme"),
        (
            Claim(
                "Epsilon trades balance for memory, and CG lies between KG and SG.",
                _ends,
                "A worker averages over its 10 virtual workers, so its imbalance is below epsilon where epsilon is "
                "more than a few messages. " + NO_REPORTS,
            ),
        ),
    ),
    _words_figure(
        "consistent-7",
        "Fig. 7: assignment to virtual workers",
        ASSIGNMENTS,
        VIRTUAL,
        Claim(
            "KG and PKG are uneven, linearly in the number of workers; CH and PoRC are bounded near epsilon; PoTC and "
            "SG are nearly perfect. PoRC needs as little memory as PKG, close to KG.",
            _at_most_workers,
            "PoRC needs more than PKG here: with epsilon = 0.01 many virtual workers are full when a key comes, so it "
            "is passed on. It needs about half of what CH needs.",
        ),
    ),
)
FIG_8 = _words_figure(
    "consistent-8",
    "Fig. 8: schemes by number of workers",
    ("key", "two_choices", "power_of_two", "bounded_hash", ON_RING, "shuffle", "consistent"),
    1,
    Claim(
        "KG is worst; PKG is good up to some tens of workers; PoTC and SG are even and need most memory; CH and CG are "
        "bounded, CG with less memory than CH.",
        _at_most_workers,
        "None in the order where each worker is one point on the ring of CH. With as many points as CG has virtual "
        "workers CH needs about as much memory as CG. " + NO_REPORTS,
    ),
)
FIG_11 = Figure(
    "consistent-11",
    "Fig. 11: CG with several sources",
    "2 M words (100,000 with --quick).",
    by_sources,
    Plot(WORKERS, BALANCE, "sources"),
    (
        Claim(
            "Imbalance and memory stay about the same with more sources and workers.",
            _spread,
            "Every source bounds its own loads, by at least one message per virtual worker: with 50 sources and a "
            "short stream that is felt. " + NO_REPORTS,
        ),
    ),
)
