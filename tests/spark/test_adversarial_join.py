"""`skew_join` against its enemies: odd key types and names, references after the join, unlike frames and profiles."""

import datetime as dt
import re
import threading
import time
from collections import Counter

import pytest
from pyspark.errors import PySparkException
from pyspark.ml.functions import array_to_vector
from pyspark.sql import Window
from pyspark.sql import functions as F

from skewkit import KeyProfile, SkewkitError, explain, skew_join, skew_profile
from skewkit.api.join.on import join_keys
from skewkit.errors import UnsupportedError
from skewkit.spark.explained.join_operator import top_join
from skewkit.spark.explained.plan_facts import Seen
from skewkit.spark.join import joining
from skewkit.spark.session.compat import explained, physical_plan
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import conf

HOT = "CASE WHEN id % 10 < 5 THEN 0 WHEN id % 10 < 7 THEN 1 ELSE id % 40 END"
TREATED = ["salt", "broadcast_head"]
KINDS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.fixture(scope="module")
def facts(spark):
    return spark.range(0, 240, 1, 3).selectExpr(
        f"CASE WHEN id % 10 = 9 THEN NULL ELSE {HOT} END AS k", "id AS v", "id % 4 AS x", "cast(id % 7 AS string) AS s"
    )


@pytest.fixture(scope="module")
def dims(spark):
    return spark.range(0, 40, 1, 2).selectExpr(
        "if(id = 39, NULL, id) AS k", "id * 2 AS w", "id % 4 AS x", "cast(id AS string) AS s"
    )


def check(left, right, on, how="left", strategy="salt", pick=lambda frame: frame, **options):
    """Compare with plain Spark, the plain join first, so that a test of something Spark refuses fails as such."""
    plain = pick(left.join(right, on, how))
    return assert_same_rows(pick(skew_join(left, right, on, how, strategy=strategy, partitions=3, **options)), plain)


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


@pytest.mark.connect
def test_types_have_the_same_names_in_python_and_in_spark(spark):
    """On Connect keys are pinned by them."""
    frame = spark.range(1).select(*(F.expr(text).alias(name) for name, text in KEY_TYPES.items() if name != "collated"))
    assert list(frame.select(*map(F.typeof, frame.columns)).first()) == [t for _, t in frame.dtypes]


NAMES = ["a.b", "x y", "t`k", "*", "Ünï", "_skew_hash", "_SKEW_R_KEY0", ""]


@pytest.mark.every(5)
@pytest.mark.parametrize("name", NAMES)
def test_names_of_using_keys_are_taken_literally(facts, dims, name):
    check(facts.withColumnRenamed("k", name), dims.withColumnRenamed("k", name), name)


