"""Join keys of two types: they are compared as Spark compares them, whatever is named or profiled."""

import datetime as dt
from collections import Counter

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import SkewkitError, explain, skew_join, skew_profile
from skewkit.api.join.on import join_keys
from skewkit.plan.join.pair import Pair
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import assert_split, assert_spread, conf
from tests.spark.join.cases import SLOW, TREATED, check


def test_a_float_is_compared_as_the_float_it_is(spark):
    """The optimizer makes one cast of `cast(cast(long AS float) AS double)`, which has digits that the float lost."""
    longs = spark.range(0, 90, 1, 3).selectExpr("if(id % 3 > 0, 0, id) + 16777216 AS k", "id AS v")
    floats = longs.selectExpr("float(k) AS k", "v AS w")
    for how in ("inner", "full"):
        check(longs.selectExpr("int(k) AS k", "v"), floats, "k", how)


TIME_ZONE = "spark.sql.session.timeZone"


def test_char_keys_that_are_padded_where_they_are_compared(spark, tmp_path):
    """A session may read CHAR as it is stored; two of them are then padded only when they are compared."""
    frames = (
        spark.range(9).selectExpr("if(id % 2 = 0, 'a', 'a ') AS k", "id AS v"),
        spark.range(3).selectExpr("'a  ' AS k", "id AS w"),
    )
    for i, frame in enumerate(frames):
        frame.write.parquet(f"{tmp_path}/{i}")
        spark.sql(f"DROP TABLE IF EXISTS late{i}")
        columns = f"k char(5), {frame.columns[1]} bigint"
        spark.sql(f"CREATE TABLE late{i} ({columns}) USING parquet LOCATION '{tmp_path}/{i}'")
    with conf(spark, "spark.sql.readSideCharPadding", "false"):
        tables = [spark.table(f"late{i}") for i in range(2)]
        joined = skew_join(*tables, "k", heavy=["a"], partitions=3)
        assert_same_rows(joined, tables[0].join(tables[1], "k"))
        assert joined.count() == 27
        assert "where they are compared" in explain(joined)
    for i in range(2):
        spark.sql(f"DROP TABLE late{i}")


CAST = {
    "days": ("date_from_unix_date(int({}))", "timestamp_seconds({} * 86400 + 18000)", dt.date(1970, 1, 1)),
    "local times": ("timestamp_seconds({}) :: timestamp_ntz", "timestamp_seconds({})", dt.datetime(1969, 12, 31, 19)),
    "texts": ("string({})", "{}", "0"),
    "flags": ("({}) = 0", "if(({}) = 0, 'true', NULL)", True),
    "bytes": ("cast(string({}) AS binary)", "string({})", b"0"),
}


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("kind", CAST)
def test_hot_keys_that_the_join_casts_can_be_named(spark, kind):
    own, other, value = CAST[kind]
    k = "if(id % 2 = 0, 0, id % 50)"
    with conf(spark, TIME_ZONE, "America/New_York"):
        facts = spark.range(1_000).selectExpr(f"{own.format(k)} AS k", "id AS v")
        dims = spark.range(50).selectExpr(f"{other.format('id')} AS k", "id AS w")
        # On Connect a union of a join of dates and timestamps with itself fails, so that rows are compared here.
        expected = Counter(facts.join(dims, "k").collect())
        joined = skew_join(facts, dims, "k", heavy=[value], partitions=4)
        assert Counter(joined.collect()) == expected
        assert max(partition_rows(joined)) < 450
        profile = skew_profile(facts, "k", partitions=4)
        joined = skew_join(facts, dims, "k", strategy="salt", left_profile=profile, partitions=4)
        assert Counter(joined.collect()) == expected
        assert max(partition_rows(joined)) < 450


def test_dates_that_the_join_casts_can_be_named(spark):
    """A session has a time zone though nobody has set one."""
    day = dt.date(2020, 1, 1)
    dates = spark.range(900).selectExpr(
        "if(id % 3 > 0, DATE'2020-01-01', date_add(DATE'2020-01-02', cast(id AS int))) AS k"
    )
    for kind, heavy in (("timestamp", day), ("string", day), ("timestamp_ntz", day)):
        other = spark.range(3).selectExpr(
            f"cast(date_add(DATE'2020-01-01', cast(id AS int)) AS {kind}) AS k", "id AS w"
        )
        joined = skew_join(dates, other, "k", strategy="salt", heavy=[heavy], partitions=3)
        assert_same_rows(joined, dates.join(other, "k"))
        assert "2020" in explain(joined).split("  note")[0]
    texts = dates.selectExpr("cast(k AS string) AS k", "1 AS v")
    joined = skew_join(texts, dates, "k", strategy="salt", heavy=["2020-01-01"], partitions=3)
    assert_same_rows(joined.agg(F.count("*")), texts.join(dates, "k").agg(F.count("*")))
    with pytest.raises(SkewkitError, match="'k': 'string'}, compared as date"):
        skew_join(texts, dates, "k", strategy="salt", heavy=["first of May"], partitions=3)


