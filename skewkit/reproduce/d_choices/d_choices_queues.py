"""Figures 13 and 14 of the D-Choices paper, as queues instead of a Storm cluster: throughput and latency."""

from __future__ import annotations

import numpy as np

from skewkit.reproduce.figure import Axis, Claim, Figure, Plot, Row, Rows, Size, pick
from skewkit.simulator import replay, streams

WORKERS, KEYS = 80, 10_000
SERVICE = 1.0  # ms
PER_SECOND = Axis("messages per second", "messages per second", log=True)
LATENCY = Axis("latency ms", "latency (ms)", log=True)
SCHEMES = {
    "key": "KG",
    "two_choices": "PKG",
    "d_choices": "D-C",
    "w_choices": "W-C",
    "wrap": "wrap (skewkit's own)",
    "shuffle": "SG",
}


def queues(size: Size, seed: int) -> list[Row]:
    """Both figures: messages come as fast as all workers together can take them, with queues without end."""
    rows: list[Row] = []
    count = size.of(full=2_000_000, quick=400_000, tiny=1_000)
    sources = size.of(full=48, quick=48, tiny=2)
    arrivals = np.arange(count) * SERVICE / WORKERS
    for z in (1.4, 1.7, 2.0):
        stream = streams.zipf(count, KEYS, z, seed)
        for scheme in SCHEMES:
            trace = replay(
                stream, scheme, workers=WORKERS, sources=sources, seed=seed, service_times=SERVICE, arrivals=arrivals
            )
            sums = np.bincount(trace.routes, trace.latencies, WORKERS)
            means = sums / np.maximum(np.bincount(trace.routes, minlength=WORKERS), 1)
            values = [float(means.max()), *(float(p) for p in trace.latency_percentiles((50, 95, 99)))]
            for measure, value in zip(("max avg", "p50", "p95", "p99"), values, strict=True):
                rows.append(
                    {
                        "exponent": z,
                        "scheme": scheme,
                        "measure": measure,
                        "latency ms": value,
                        "messages per second": 1000 * trace.throughput,
                    }
                )
    return rows


def throughput(size: Size, seed: int) -> list[Row]:
    """Figure 13: throughput."""
    return [
        {name: row[name] for name in ("exponent", "scheme", "messages per second")}
        for row in queues(size, seed)
        if row["measure"] == "p50"
    ]


def latency(size: Size, seed: int) -> list[Row]:
    """Figure 14: latency."""
    names = ("exponent", "scheme", "measure", "latency ms")
    return [{name: row[name] for name in names} for row in queues(size, seed)]


def _of_shuffle(rows: Rows) -> str:
    best = pick(rows, "messages per second", scheme="shuffle", exponent=2.0)[0]
    parts = [
        f"{label} {pick(rows, 'messages per second', scheme=scheme, exponent=2.0)[0] / best:.3f}"
        for scheme, label in SCHEMES.items()
        if scheme != "shuffle"
    ]
    return "throughput as a share of SG's at z = 2: " + ", ".join(parts)


def _tail_latency(rows: Rows) -> str:
    parts = [
        f"{label} {pick(rows, 'latency ms', scheme=scheme, exponent=2.0, measure='p99')[0]:,.0f} ms"
        for scheme, label in SCHEMES.items()
    ]
    return "99th percentile at z = 2: " + ", ".join(parts)


_SETTING = (
    "80 workers of 1 ms per message, 48 sources, 2 M messages (400,000 with --quick), 80,000 messages per second."
)
_NOTE = (
    "A simulated queue grows without end and nothing else slows the stream down, so the hottest worker alone "
    "decides: the gaps are far larger than on a Storm cluster, where back-pressure and the network take their share."
)

FIGURES = (
    Figure(
        "d-choices-13",
        "Fig. 13: throughput (queueing version)",
        _SETTING,
        throughput,
        Plot(
            Axis("exponent", "skew z"),
            (Axis("messages per second", "messages per second", log=True),),
            "scheme",
            kind="bar",
        ),
        (Claim("D-C and W-C match SG, up to 1.5 times PKG and 2.3 times KG.", _of_shuffle, _NOTE),),
    ),
    Figure(
        "d-choices-14",
        "Fig. 14: latency (queueing version)",
        _SETTING + " `max avg` is the highest mean of a worker.",
        latency,
        Plot(
            Axis("measure", ""),
            (Axis("latency ms", "latency (ms)", log=True),),
            "scheme",
            across="exponent",
            kind="bar",
        ),
        (
            Claim(
                "D-C and W-C are close to SG; they cut the 99th percentile of PKG by 60 % and that of KG by 75 %.",
                _tail_latency,
                "The workers have just enough to do, so what one gets too much stays in its queue: 48 sources that "
                "balance their own loads leave some 40 messages, where SG, which deals in turns, leaves one. " + _NOTE,
            ),
        ),
    ),
)