REFERENCES = {
    "left columns": lambda joined, left, right: joined.select(left["k"], left["x"], "w"),
    "right column": lambda joined, left, right: joined.select(left["x"], right["w"], right["x"]),
    "aliases": lambda joined, left, right: joined.select("a.x", "b.x", "k", "a.k"),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("strategy", TREATED)
@pytest.mark.parametrize("reference", REFERENCES)
def test_references_after_a_join_by_name(facts, dims, reference, strategy):
    left, right = facts.alias("a"), dims.alias("b")
    check(left, right, "k", strategy=strategy, pick=lambda joined: REFERENCES[reference](joined, left, right))


CONDITIONS = {
    "equality": lambda a, b: a["k"] == b["k"],
    "the other way round": lambda a, b: b["k"] == a["k"],
    "list": lambda a, b: [a["k"] == b["k"], b["x"] == a["x"]],
    "conjunction": lambda a, b: (a["k"] == b["k"]) & (b["x"] == a["x"]),
    "expression": lambda a, b: a["k"] + 1 == b["k"] * 1,
}


@pytest.mark.every(5)
@pytest.mark.parametrize("strategy", TREATED)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(facts, dims, condition, strategy):
    on = CONDITIONS[condition](facts, dims)
    check(facts, dims, on, strategy=strategy, pick=lambda joined: joined.select(facts["x"], dims["x"], dims["k"]))


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", TREATED)
def test_self_join_by_alias(facts, strategy):
    left, right = facts.alias("a"), facts.where("v < 60").alias("b")
    columns = ["a.x", "b.x", "a.v", "b.v"]
    check(left, right, F.col("b.k") == F.col("a.k"), strategy=strategy, pick=lambda joined: joined.select(*columns))


@pytest.mark.every(7)
@pytest.mark.parametrize("on", [["k", "x"], ["s", "k", "x"], "K"], ids=str)
@pytest.mark.parametrize("strategy", TREATED)
def test_names_in_any_order_and_case(facts, dims, on, strategy):
    check(facts, dims, on, "inner", strategy)


@pytest.mark.connect
def test_case_sensitive_names(spark, facts, dims):
    left, right = facts.selectExpr("v", "k", "x AS K", "s AS V"), dims.selectExpr("k", "w", "x AS K", "s AS W")
    with conf(spark, "spark.sql.caseSensitive", "true"):
        for on in ("k", "K", ["K", "k"]):
            check(left, right, on)


FRAMES = {
    "empty right": lambda f, d: (f, d.where("false")),
    "empty left": lambda f, d: (f.limit(0), d),
    "one row each": lambda f, d: (f.limit(1), d.limit(1)),
    "all keys null": lambda f, d: (f.withColumn("k", F.lit(None).cast("bigint")), d),
    "one key": lambda f, d: (f.withColumn("k", F.lit(1)), d.withColumn("k", F.lit(1))),
    "many empty partitions": lambda f, d: (f.repartition(40), d.coalesce(1)),
    "hot on both sides": lambda f, d: (f, f.select("k", F.col("v").alias("w"))),
    "hot on the right": lambda f, d: (d, f),
    "hot keys absent on the right": lambda f, d: (f, d.where("k > 10")),
    "int and bigint": lambda f, d: (f.withColumn("k", F.col("k").cast("int")), d),
    "maps": lambda f, d: (f.withColumn("m", F.create_map("s", "v")), d.withColumn("m", F.create_map("s", "w"))),
    "wide": lambda f, d: (f.select("*", *((F.col("v") + i).alias(f"c{i}") for i in range(200))), d),
    "cached": lambda f, d: (f.cache(), d),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("frames", FRAMES)
def test_frames(facts, dims, frames):
    check(*FRAMES[frames](facts, dims), "k")


PROFILES = {
    "stale": lambda f: skew_profile(f.withColumn("k", F.col("k") + 1), "k", partitions=3),
    "of strings": lambda f: skew_profile(f.selectExpr("concat('x', k) AS k"), "k", partitions=3),
    "two keys that cast to one": lambda f: skew_profile(f.selectExpr("if(v % 2 = 0, 1.25D, 1.5D) AS k"), "k"),
    "of dates": lambda f: skew_profile(f.selectExpr("date_add(DATE'2020-01-01', int(k)) AS k"), "k", partitions=3),
    "empty": lambda f: skew_profile(f.where("false"), "k"),
    "forgotten": lambda f: skew_profile(f, "k").decay(0),
    "merged": lambda f: skew_profile(f, "k", partitions=100).merge(skew_profile(f, "k", partitions=3)),
    "from JSON": lambda f: KeyProfile.from_json(skew_profile(f, "k", partitions=3).to_json()),
    "infinite weight": lambda f: skew_profile(f.withColumn("i", F.lit(float("inf"))), "k", weight="i", partitions=3),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_only_a_hint(facts, dims, profile):
    check(facts, dims, "k", left_profile=PROFILES[profile](facts))


def test_a_profile_that_promises_few_rows_does_not_make_a_huge_broadcast(spark, facts, dims):
    """The profile is of one row per key, and by now the right side has more of them than may be broadcast."""
    profiles = {"left_profile": skew_profile(facts, "k"), "right_profile": skew_profile(dims, "k")}
    many = dims.unionAll(dims.selectExpr("0L AS k", "w", "x", "s"))
    with conf(spark, "spark.skewkit.broadcastRows", "20"):
        joined = skew_join(facts, dims, "k", partitions=3, **profiles)
        assert "strategy   broadcast_head" in explain(joined)
        joined = skew_join(facts, many, "k", partitions=3, **profiles)
        assert "strategy   salt" in explain(joined)
        assert "not what its profile says" in explain(joined)
        assert_same_rows(joined, facts.join(many, "k"))
        with pytest.raises(UnsupportedError, match="not what its profile says"):
            skew_join(facts, many, "k", partitions=3, strategy="broadcast_head", **profiles)


@pytest.mark.every(3)
@pytest.mark.parametrize("heavy", [[0, 12345, None], [], ["0"], [0, 0.0]], ids=str)
def test_named_keys_are_only_a_hint(facts, dims, heavy):
    check(facts, dims, "k", heavy=heavy)


def random_keys(frames):
    import random

    for frame in frames:
        yield frame.assign(k=[random.randrange(20) for _ in range(len(frame))])


def test_frames_that_differ_from_one_reading_to_the_next_are_read_once(spark):
    """Every row of the Python side has one of 20 keys, and all 20 are on the other side: none is lost or doubled."""
    steady = spark.range(0, 2000, 1, 3).selectExpr("if(id % 3 > 0, 0, id % 20) AS k", "id AS v")
    fickle = spark.range(0, 3000, 1, 2).selectExpr("id AS w", "0L AS k").mapInPandas(random_keys, "w long, k long")
    joined = skew_join(steady, fickle, "k", partitions=4)
    assert joined.select("w").distinct().count() == 3000
    one_each = spark.range(20).withColumnRenamed("id", "k")
    hot = fickle.withColumn("k", F.when(F.col("k") < 9, 0).otherwise(F.col("k")))
    assert skew_join(hot, one_each, "k", "left", partitions=4).count() == 3000
    try:
        asked_for = skew_join(hot, one_each, "k", "left", strategy="broadcast_head", partitions=4)
    except SkewkitError:
        return
    assert asked_for.count() == 3000


def test_a_float_is_compared_as_the_float_it_is(spark):
    """The optimizer makes one cast of `cast(cast(long AS float) AS double)`, which has digits that the float lost."""
    longs = spark.range(0, 90, 1, 3).selectExpr("if(id % 3 > 0, 0, id) + 16777216 AS k", "id AS v")
    floats = longs.selectExpr("float(k) AS k", "v AS w")
    for how in ("inner", "full"):
        check(longs.selectExpr("int(k) AS k", "v"), floats, "k", how)


WIDE = ["id AS v", *(f"id + {i} AS c{i}" for i in range(30))]
FICKLE = {
    "rand": lambda f: f.withColumn("k", F.floor(F.rand() * 4)),
    "random": lambda f: f.withColumn("k", F.expr("int(random() * 4)")),
    "Java": lambda f: f.withColumn("k", F.expr("int(double(reflect('java.lang.Math', 'random')) * 4)")),
    "first": lambda f: f.dropDuplicates(["c1"]),
    "ties": lambda f: f.where("c1 > 3").withColumn("k", F.row_number().over(Window.partitionBy("c2").orderBy("c3"))),
    "observed": lambda f: f.observe("seen", F.count("*").alias("n")),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("fickle", FICKLE)
def test_keys_that_may_be_others_when_read_again_are_read_once(spark, dims, fickle):
    """EXPLAIN leaves out the columns from the 26th on, and what they are computed from."""
    wide = FICKLE[fickle](spark.range(0, 90, 1, 3).selectExpr(*WIDE, "if(id % 3 > 0, 0, id % 20) AS k"))
    assert "native: a full join keeps" in explain(skew_join(wide, wide.select("k"), "k", "full", partitions=4))
    for left, right in ((wide, dims), (dims, wide)):
        with pytest.raises(UnsupportedError, match="reads both sides twice"):
            skew_join(left, right, "k", strategy="broadcast_head")
    assert wide.sparkSession.conf.get("spark.sql.debug.maxToStringFields") == "25"


def test_a_side_without_copies_is_read_once(spark, facts):
    """The keys of the fickle side are random: were they looked up, they could deny what the join itself saw."""
    fickle = FICKLE["rand"](spark.range(0, 9, 1, 3).selectExpr("id AS w"))
    for left, right in ((facts, fickle), (fickle, facts)):
        joined = skew_join(left, right, "k", "full", strategy="salt", partitions=4)
        assert "strategy   salt" in explain(joined)
        assert explained(joined).partition("== Physical Plan ==")[2].count("rand(") == 1


def test_keys_beside_values_that_may_be_others_may_be_read_again(facts, dims):
    firsts = facts.withColumn("n", F.row_number().over(Window.partitionBy("x").orderBy("s")))
    check(firsts, dims.dropDuplicates(["k"]).drop("w"), "k", "right")
    assert "strategy   salt" in explain(skew_join(firsts, dims.dropDuplicates(["k"]), "k", "full", strategy="salt"))


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


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("key", FOREIGN)
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


def test_a_plan_whose_text_is_cut_off_is_not_trusted(spark, facts, dims):
    fickle = FICKLE["rand"](facts.drop("k"))
    with conf(spark, "spark.sql.maxPlanStringLength", "300"):
        assert "native: a full join keeps" in explain(skew_join(fickle, dims, "k", "full", partitions=4))


@pytest.mark.slow
def test_a_session_with_more_shuffle_partitions_than_a_plan_can_have(spark, facts, dims):
    with conf(spark, "spark.sql.shuffle.partitions", "100000"):
        assert "65536 partitions" in explain(skew_join(facts, dims, "k", strategy="salt"))


TIME_ZONE = "spark.sql.session.timeZone"
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
    assert "the keys could not be profiled: [CAST_INVALID_INPUT]" in explain(joined)
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        joined.count()


HIDDEN = {
    "right key": lambda joined, left, right: joined.select(left["k"], right["k"], "k", "a.k", "b.k", right["w"]),
    "where": lambda joined, left, right: joined.where(right["k"].isNull() | left["k"].isNull()),
    "drop right": lambda joined, left, right: joined.drop(right["k"]),
    "drop left": lambda joined, left, right: joined.drop(left["k"]),
    "stars": lambda joined, left, right: joined.select("b.*", "a.*"),
    "composite": lambda joined, left, right: joined,
}


@pytest.mark.every(7)
@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
def test_the_key_that_does_not_show_after_the_hot_keys_were_broadcast(facts, dims, how):
    columns = ["nullif(v, -1) AS v", "k", "if(v > 3, x, NULL) AS x", "if(v > 3, s, NULL) AS s"]
    left = facts.selectExpr(*columns).alias("a")
    right = dims.selectExpr("w AS v", "*").selectExpr(*columns, "nullif(w, -1) AS w").alias("b")
    hidden = HIDDEN if how in ("inner", "left", "right") else {"all": lambda joined, left, right: joined.select("a.*")}
    joined = {on: skew_join(left, right, list(on), how, strategy="broadcast_head") for on in (("k",), ("x", "k"))}
    for name, pick in hidden.items():
        on = ("x", "k") if name == "composite" else ("k",)
        plain = pick(left.join(right, list(on), how), left, right)
        assert pick(joined[on], left, right).columns == plain.columns
        assert_same_rows(pick(joined[on], left, right), plain)


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("ambiguous", ["False", "true", "false"])
def test_frames_that_share_a_column_beside_the_key(spark, ambiguous):
    base = spark.range(60).selectExpr("nullif(id, -1) AS id", "nullif(id, -1) AS v")
    left = base.selectExpr("nullif(if(id < 40, 0, id), -1) AS k", "v")
    right = base.where("v >= 30").selectExpr("nullif(id - 30, -1) AS k", "v")
    with conf(spark, "spark.sql.analyzer.failAmbiguousSelfJoin", ambiguous):
        joined = skew_join(left, right, "k", strategy="broadcast_head", partitions=4)
        assert_same_rows(joined, left.join(right, "k"))


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_salted_plan_shuffles_each_side_once(facts, dims, how):
    for on in ("k", facts["k"] == dims["k"]):
        text = explained(skew_join(facts, dims, on, how, strategy="salt", partitions=4), "FORMATTED")
        tree = text.partition("\n\n")[0]
        assert len(re.findall(r"\bExchange\b", tree)) == 2
        assert not re.search(r"\brand|Python|Nested|Cartesian", text)


REFUSED = {
    "unknown column": lambda f, d: skew_join(f, d, f["k"] == F.col("zz")),
    "set": lambda f, d: skew_join(f, d, {"k"}),
    "how with a space": lambda f, d: skew_join(f, d, "k", "inner join"),
    "partitions": lambda f, d: skew_join(f, d, "k", partitions=-3),
    "too many partitions": lambda f, d: skew_join(f, d, "k", partitions=1 << 40, strategy="salt", heavy=[0]),
    "strategy of group-by": lambda f, d: skew_join(f, d, "k", strategy="wrap"),
    "heavy list": lambda f, d: skew_join(f, d, "k", heavy=[[1]]),
    "heavy dict": lambda f, d: skew_join(f, d, "k", heavy=[{"a": 1}]),
    "heavy object": lambda f, d: skew_join(f, d, "k", heavy=[object()]),
    "right profile alone": lambda f, d: skew_join(f, d, "k", right_profile=skew_profile(d.limit(1), "k")),
}


@pytest.mark.parametrize("call", REFUSED)
def test_is_refused_as_a_skewkit_error(facts, dims, call):
    with pytest.raises(SkewkitError):
        REFUSED[call](facts, dims)


@pytest.mark.connect
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


@pytest.mark.connect
def test_a_frame_with_the_alias_of_a_helper(facts, dims):
    odd = facts.selectExpr("*", "1 AS t", "2 AS p", "1 AS a").alias("_skew_entry")
    check(odd, dims, "k", "full", heavy=[0, 1])


@pytest.mark.connect
@pytest.mark.parametrize("how", [pytest.param("inner", marks=pytest.mark.slow), "left"])
def test_what_nobody_asks_for_is_not_computed(spark, facts, dims, how, tmp_path):
    """It may fail, and plain Spark never computes it."""
    (tmp_path / "x.csv").write_text("k,v,n\n" + "".join(f"{i % 2},{i},{'bad' if i == 5 else i}\n" for i in range(40)))
    strict = spark.read.csv(str(tmp_path), header=True, schema="k bigint, v bigint, n int", mode="FAILFAST")
    for frame in (facts.selectExpr("*", "1 / (v - 5) AS bad"), strict):
        check(frame, dims, "k", how, pick=lambda joined: joined.select("k", "v", "w"), heavy=[0, 1])


@pytest.mark.connect
@pytest.mark.slow
def test_struct_keys_of_many_fields_of_other_types(facts, dims):
    """EXPLAIN shows 25 fields and no more."""
    frames = []
    for frame, type_, name in ((facts, "int", "v"), (dims, "bigint", "w")):
        fields = ", ".join(f"'f{i}', cast(k AS {type_})" for i in range(30))
        frames.append(frame.selectExpr(f"named_struct({fields}) AS k", name))
    check(*frames, "k", "inner")


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "full", "anti"])
def test_a_view_that_is_replaced_by_one_with_keys_of_another_type(facts, dims, how, connect):
    """An int has another hash than an equal long; a frame on Connect is resolved when it runs, a classic one before."""
    facts.createOrReplaceTempView("later")
    left = facts.sparkSession.table("later")
    joined = skew_join(left, dims, "k", how, strategy="salt", partitions=3)
    facts.withColumn("k", F.col("k").cast("int")).createOrReplaceTempView("later")
    if connect:
        with pytest.raises(PySparkException, match="was bigint when this join was made is int now"):
            joined.collect()
    else:
        assert_same_rows(joined, left.join(dims, "k", how))


@pytest.mark.connect
@pytest.mark.parametrize("how", ["full", *(pytest.param(h, marks=pytest.mark.slow) for h in ("left", "anti"))])
def test_a_view_that_is_replaced_once_the_plan_has_run(facts, dims, how, connect):
    """A Connect server keeps what it resolved of some frames; ours are resolved anew, as plain Spark's joins are."""
    facts.createOrReplaceTempView("again")
    left = facts.sparkSession.table("again")
    joined, plain = skew_join(left, dims, "k", how, strategy="salt"), left.join(dims, "k", how)
    before = Counter(plain.collect())
    assert Counter(joined.collect()) == before
    facts.where("k > 1").unionAll(facts.where("k > 5")).createOrReplaceTempView("again")  # without the hot key
    now = Counter(plain.collect())
    assert (now != before) == connect
    assert Counter(joined.collect()) == now


@pytest.mark.connect
def test_no_part_is_resolved_for_good_on_connect(facts, dims, connect):
    """A server resolves a `drop` and its kind once, with the rows that a view has then."""
    if not connect:
        pytest.skip("a classic session has no server")
    for how in KINDS:
        for strategy in ("salt", "broadcast_head") if how in ("inner", "left") else ("salt",):
            joined = skew_join(facts, dims, "k", how, strategy=strategy, partitions=3)
            plan = str(joined._plan.to_proto(facts.sparkSession.client))
            steps = set(re.findall(r"^\s*(\w+) \{", plan, re.MULTILINE))
            assert {"project", "join"} <= steps
            assert not steps & {"drop", "with_columns", "with_columns_renamed", "deduplicate"}


@pytest.mark.connect
def test_types_are_asked_for_at_no_cost(facts, dims):
    joined = skew_join(facts, dims, "k", "full", strategy="salt", partitions=3)
    assert "typeof" not in explained(joined).partition("== Physical Plan ==")[2]


@pytest.mark.connect
def test_a_key_that_is_named_is_spread_where_it_is_hot(spark):
    facts = spark.range(20_000).selectExpr("if(id % 2 = 0, 0, id % 90) AS k", "id AS v")
    dims = spark.range(90).selectExpr("id AS k", "id AS w")
    for how in ("inner", "left"):
        joined = skew_join(dims, facts, "k", how, heavy=[0], partitions=8)
        assert max(partition_rows(joined)) < 5_000
        assert_same_rows(joined, dims.join(facts, "k", how))


def test_a_named_key_with_several_rows_on_the_other_side_is_broadcast(spark):
    facts = spark.range(2_000).selectExpr("if(id % 2 = 0, 0, id % 20) AS k", "id AS v")
    dims = spark.range(40).selectExpr("id % 20 AS k", "id AS w")
    assert check(facts, dims, "k", "inner", "broadcast_head", heavy=[0]) == 4_000
    joined = skew_join(facts, dims, "k", strategy="broadcast_head", heavy=[0], partitions=3)
    assert "BroadcastHashJoin" in explained(joined)
    with (
        pytest.raises(UnsupportedError, match="too many rows on the right side"),
        conf(spark, "spark.skewkit.broadcastRows", "30"),
    ):
        skew_join(dims, facts, "k", strategy="broadcast_head", heavy=[0], partitions=3)


@pytest.mark.connect
def test_a_key_that_is_twice_in_a_frame_is_left_to_spark(spark):
    a, b, c = (spark.range(30).selectExpr("id AS k", f"id * 2 AS {name}") for name in "xyz")
    twice = a.join(b, a["k"] == b["k"])
    for left, right in (
        (twice, c),
        (a.select("k", "k", "x"), c),
        (a.withColumn("K2", F.col("k")).toDF("k", "x", "K"), c),
    ):
        assert_same_rows(skew_join(left, right, "k", partitions=3), left.join(right, "k"))
        with pytest.raises(UnsupportedError, match="more than once, and Spark takes the first"):
            skew_join(left, right, "k", strategy="salt")


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


def test_a_condition_on_one_column_of_both_frames_says_what_to_do(spark, facts):
    counts = facts.groupBy("k").count()
    assert_same_rows(skew_join(facts, counts, facts["k"] == counts["k"]), facts.join(counts, facts["k"] == counts["k"]))
    with pytest.raises(UnsupportedError, match="join by name, or rename the key"):
        skew_join(facts, counts, facts["k"] == counts["k"], strategy="salt")


@pytest.mark.connect
def test_rows_that_are_wide_in_their_files_are_not_hashed(spark, tmp_path):
    spark.range(2_000).selectExpr(
        "id AS k", "concat_ws('', transform(sequence(1, 100), i -> uuid())) AS blob"
    ).write.parquet(str(tmp_path / "wide"))
    wide = spark.read.parquet(str(tmp_path / "wide"))
    facts = spark.range(4_000).selectExpr("if(id % 2 = 0, 0, id % 2000) AS k", "id AS v")
    for most, operator in (("134217728", "ShuffledHashJoin"), ("200000", "SortMergeJoin")):
        with conf(spark, "spark.skewkit.hashJoinBytes", most):
            assert operator in explained(skew_join(facts, wide, "k", strategy="salt", partitions=4))


def test_a_named_key_is_broadcast_to_the_left_frame_only(spark):
    facts = spark.range(2_000).selectExpr("if(id % 2 = 0, 0, id % 20) AS k", "id AS v")
    dims = spark.range(20).selectExpr("id AS k", "id AS w")
    with pytest.raises(UnsupportedError, match="nobody knows how many rows the keys that were named have there"):
        skew_join(dims, facts, "k", "right", strategy="broadcast_head", heavy=[0], partitions=3)


def test_long_texts_are_seen_below_a_filter_and_in_a_cache(spark, tmp_path):
    spark.range(2_000).selectExpr(
        "id AS k", "concat_ws('', transform(sequence(1, 100), i -> uuid())) AS blob"
    ).write.parquet(str(tmp_path / "wide"))
    wide = spark.read.parquet(str(tmp_path / "wide"))
    facts = spark.range(4_000).selectExpr("if(id % 2 = 0, 0, id % 2000) AS k", "id AS v")
    cached = wide.where("k < 1999").cache()
    assert cached.count() == 1_999
    frames = {
        "filtered": (wide.where("k < 1900"), "SortMergeJoin"),
        "other order": (wide.selectExpr("blob AS b", "k"), "SortMergeJoin"),
        "cached": (cached, "SortMergeJoin"),
        "no text": (wide.where("k < 1900").select("k", F.length("blob").alias("n")), "ShuffledHashJoin"),
    }
    with conf(spark, "spark.skewkit.hashJoinBytes", "200000"):
        for name, (frame, operator) in frames.items():
            plan = explained(skew_join(facts, frame, "k", strategy="salt", partitions=4))
            assert operator in plan, name
    cached.unpersist()


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


def test_explain_says_which_keys_of_a_profile_are_lost(facts, dims):
    profile = skew_profile(facts.selectExpr("concat('x', k) AS k"), "k", partitions=3)
    joined = skew_join(facts, dims, "k", strategy="salt", left_profile=profile, partitions=3)
    lost = len(profile.heavy)
    assert f"{lost} of the {lost} heavy keys of the left profile are not known as string cast to" in explain(joined)


def test_a_profile_of_a_day_makes_no_hash_table_of_the_year(spark):
    """A hash table cannot spill: profiles that were given may say less than there is."""
    facts = spark.range(400_000).selectExpr("if(id % 2 = 0, 0, id % 20000) AS k", "id AS v")
    dims = spark.range(20_000).selectExpr("id AS k", "id AS w")
    left, right = (skew_profile(frame, "k") for frame in (facts, dims))
    day = left.decay(1 / 365)
    with conf(spark, "spark.skewkit.hashJoinRows", "60000"), conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        for known, operator in ((left, "ShuffledHashJoin"), (day, "SortMergeJoin")):
            joined = skew_join(facts, dims, "k", strategy="salt", left_profile=known, right_profile=right, partitions=4)
            assert top_join(physical_plan(joined)) == operator
        unseen = facts.join(dims, "k").select("k", "v")
        joined = skew_join(dims, unseen, "k", strategy="salt", left_profile=right, right_profile=day, partitions=4)
        assert top_join(physical_plan(joined)) == "SortMergeJoin"


def test_more_keys_than_the_driver_takes_are_counted_where_they_are(spark):
    """A look that the driver has no room for makes way for the profile job, and long keys in that for their hashes."""
    facts = spark.range(40_000).selectExpr("repeat(string(if(id % 2 = 0, 0, id)), 40) AS k", "id AS v")
    dims = spark.range(4_000).selectExpr("repeat(string(id), 40) AS k", "id AS w")
    most = spark.sparkContext._jsc.sc().conf()
    before = most.get("spark.driver.maxResultSize", "1g")
    most.set("spark.driver.maxResultSize", "60k")
    try:
        joined = skew_join(facts, dims, "k", partitions=64, strategy="salt")
    finally:
        most.set("spark.driver.maxResultSize", before)
    assert "1 split left" in explain(joined)
    assert_same_rows(joined, facts.join(dims, "k"))


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
@pytest.mark.connect
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
    keys = join_keys(days, by_hour, on)
    assert keys.right.names == ("ts",)
    assert keys.right.bare == ()
    check(days, by_hour, on, "full")
    placed = hours.repartition(5, "ts")
    joined = skew_join(placed, days, placed["ts"].cast("date") == days["d"], strategy="auto", partitions=4)
    assert "is repartitioned by the key" not in explain(joined)


def test_a_key_that_python_makes_is_not_broadcast_in_two_readings(spark):
    import random

    pick = F.udf(lambda i: random.randrange(4), "int")
    facts, dims = spark.range(60_000).toDF("id"), spark.range(4).selectExpr("int(id) AS d")
    with conf(spark, "spark.skewkit.minRows", "1000"), conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        joined = skew_join(facts, dims, pick("id") == F.col("d"), "left", partitions=8)
        assert "no broadcast of the hot keys, because the left side is computed by Python" in explain(joined)
        assert joined.count() == 60_000


def test_what_a_script_prints_is_read_once(spark):
    rows = spark.sql("SELECT TRANSFORM(id) USING 'cat' AS (k bigint) FROM range(999)")
    assert "source that may have other rows" in Seen(rows).of_unknown
    assert Seen(rows.cache()).of_unknown is None
    rows.unpersist()


def test_group_bys_that_lose_their_keys_are_not_used(spark, facts, dims):
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        joined = skew_join(facts, dims, "k", partitions=3)
        assert "native: spark.sql.retainGroupColumns is off" in explain(joined)
        assert Counter(joined.collect()) == Counter(facts.join(dims, "k").collect())


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["semi", "right", "anti", None])
def test_a_wide_right_side_with_hot_keys(spark, tmp_path, how):
    """A key that the look-up answers needs none of the right side's columns."""
    left = spark.range(100).selectExpr("id AS k", "id AS v")
    wide = [f"cast(id + {i} AS {kind}) AS c{i}" for i, kind in enumerate(("bigint", "string", "double", "int", "date"))]
    wide = [each.replace("id + 4 AS date", "date_from_unix_date(id) AS date") for each in wide]
    rows = spark.range(4_000).selectExpr("if(id % 2 = 0, 0, id % 90) AS k", *wide)
    rows.write.parquet(str(tmp_path / "wide"))
    for right in (spark.read.parquet(str(tmp_path / "wide")), rows.repartition(3)):
        check(left, right, "k", how)


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["left", "full", "semi", "anti", "inner"])
def test_texts_of_which_other_rows_are_malformed_when_other_columns_are_read(spark, tmp_path, how):
    """Plain Spark drops the rows whose `w` is no number, but not where only `k` is asked for."""
    path = str(tmp_path / "rows")
    lines = [*(f"0,none{i % 7}" for i in range(6_000)), *(f"{i},{i}" for i in range(1, 91))]
    spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1).write.text(path)
    right = spark.read.csv(path, schema="k bigint, w int", mode="DROPMALFORMED")
    left = spark.range(5).selectExpr("id AS k", "id AS v")
    with conf(spark, "spark.skewkit.minRows", "1000"):
        joined = skew_join(left, right, "k", how, partitions=4)
    assert_same_rows(joined, left.join(right, "k", how))
    expected = {"left": "native", "full": "native", "semi": "salt", "anti": "salt"}.get(how)
    assert expected is None or f"strategy   {expected}" in explain(joined)
    if expected == "native":
        assert "the right side's hot keys stay whole: it is parsed from texts" in explain(joined)
    hot, cold = spark.range(9_000).selectExpr("id % 3 AS k", "id AS v"), right.where("k > 0")
    with conf(spark, "spark.skewkit.minRows", "1000"):
        assert "stay whole" not in explain(skew_join(hot, cold, "k", how, partitions=4))


