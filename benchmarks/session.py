"""The session of a benchmark: its event log is kept, so that tasks can be counted afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from skewkit.testing import local_session

PARTITIONS = 32


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Start a session with 32 shuffle partitions, about as many input splits, and an event log.

    Spark takes no table for small enough to be broadcast; a negative threshold would forbid it to skewkit, too.
    `SKEWKIT_SLOTS` in the environment says for how many tasks at a time `auto` is to plan (`spark.skewkit.slots`).
    """
    confs = {
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.autoBroadcastJoinThreshold": "1",
        "spark.sql.files.minPartitionNum": str(PARTITIONS),
        "spark.driver.memory": "8g",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    if slots := os.environ.get("SKEWKIT_SLOTS"):
        confs["spark.skewkit.slots"] = slots
    spark = local_session(confs=confs)
    try:
        yield spark
    finally:
        spark.stop()
