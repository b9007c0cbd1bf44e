"""Join keys of every type, composite ones and ones that hash alike."""

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

import skewkit
from skewkit import explain, skew_join, skew_profile
from skewkit.errors import UnsupportedError
from skewkit.spark.session.jobs import counted
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import KINDS, VERSION, assert_split, assert_spread
from tests.spark.join.cases import HOT, check

KEY_TYPES = {
    "tinyint": f"cast({HOT} AS tinyint)",
    "float": "CASE id % 5 WHEN 0 THEN float('NaN') WHEN 1 THEN float(-0.0D) WHEN 2 THEN float(0) ELSE float('inf') END",
    "double": "CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D ELSE double('-inf') END",
    "decimal": f"cast({HOT} AS decimal(38,18)) / 3",
    "string": f"CASE {HOT} WHEN 0 THEN 'é\u0000ß💥' WHEN 1 THEN '' ELSE concat('k', {HOT}) END",
    "binary": f"CASE {HOT} WHEN 0 THEN X'00FF80' WHEN 1 THEN X'' ELSE cast(concat('k', {HOT}) AS binary) END",
    "boolean": f"{HOT} = 0",
    "date": f"date_add(DATE'1969-12-20', cast({HOT} AS int))",
    "date after 9999": f"date_add(DATE'9999-12-31', cast({HOT} AS int) * 1000)",
    "timestamp": f"timestamp_micros({HOT} * 123456789 - 5)",
    "timestamp after 9999": f"timestamp_micros(9000000000000000000 - {HOT})",
    "timestamp_ntz": f"cast(timestamp_micros({HOT} * 1234567 - 5) AS timestamp_ntz)",
    "day interval": f"make_dt_interval(0, 0, cast({HOT} AS int), 0.5)",
    "hour interval": f"cast({HOT} AS interval hour)",
    "month interval": f"make_ym_interval(0, cast({HOT} AS int))",
    "array": f"CASE {HOT} WHEN 0 THEN array(1, NULL) WHEN 1 THEN array(NULL, 1) ELSE array(cast({HOT} AS int)) END",
    "array of doubles": f"CASE {HOT} WHEN 0 THEN array(-0.0D) WHEN 1 THEN array(0D) ELSE array(double('NaN')) END",
    "struct": f"named_struct('a', if({HOT} = 0, NULL, 1), 'b', if({HOT} = 1, NULL, 1))",
    "struct with odd names": f"named_struct('a b', cast({HOT} AS int), 'c,d:e', 's', 'x-y', 1)",
    "collated": f"CASE {HOT} WHEN 0 THEN if(id % 2 = 0, 'HOT', 'hot') ELSE 'k' END COLLATE UTF8_LCASE",
    "void": "NULL",
}


@pytest.mark.every(7)
@pytest.mark.parametrize("key", KEY_TYPES)
def test_key_types(spark, key):
    facts = spark.range(0, 200, 1, 3).selectExpr("id AS v", f"if(id % 23 = 0, NULL, {KEY_TYPES[key]}) AS k")
    dims = spark.range(0, 30, 1, 2).selectExpr("id AS w", f"if(id % 13 = 0, NULL, {KEY_TYPES[key]}) AS k")
    check(facts, dims, "k", strategy="auto" if key == "collated" else "salt")


@pytest.mark.parametrize(("how", "join"), [("inner", "CartesianProduct"), ("left", "BroadcastNestedLoopJoin")])
def test_a_constant_key_is_left_to_spark_without_a_job(spark, how, join):
    facts = spark.range(0, 300, 1, 3).selectExpr("id AS v", "1 AS k")
    dims = spark.range(0, 20, 1, 2).selectExpr("id AS w", "1 AS j")
    for on in (facts["k"] == dims["j"], F.lit(1) == F.lit(1)):
        with counted() as used:
            joined = skew_join(facts, dims, on, how)
        assert used.jobs == 0
        assert "strategy   native" in explain(joined)
        assert_same_rows(joined, facts.join(dims, on, how))
    constant = explain(skew_join(facts, dims, facts["k"] == dims["j"], how))
    assert re.search(rf"strategy   native: .*\({join}\): nothing is shuffled", constant), constant
    without_columns = explain(skew_join(facts, dims, F.lit(1) == F.lit(1), how))
    assert "no equality of a left and a right column" in without_columns


@pytest.mark.connect
def test_types_have_the_same_names_in_python_and_in_spark(spark):
    """On Connect keys are pinned by them."""
    frame = spark.range(1).select(*(F.expr(text).alias(name) for name, text in KEY_TYPES.items() if name != "collated"))
    assert list(frame.select(*map(F.typeof, frame.columns)).first()) == [t for _, t in frame.dtypes]


HASHED_AS_NULL = {
    "empty array": "array_remove(array(1), 1)",
    "struct of nulls": "named_struct('a', int(NULL), 'b', string(NULL))",
}


