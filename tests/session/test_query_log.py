"""What skewkit tries does not show in PySpark's log of failed queries."""

import logging
from threading import Thread

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.session.query_log import quiet_query_log
from skewkit.testing import assert_same_rows

LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@pytest.fixture
def records():
    """What the log of failed queries is told."""
    logger = pytest.importorskip("pyspark.logger").PySparkLogger
    handler, found = logging.Handler(), []
    handler.emit = found.append
    for name in LOGGERS:
        logger.getLogger(name).addHandler(handler)
    yield found
    for name in LOGGERS:
        logger.getLogger(name).removeHandler(handler)


def test_only_the_thread_that_tries_is_not_heard(records):
    def said(text):
        for name in LOGGERS:
            logging.getLogger(name).error(text)

    with quiet_query_log():
        said("inside")
        with quiet_query_log():
            said("further inside")
        said("inside again")
        other = Thread(target=said, args=("other",))
        other.start()
        other.join()
    said("after")
    assert [record.getMessage() for record in records] == ["other", "other", "after", "after"]


@pytest.mark.connect
def test_a_join_by_condition_logs_no_failed_query(spark, records):
    edges = spark.range(4_000).selectExpr("IF(id % 2 = 0, 0, id) AS src", "id AS dst")
    a, b = edges.alias("a"), edges.alias("b")
    for condition in (F.col("a.dst") == F.col("b.src"), F.expr("a.dst = b.src AND a.src < 9")):
        for strategy in ("auto", "salt"):
            joined = skewkit.skew_join(a, b, condition, strategy=strategy, partitions=4)
            assert_same_rows(joined, a.join(b, condition))
    assert [record.getMessage() for record in records] == []