@pytest.mark.parametrize("how", ["left", "full"])
def test_files_of_which_more_are_corrupt_when_other_columns_are_read(spark, tmp_path, how):
    """Plain Spark skips the file whose `w` is a text, but not where only `k` is asked for."""
    spark.range(6_000).selectExpr("0L AS k", "'x' AS w").write.parquet(str(tmp_path / "a"))
    spark.range(1, 90).selectExpr("id AS k", "int(id) AS w").write.parquet(str(tmp_path / "b"))
    left = spark.range(5).selectExpr("id AS k", "id AS v")
    with conf(spark, "spark.skewkit.minRows", "1000"), conf(spark, "spark.sql.files.ignoreCorruptFiles", "true"):
        right = spark.read.schema("k bigint, w int").parquet(str(tmp_path / "a"), str(tmp_path / "b"))
        joined = skew_join(left, right, "k", how, partitions=4)
        assert_same_rows(joined, left.join(right, "k", how))
        assert "the right side's hot keys stay whole: it reads files, of which Spark may skip" in explain(joined)
    assert Seen(right).dropping is None


@pytest.mark.slow
def test_a_look_up_does_not_double_the_plan_of_a_chain(spark, tmp_path):
    """A look-up on the result of joins runs these again, and the next one all of that."""
    spark.range(60_000).selectExpr("if(id % 2 = 0, 0, id % 5000) AS k", "id AS v0").write.parquet(str(tmp_path / "0"))
    chain = plain = spark.read.parquet(str(tmp_path / "0"))
    for number in range(1, 6):
        path = str(tmp_path / str(number))
        spark.range(5000).selectExpr("id AS k", f"id AS v{number}").write.parquet(path)
        other = spark.read.parquet(path)
        chain, plain = skew_join(chain, other, "k", "full", partitions=8), plain.join(other, "k", "full")
    assert physical_plan(chain).count("FileScan parquet") < 3 * physical_plan(plain).count("FileScan parquet")
    assert_same_rows(chain, plain)


