"""How many tasks of a session run at a time, and how much memory a task has."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from skewkit.options import Settings, byte_size
from skewkit.plan.costs import UNKNOWN_SLOTS, Slots, Terms
from skewkit.spark.session.compat import conf_reader, tasks_at_a_time

_EXECUTORS = "executor.instances"
_MANAGED = ("yarn", "k8s")
"""Masters that start as many executors as they are told."""
_GIVEN = ("spark.default.parallelism", "spark.sql.leafNodeDefaultParallelism")
_HEAPS = ("spark.driver.memory", "spark.executor.memory")
_DEFAULT = 1 << 30
_ONE_PROCESS = re.compile(r"local(\[.*\])?")
_LOCAL = re.compile(r"local\[(\d+)(?:,.*)?\]")
_SHARE = 0.6
"""The share of a heap that Spark executes and stores in (`spark.memory.fraction`)."""


def terms_of(spark: SparkSession, settings: Settings, partitions: int) -> Terms:
    """Return what a decision weighs in a session. Where nobody knows the slots, as many as partitions."""
    read = conf_reader(spark)
    slots = _slots(spark, read, settings, partitions)
    cpus = _number(read("spark.task.cpus")) or 1
    together = (_number(read("spark.executor.cores")) or slots.number * cpus) // cpus
    memory = least_heap(read) * _SHARE / max(1, min(together, slots.number))
    return Terms.of(settings, slots, memory)


def _slots(spark: SparkSession, read: Callable[[str], str | None], settings: Settings, partitions: int) -> Slots:
    if settings.slots:
        return Slots(settings.slots, "spark.skewkit.slots")
    master = read("spark.master") or ""
    cpus, cores = _number(read("spark.task.cpus")) or 1, _number(read("spark.executor.cores"))
    local = _LOCAL.fullmatch(master)
    if local:
        return Slots(max(1, int(local.group(1)) // cpus), "spark.master")
    most, executors = (_number(read(f"spark.{name}")) for name in ("dynamicAllocation.maxExecutors", _EXECUTORS))
    dynamic = (read("spark.dynamicAllocation.enabled") or "").lower() == "true"
    if most and dynamic:
        return Slots(most * max(1, (cores or 1) // cpus), "dynamic allocation")
    if executors and cores and not dynamic and master.startswith(_MANAGED):
        return Slots(executors * max(1, cores // cpus), "executors and their cores")
    # Without a bound of dynamic allocation those that run at this moment say nothing of those that will.
    found = None if dynamic and master.startswith(_MANAGED) else tasks_at_a_time(spark)
    # What the user sets is how many partitions there are to be, so more than those of the session say nothing.
    if found and any(_number(read(name)) for name in _GIVEN) and found > partitions:
        found = None
    return Slots(max(1, found // cpus), "default parallelism") if found else Slots(partitions, UNKNOWN_SLOTS)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdigit() and int(text) else None


def least_heap(conf: Callable[[str], str | None]) -> int:
    """Return the bytes of the smallest heap of a session, the driver's or an executor's. `conf` looks up a conf.

    >>> least_heap({"spark.driver.memory": "4g", "spark.executor.memory": "512"}.get) >> 20
    512
    >>> least_heap({"spark.driver.memory": "4g", "spark.master": "local[2]"}.get) >> 30
    4
    """
    names = _HEAPS[:1] if _ONE_PROCESS.fullmatch(conf("spark.master") or "") else _HEAPS
    return min(byte_size(conf(name), unit="m") or _DEFAULT for name in names)
