"""Bad input: a leaf of SkewkitError that says what to do, before a job is started."""

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnNotFoundError,
    EnvironmentProblem,
    KeyTypeError,
    ProfileError,
    SkewkitError,
    UnsupportedError,
)
from tests.helpers import conf


@pytest.fixture(scope="module")
def df(spark):
    return spark.range(30_000).selectExpr("id % 3 k", "id v", "map(1, id) m", "parse_json('1') j")


def wrong(frame):
    return pd.DataFrame({"other": [1]})


CASES = {
    "unknown key": (lambda df: skewkit.skew_groupby(df, "kk"), ColumnNotFoundError, "did you mean 'k'"),
    "unknown join key": (lambda df: skewkit.skew_join(df, df, "kk"), ColumnNotFoundError, "left key column 'kk'"),
    "unknown aggregate column": (
        lambda df: skewkit.skew_groupby(df, "k").agg(F.collect_set("vv")),
        ColumnNotFoundError,
        "`vv`",
    ),
    "column twice": (
        lambda df: skewkit.skew_groupby(df.select("k", F.col("v").alias("k")), "k"),
        ColumnNotFoundError,
        "more than once",
    ),
    "no key": (lambda df: skewkit.skew_groupby(df), ArgumentError, "name at least one"),
    "a frame of pandas": (
        lambda df: skewkit.skew_join(pd.DataFrame({"k": [1]}), df, "k"),
        ArgumentTypeError,
        r"skew_join \(left\) .* use spark.createDataFrame\(it\)",
    ),
    "a table's name": (
        lambda df: skewkit.skew_join(df, "t", "k"),
        ArgumentTypeError,
        r"\(right\) .* spark.table\('t'\)",
    ),
    "a strategy in capitals": (
        lambda df: skewkit.skew_join(df, df, "k", strategy="SALT"),
        ArgumentError,
        "did you mean 'salt'",
    ),
    "a strategy of another operator": (
        lambda df: skewkit.skew_join(df, df, "k", strategy="wrap"),
        ArgumentError,
        "'wrap' is a strategy of skew_groupby",
    ),
    "a strategy of joins": (
        lambda df: skewkit.skew_groupby(df, "k", strategy="salt"),
        ArgumentError,
        "'salt' is a strategy of skew_join",
    ),
    "register of no session": (lambda df: skewkit.register("x"), ArgumentTypeError, "takes a SparkSession, not str"),
    "no frame": (lambda df: skewkit.skew_groupby("k", "k"), ArgumentTypeError, "DataFrame as its first argument"),
    "explain of no frame": (
        lambda df: skewkit.explain([1]),
        ArgumentTypeError,
        "explain takes a DataFrame .* not list",
    ),
    "a decimal that Spark has not": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "k string, n decimal(99,1)"),
        ArgumentError,
        "the schema .* is none that Spark reads",
    ),
    "as-of join to a table's name": (
        lambda df: skewkit.skew_asof_join(df, "t", "v", "k"),
        ArgumentTypeError,
        "as its second argument, not the name of a table",
    ),
    "map key": (lambda df: skewkit.skew_join(df, df, "m"), KeyTypeError, "map"),
    "map as partition": (lambda df: skewkit.skew_window(df, "m", "v"), KeyTypeError, "map"),
    "map key of a scheme": (lambda df: skewkit.skew_groupby(df, "m", strategy="wrap"), KeyTypeError, "map"),
    "set of heavy keys": (
        lambda df: skewkit.skew_join(df, df, "k", heavy={0}),
        ArgumentTypeError,
        r"write list\(heavy\)",
    ),
    "variant key": (lambda df: skewkit.skew_join(df, df, "j"), KeyTypeError, "variant"),
    "groups by a variant": (lambda df: skewkit.skew_groupby(df, "j"), KeyTypeError, "variant"),
    "unknown how": (lambda df: skewkit.skew_join(df, df, "k", "lefft"), ArgumentError, "did you mean 'left'"),
    "cross join": (lambda df: skewkit.skew_join(df, df, "k", "cross"), UnsupportedError, "crossJoin"),
    "empty on": (lambda df: skewkit.skew_join(df, df, []), ArgumentError, "at least one key"),
    "on of another type": (lambda df: skewkit.skew_join(df, df, 3), ArgumentTypeError, "a list of names"),
    "strategy of a full join": (
        lambda df: skewkit.skew_join(df, df, "k", "full", strategy="broadcast_head"),
        UnsupportedError,
        "use 'salt'",
    ),
    "no partitions": (lambda df: skewkit.skew_groupby(df, "k", partitions=0), ArgumentError, "at least 1"),
    "negative partitions": (lambda df: skewkit.skew_join(df, df, "k", partitions=-2), ArgumentError, "at least 1"),
    "partitions by name": (
        lambda df: skewkit.skew_join(df, df, "k", partitions="8"),
        ArgumentTypeError,
        "whole number",
    ),
    "unknown strategy": (
        lambda df: skewkit.skew_groupby(df, "k", strategy="w_choice"),
        ArgumentError,
        "did you mean 'w_choices'",
    ),
    "unknown join strategy": (lambda df: skewkit.skew_join(df, df, "k", strategy="salted"), ArgumentError, "'salt'"),
    "profile of other keys": (
        lambda df: skewkit.skew_groupby(df, "k", profile=profile_of("v")),
        ProfileError,
        r"of the keys \['v'\]",
    ),
    "profile of another type": (
        lambda df: skewkit.skew_groupby(df, "k", profile="k"),
        ArgumentTypeError,
        "get one from skew_profile",
    ),
    "profile and heavy": (
        lambda df: skewkit.skew_groupby(df, "k", profile=profile_of("k"), heavy=[1]),
        ArgumentError,
        "not both",
    ),
    "right profile alone": (
        lambda df: skewkit.skew_join(df, df, "k", right_profile=profile_of("k")),
        ArgumentError,
        "give that one too",
    ),
    "heavy no list": (lambda df: skewkit.skew_groupby(df, "k", heavy="1"), ArgumentTypeError, r"heavy=\['1'\]"),
    "heavy too wide": (lambda df: skewkit.skew_groupby(df, "k", heavy=[(1, 2)]), ArgumentError, "1 column"),
    "heavy text of a number": (
        lambda df: skewkit.skew_groupby(df, "k", heavy=["5"]),
        ArgumentError,
        "a value of heavy= is str '5', and no value of the key column 'k', which is bigint",
    ),
    "heavy number that is no whole one": (
        lambda df: skewkit.skew_groupby(df, "k", heavy=[1, 1.5]),
        ArgumentError,
        "a value of heavy= is float 1.5",
    ),
    "heavy number of a text": (
        lambda df: skewkit.skew_groupby(df, F.col("k").cast("string").alias("t"), heavy=[5]),
        ArgumentError,
        "'t', which is string",
    ),
    "heavy of another type": (lambda df: skewkit.skew_groupby(df, "k", heavy=["UK"]), ArgumentError, "bigint"),
    "nothing to aggregate": (lambda df: skewkit.skew_groupby(df, "k").agg(), ArgumentError, "F.collect_set"),
    "aggregate by name": (lambda df: skewkit.skew_groupby(df, "k").agg("v"), ArgumentTypeError, "takes Columns"),
    "unknown function in a dict": (
        lambda df: skewkit.skew_groupby(df, "k").agg({"v": "collect_sett"}),
        ArgumentError,
        "did you mean 'collect_set'",
    ),
    "no name of a function in a dict": (
        lambda df: skewkit.skew_groupby(df, "k").agg({"v": 3}),
        ArgumentTypeError,
        r"\('v', 3\)",
    ),
    "a function that SQL has not": (
        lambda df: skewkit.skew_groupby(df, "k").agg(F.expr("product(v)")),
        ArgumentError,
        r"write F.product\(",
    ),
    "a scheme for keys with a collation": (
        lambda df: skewkit.skew_groupby(df, F.collate(F.lit("x"), "UTF8_LCASE"), strategy="wrap"),
        UnsupportedError,
        "under which different strings are one key; use 'auto' or 'native'",
    ),
    "aggregate of a map": (
        lambda df: skewkit.skew_groupby(df, "k").agg(F.sum("m")),
        ArgumentError,
        "Spark refuses this call.*MAP<INT, BIGINT>",
    ),
    "aggregate of broken SQL": (
        lambda df: skewkit.skew_groupby(df, "k").agg(F.expr("sum(")),
        ArgumentError,
        "PARSE_SYNTAX_ERROR",
    ),
    "sum of a map": (
        lambda df: skewkit.skew_groupby(df, "k").sum("m"),
        SkewkitError,
        "numeric column",
    ),
    "weight that is no number": (
        lambda df: skewkit.skew_profile(df, "k", weight="m"),
        ArgumentTypeError,
        r"map<int,bigint>; expected a number",
    ),
    "broken schema": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "k bigintt, x"),
        ArgumentError,
        "the schema 'k bigintt, x' is none that Spark reads.*PARSE_SYNTAX_ERROR",
    ),
    "schema of another type": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, 3),
        ArgumentTypeError,
        "the schema is int 3; expected a StructType",
    ),
    "schema of one type": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "bigint"),
        ArgumentError,
        "the schema 'bigint' is none that Spark reads; write names and types",
    ),
    "seconds of a row that are negative": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "k bigint", seconds_per_row=-1.0),
        ArgumentError,
        "seconds_per_row is -1.0; expected a positive number",
    ),
    "seconds of a row that are no number": (
        lambda df: skewkit.skew_groupby(df.drop("j"), "k").applyInArrow(wrong, "k bigint", seconds_per_row="2"),
        ArgumentTypeError,
        "seconds_per_row is str '2'; expected a number",
    ),
    "function of three arguments": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(lambda a, b, c: a, "k bigint"),
        ArgumentTypeError,
        r"\(key, frame\)",
    ),
    "no group function": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas("f", "k bigint"),
        ArgumentTypeError,
        "expected a function",
    ),
    "order without a merge": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "other int", order_by="v"),
        ArgumentError,
        "without a merge no group is cut",
    ),
    "empty order of a group function": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "other int", wrong, order_by=[]),
        ArgumentError,
        "name at least one column",
    ),
    "order of a group function that is a number": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "other int", wrong, order_by=3),
        ArgumentTypeError,
        "3",
    ),
    "order of a group function that is a dict": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "other int", wrong, order_by={"v": 1}),
        ArgumentTypeError,
        "dict",
    ),
    "unknown order of a group function": (
        lambda df: skewkit.skew_groupby(df, "k").applyInPandas(wrong, "other int", wrong, order_by=F.desc("vv")),
        ColumnNotFoundError,
        "order column.*'v'",
    ),
    "cogroup of a frame": (
        lambda df: skewkit.skew_groupby(df, "k").cogroup(df),
        ArgumentTypeError,
        r"write cogroup\(skew_groupby\(other, 'k'\)\)",
    ),
    "cogroup by other keys": (
        lambda df: skewkit.skew_groupby(df, "k").cogroup(skewkit.skew_groupby(df, "k", "v")),
        ArgumentError,
        "as many columns",
    ),
    "cogroup function of one argument": (
        lambda df: (
            skewkit.skew_groupby(df, "k").cogroup(skewkit.skew_groupby(df, "k")).applyInPandas(lambda a: a, "k int")
        ),
        ArgumentTypeError,
        r"\(key, left, right\)",
    ),
    "unknown partition column": (
        lambda df: skewkit.skew_window(df, "kk", "v"),
        ColumnNotFoundError,
        "partition column 'kk'.*did you mean 'k'",
    ),
    "unknown order column": (
        lambda df: skewkit.skew_window(df, "k", F.desc("vv")),
        ColumnNotFoundError,
        "order column.*'v'",
    ),
    "order by number": (lambda df: skewkit.skew_window(df, "k", 1), ArgumentTypeError, "not int 1"),
    "order by a map": (lambda df: skewkit.skew_window(df, "k", "m"), KeyTypeError, "map"),
    "unknown window strategy": (
        lambda df: skewkit.skew_window(df, "k", "v", strategy="spilt"),
        ArgumentError,
        "did you mean 'split'",
    ),
    "no function": (lambda df: skewkit.skew_window(df, "k", "v").select(), ArgumentError, "row_number"),
    "function without a name": (
        lambda df: skewkit.skew_window(df, "k", "v").select(F.row_number()),
        ArgumentTypeError,
        "by name",
    ),
    "function by name": (
        lambda df: skewkit.skew_window(df, "k", "v").select(rn="row_number"),
        ArgumentTypeError,
        r"F.row_number\(\)",
    ),
    "one name in two cases": (
        lambda df: skewkit.skew_window(df, "k", "v").select(N=F.row_number(), n=F.rank()),
        ArgumentError,
        "but for its case",
    ),
    "function that is no window function": (
        lambda df: skewkit.skew_window(df, "k", "v").select(x=F.upper("v")),
        ArgumentError,
        "Spark refuses",
    ),
    "rank without an order": (
        lambda df: skewkit.skew_window(df, "k").select(rn=F.row_number()),
        ArgumentError,
        "(?i)order",
    ),
    "values of two orders in a frame": (
        lambda df: skewkit.skew_window(df, "k", ["v", "k"]).rangeBetween(-2, 2).select(n=F.sum("v")),
        ArgumentError,
        "(?i)range",
    ),
    "unknown window argument": (
        lambda df: skewkit.skew_window(df, "k", "v").select(x=F.sum("vv")),
        ColumnNotFoundError,
        "vv",
    ),
    "frame that ends before it starts": (
        lambda df: skewkit.skew_window(df, "k", "v").rowsBetween(2, 1),
        ArgumentError,
        "swap",
    ),
    "frame of fractions": (
        lambda df: skewkit.skew_window(df, "k", "v").rangeBetween(-0.5, 0),
        ArgumentTypeError,
        "whole number",
    ),
    "profile of another window": (
        lambda df: skewkit.skew_window(df, "k", "v", profile=profile_of("v")),
        ProfileError,
        r"of the keys \['v'\]",
    ),
    "stream under a window": (
        lambda df: skewkit.skew_window(df.sparkSession.readStream.format("rate").load(), "value", "timestamp"),
        UnsupportedError,
        "foreachBatch",
    ),
    "frame of somebody else": (lambda df: skewkit.explain(df), ArgumentError, "not returned by skewkit"),
    "stream": (
        lambda df: skewkit.skew_groupby(df.sparkSession.readStream.format("rate").load(), "value"),
        UnsupportedError,
        "foreachBatch.*with a watermark",
    ),
}