def test_texts_that_are_computed_may_be_too_long_for_a_hash_table(spark):
    """Nobody sees how long they are, and a hash table cannot spill."""
    many = spark.range(400_000).selectExpr("id AS k", "repeat(string(id), 4000) AS blob")
    hot = spark.range(2_000_000).selectExpr("if(id % 2 = 0, 0, id % 400000) AS k", "id AS v")
    known = {
        "left_profile": skew_profile(hot, "k", partitions=4),
        "right_profile": skew_profile(many, "k", partitions=4),
    }
    for right, operator in (
        (many, "SortMergeJoin"),
        (many.select("k", F.length("blob").alias("n")), "ShuffledHashJoin"),
    ):
        joined = skew_join(hot, right, "k", strategy="salt", partitions=4, **known)
        assert operator in physical_plan(joined)


def test_explain_invents_no_numbers_for_keys_that_were_named(spark):
    facts = spark.range(9000).selectExpr("id % 900 AS k", "id AS v")
    dims = spark.range(900).selectExpr("id AS k", "id AS w")
    for strategy, heavy in (("broadcast_head", [0, 1, 2]), ("salt", [0]), ("salt", list(range(8)))):
        said = explain(skew_join(facts, dims, "k", "left", heavy=heavy, strategy=strategy, partitions=8))
        assert "these keys were named as hot" in said
        assert not re.search(r"times the mean|00\.0%|rows are sent again|some \d", said.split("  note")[0]), said


