"""Keys and columns that fail for some rows fail where they do in plain Spark, and nowhere else."""

import re
import threading
import time

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from skewkit import explain, skew_join
from skewkit.testing import assert_same_rows
from tests.helpers import KINDS, conf
from tests.spark.join.cases import check

BAD = "if(id % 5 = 0, 'none', string(if(id % 3 > 0, 0, id))) AS k"
"""Some of these strings are no numbers, and an ANSI cast of them fails."""


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["inner", "right", "semi"])
def test_rows_that_the_condition_alone_rules_out_are_left_out_first(spark, dims, how):
    texts = spark.range(0, 90, 1, 3).selectExpr("id AS v", BAD)
    on = (texts["k"] == dims["k"]) & (texts["v"] % 5 != 0) & (dims["w"] < 60)
    for strategy in ("auto", "salt"):
        check(texts, dims, on, how, strategy)
    assert "strategy   salt" in explain(skew_join(texts, dims, on, how, strategy="salt"))


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
def test_conditions_on_one_side_alone(facts, dims, how):
    one_sided = [facts["v"] % 2 == 0, dims["w"] > 10, F.lit(True), facts["k"] == dims["k"]]
    for on in (one_sided, [*one_sided, facts["x"] != dims["x"]]):
        check(facts, dims, on, how, "auto")


@pytest.mark.connect
def test_keys_that_cannot_be_computed_are_left_to_spark(spark, dims):
    texts = spark.range(0, 90, 1, 3).selectExpr("id AS v", BAD)
    joined = skew_join(texts, dims, "k", "left")
    assert re.search(r"the keys could not be profiled: .*\[CAST_INVALID_INPUT\]", explain(joined))
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        joined.count()


@pytest.mark.parametrize("how", [pytest.param("inner", marks=pytest.mark.slow), "left"])
def test_what_nobody_asks_for_is_not_computed(spark, facts, dims, how, tmp_path):
    """It may fail, and plain Spark never computes it."""
    (tmp_path / "x.csv").write_text("k,v,n\n" + "".join(f"{i % 2},{i},{'bad' if i == 5 else i}\n" for i in range(40)))
    strict = spark.read.csv(str(tmp_path), header=True, schema="k bigint, v bigint, n int", mode="FAILFAST")
    for frame in (facts.selectExpr("*", "1 / (v - 5) AS bad"), strict):
        check(frame, dims, "k", how, pick=lambda joined: joined.select("k", "v", "w"), heavy=[0, 1])


def test_a_column_that_fails_and_nobody_asks_for_is_no_salt(spark):
    facts = spark.range(400).selectExpr("id % 2 AS k", "id AS v", "if(id = 4, id div 0, id) AS bad")
    dims = spark.range(2).selectExpr("id AS k", "id AS w")
    check(facts, dims, "k", pick=lambda joined: joined.select("k", "v", "w"), heavy=[0, 1])


@pytest.mark.connect
def test_a_key_that_fails_only_in_rows_that_are_not_asked_for_is_left_to_spark(spark):
    facts = spark.range(400).selectExpr("id AS v", "if(id % 5 = 0, array(), array(if(id % 3 = 0, 7L, id))) AS a")
    dims = spark.range(50).toDF("k")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        on = facts["a"][0] == dims["k"]
        joined = skew_join(facts, dims, on, partitions=3)
        assert_same_rows(joined.where("v % 5 != 0"), facts.join(dims, on).where("v % 5 != 0"))


@pytest.mark.connect
def test_texts_that_no_key_can_be_parsed_from_are_left_to_spark(spark, dims):
    """Such a job fails with an error of which PySpark has no class."""
    texts = spark.range(90).selectExpr("id AS v", "if(id % 5 = 0, '{bad', concat('{\"k\":', id % 7, '}')) AS j")
    key = F.from_json("j", "k bigint", {"mode": "FAILFAST"})["k"]
    joined = skew_join(texts, dims, key == dims["k"], "left")
    assert re.search(r"the keys could not be profiled: .*MALFORMED_RECORD_IN_PARSING", explain(joined))
    assert joined.where("v % 5 != 0").count() == texts.join(dims, key == dims["k"], "left").where("v % 5 != 0").count()


def test_who_cancels_the_profile_s_job_wants_no_other_job(spark):
    slow = F.udf(lambda v: time.sleep(0.5) or v, "bigint")
    rows = spark.range(0, 40_000, 1, 2).select(F.when(F.col("id") < 99, slow("id")).otherwise(F.lit(0)).alias("k"))
    tracker = spark.sparkContext.statusTracker()

    def cancel():
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        spark.sparkContext.cancelAllJobs()

    with conf(spark, "spark.skewkit.margin", "-1e9"):
        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(Exception, match=r"(?i)cancelled"):
            skew_join(rows, spark.range(50).toDF("k"), "k", partitions=4)
        thread.join()
