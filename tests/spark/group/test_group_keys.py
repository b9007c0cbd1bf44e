"""Keys of `skew_groupby`: odd types and names, hints that are wrong, frames of every shape."""

import datetime as dt
import decimal

import pandas as pd
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F

from skewkit import KeyProfile, SkewkitError, explain, skew_groupby, skew_profile
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.group.cases import check, values

STRATEGIES = [
    ("auto", 1),
    ("auto", 100),
    ("d_choices", 2),
    ("w_choices", 7),
    ("round_robin", 100),
    ("dkg", 3),
    ("key", 3),
]


@pytest.mark.every(7)
@pytest.mark.parametrize(("strategy", "partitions"), STRATEGIES)
def test_strategies_and_partitions(facts, strategy, partitions):
    ours = skew_groupby(facts, "k", strategy=strategy, partitions=partitions).agg(values(), F.avg("v"))
    assert_same_rows(ours, facts.groupBy("k").agg(values(), F.avg("v")), unordered=("vs",))


KEYS = {
    "partly null": ["if(v % 2 = 0, NULL, 1) a", "if(v % 2 = 1, NULL, 1) b"],
    "five partly null columns": [f"if(v % {i} = 0, NULL, 1) k{i}" for i in (2, 3, 5, 7, 11)],
    "struct": ["named_struct('a', if(v % 2 = 0, NULL, 1), 'b', if(v % 2 = 1, NULL, 1)) k"],
    "array": ["CASE v % 3 WHEN 0 THEN array(1, NULL) WHEN 1 THEN array(NULL, 1) ELSE array(1) END k"],
    "empty array or null": ["CASE v % 3 WHEN 0 THEN array() WHEN 1 THEN NULL ELSE array(NULL) END k"],
    "struct with odd names": ["named_struct('a b', if(v % 2 = 0, 1, 2), 'c,d:e', 's', 'x-y', 1) k"],
    "month interval": ["make_ym_interval(0, int(v % 2)) k"],
    "date after 9999": ["date_add(DATE'9999-12-31', int(v % 2) * 1000 + 1) k"],
    "timestamp after 9999": ["timestamp_micros(9000000000000000000 - v % 2) k"],
    "NaN and zeros": ["CASE v % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D END k"],
    "null type": ["NULL k"],
}


@pytest.mark.every(7)
@pytest.mark.parametrize("keys", KEYS)
def test_keys_of_odd_types(facts, keys):
    df = facts.selectExpr(*KEYS[keys], "v")
    check(df, df.columns[:-1], values(), F.count("v"))


