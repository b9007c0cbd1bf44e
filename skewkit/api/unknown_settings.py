"""Confs that are named as settings of skewkit and are none: told once in a session."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from skewkit.logs import warn_caller
from skewkit.options import PREFIX, unknown_settings
from skewkit.spark.session.compat import confs_named

_TOLD: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
"""What each session was warned of. A session in it has been looked through."""


def tell_unknown_settings(spark: SparkSession, *, again: bool = True) -> None:
    """Warn of confs that are named as settings of skewkit and are none, of each once in a session.

    Without `again` each session is looked through once only, as Spark has to list its confs.
    """
    if not again and spark in _TOLD:
        return
    told = _TOLD.setdefault(spark, set())
    for warning in unknown_settings(confs_named(spark, PREFIX)):
        if warning not in told:
            told.add(warning)
            warn_caller(warning)
