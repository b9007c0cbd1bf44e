"""How EXPLAIN is asked: by PySpark's own request or by a statement, and of plans that are nested deep."""

import re
from functools import reduce

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.session.compat import explained
from skewkit.testing import assert_same_rows
from tests.helpers import conf


@pytest.mark.connect
def test_a_plan_is_read_without_pysparks_private_request(spark, connect, monkeypatch):
    facts = spark.range(0, 900, 1, 3).selectExpr("if(id % 10 < 6, 7, id) AS k", "id AS v")
    other = spark.range(0, 90, 1, 2).selectExpr("id AS k", "id AS w")

    def read():
        """Return the plan without the numbers of expressions, what a join does, and the join."""
        joined = skewkit.skew_join(facts, other, "k", "left", strategy="salt", partitions=4)
        return re.sub(r"#\d+", "#", explained(facts)), skewkit.explain(joined), joined

    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        plan, said, _ = read()
        kind = type(facts)
        assert hasattr(kind, "_explain_string") or not connect
        monkeypatch.delattr(kind, "_explain_string", raising=False)
        again, said_again, joined = read()
        assert (re.sub(r"plan_id=\d+", "", again), said_again) == (re.sub(r"plan_id=\d+", "", plan), said)
        assert_same_rows(joined.where(F.col("v") >= 0), facts.join(other, "k", "left"))


@pytest.mark.slow
@pytest.mark.connect
def test_behind_sixty_filters_in_a_row(spark):
    facts = spark.range(0, 900, 1, 3).selectExpr("if(id % 10 < 6, 7, id) AS k", "id AS v")
    facts = reduce(lambda frame, i: frame.where(F.col("v") >= -i), range(60), facts)
    other = spark.range(0, 90, 1, 2).selectExpr("id AS k", "id AS w")
    by = Window.partitionBy("k").orderBy("v")
    pairs = [
        (skewkit.skew_join(facts, other, "k", strategy="salt", partitions=4), facts.join(other, "k")),
        (
            skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(F.median("v").alias("s")),
            facts.groupBy("k").agg(F.median("v").alias("s")),
        ),
        (
            skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4).select(s=F.sum("v")),
            facts.withColumn("s", F.sum("v").over(by)),
        ),
    ]
    for ours, plain in pairs:
        assert "native" not in skewkit.explain(ours)
        assert_same_rows(ours, plain)
