"""Names and references of joins: every column that is found after the plain join is found after ours."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import SkewkitError, skew_join, skew_profile
from skewkit.errors import UnsupportedError
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.join.cases import SLOW, TREATED, check

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


HIDDEN = {
    "right key": lambda joined, left, right: joined.select(left["k"], right["k"], "k", "a.k", "b.k", right["s"]),
    "where": lambda joined, left, right: joined.where(right["k"].isNull() | left["k"].isNull()),
    "drop right": lambda joined, left, right: joined.drop(right["k"]),
    "drop left": lambda joined, left, right: joined.drop(left["k"]),
    "stars": lambda joined, left, right: joined.select("b.*", "a.*"),
    "composite": lambda joined, left, right: joined,
}


@pytest.mark.every(7)
@pytest.mark.parametrize("strategy", TREATED)
@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
def test_the_key_that_does_not_show(facts, dims, how, strategy):
    """Some columns cannot be null, both frames have columns of a name, and keys do not come first."""
    left, right = facts.select("v", "k", "x", "s").alias("a"), dims.select("x", "w", "k", "s").alias("b")
    hidden = HIDDEN if how in ("inner", "left", "right") else {"all": lambda joined, left, right: joined.select("a.*")}
    joined = {on: skew_join(left, right, list(on), how, strategy=strategy) for on in (("k",), ("x", "k"))}
    for name, pick in hidden.items():
        on = ("x", "k") if name == "composite" else ("k",)
        plain = pick(left.join(right, list(on), how), left, right)
        assert pick(joined[on], left, right).columns == plain.columns
        assert_same_rows(pick(joined[on], left, right), plain)


def test_a_union_that_would_lose_the_key_that_does_not_show_is_not_chosen(facts, dims):
    pairs = {
        "two columns of a frame share a name": (facts.select("v", "v", "k", "x"), dims),
        "both frames have the very same columns": (facts, facts.groupBy("k").agg(F.max("v").alias("w"))),
    }
    for why, (left, right) in pairs.items():
        assert "strategy   broadcast_head" not in skewkit.explain(skew_join(left, right, "k"))
        asked_for = skew_join(left, right, "k", strategy="broadcast_head")
        assert why in skewkit.explain(asked_for)
        assert_same_rows(asked_for, left.join(right, "k"))


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["inner", "right"])
@pytest.mark.parametrize("name", ["user.id", "x y", "t`k"])
def test_a_key_with_an_odd_name_that_does_not_show(facts, dims, name, how):
    left, right = (frame.withColumnRenamed("k", name).alias(each) for frame, each in ((facts, "a"), (dims, "b")))
    literal = f"`{name.replace('`', '``')}`"
    picks = [left[literal], right[literal], "a.*", "b.*", f"a.{literal}", f"b.{literal}", right["s"]]
    for strategy in TREATED:
        check(left, right, name, how, strategy, pick=lambda joined: joined.select(*picks))


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
def test_a_frame_with_the_alias_of_a_helper(facts, dims):
    odd = facts.selectExpr("*", "1 AS t", "2 AS p", "1 AS a").alias("_skew_entry")
    check(odd, dims, "k", "full", heavy=[0, 1])


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


def test_a_condition_on_one_column_of_both_frames_says_what_to_do(spark, facts):
    counts = facts.groupBy("k").count()
    assert_same_rows(skew_join(facts, counts, facts["k"] == counts["k"]), facts.join(counts, facts["k"] == counts["k"]))
    with pytest.raises(UnsupportedError, match="join by name, or rename the key"):
        skew_join(facts, counts, facts["k"] == counts["k"], strategy="salt")


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "broadcast_head", "salt"])
def test_by_condition_columns_and_references_stay(sales, dimension, strategy, connect):
    for on in (sales["k"] == dimension["k"], [dimension["k"] == sales["k"]]):
        joined = skewkit.skew_join(sales, dimension, on, "left", strategy=strategy)
        plain = sales.join(dimension, on, "left")
        assert_same_rows(joined, plain)
        if connect and strategy == "broadcast_head":
            continue  # the union of its branches hides the columns there, which is why `auto` does not take it
        assert_same_rows(
            joined.select(sales["k"], dimension["k"].alias("other"), dimension["name"]),
            plain.select(sales["k"], dimension["k"].alias("other"), dimension["name"]),
        )


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["broadcast_head", "salt"])
def test_self_joins_of_a_skewed_frame(sales, strategy):
    a, b = sales.alias("a"), sales.groupBy("k").agg(F.max("v").alias("v")).alias("b")
    on = F.col("a.k") == F.col("b.k")
    joined = skewkit.skew_join(a, b, on, "inner", strategy=strategy).select("a.k", "b.v", "a.s")
    assert_same_rows(joined, a.join(b, on, "inner").select("a.k", "b.v", "a.s"))


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["full", "inner", "left", "right"])
@pytest.mark.parametrize("on", [pytest.param("k", marks=SLOW), ["x", "k"]], ids=str)
def test_columns_of_either_frame_after_a_join(skewed, how, on, connect):
    """Spark hides the keys that do not show, but they can be named; all other columns stay the frames' own."""
    left = skewed(300).selectExpr("v", "k", "v % 3 AS x", "s").alias("a")
    right = skewed(300).selectExpr("v % 3 AS x", "k", "v AS w", "s").where("w % 2 = 0").alias("b")
    right = right.selectExpr("nullif(x, 7) AS x", "k", "nullif(w, -1) AS w", "s").alias("b")
    joined, plain = skewkit.skew_join(left, right, on, how, strategy="salt"), left.join(right, on, how)
    picks = [
        lambda frame: frame.select(left["k"], right["k"], "k"),
        lambda frame: frame.select(left["s"], right["s"], right["w"], left["x"], right["x"]),
        lambda frame: frame.select("a.k", "b.k", "b.w"),
        lambda frame: frame.where(right["k"].isNull()),
        lambda frame: frame.select("b.*"),
    ]
    for pick in picks:
        assert_same_rows(pick(joined), pick(plain))


def test_column_order_and_duplicate_names(sales, dimension):
    left = sales.select("v", "s", "k").withColumn("name", F.lit("left"))
    joined = skewkit.skew_join(left, dimension, "k", "left", strategy="salt")
    assert joined.columns == ["k", "v", "s", "name", "name"]
    assert_same_rows(joined, left.join(dimension, "k", "left"))
    doubled = sales.select("v", "v", "k")
    assert_same_rows(skewkit.skew_join(doubled, dimension, "k", strategy="salt"), doubled.join(dimension, "k"))


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "right"])
def test_keys_stay_themselves_beside_columns_that_share_a_name(skewed, how):
    left, right = skewed(300).select("v", "v", "k").alias("a"), skewed(300).selectExpr("v AS w", "k").alias("b")
    joined, plain = skewkit.skew_join(left, right, "k", how, strategy="salt"), left.join(right, "k", how)
    assert joined.schema == plain.schema
    picks = [left["k"], right["k"], right["w"], "a.k", "b.k"]
    assert_same_rows(joined.select(*picks), plain.select(*picks))


def test_helper_names_do_not_clash(sales, dimension):
    left = sales.withColumn("_skew_hash", F.lit(1)).withColumn("_SKEW_l_packed", F.col("v"))
    right = dimension.withColumn("_skew_heavy", F.lit(2)).withColumn("_skew_r_key0", F.lit(3))
    for strategy in ("broadcast_head", "salt"):
        joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
        assert_same_rows(joined, left.join(right, "k", "left"))