@pytest.mark.every(11)
@pytest.mark.parametrize("how", ["left", "full", "anti"])
@pytest.mark.parametrize("key", HASHED_AS_NULL)
def test_nulls_beside_a_hot_key_of_their_hash(spark, key, how):
    """Spark's hash passes over nulls: a null key that the join keeps is not the hot one, though it has its hash."""
    hot = spark.range(0, 120, 1, 2).selectExpr("id AS v", f"{HASHED_AS_NULL[key]} AS k")
    nulls = spark.range(0, 31, 1, 2).selectExpr("id AS w", f"if(id < 30, NULL, {HASHED_AS_NULL[key]}) AS k")
    for left, right in ((hot, nulls), (nulls, hot), (hot, nulls.where("w < 30")), (nulls.where("w < 30"), hot)):
        check(left, right, "k", how)


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_nulls_in_other_columns_have_one_hash(spark, how):
    right = spark.range(0, 120, 1, 2).selectExpr("id AS v", "if(id < 90, NULL, id) AS a", "if(id < 90, 5, id) AS b")
    left = spark.range(0, 31, 1, 2).selectExpr("id AS w", "if(id < 30, 5, NULL) AS c", "if(id < 30, NULL, 5L) AS d")
    check(left, right, [left["c"].eqNullSafe(right["a"]), left["d"] == right["b"]], how)


def test_hot_keys_that_share_bits_of_their_hash(spark):
    """The hashes of 4278 and 32832 have the same upper bits; both are copied, and neither is on the other side."""
    left = spark.range(0, 100, 1, 2).selectExpr("id AS v", "if(id % 2 = 0, 4278L, 32832L) AS k")
    right = spark.range(200).selectExpr("id AS w", "id + 1000000 AS k")
    stale = right.selectExpr("CASE WHEN w < 80 THEN 4278L WHEN w < 160 THEN 32832L ELSE k END AS k")
    profiles = {
        "left_profile": skew_profile(left, "k", partitions=8),
        "right_profile": skew_profile(stale, "k", partitions=8),
    }
    joined = skew_join(left, right, "k", "left", strategy="salt", partitions=8, **profiles)
    assert joined.count() == 100
    assert_same_rows(joined, left.join(right, "k", "left"))


FOREIGN = {
    "array of dates": "array(date_add(DATE'9999-12-31', int(k) * 100))",
    "struct of timestamps": "named_struct('t', timestamp_micros(9000000000000000000 - k))",
    "array of months": "array(make_ym_interval(0, int(k)))",
}


@pytest.mark.parametrize("key", FOREIGN)
@pytest.mark.connect
@pytest.mark.every(5)
def test_keys_that_python_cannot_have(facts, dims, key):
    left, right = (f.withColumn("k", F.when(F.col("k").isNotNull(), F.expr(FOREIGN[key]))) for f in (facts, dims))
    assert skew_profile(left, "k").heavy, "known by its hash"
    for how in ("full", "anti"):
        check(left, right, "k", how)


def test_keys_of_a_user_defined_type_are_left_to_spark(facts, dims):
    number = F.coalesce("k", F.lit(-1)).cast("double")
    left, right = (f.withColumn("k", array_to_vector(F.array(number))) for f in (facts, dims.where("w > 4")))
    check(left, right, "k", "full", strategy="auto")
    assert "native: a key is of a user-defined type" in explain(skew_join(left, right, "k"))


def test_a_geometry_beside_the_key(spark, facts, dims):
    point = "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')"
    try:
        left = facts.selectExpr("k", f"{point} AS g")
    except PySparkException:
        pytest.skip("this Spark has no geometry")
    joined = skew_join(left, dims, "k", "full", strategy="salt", partitions=3)
    assert_same_rows(joined.drop("g"), left.join(dims, "k", "full").drop("g"))
    assert joined.where("g IS NOT NULL").count() == left.count()


@pytest.mark.slow
def test_struct_keys_of_many_fields_of_other_types(facts, dims):
    """EXPLAIN shows 25 fields and no more."""
    frames = []
    for frame, type_, name in ((facts, "int", "v"), (dims, "bigint", "w")):
        fields = ", ".join(f"'f{i}', cast(k AS {type_})" for i in range(30))
        frames.append(frame.selectExpr(f"named_struct({fields}) AS k", name))
    check(*frames, "k", "inner")