def test_what_timestamp_means_is_not_left_to_the_session(spark):
    """`timestamp` in a text is the type that a session takes it for; the columns' own type has a zone."""
    with conf(spark, "spark.sql.timestampType", "TIMESTAMP_NTZ"), conf(spark, TIME_ZONE, "America/New_York"):
        # Half past one, twice: before the clocks went back and after.
        left = spark.range(2).selectExpr("timestamp_seconds(1730611800 + id * 3600) AS k", "id AS v")
        right = spark.sql("SELECT TIMESTAMP_NTZ'2024-11-03 01:30:00' AS k, 1 AS w")
        joined = skew_join(left, right, "k", strategy="salt", partitions=4)
        assert_same_rows(joined, left.join(right, "k"))
        assert joined.count() == 1


@pytest.mark.slow
def test_keys_of_other_types_that_take_a_profile_job(spark):
    """What is grouped is not looked at but profiled, by keys that are cast already."""
    ints = spark.range(600).selectExpr("int(if(id % 3 < 2, 7, id)) AS k", "id AS v").groupBy("k", "v").count()
    longs = spark.range(300).selectExpr("if(id % 3 < 2, 7L, id) AS k", "id AS w").distinct()
    check(ints, longs, "k", "full")
    check(longs, ints, "k", "semi")


def test_frames_of_sessions_that_read_keys_in_another_way(spark):
    other = spark.newSession()
    other.conf.set(TIME_ZONE, "UTC")
    with conf(spark, TIME_ZONE, "America/New_York"):
        left = spark.range(90).selectExpr("cast(DATE'2024-05-01' AS timestamp) AS k", "id AS v")
        right = other.range(3).selectExpr("DATE'2024-05-01' AS k", "id AS w")
        joined = skew_join(left, right, "k", partitions=4)
        rows = Counter(joined.collect())
        assert rows == Counter(left.join(right, "k").collect())
        assert rows.total() == 270
        assert f"the frames' sessions differ in {TIME_ZONE}" in explain(joined)


@pytest.mark.connect
def test_a_key_that_is_a_cast_is_another_one_than_the_column_of_its_name(spark):
    """Spark calls a cast by the name of its column: grouped by the hour, a day is there 24 times."""
    hours = spark.range(24_000).selectExpr("timestamp_seconds(if(id % 4 < 3, id % 24, id) * 3600) AS ts", "id AS v")
    days = spark.range(1_000).selectExpr("date_from_unix_date(id) AS d")
    by_hour = hours.groupBy("ts").count()
    on = days["d"] == by_hour["ts"].cast("date")
    keys = join_keys(Pair(days, by_hour), on)
    assert keys.right.names == ("ts",)
    assert keys.right.bare == ()
    check(days, by_hour, on, "full")
    placed = hours.repartition(5, "ts")
    joined = skew_join(placed, days, placed["ts"].cast("date") == days["d"], strategy="auto", partitions=4)
    assert "is repartitioned by the key" not in explain(joined)


@pytest.mark.slow
def test_a_float_cast_in_the_condition_and_one_in_the_frame(spark):
    """Plain Spark makes of two casts in a condition one, which loses no digit."""
    left = spark.range(16777217, 16777817).selectExpr("id AS a", "id AS v")
    right = spark.range(16777217, 16777267).selectExpr("double(id) AS d", "id AS w")
    for strategy in TREATED:
        check(left, right, left["a"].cast("float") == right["d"], "inner", strategy)
    stored = left.select(F.col("a").cast("float").alias("a"), "v")
    for strategy in TREATED:
        check(stored, right, stored["a"] == right["d"], "inner", strategy)
        check(stored.alias("l"), right.alias("r"), F.col("l.a") == F.col("r.d"), "inner", strategy)