def profile_of(key: str) -> skewkit.KeyProfile:
    from skewkit.plan.profile.unread_profiles import empty_profile

    return empty_profile((key,), ("bigint",))


@pytest.mark.parametrize("case", CASES)
def test_is_refused_before_a_job(spark, df, case):
    call, error, message = CASES[case]
    context = spark.sparkContext
    context.setJobGroup(case, case)
    with pytest.raises(error, match=message) as caught:
        call(df)
    assert isinstance(caught.value, skewkit.SkewkitError)
    assert context.statusTracker().getJobIdsForGroup(case) == []
    context.setJobGroup("none", "none")


def test_a_stopped_session_is_told_to_functions_of_sessions(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    for call in (lambda: skewkit.sql(spark, "SELECT 1"), lambda: skewkit.register(spark)):
        with pytest.raises(EnvironmentProblem, match="a session that was stopped"):
            call()


def test_a_bad_setting_is_named(spark, df):

    with conf(spark, "spark.skewkit.margin", "many"), pytest.raises(ArgumentError, match=r"spark\.skewkit\.margin"):
        skewkit.skew_groupby(df, "k").agg(F.collect_set("v"))


def test_nothing_outlives_a_call(spark, df):
    before = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    tables = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    columns = df.columns
    skewkit.skew_join(df, df.select("k").distinct(), "k", strategy="salt").count()
    skewkit.skew_groupby(df, "k", strategy="wrap").agg(F.collect_list("v")).count()
    assert {row["key"]: row["value"] for row in spark.sql("SET").collect()} == before
    assert [row.tableName for row in spark.sql("SHOW TABLES").collect()] == tables
    assert df.columns == columns


@pytest.mark.connect
def test_streams_are_refused_on_both_kinds_of_session(spark):
    stream = spark.readStream.format("rate").load()
    for call in (
        lambda: skewkit.skew_groupby(stream, "value"),
        lambda: skewkit.skew_window(stream, "value", "timestamp"),
        lambda: skewkit.skew_join(stream, spark.range(9).withColumnRenamed("id", "value"), "value"),
    ):
        with pytest.raises(UnsupportedError, match="foreachBatch"):
            call()


def test_a_frame_of_a_session_that_was_stopped(spark, df, monkeypatch):
    """Stopping a session takes its context's JVM away; what is left of a frame answers with a bare AssertionError."""
    other, groups, window = df.select("k"), skewkit.skew_groupby(df, "k"), skewkit.skew_window(df, "k", "v")
    pairs, function = groups.cogroup(skewkit.skew_groupby(df, "k")), F.row_number()
    aggregate = F.collect_set("v")
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    for call in (
        lambda: groups.agg(aggregate),
        lambda: groups.sum("v"),
        lambda: groups.applyInPandas(wrong, "k bigint"),
        lambda: pairs.applyInPandas(lambda a, b: a, "k bigint"),
        lambda: window.select(n=function),
        lambda: skewkit.skew_groupby(df, "k"),
        lambda: skewkit.skew_window(df, "k", "v"),
        lambda: skewkit.skew_profile(df, "k"),
        lambda: skewkit.skew_join(df, other, "k"),
    ):
        with pytest.raises(EnvironmentProblem, match="a session that was stopped; make the frame anew"):
            call()