COLUMNS = {
    "expression": lambda: (F.col("v") % 3,),
    "alias": lambda: ((F.col("v") % 3).alias("kk"), F.col("s").alias("k2")),
    "twice": lambda: ("k", "k"),
    "other case": lambda: ("K",),
    "literal": lambda: (F.lit("a"), "k"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("columns", COLUMNS)
def test_key_columns(facts, columns):
    check(facts, COLUMNS[columns](), values(), F.count("v"))


@pytest.mark.parametrize("strategy", ["wrap", "auto"])
def test_keys_that_follow_from_the_place_of_a_row(facts, strategy):
    check(facts, [F.spark_partition_id().alias("place")], F.min("v"), values(), strategy=strategy)


def test_random_keys_make_one_group_each(facts):
    key = F.floor(F.rand(5) * 3).alias("k")
    groups = skew_groupby(facts.drop("k"), key, strategy="wrap", partitions=3).agg(values()).select("k", F.size("vs"))
    rows = groups.collect()
    assert sorted(row["k"] for row in rows) == [0, 1, 2]
    assert sum(row[1] for row in rows) == 300


@pytest.mark.every(7)
@pytest.mark.parametrize("shorthand", ["sum", "avg", "mean", "min", "max"])
def test_shorthands(spark, facts, shorthand):
    for columns in ((), ("v",)):
        ours, plain = (getattr(g, shorthand)(*columns) for g in (skew_groupby(facts, "k"), facts.groupBy("k")))
        assert_same_rows(ours, plain)
    odd = spark.range(30).selectExpr("id % 3 AS `a.b`", "id AS `x y`")
    ours, plain = (getattr(g, shorthand)("`x y`") for g in (skew_groupby(odd, "`a.b`"), odd.groupBy("`a.b`")))
    assert_same_rows(ours, plain)


FRAMES = {
    "empty": lambda df: df.where("false"),
    "one row": lambda df: df.limit(1),
    "no keys": lambda df: df.withColumn("k", F.lit(None).cast("int")),
    "one key": lambda df: df.withColumn("k", F.lit(1)),
    "many empty partitions": lambda df: df.repartition(40),
    "helper names": lambda df: df.toDF("k", "v", "_skew_hash", "_SKEW_heavy", "c0"),
    "doubled columns": lambda df: df.select("k", "v", "s", F.col("v").alias("s")),
    "wide": lambda df: df.select("*", *((F.col("v") + i).alias(f"c{i}") for i in range(200))),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("frame", FRAMES)
def test_frames(facts, frame):
    check(FRAMES[frame](facts), ["k"], values(), F.count("v"))


HEAVY = {
    "NaN twice": ("if(v % 2 = 0, double('NaN'), -0.0D)", [float("nan"), float("nan"), 0.0, -0.0]),
    "array as PySpark returns it": ("array(v % 2)", [[0]]),
    "datetime for a date": ("if(v % 2 = 0, DATE'2020-01-01', DATE'2020-01-02')", [dt.datetime(2020, 1, 1)]),
    "absent": ("k", [12345, None]),
    "none": ("k", []),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("heavy", HEAVY)
def test_named_keys_are_only_a_hint(facts, heavy):
    key, named = HEAVY[heavy]
    check(facts.selectExpr(f"{key} AS k", "v"), ["k"], values(), heavy=named)


WRONG = {
    "list": ("bigint", [[1]]),
    "dict": ("bigint", [{"a": 1}]),
    "date": ("bigint", [dt.date(2020, 1, 1)]),
    "object": ("bigint", [object()]),
    "int for a date": ("date", [5]),
    "string for a date": ("date", ["2020-01-01"]),
    "string for bytes": ("binary", ["a"]),
    "NaN for a decimal": ("decimal(5,2)", [decimal.Decimal("NaN")]),
}


@pytest.mark.parametrize("heavy", WRONG)
def test_named_keys_of_a_wrong_type_are_refused_as_a_skewkit_error(facts, heavy):
    type_, named = WRONG[heavy]
    df = facts.withColumn("k", F.lit(None).cast(type_))
    with pytest.raises(SkewkitError):
        skew_groupby(df, "k", heavy=named).agg(values())


def test_profiles_are_only_a_hint(facts):
    """Two hot doubles that are one bigint, weights that are not finite, and a profile of nothing."""
    doubles = skew_profile(facts.selectExpr("if(v % 2 = 0, 1.25D, 1.5D) AS k"), "k", partitions=3)
    infinite = skew_profile(facts.withColumn("i", F.lit(float("inf"))), "k", weight="i", partitions=3)
    for profile in (infinite, doubles, doubles.decay(0)):
        check(facts, ["k"], values(), profile=profile)


@pytest.mark.parametrize(
    "key", ["double('NaN')", "INTERVAL '1:02:03' HOUR TO SECOND", "array(double('NaN'))", "X'00FF'"]
)
def test_profiles_survive_json(spark, key):
    profile = skew_profile(spark.range(50).selectExpr(f"{key} AS k"), "k", partitions=2)
    read = KeyProfile.from_json(profile.to_json())
    assert read == profile
    assert read.share(*profile.heavy[0].key) == 1.0


def test_without_an_aggregate_the_call_is_left_to_spark(facts):
    ours = skew_groupby(facts, "k", strategy="wrap").agg(F.lit(1).alias("one"))
    assert "it asks for no aggregate" in explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(F.lit(1).alias("one")))


def test_columns_that_are_called_like_types(facts):
    df = facts.selectExpr("k", "date(t) AS date", "t AS timestamp", "v AS interval")
    aggregates = ["collect_set(date)", "max(timestamp)", "sum(interval)", "max(date > date'2020-01-01')"]
    ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(*map(F.expr, aggregates))
    assert "strategy   wrap" in explain(ours)
    check(df, ["k"], *map(F.expr, aggregates))


def test_sessions_are_left_to_spark(facts):
    """Spark makes a session of rows while it groups them, so that they must not be apart."""
    session = F.expr("SESSION_WINDOW (timestamp_seconds(v % 90 * 20), '30 seconds')")
    check(facts, ["k", session], F.size(F.collect_set("v")).alias("n"), strategy="auto", heavy=[(0, None)])
    with pytest.raises(SkewkitError, match="sessions"):
        skew_groupby(facts, session, strategy="wrap")


@pytest.mark.every(2)
@pytest.mark.parametrize("stored", [True, False], ids=["files", "computed"])
def test_sliding_windows_make_several_rows_of_one_once(spark, facts, tmp_path, stored):
    if stored:  # rows of files have a number, of which the windows of one row must not be told apart
        facts.write.parquet(str(tmp_path / "facts"))
        facts = spark.read.parquet(str(tmp_path / "facts"))

    def size(key, frame):
        return pd.DataFrame({"k": [str(key[0]["start"])], "n": [len(frame)]})

    def add(parts):
        return parts.groupby("k", as_index=False).sum()

    slides = F.window(F.timestamp_seconds(F.col("v") % 50), "20 seconds", "10 seconds")
    ours = skew_groupby(facts, slides, strategy="wrap", partitions=3)
    plain = facts.groupBy(slides).applyInPandas(size, "k string, n bigint")
    assert_same_rows(ours.applyInPandas(size, "k string, n bigint", merge=add), plain)


def test_keys_stay_the_very_same_columns(facts):
    for keys in ([facts.k], ["s", "k"], [1]):
        ours = skew_groupby(facts, *keys, strategy="wrap", partitions=3).agg(F.collect_set("v"))
        plain = facts.groupBy(*keys).agg(F.collect_set("v"))
        assert_same_rows(ours.where(facts.k > 3).select(facts["k"]), plain.where(facts.k > 3).select(facts["k"]))
    with pytest.raises(SkewkitError, match="1 to 5"):
        skew_groupby(facts, 6)


@pytest.mark.every(5)
@pytest.mark.parametrize("name", ["value", "n", "x0", "salt", "place", "_id", "r0_0"])
def test_keys_of_any_name_stay_the_very_same_columns(facts, name):
    named = facts.withColumnRenamed("k", name).alias("a")
    for key in (name, named[name], F.col(f"a.{name}")):
        ours = skew_groupby(named, key, strategy="wrap", partitions=3).agg(F.collect_set("v").alias("vs"))
        plain = named.groupBy(key).agg(F.collect_set("v").alias("vs"))
        for found in (named[name], F.col(f"a.{name}")):
            assert_same_rows(ours.where(found > 3).select(found), plain.where(found > 3).select(found))


def test_a_key_of_two_frames_stays_the_one_that_was_named(facts, spark):
    other = spark.range(9).selectExpr("id AS k", "id AS w")
    both = facts.join(other, facts["k"] == other["k"])
    values = F.sort_array(F.collect_set("v")).alias("vs")
    ours = skew_groupby(both, other["k"], strategy="wrap", partitions=3).agg(values)
    plain = both.groupBy(other["k"]).agg(values)
    assert_same_rows(ours.select(other["k"], "vs"), plain.select(other["k"], "vs"))


@pytest.mark.connect
@pytest.mark.parametrize("to", ["decimal(20,2)", "bigint"])
def test_a_view_that_is_replaced_by_one_of_other_types(facts, connect, to):
    """How an average is split follows from the type; a frame on Connect is resolved when it runs."""
    facts.createOrReplaceTempView("retyped")
    df = facts.sparkSession.table("retyped")
    ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(F.avg("v").alias("mean"), F.max("s").alias("s"))
    plain = df.groupBy("k").agg(F.avg("v").alias("mean"), F.max("s").alias("s"))
    facts.withColumn("v", (F.col("v") % 97).cast(to)).createOrReplaceTempView("retyped")
    if connect and to != "bigint":
        with pytest.raises(PySparkException, match=r"were bigint, bigint, string .* are bigint, decimal\(20,2\), str"):
            ours.collect()
    else:
        assert_same_rows(ours, plain)


def test_a_session_that_leaves_out_the_keys(spark, facts):
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        sums = skew_groupby(facts, "k").sum("v"), facts.groupBy("k").sum("v")
        most = skew_groupby(facts, "k").max(), facts.groupBy("k").max()
    for ours, plain in (sums, most):
        assert_same_rows(ours, plain)


def test_a_pivot_is_plain_sparks(facts):
    assert_same_rows(skew_groupby(facts, "k").pivot("s").sum("v"), facts.groupBy("k").pivot("s").sum("v"))
    both = skew_groupby(facts, "k").pivot("s", ["1", "2"]).count()
    assert_same_rows(both, facts.groupBy("k").pivot("s", ["1", "2"]).count())
    with pytest.raises(SkewkitError, match="not possible with a pivot"):
        skew_groupby(facts, "k", strategy="wrap").pivot("s")


@pytest.mark.connect
@pytest.mark.parametrize("by", ["column", "key"])
def test_random_group_keys_are_drawn_once(spark, by):
    """Connect draws a seed for every place of a plan that holds `rand()`; cold and hot rows are of two places."""
    drawn = "if(rand() < 0.6, 0, 1 + int(rand() * 50))"
    df = spark.range(4000).selectExpr("id AS v", *([f"{drawn} AS k"] if by == "column" else []))
    grouped = skew_groupby(df, "k" if by == "column" else F.expr(drawn).alias("k"), strategy="wrap", partitions=4)
    rows = grouped.agg(F.collect_list("v").alias("vs")).collect()
    assert sorted(v for row in rows for v in row.vs) == list(range(4000))
    found = grouped.applyInPandas(lambda f: f[["v"]], "v bigint", merge=lambda parts: parts)
    assert sorted(row.v for row in found.collect()) == list(range(4000))


def test_sums_of_no_column_are_the_keys(facts):
    texts = facts.select("k", "s")
    for name in ("sum", "avg", "min", "max", "mean"):
        assert_same_rows(getattr(skew_groupby(texts, "k"), name)(), getattr(texts.groupBy("k"), name)())


@pytest.mark.connect
@pytest.mark.parametrize("name", ["k", "user.id", "sp ace"])
def test_a_key_in_backquotes_is_found_in_the_result(spark, name):
    df = spark.range(0, 400, 1, 4).selectExpr(f"if(id % 4 < 3, 'hot', string(id)) AS `{name}`", "id AS v")
    for key in (f"`{name}`", df[f"`{name}`"]):
        calls = F.collect_set("v").alias("vs"), F.median("v").alias("m"), F.count_distinct("v").alias("n")
        ours = skew_groupby(df, key, strategy="wrap", partitions=4).agg(*calls)
        assert "strategy   wrap" in explain(ours)
        wanted = df[f"`{name}`"], F.size("vs"), "m", "n"
        assert_same_rows(ours.select(*wanted), df.groupBy(key).agg(*calls).select(*wanted))
        assert ours.columns == [name, "vs", "m", "n"]


@pytest.mark.connect
def test_columns_of_the_frame_are_found_in_the_result(spark):
    df = spark.range(0, 400, 1, 4).selectExpr("if(id % 4 < 3, 'hot', string(id)) AS k", "id AS v")
    kept = df.where("v < 390")
    for frame in (df, kept):
        sets = F.collect_set("v").alias("v")
        ours = skew_groupby(frame, "k", strategy="wrap", partitions=4).agg(sets)
        assert "strategy   wrap" in explain(ours)
        counts = []
        for found in (ours, frame.groupBy("k").agg(sets)):
            joined = df.join(found, df["k"] == found["k"])
            counts.append((found.select(df["k"], F.size("v")).distinct().count(), joined.count()))
            with pytest.raises(AnalysisException):
                found.select(df["v"]).schema  # noqa: B018
        assert counts[0] == counts[1]


def test_a_grouping_shows_its_frame(facts):
    assert repr(skew_groupby(facts, "k")) == (f"SkewGroupedData(keys=['k'], strategy='auto', {facts!r})")
