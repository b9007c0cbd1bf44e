"""How many tasks of a session run at a time, and how much memory a task has."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from skewkit.options import Settings, byte_size
from skewkit.plan.costs import Slots, Terms
from skewkit.spark.session.compat import conf_reader, tasks_at_a_time

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
    cores = _number(read("spark.executor.cores")) or slots.number
    memory = least_heap(read) * _SHARE / max(1, min(cores, slots.number))
    return Terms.of(settings, slots, memory)


def _slots(spark: SparkSession, read: Callable[[str], str | None], settings: Settings, partitions: int) -> Slots:
    if settings.slots:
        return Slots(settings.slots, "spark.skewkit.slots")
    cpus, cores = _number(read("spark.task.cpus")) or 1, _number(read("spark.executor.cores"))
    local = _LOCAL.fullmatch(read("spark.master") or "")
    if local:
        return Slots(max(1, int(local.group(1)) // cpus), "spark.master")
    most = _number(read("spark.dynamicAllocation.maxExecutors"))
    if most and (read("spark.dynamicAllocation.enabled") or "").lower() == "true":
        return Slots(most * max(1, (cores or 1) // cpus), "dynamic allocation")
    executors = _number(read("spark.executor.instances"))
    if executors and cores:
        return Slots(executors * max(1, cores // cpus), "executors and their cores")
    # What the user sets is how many partitions there are to be, and not how many tasks run at a time.
    found = None if _number(read("spark.default.parallelism")) else tasks_at_a_time(spark)
    if found:
        return Slots(max(1, found // cpus), "default parallelism")
    return Slots(partitions, "the partitions, as nobody knows")


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