def test_tables_that_are_bucketed_by_the_key(spark, tmp_path):
    hot = "if(id % 3 > 0, 0, id % 5000)"
    for name, key in (("bucketed_a", hot), ("bucketed_b", "id % 5000")):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        rows = spark.range(30_000).selectExpr(f"{key} AS k", f"id AS {name}")
        rows.write.option("path", str(tmp_path / name)).bucketBy(3, "k").saveAsTable(name)
    try:
        left, right = spark.table("bucketed_a"), spark.table("bucketed_b").where("bucketed_b < 5000")
        joined = skew_join(left, right, "k", strategy="salt", partitions=3)
        assert_same_rows(joined, left.join(right, "k"))
        assert "side is not shuffled at all, as its table is bucketed by the key" in explain(joined)
    finally:
        for name in ("bucketed_a", "bucketed_b"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_right_frame_of_a_session_whose_groups_lose_their_keys(spark, facts):
    other = spark.newSession()
    other.conf.set("spark.sql.retainGroupColumns", "false")
    right = other.range(60).selectExpr("if(id % 2 = 0, 0, id) AS k", "id AS w")
    joined = skew_join(facts, right, "k", "left")
    assert "retainGroupColumns is off" in explain(joined)
    assert_same_rows(joined, facts.join(right, "k", "left"))


def test_small_frames_of_a_session_with_thousands_of_partitions(spark):
    """Adaptive execution leaves few of them, and what is placed exactly cannot be coalesced."""
    left = spark.range(60_000).selectExpr("if(id % 2 = 0, 0, id % 5000) AS k", "id AS v")
    right = spark.range(5_000).selectExpr("id AS k", "id AS w")
    with conf(spark, "spark.sql.shuffle.partitions", "2000"):
        assert ", 200 partitions" in explain(skew_join(left, right, "k"))
        assert ", 2000 partitions" in explain(skew_join(left.selectExpr("explode(array(k)) AS k", "v"), right, "k"))
        assert ", 2000 partitions" in explain(skew_join(left, right, "k", partitions=2000, heavy=[0]))
        with conf(spark, "spark.sql.adaptive.coalescePartitions.enabled", "false"):
            assert ", 2000 partitions" in explain(skew_join(left, right, "k", heavy=[0]))


def test_null_keys_of_both_sides_are_not_compared_with_each_other(spark, monkeypatch):
    placed = []

    def recorded(df, n, column):
        placed.append(df.select(column.alias("packed"), "v"))
        return place(df, n, column)

    place = joining.place
    monkeypatch.setattr(joining, "place", recorded)
    rows = spark.range(4_000).selectExpr("if(id % 2 = 0, null, id) AS k", "id AS v")
    left, right = rows.select("*"), rows.selectExpr("k AS j", "v")
    joined = skew_join(left, right, left["k"] == right["j"], "full", strategy="salt", partitions=4)
    assert joined.count() == 6_000
    packed = [Counter(row.packed for row in side.where("v % 2 = 0").collect()) for side in placed]
    assert [side.total() for side in packed] == [2_000, 2_000]
    assert sum(rows * packed[1][key] for key, rows in packed[0].items()) <= 2_000


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "full", "anti", "right"])
def test_null_keys_are_spread_where_the_user_names_the_hot_keys(spark, how):
    """Nobody has counted the nulls then."""
    rows = spark.range(8_000).selectExpr("CASE id % 4 WHEN 0 THEN null WHEN 1 THEN id % 90 ELSE 0L END AS k", "id AS v")
    dims = spark.range(90).selectExpr("id AS k", "id AS w")
    left, right = (dims, rows) if how == "right" else (rows, dims)
    joined = skew_join(left, right, "k", how, heavy=[0], partitions=8)
    spread = partition_rows(joined.where("k IS NULL"))
    assert sum(spread) == 2_000
    assert max(spread) < 500
    assert_same_rows(joined, left.join(right, "k", how))


