"""Names of columns that SQL texts do not read as names: `${...}` is filled in, and a conf makes names patterns."""

import pandas as pd
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from tests.helpers import conf

pytestmark = pytest.mark.connect
PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
ODD = ("price ${usd}", "${env:HOME}", "sum(v)", "*x", "the cost$")
PLAIN = ["k", "t", "v", "x", "y"]
MADE = [
    "CASE WHEN id % 10 < 5 THEN 7 WHEN id % 10 = 9 THEN NULL ELSE id % 30 END",
    "pmod(xxhash64(id), 900)",
    "nullif(id, 5)",
    "id % 7",
    "string(id % 11)",
]


def quoted(name):
    return F.col("`" + name.replace("`", "``") + "`")


def full_join(df, right, k, t, v):
    ours = skewkit.skew_join(df, right, k, "full", strategy="salt", heavy=[7], partitions=6)
    return ours, df.join(right, k, "full")


def left_join(df, right, k, t, v):
    ours = skewkit.skew_join(df, right, k, "left", strategy="broadcast_head", heavy=[7])
    return ours, df.join(right, k, "left")


def semi_join(df, right, k, t, v):
    ours = skewkit.skew_join(df, right, k, "semi", strategy="salt", heavy=[7], partitions=6)
    return ours, df.join(right, k, "semi")


def anti_join(df, right, k, t, v):
    ours = skewkit.skew_join(df, right.where("w > 90"), k, "anti", strategy="salt", heavy=[7], partitions=6)
    return ours, df.join(right.where("w > 90"), k, "anti")


def asof_join(df, right, k, t, v):
    near = right.toDF(k, t)
    plain = skewkit.skew_asof_join(df.toDF(*PLAIN), near.toDF("k", "t"), "t", "k", strategy="native")
    return skewkit.skew_asof_join(df, near, t, k, strategy="split"), plain.toDF(*df.columns)


def planned_files(df, right, k, t, v):
    return skewkit.repartition_by_file_size(df, k, target_file_bytes=4096), df


def window(df, right, k, t, v):
    k, t, v = map(quoted, (k, t, v))
    plain = df.select("*", F.sum(v).over(Window.partitionBy(k).orderBy(t)).alias("s"))
    return skewkit.skew_window(df, k, t, strategy="split", partitions=6).select(s=F.sum(v)), plain


def sets(df, right, k, t, v):
    calls = [F.sort_array(F.collect_set(quoted(v))).alias("s"), F.count_distinct(quoted(t)).alias("d")]
    return skewkit.skew_groupby(df, quoted(k), partitions=6).agg(*calls), df.groupBy(quoted(k)).agg(*calls)


def pandas_parts(df, right, k, t, v):
    def total(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": rows.iloc[:1, 0].astype(float), "total": [rows.iloc[:, 2].sum()]})

    def merge(parts: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": parts["k"].iloc[:1], "total": [parts["total"].sum()]})

    grouped = skewkit.skew_groupby(df, quoted(k), heavy=[7], strategy="wrap", partitions=6)
    schema = "k double, total double"
    return grouped.applyInPandas(total, schema, merge=merge), df.groupBy(quoted(k)).applyInPandas(total, schema)


CALLS = [full_join, left_join, semi_join, anti_join, asof_join, planned_files, window, sets, pandas_parts]


@pytest.mark.every(16)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
@pytest.mark.parametrize("adaptive", ["true", "false"], ids=["aqe", "no aqe"])
@pytest.mark.parametrize("patterns", ["false", "true"], ids=["names", "patterns"])
@pytest.mark.parametrize("at", range(len(ODD)))
def test_columns_of_odd_names_give_plain_sparks_rows(spark, at, patterns, adaptive, call):
    names = [ODD[(at + i) % len(ODD)] for i in range(len(MADE))]
    df = spark.range(0, 2000, 1, 4).selectExpr(*MADE).toDF(*names)
    right = spark.range(60).selectExpr("nullif(id, 29)", "id * 9").toDF(names[0], "w")
    with conf(spark, PATTERNS, patterns), conf(spark, "spark.sql.adaptive.enabled", adaptive):
        ours, plain = call(df, right, *names[:3])
        assert "strategy   native" not in skewkit.explain(ours)
        assert ours.columns == plain.columns
        assert sorted(ours.collect(), key=str) == sorted(plain.collect(), key=str)
