"""The jobs that skewkit starts: each says in Spark's UI which call it is for, and a call can count them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from skewkit.spark.session.compat import is_connect

_DESCRIPTION = "spark.job.description"


@dataclass
class Used:
    """What a call has used so far: its queries, the seconds that they took, and the seconds of the whole call."""

    jobs: int = 0
    query_seconds: float = 0.0
    seconds: float = 0.0
    began: float = field(default_factory=time.perf_counter, repr=False)


class _Counters(threading.local):
    def __init__(self) -> None:
        self.open: list[Used] = []


_COUNTERS = _Counters()


def used_so_far() -> Used:
    """Return what the innermost open block of `counted` in this thread has used so far. Nothing outside of any."""
    if not _COUNTERS.open:
        return Used()
    inner = _COUNTERS.open[-1]
    return replace(inner, seconds=time.perf_counter() - inner.began)


@contextmanager
def counted() -> Iterator[Used]:
    """Count the queries that skewkit runs in this thread inside the block, and the seconds of the block.

    Blocks may be nested: each counts what runs inside it.

    >>> with counted() as used, described(spark, "skewkit: an example"):
    ...     rows = spark.range(3).collect()
    >>> used.jobs, used.seconds >= used.query_seconds > 0
    (1, True)
    """
    used = Used()
    _COUNTERS.open.append(used)
    try:
        yield used
    finally:
        used.seconds = time.perf_counter() - used.began
        _COUNTERS.open = [each for each in _COUNTERS.open if each is not used]


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Run one query that is described by a text: its jobs' description on a classic session, a tag on Connect.

    * The user's own description, group and tags are as before afterwards, whether the query fails or not.
    * Threads do not see each other's: Spark keeps both by thread.
    """
    start = time.perf_counter()
    try:
        with labelled(spark, text):
            yield
    finally:
        seconds = time.perf_counter() - start
        for used in _COUNTERS.open:
            used.jobs += 1
            used.query_seconds += seconds


@contextmanager
def labelled(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe jobs that read no keys: a look at a table's log, or what the user asked to be written. None counts."""
    with _tagged(spark, text) if is_connect(spark) else _described(spark, text):
        yield


@contextmanager
def _described(spark: SparkSession, text: str) -> Iterator[None]:
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


@contextmanager
def _tagged(spark: SparkSession, text: str) -> Iterator[None]:
    tag = text.replace(",", ";")  # Connect takes no comma in a tag
    if tag in spark.getTags():
        yield
        return
    spark.addTag(tag)
    try:
        yield
    finally:
        spark.removeTag(tag)
