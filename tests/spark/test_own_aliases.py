"""A select that uses an alias of its own: a Connect server fails on some queries that have such a frame twice."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import UnsupportedError
from skewkit.spark.session.compat import is_connect

pytestmark = pytest.mark.connect
WHY = "in a select of its own"


@pytest.fixture(scope="module")
def df(spark):
    return spark.range(0, 400, 1, 4).selectExpr("if(id % 4 < 3, 0, id) AS k", "k + 1 AS v")


CALLS = {
    "medians": lambda df, dims: (
        skewkit.skew_groupby(df, "k").agg(F.median("v").alias("m")),
        df.groupBy("k").agg(F.median("v").alias("m")),
    ),
    "join": lambda df, dims: (skewkit.skew_join(df, dims, "k"), df.join(dims, "k")),
    "full join": lambda df, dims: (skewkit.skew_join(df, dims, "k", "full"), df.join(dims, "k", "full")),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_treated_or_left_to_plain_spark_with_the_reason(spark, df, call):
    ours, plain = CALLS[call](df, spark.range(400).selectExpr("id AS k", "id AS w"))
    text = skewkit.explain(ours)
    assert (WHY in text) == is_connect(df), text
    assert ("strategy   native" in text) == is_connect(df), text
    assert sorted(ours.collect(), key=str) == sorted(plain.collect(), key=str)  # in one query the frame were twice


def test_a_profile_of_it(df):
    if not is_connect(df):
        assert skewkit.skew_profile(df, "k").rows == 400
        return
    with pytest.raises(UnsupportedError, match=WHY):
        skewkit.skew_profile(df, "k")
