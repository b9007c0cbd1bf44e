"""PySpark's log of queries that fail, kept quiet while skewkit asks Spark whether a column can be."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

_NAMES = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOCK = Lock()


class _OfOthers(logging.Filter):
    """Lets through what other threads log, and what this one does outside of tries."""

    def __init__(self) -> None:
        super().__init__()
        self.trying = local()
        self.tries = 0

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.trying, "depth", 0)


_FILTER = _OfOthers()


@contextmanager
def quiet_query_log() -> Iterator[None]:
    """Keep what fails inside out of PySpark's log of queries, for this thread. The log is as it was afterwards.

    >>> with quiet_query_log():
    ...     "v" in spark.range(1).columns
    False
    """
    with _LOCK:
        _FILTER.tries += 1
        if _FILTER.tries == 1:
            for logger in _query_logs():
                logger.filters = [*logger.filters, _FILTER]  # another thread may be reading the list that was there
    _FILTER.trying.depth = getattr(_FILTER.trying, "depth", 0) + 1
    try:
        yield
    finally:
        _FILTER.trying.depth -= 1
        with _LOCK:
            _FILTER.tries -= 1
            if _FILTER.tries == 0:
                for logger in _query_logs():
                    logger.filters = [each for each in logger.filters if each is not _FILTER]


def _query_logs() -> list[logging.Logger]:
    """Return the loggers that PySpark names a failed query in, of PySpark's own class; before Spark 4.0 none."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in _NAMES]
