"""No message prints data of a frame that was given for something else."""

import functools

import pandas as pd
import pytest
from pyspark.sql.classic.dataframe import DataFrame

import skewkit
from skewkit.spark.session.jobs import counted
from tests.helpers import conf


@pytest.fixture(scope="module")
def df(spark):
    return spark.range(30_000).selectExpr("id % 3 k", "id v", "map(1, id) m", "parse_json('1') j")


def _doubled(part):
    return part


WITH_DATA = {
    "join how": lambda df, data: skewkit.skew_join(df, df, "k", how=data),
    "join on": lambda df, data: skewkit.skew_join(df, df, data),
    "join on a list": lambda df, data: skewkit.skew_join(df, df, [data]),
    "join right": lambda df, data: skewkit.skew_join(df, data, "k"),
    "join strategy": lambda df, data: skewkit.skew_join(df, df, "k", strategy=data),
    "join partitions": lambda df, data: skewkit.skew_join(df, df, "k", partitions=data),
    "join heavy": lambda df, data: skewkit.skew_join(df, df, "k", heavy=data),
    "join heavy value": lambda df, data: skewkit.skew_join(df, df, "k", heavy=[data]),
    "join profile": lambda df, data: skewkit.skew_join(df, df, "k", left_profile=data),
    "group frame": lambda df, data: skewkit.skew_groupby(data, "k"),
    "group key": lambda df, data: skewkit.skew_groupby(df, data),
    "group heavy": lambda df, data: skewkit.skew_groupby(df, "k", heavy=[data]),
    "group strategy": lambda df, data: skewkit.skew_groupby(df, "k", strategy=data),
    "agg": lambda df, data: skewkit.skew_groupby(df, "k").agg(data),
    "function": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(data, "k string"),
    "schema": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(_doubled, data),
    "merge": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(_doubled, "k string", merge=data),
    "order": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(_doubled, "k string", order_by=data),
    "seconds": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(_doubled, "k string", seconds_per_row=data),
    "window order": lambda df, data: skewkit.skew_window(df, "k", data),
    "window rows": lambda df, data: skewkit.skew_window(df, "k", "v").rowsBetween(data, 0),
    "window range": lambda df, data: skewkit.skew_window(df, "k", "v").rangeBetween(data, 0),
    "window gap": lambda df, data: skewkit.skew_window(df, "k", "v").sessions(data),
    "window function": lambda df, data: skewkit.skew_window(df, "k", "v").select(a=data),
    "window strategy": lambda df, data: skewkit.skew_window(df, "k", "v", strategy=data),
    "profile key": lambda df, data: skewkit.skew_profile(df, data),
    "profile weight": lambda df, data: skewkit.skew_profile(df, "k", weight=data),
    "profile sample": lambda df, data: skewkit.skew_profile(df, "k", sample=data),
    "as-of frame": lambda df, data: skewkit.skew_asof_join(df, data, "v", "k"),
    "as-of on": lambda df, data: skewkit.skew_asof_join(df, df, data),
    "as-of tolerance": lambda df, data: skewkit.skew_asof_join(df, df, "v", "k", tolerance=data),
    "as-of direction": lambda df, data: skewkit.skew_asof_join(df, df, "v", "k", direction=data),
    "file bytes": lambda df, data: skewkit.repartition_by_file_size(df, "k", target_file_bytes=data),
    "partition columns": lambda df, data: skewkit.repartition_by_file_size(df, data),
    "explain": lambda df, data: skewkit.explain(data),
    "sql": lambda df, data: skewkit.sql(data, "SELECT 1"),
    "register": lambda df, data: skewkit.register(data),
}

TAKEN = {"join right": DataFrame, "group frame": DataFrame, "explain": DataFrame, "join heavy": list}
"""What is no mistake there: a frame, and a list of rows as one of keys."""


WITH_DATA |= {
    "window unnamed": lambda df, data: skewkit.skew_window(df, "k", "v").select(data),
    "function with data": lambda df, data: skewkit.skew_groupby(df, "k").applyInPandas(
        functools.partial(lambda a, b, c, d: a, data), "k string"
    ),
}


def test_a_frame_of_pandas_on_spark_is_told_in_one_sentence(spark, df):
    told = spark.createDataFrame([("a secret", 1)], "k string, v long").pandas_api()
    for call in (
        lambda: skewkit.skew_groupby(told, "k"),
        lambda: skewkit.skew_window(told, "k", "v"),
        lambda: skewkit.skew_join(df, told, "k"),
        lambda: skewkit.skew_profile(told, "k"),
    ):
        with counted() as used, pytest.raises(skewkit.SkewkitError, match=r"use it\.to_spark\(\)") as caught:
            call()
        assert used.jobs == 0
        assert "secret" not in str(caught.value)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("case", WITH_DATA)
def test_no_message_prints_data_of_a_frame(spark, df, case):
    frame = pd.DataFrame({"k": ["a secret"] * 3, "v": [1, 2, 3]})
    for data in (frame, frame["k"], frame["k"].to_numpy(), {"k": frame["k"]}):
        with pytest.raises(skewkit.SkewkitError) as caught:
            WITH_DATA[case](df, data)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    told = spark.createDataFrame([("a secret", 1)], "k string, v long")
    with conf(spark, "spark.sql.repl.eagerEval.enabled", "true"):
        assert "secret" in repr(told), "a session that shows rows of a frame for its name"
        for data in (told, [told], told.collect()):
            if TAKEN.get(case) is type(data):
                continue
            with pytest.raises(skewkit.SkewkitError) as caught:
                WITH_DATA[case](df, data)
            assert "secret" not in str(caught.value)
            assert "\n" not in str(caught.value)