@pytest.mark.connect
def test_texts_that_no_key_can_be_parsed_from_are_left_to_spark(spark, dims):
    """Such a job fails with an error of which PySpark has no class."""
    texts = spark.range(90).selectExpr("id AS v", "if(id % 5 = 0, '{bad', concat('{\"k\":', id % 7, '}')) AS j")
    key = F.from_json("j", "k bigint", {"mode": "FAILFAST"})["k"]
    joined = skew_join(texts, dims, key == dims["k"], "left")
    assert re.search(r"the keys could not be profiled: .*MALFORMED_RECORD_IN_PARSING", explain(joined))
    assert joined.where("v % 5 != 0").count() == texts.join(dims, key == dims["k"], "left").where("v % 5 != 0").count()


def test_what_spark_broadcasts_is_left_to_it_though_keys_are_named(spark, facts, dims):
    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        joined = skew_join(facts, dims, "k", heavy=[0], partitions=3)
        assert "native: Spark broadcasts one side" in explain(joined)
        assert "strategy   salt" in explain(skew_join(facts, dims, "k", heavy=[0], partitions=3, strategy="salt"))


@pytest.mark.parametrize("asked", ["k", pytest.param("w", marks=pytest.mark.slow)])
def test_the_salt_reads_no_text_that_nobody_asks_for(spark, tmp_path, asked):
    """Rows that are malformed in another column are dropped only where that column is read."""
    path = str(tmp_path / "rows")
    lines = [f"{i % 3},{i},none,{i},{i}" for i in range(500)]
    spark.createDataFrame([(line,) for line in lines], "value string").write.text(path)
    rows = spark.read.csv(path, schema="k bigint, v int, x int, y int, z int", mode="DROPMALFORMED").repartition(8)
    dims = spark.range(9).selectExpr("id AS k", "id AS w")
    joined = skew_join(rows, dims, "k", strategy="salt", partitions=4).select(asked)
    assert_same_rows(joined, rows.join(dims, "k").select(asked))


