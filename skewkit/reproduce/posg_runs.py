"""Streams and runs of the POSG paper: tuples with execution times, four schedulers, and the mean completion time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewkit.checks import Floats
from skewkit.reproduce.figure import Row, Size
from skewkit.simulator import replay, streams
from skewkit.simulator.streams import Stream

CURE: dict[str, Any] = {"early": 64, "pooled": True}
SCHEMES = ("round-robin", "posg", "posg, cured", "full knowledge")


@dataclass(frozen=True)
class Setting:
    """The setting of Section V-A, where nothing else is said."""

    exponent: float = 1.0  # 0 is the uniform distribution
    values: int = 64  # execution time values w_n
    longest: float = 64.0  # w_max, ms; w_min is 1 ms
    instances: int = 5  # k
    provisioning: float = 1.0  # greatest theoretical input throughput over the actual one
    epsilon: float = 0.05
    items: int = 4096
    messages: int = 32_768


def tuples(setting: Setting, seed: int) -> tuple[Stream, Floats, Floats]:
    """Return keys, execution times and arrivals of one stream. Items and times are matched at random.

    >>> keys, work, arrivals = tuples(Setting(messages=1000), 1)
    >>> bool(arrivals[1] - arrivals[0] == work.mean() / 5)
    True
    """
    keys = streams.zipf(setting.messages, setting.items, setting.exponent, seed)
    values = np.linspace(1.0, setting.longest, setting.values)
    times = np.random.default_rng([seed, 1]).permutation(np.resize(values, setting.items))
    work: Floats = times[keys]
    arrivals: Floats = np.arange(keys.size) * (work.mean() / setting.instances * setting.provisioning)
    return keys, work, arrivals


def scheme_of(name: str) -> str:
    """Return the name in `PARTITIONERS` of what a row calls by another name.

    >>> scheme_of("round-robin"), scheme_of("posg, cured")
    ('shuffle', 'posg')
    """
    return "shuffle" if name == "round-robin" else name.partition(",")[0]


def full_knowledge(work: Floats, arrivals: Floats, instances: int) -> float:
    """Return the mean completion time of the greedy online scheduler that knows every execution time.

    >>> full_knowledge(np.array([3.0, 1.0, 1.0]), np.zeros(3), 2)
    2.0
    """
    free = [0.0] * instances
    total = 0.0
    for came, took in zip(arrivals.tolist(), work.tolist(), strict=True):
        done = max(came, free[0]) + took
        heapq.heapreplace(free, done)
        total += done - came
    return total / work.size


def completion_time(scheme: str, setting: Setting, seed: int) -> float:
    """Return the mean completion time L of one stream, in ms."""
    keys, work, arrivals = tuples(setting, seed)
    if scheme == "full knowledge":
        return full_knowledge(work, arrivals, setting.instances)
    options: dict[str, Any] = {}
    if scheme != "round-robin":
        options = {"epsilon": setting.epsilon, **(CURE if scheme == "posg, cured" else {})}
    name = scheme_of(scheme)
    trace = replay(keys, name, setting.instances, seed=seed, service_times=work, arrivals=arrivals, **options)
    return trace.completion_time


def compare(
    size: Size, seed: int, column: str, settings: dict[Any, dict[str, Any]], schemes: tuple[str, ...] = SCHEMES
) -> list[Row]:
    """Return completion times and speed-ups over Round-Robin: mean, least and greatest of some streams.

    Args:
        size: how many streams.
        seed: the seed of the first one.
        column: name of what varies.
        settings: its values, and what each changes in the setting.
        schemes: what is compared.
    """
    rows: list[Row] = []
    count = size.of(full=100, quick=2, tiny=1)
    for value, changes in settings.items():
        setting = replace(Setting(messages=size.of(32_768, 32_768, 1500)), **changes)
        base = [completion_time("round-robin", setting, seed + draw) for draw in range(count)]
        for scheme in schemes:
            if scheme == "round-robin":
                times = base
            else:
                times = [completion_time(scheme, setting, seed + draw) for draw in range(count)]
            gains = [slow / fast for slow, fast in zip(base, times, strict=True)]
            rows.append(
                {
                    column: value,
                    "scheme": scheme,
                    "completion ms": float(np.mean(times)),
                    "least ms": min(times),
                    "greatest ms": max(times),
                    "speed-up": float(np.mean(gains)),
                    "least speed-up": min(gains),
                    "greatest speed-up": max(gains),
                }
            )
    return rows