TYPES = {
    "int and bigint": ("int(k)", "k"),
    "string and int": ("string(k)", "int(k)"),
    "string and double": ("concat(k, '.0')", "double(k)"),
    "decimals": ("cast(k as decimal(9,2))", "cast(k as decimal(20,0))"),
    "decimal and int": ("cast(k as decimal(5,1))", "int(k)"),
    "float and double": ("float(k) / 4", "double(k) / 4"),
    "date and timestamp": ("date_add(date'2020-01-01', int(k))", "timestamp(date_add(date'2020-01-01', int(k)))"),
    "date and string": ("date_add(date'2020-01-01', int(k))", "string(date_add(date'2020-01-01', int(k)))"),
    "timestamps": ("timestamp_seconds(k)", "cast(timestamp_seconds(k) as timestamp_ntz)"),
    "string and boolean": ("if(k = 0, 'true', 'false')", "k = 0"),
    "arrays": ("array(int(k))", "array(k)"),
}


@pytest.mark.every(15)
@pytest.mark.parametrize("ansi", ["true", pytest.param("false", marks=SLOW)])
@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("types", TYPES)
def test_keys_of_different_types_are_compared_as_spark_does(spark, skewed, types, how, ansi):
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        a, b = TYPES[types]
        left = skewed(600, tail=40).selectExpr(f"{a} k", "v", "k <=> 0 AS hot")
        right = skewed(150, tail=40).selectExpr(f"{b} k", "v w")
        # Without ANSI mode plain Spark compares a text with a flag, but has no column of both.
        by_name = how == "full" and (ansi == "true" or types != "string and boolean")
        on = "k" if by_name else left["k"] == right["k"]
        joined = skewkit.skew_join(left, right, on, how, strategy="salt", partitions=4)
        assert_same_rows(joined, left.join(right, on, how))
        assert_split(joined)
        assert_spread(joined.where("hot"))


@pytest.mark.slow
def test_integers_of_different_width(sales, dimension):
    narrow = dimension.withColumn("k", F.col("k").cast("int"))
    for strategy in ("broadcast_head", "salt"):
        assert_same_rows(
            skewkit.skew_join(sales, narrow, "k", "left", strategy=strategy), sales.join(narrow, "k", "left")
        )
        assert_same_rows(skewkit.skew_join(narrow, sales, "k", strategy="salt"), narrow.join(sales, "k"))


def test_char_keys_of_different_length_are_left_to_spark(spark, tmp_path):
    for name, width in (("a", 5), ("b", 8)):
        spark.sql(f"CREATE TABLE char_{name} (k CHAR({width}), v INT) USING parquet LOCATION '{tmp_path / name}'")
    try:
        spark.sql("INSERT INTO char_a SELECT 'x', id FROM range(50)")
        spark.sql("INSERT INTO char_b VALUES ('x', 1)")
        left, right = spark.table("char_a"), spark.table("char_b").withColumnRenamed("v", "w")
        joined = skewkit.skew_join(left, right, "k")
        assert assert_same_rows(joined, left.join(right, "k")) == 50
        assert "CHAR" in skewkit.explain(joined)
    finally:
        spark.sql("DROP TABLE char_a")
        spark.sql("DROP TABLE char_b")


def test_char_keys_of_other_lengths_are_left_to_spark(spark, tmp_path):
    """Spark pads the shorter CHAR of each pair; here the lengths of one side are those of the other, moved on."""
    types = {"left": ("CHAR(5)", "CHAR(3)", "STRING"), "right": ("STRING", "CHAR(5)", "CHAR(3)")}
    for name, (a, b, c) in types.items():
        spark.sql(f"CREATE TABLE moved_{name} (a {a}, b {b}, c {c}, v INT) USING parquet LOCATION '{tmp_path / name}'")
    try:
        for name in types:
            spark.sql(f"INSERT INTO moved_{name} SELECT 'abcde', 'abc', 'abc', id FROM range(20)")
        left, right = (spark.table(f"moved_{name}") for name in types)
        joined = skewkit.skew_join(left, right.withColumnRenamed("v", "w"), ["a", "b", "c"], partitions=4)
        assert "Spark pads a CHAR key" in skewkit.explain(joined)
        assert joined.count() == left.join(right, ["a", "b", "c"]).count() == 400
    finally:
        for name in types:
            spark.sql(f"DROP TABLE moved_{name}")