def test_who_cancels_the_profile_s_job_wants_no_other_job(spark):
    slow = F.udf(lambda v: time.sleep(0.5) or v, "bigint")
    rows = spark.range(0, 40_000, 1, 2).select(F.when(F.col("id") < 99, slow("id")).otherwise(F.lit(0)).alias("k"))
    tracker = spark.sparkContext.statusTracker()

    def cancel():
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        spark.sparkContext.cancelAllJobs()

    with conf(spark, "spark.skewkit.minRows", "1000"):
        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(Exception, match=r"(?i)cancelled"):
            skew_join(rows, spark.range(50).toDF("k"), "k", partitions=4)
        thread.join()


@pytest.mark.slow
def test_what_a_group_by_computes_is_neither_salt_nor_steady(spark):
    """EXPLAIN shows what is made of the results of a group-by in the logical plan only."""
    grouped = spark.range(4000).selectExpr("if(id % 3 < 2, 0, id % 50) AS k", "id % 400 AS g", "id AS v")
    left = grouped.groupBy("k", "g").agg((F.lit(1) / (F.max("v") - 3999)).alias("bad"), F.sum("v").alias("s"))
    dims = spark.range(50).selectExpr("id AS k", "id AS w")
    check(left, dims, "k", pick=lambda joined: joined.select("k", "s", "w"))  # nobody asks for `bad`, which fails
    assert {"bad", "s"}.isdisjoint(Seen(left).steady(left.columns, 9))
    inner = grouped.withColumn("x", F.lit(1) / (F.col("v") - 3999)).groupBy("k", "g").agg(F.max("x").alias("worst"))
    check(inner, dims, "k", pick=lambda joined: joined.select("k", "g", "w"))
    for value in (F.rand(), F.floor(F.rand() * 4), F.expr("uuid()"), F.monotonically_increasing_id()):
        changing = grouped.groupBy("k", "g").count().withColumn("r", value)
        assert Seen(changing).varying([F.col("r")]) is not None
        assert "r" not in Seen(changing).steady(changing.columns, 9)
    assert Seen(left).varying([F.col("s")]) is None


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


@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_nulls_that_a_profile_of_another_day_has_not_are_spread(spark, how):
    def rows(name):
        return spark.range(0, 4000, 1, 4).selectExpr("if(id % 2 = 0, NULL, id % 50) AS k", f"id AS {name}")

    left, right = rows("v"), rows("w")
    profiles = [skew_profile(f.where("k IS NOT NULL"), "k", partitions=4) for f in (left, right)]
    given = {"left_profile": profiles[0], "right_profile": profiles[1]}
    joined = skew_join(left, right, "k", how, strategy="salt", partitions=4, **given)
    alone = joined.where("v IS NULL OR w IS NULL").select(F.spark_partition_id().alias("p")).groupBy("p").count()
    spread = [row["count"] for row in alone.collect()]
    assert len(spread) == 4
    assert max(spread) < 1.5 * sum(spread) / 4
    check(left, right, "k", how, **given)
