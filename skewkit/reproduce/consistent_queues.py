"""Figures 9, 10, 12 and 13 of the Consistent Grouping paper: queues, latency and utilisation over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skewkit.reproduce.figure import Axis, Claim, Figure, Plot, Row, Rows, Size, pick
from skewkit.reproduce.real import words
from skewkit.simulator import ChangeCapacity, Trace, replay

WORKERS, LOAD, EPSILON = 10, 0.9, 0.01
POINTS = 40
SPREADS = (
    Axis("queue length", "queue length,\nmax - min (messages)"),
    Axis("latency", "latency,\nmax - min (time units)"),
    Axis("utilisation", "utilisation,\nmax - min"),
)
TIME = Axis("thousand messages", "messages (thousands)")
Floats = npt.NDArray[np.float64]


def cluster(*fast: tuple[int, float], first: int = 0) -> Floats:
    """Return capacities with mean 1: `count` workers from `first` on are `times` as fast as the others.

    >>> cluster((1, 2.0)).round(2).tolist()[:2]
    [1.82, 0.91]
    """
    capacities = np.ones(WORKERS)
    for count, times in fast:
        capacities[first : first + count] = times
        first += count
    scaled: Floats = capacities / capacities.mean()
    return scaled


def length(size: Size) -> int:
    """Return the length of the streams."""
    return size.of(full=1_000_000, quick=240_000, tiny=2_000)


def spreads(trace: Trace) -> list[Row]:
    """Return, over time, the greatest minus the least queue length, mean latency and utilisation of the workers.

    Utilisation is what the paper takes in simulations: the work assigned in a stretch of time over what the worker
    could do in it, which may exceed 1.
    """
    if trace.speeds is None or trace.arrivals is None or trace.services is None:
        return []
    m, n = len(trace.routes), trace.workers
    edges = np.linspace(0.0, float(m), POINTS + 1)
    queues = trace.queue_lengths_at(edges[1:])
    part = np.minimum((trace.arrivals / m * POINTS).astype(int), POINTS - 1)
    cells = part * n + trace.routes
    count = np.bincount(cells, minlength=POINTS * n).reshape(POINTS, n)
    waited = np.bincount(cells, trace.latencies, POINTS * n).reshape(POINTS, n)
    able = np.array([np.diff(trace.speeds.work(worker, edges)) for worker in range(n)]).T
    used = count * LOAD * n / able
    rows: list[Row] = []
    for point in range(POINTS):
        some = count[point] > 0
        means = waited[point][some] / count[point][some]
        rows.append(
            {
                "thousand messages": float(edges[point + 1]) / 1000,
                "queue length": int(queues[point].max() - queues[point].min()),
                "latency": float(means.max() - means.min()),
                "utilisation": float(used[point].max() - used[point].min()),
            }
        )
    return rows


def _compare(
    size: Size, seed: int, schemes: Sequence[str], capacities: Floats, events: Sequence[ChangeCapacity] = ()
) -> list[Row]:
    stream = words(length(size))
    rows: list[Row] = []
    for scheme in schemes:
        options = {"epsilon": EPSILON} if scheme == "consistent" else {}
        trace = replay(
            stream.keys,
            scheme,
            WORKERS,
            seed=seed,
            service_times=LOAD * WORKERS,
            capacities=capacities,
            events=events,
            **options,  # type: ignore[arg-type]
        )
        rows += [{"stream": stream.name, "scheme": scheme, **row} for row in spreads(trace)]
    return rows


def equal_workers(size: Size, seed: int) -> list[Row]:
    """Figure 9: equal workers."""
    return _compare(size, seed, ("key", "consistent"), cluster())


def unequal_workers(size: Size, seed: int) -> list[Row]:
    """Figure 10: some workers are faster."""
    return _compare(size, seed, ("key", "shuffle", "consistent"), cluster((3, 5.0)))


def changing_workers(size: Size, seed: int) -> list[Row]:
    """Figure 13: which workers are faster, and by how much, changes twice."""
    m = length(size)
    phases = ((m / 3, cluster((5, 2.0), first=5)), (2 * m / 3, cluster((2, 8.0), first=3)))
    events = [
        ChangeCapacity(time, worker, float(capacity))
        for time, capacities in phases
        for worker, capacity in enumerate(capacities)
    ]
    return _compare(size, seed, ("key", "shuffle", "consistent"), cluster((3, 5.0)), events)


def by_virtual(size: Size, seed: int) -> list[Row]:
    """Figure 12: number of virtual workers."""
    stream = words(length(size))
    rows: list[Row] = []
    for virtual in size.of(full=(1, 2, 5, 10, 20, 50), quick=(2, 10, 50), tiny=(2, 10)):
        trace = replay(
            stream.keys,
            "consistent",
            WORKERS,
            seed=seed,
            service_times=LOAD * WORKERS,
            capacities=cluster((3, 5.0)),
            virtual=virtual,
            epsilon=EPSILON,
        )
        rows += [{"stream": stream.name, "virtual": virtual, **row} for row in spreads(trace)]
    return rows


def _last(rows: Rows, column: str, **where: object) -> float:
    """Return the mean of the last quarter of a line."""
    values = pick(rows, column, **where)
    return float(np.mean(values[-len(values) // 4 :]))


def _by_scheme(rows: Rows) -> str:
    parts = []
    for scheme, label in (("key", "KG"), ("shuffle", "SG"), ("consistent", "CG")):
        if pick(rows, "queue length", scheme=scheme):
            queue, late, used = (_last(rows, axis.column, scheme=scheme) for axis in SPREADS)
            parts.append(f"{label} {queue:,.0f} messages, latency {late:,.0f}, utilisation {used:.2f}")
    return "spread in the last quarter: " + "; ".join(parts)


def _by_virtual(rows: Rows) -> str:
    counts = dict.fromkeys(int(row["virtual"]) for row in rows)
    parts = []
    for count in counts:
        greatest, last = max(pick(rows, "queue length", virtual=count)), _last(rows, "queue length", virtual=count)
        parts.append(f"{count}: {greatest:,.0f} and {last:,.0f}")
    return "greatest spread of the queues, and that in the last quarter, by virtual workers: " + "; ".join(parts)


_SETTING = (
    "10 workers, 1 M words (240,000 with --quick), one message per unit of time. Greatest minus least value of a "
    "worker, over time."
)
_SLOT = (
    "A time slot of CG is 100 messages per worker, 1,000 here, and it takes dozens of them until the virtual workers "
    "are where they belong. The slot is free: with a shorter one (`slot`) CG adapts sooner, for more pairs."
)

FIGURES = (
    Figure(
        "consistent-9",
        "Fig. 9: spread of queues, latency and utilisation, equal workers",
        _SETTING,
        equal_workers,
        Plot(TIME, SPREADS, "scheme"),
        (
            Claim(
                "Under KG queues and latency grow for ever; CG keeps both low and the imbalance near zero.",
                _by_scheme,
                "CG's virtual workers all have the same load, so hardly any has to move.",
            ),
        ),
    ),
    Figure(
        "consistent-10",
        "Fig. 10: spread of queues, latency and utilisation, unequal workers",
        _SETTING + " 3 of the workers are 5 times as fast as the others.",
        unequal_workers,
        Plot(TIME, SPREADS, "scheme"),
        (
            Claim(
                "Queues and latency grow under KG and SG; CG keeps them low and the imbalance near zero.",
                _by_scheme,
                _SLOT,
            ),
        ),
    ),
    Figure(
        "consistent-12",
        "Fig. 12: CG by number of virtual workers, 3 of 10 workers 5 times as fast",
        _SETTING,
        by_virtual,
        Plot(TIME, SPREADS, "virtual"),
        (
            Claim(
                "With too few virtual workers there are not enough to move; with too many it takes long; in between "
                "it is best.",
                _by_virtual,
                "One virtual worker moves per pair of signals, so many small ones take many slots.",
            ),
        ),
    ),
    Figure(
        "consistent-13",
        "Fig. 13: capacities that change after a third and after two thirds of the stream",
        _SETTING + " 3 workers 5 times as fast, then 5 others twice, then 2 others 8 times; the sum stays the same.",
        changing_workers,
        Plot(TIME, SPREADS, "scheme"),
        (Claim("CG adapts to both changes.", _by_scheme, _SLOT),),
    ),
)