def test_texts_of_one_value_in_two_keys(spark):
    left, right = (
        spark.range(rows).selectExpr(f"if(id % {hot} = 0, '', concat('x', id % 50)) s", "id v").selectExpr("*", "s d")
        for rows, hot in ((2000, 2), (300, 3))
    )
    right = right.withColumnRenamed("v", "w")
    joined = skewkit.skew_join(left, right, ["s", "d"], strategy="salt", partitions=4)
    assert assert_same_rows(joined, left.join(right, ["s", "d"])) > 100_000


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["broadcast_head", "salt"])
def test_composite_keys_with_partial_nulls(skewed, strategy):
    left = skewed(3000).withColumn("s", F.when(F.col("v") % 5 > 0, F.col("s")))
    right = left.select("k", "s").distinct().withColumn("found", F.lit(True))
    for how in ("inner", "left"):
        joined = skewkit.skew_join(left, right, ["s", "k"], how, strategy=strategy)
        assert_same_rows(joined, left.join(right, ["s", "k"], how))


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
def test_rows_of_a_composite_key_that_is_null_in_part_are_spread(skewed, how):
    left = skewed(3000, hot=0.7).withColumn("s", F.when(F.col("k") > 0, F.col("s")))
    right = left.where("v % 3 = 0").select("s", "k", F.col("v").alias("w"))
    joined = skewkit.skew_join(left, right, ["s", "k"], how, strategy="salt")
    assert_same_rows(joined, left.join(right, ["s", "k"], how))
    rows = partition_rows(joined.where("k = 0"))
    assert sum(rows) >= 600
    assert max(rows) <= 1.4 * sum(rows) / 8


@pytest.mark.every(15)
@pytest.mark.parametrize(("how", "strategy"), [*((how, "salt") for how in KINDS), ("left", "broadcast_head")])
@pytest.mark.parametrize(
    "key",
    [
        "cast(k as int)",
        "cast(k as string)",
        "cast(k as decimal(20,3))",
        "date_add(date'2020-01-01', cast(k as int))",
        "timestamp_seconds(k * 1000)",
        "k % 2 = 0",
        "cast(cast(k as string) as binary)",
        "struct(k, if(k < 2, null, s) as s)",
        "array(k, null, 1)",
        "if(k = 0, double('NaN'), if(k = 1, double('-0.0'), if(k = 2, double('0.0'), double(k))))",
        "if(k = 0, if(v % 2 = 0, double('-0.0'), double('0.0')), if(k = 1, double('NaN'), double(k)))",
        "make_dt_interval(cast(k as int))",
        "if(k = 0, 'h\u00f4t\\u0000', if(k = 1, 'h\u00f4t', concat('k', k)))",
        "if(k = 0, X'6800', if(k = 1, X'68', cast(concat('k', k) AS binary)))",
    ],
)
def test_types_of_keys_in_every_strategy(skewed, key, how, strategy):
    left = skewed(1500).selectExpr(f"{key} k", "v", "k <=> 0 AS hot")
    right = skewed(1500).selectExpr(f"{key} k").distinct().selectExpr("k", "'there' hit")
    joined = skewkit.skew_join(left, right, "k", how, strategy=strategy, partitions=5)
    shown = [frame.withColumn("k", F.col("k").cast("string")) for frame in (joined, left.join(right, "k", how))]
    assert_same_rows(*shown)  # as texts: 0.0 is not -0.0
    if strategy == "salt":
        assert_split(joined)
        if how != "anti":  # all keys are on the right
            assert_spread(joined.where("hot"))


FIVE = (
    "k",
    "if(k = 0, 'é', s) AS s",
    "if(k = 0, true, if(v % 9 = 0, NULL, v % 2 = 0)) AS b",
    "date_add(date'2024-02-28', if(k = 0, 0, int(v % 3))) AS d",
    "decimal(k) AS n",
)


@pytest.mark.every(6)
@pytest.mark.parametrize("how", KINDS)
def test_composite_keys_of_five_columns(skewed, how):
    left, right = (
        skewed(2000, tail=5).selectExpr(*FIVE, "v", "k <=> 0 AS hot"),
        skewed(60, tail=5).selectExpr(*FIVE, "v AS w"),
    )
    keys = ["b", "d", "k", "n", "s"]
    joined = skewkit.skew_join(left, right, keys, how, strategy="salt", partitions=5)
    assert_same_rows(joined, left.join(right, keys, how))
    assert_split(joined)
    if how != "anti":  # the key is on the right
        assert_spread(joined.where("hot"))


@pytest.mark.every(6)
@pytest.mark.parametrize("how", KINDS)
def test_collated_keys_are_left_to_spark(skewed, how):
    if VERSION < (4, 0):
        pytest.skip("collations came with Spark 4.0")
    key = "CASE WHEN k > 0 THEN concat('k', k) WHEN v % 2 = 0 THEN 'HOT' ELSE 'hot' END COLLATE UTF8_LCASE AS k"
    left, right = skewed(500).selectExpr(key, "v"), skewed(60).selectExpr(key, "v AS w")
    joined, plain = skewkit.skew_join(left, right, "k", how), left.join(right, "k", how)
    seen = "string(k) COLLATE UTF8_BINARY AS k", *plain.columns[1:]
    assert assert_same_rows(joined.selectExpr(*seen), plain.selectExpr(*seen)) > 0
    assert re.search("native: .*collation", skewkit.explain(joined)), skewkit.explain(joined)
    with pytest.raises(UnsupportedError, match=r"'salt' is not possible here: .*collation"):
        skewkit.skew_join(left, right, "k", how, strategy="salt")
