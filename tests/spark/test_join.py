"""`skew_join` returns the rows, columns and types of `DataFrame.join`; the salted plan shuffles each side once."""

import re

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.api.join.on import join_keys
from skewkit.errors import UnsupportedError
from skewkit.spark.explained.plan_facts import Seen
from skewkit.spark.session.compat import VERSION, explained, physical_plan
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import CASES, KINDS, assert_split, assert_spread, conf, hot_frames

STRATEGIES = ["auto", "native", "broadcast_head", "salt"]
SLOW = pytest.mark.slow
ALIASES = ["leftsemi", "outer", "rightouter", "left_outer", "leftouter", "right_outer", "full_outer", "FULL"]
ALIASES += ["FullOuter", "left_semi", "left_anti", "leftanti", None]


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(4000)


@pytest.fixture(scope="module")
def dimension(spark):
    """One row per key, hot key included; half of the tail is missing, two rows have a null key."""
    keys = spark.range(0, 160).selectExpr("id k", "concat('name ', id) name")
    return keys.unionAll(spark.range(2).selectExpr("cast(null as bigint) k", "'nobody' name")).repartition(3)


@pytest.mark.every(15)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_to_one(facts, dimension, how, strategy, adaptive):
    joined = skewkit.skew_join(facts, dimension, "k", how, strategy=strategy)
    assert assert_same_rows(joined, facts.join(dimension, "k", how)) > 1000


@pytest.mark.every(15)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_many_to_many_with_both_sides_hot(skewed, how, strategy, adaptive):
    left, right = skewed(2000), skewed(300, hot=0.3).withColumnRenamed("v", "w").drop("s")
    joined = skewkit.skew_join(left, right, ["k"], how, strategy=strategy)
    assert assert_same_rows(joined, left.join(right, ["k"], how)) > 50_000


@pytest.mark.every(11)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "left", pytest.param("full", marks=SLOW), "semi"])
@pytest.mark.parametrize("on", [["t"], ["t", "k"]], ids=str)
def test_texts_that_meet_many_rows_are_compared_before(skewed, how, on, connect):
    left, right = (
        frame.selectExpr("if(k = 0, 'hot \"\\u00e9\\u0000', concat('key ', k)) t", "k", "v")
        for frame in (skewed(2000), skewed(300, hot=0.3))
    )
    right = right.withColumnRenamed("v", "w")
    joined = skewkit.skew_join(left, right, on, how, strategy="salt", partitions=4)
    assert assert_same_rows(joined, left.join(right, on, how)) > 100
    if how == "inner" and not connect:
        assert re.search(r"packed#\d+ >= 1073741824\) OR", explained(joined))
    stale = skewkit.skew_profile(left.where("k > 2"), *on, sample="exact")
    joined = skewkit.skew_join(left, right, on, how, strategy="salt", partitions=4, left_profile=stale)
    assert_same_rows(joined, left.join(right, on, how))


def test_texts_of_one_value_in_two_keys(spark):
    left, right = (
        spark.range(rows).selectExpr(f"if(id % {hot} = 0, '', concat('x', id % 50)) s", "id v").selectExpr("*", "s d")
        for rows, hot in ((2000, 2), (300, 3))
    )
    right = right.withColumnRenamed("v", "w")
    joined = skewkit.skew_join(left, right, ["s", "d"], strategy="salt", partitions=4)
    assert assert_same_rows(joined, left.join(right, ["s", "d"])) > 100_000


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_hot_on_the_right_only(facts, dimension, strategy):
    joined = skewkit.skew_join(dimension, facts, "k", "inner", strategy=strategy)
    assert_same_rows(joined, dimension.join(facts, "k", "inner"))
    assert_same_rows(skewkit.skew_join(dimension, facts, "k", "left"), dimension.join(facts, "k", "left"))


@pytest.mark.every(15)
@pytest.mark.parametrize("how", ALIASES)
def test_aliases_of_how(facts, dimension, how):
    joined = skewkit.skew_join(facts, dimension, "k", how)
    assert_same_rows(joined, facts.join(dimension, "k", how))


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


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "broadcast_head", "salt"])
def test_by_condition_columns_and_references_stay(facts, dimension, strategy, connect):
    for on in (facts["k"] == dimension["k"], [dimension["k"] == facts["k"]]):
        joined = skewkit.skew_join(facts, dimension, on, "left", strategy=strategy)
        plain = facts.join(dimension, on, "left")
        assert_same_rows(joined, plain)
        if connect and strategy == "broadcast_head":
            continue  # the union of its branches hides the columns there, which is why `auto` does not take it
        assert_same_rows(
            joined.select(facts["k"], dimension["k"].alias("other"), dimension["name"]),
            plain.select(facts["k"], dimension["k"].alias("other"), dimension["name"]),
        )


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["broadcast_head", "salt"])
def test_self_join_by_alias(facts, strategy):
    a, b = facts.alias("a"), facts.groupBy("k").agg(F.max("v").alias("v")).alias("b")
    on = F.col("a.k") == F.col("b.k")
    joined = skewkit.skew_join(a, b, on, "inner", strategy=strategy).select("a.k", "b.v", "a.s")
    assert_same_rows(joined, a.join(b, on, "inner").select("a.k", "b.v", "a.s"))


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("how", KINDS)
def test_self_join_with_both_sides_hot(skewed, how):
    rows = skewed(300)
    a, b = rows.alias("a"), rows.alias("b")
    on = F.col("a.k") == F.col("b.k")
    joined, plain = skewkit.skew_join(a, b, on, how, strategy="salt", partitions=5), a.join(b, on, how)
    assert_same_rows(joined, plain)
    picks = ["a.k", "a.v"] if how in ("semi", "anti") else ["a.k", "b.k", "b.v", "a.s"]
    assert_same_rows(joined.select(picks), plain.select(picks))
    assert_split(joined)


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "native"])
def test_conditions_without_an_equality_are_left_to_spark(facts, dimension, strategy):
    right = dimension.withColumnRenamed("k", "key")
    on = F.col("k") < F.col("key") - 155
    joined = skewkit.skew_join(facts, right, on, "left", strategy=strategy)
    assert_same_rows(joined, facts.join(right, on, "left"))
    assert "native" in skewkit.explain(joined)


@pytest.mark.every(23)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_hot_keys_in_every_type_of_join(skewed, how, case, adaptive):
    left, right = hot_frames(skewed, case)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    cut = (
        "answered by a look-up"
        if how in ("semi", "anti") and case.startswith("right")
        else f"split {case[:5].strip(',')}"
    )
    assert_split(joined, cut)


@pytest.mark.every(11)
@pytest.mark.connect
@pytest.mark.parametrize("how", KINDS)
def test_both_sides_hot_in_every_type_of_join(skewed, how, adaptive):
    left, right = hot_frames(skewed, "both")
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    assert_split(joined, "answered by a look-up" if how in ("semi", "anti") else "split on both sides")


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("case", ["left, absent right", "right, absent left"])
def test_a_profile_that_is_wrong_about_presence_changes_no_row(skewed, how, case):
    """The profile says that both sides are hot in key 0, and the rows say something else."""
    left, right = hot_frames(skewed, case)
    wrong = skewkit.skew_profile(skewed(2000, hot=0.7), "k", partitions=8)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt", left_profile=wrong, right_profile=wrong)
    assert_split(joined)
    assert_same_rows(joined, left.join(right, "k", how))


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_key_that_the_profile_denies_is_found(skewed, how, side):
    """The profiles say that the hot key is not on the other side, and it is."""
    before = hot_frames(skewed, f"{side}, absent {'right' if side == 'left' else 'left'}")
    left, right = hot_frames(skewed, side)
    profiles = dict(zip(("left_profile", "right_profile"), (skewkit.skew_profile(f, "k") for f in before), strict=True))
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt", **profiles)
    assert_split(joined)
    assert_same_rows(joined, left.join(right, "k", how))


CONDITIONS = {
    "null-safe": lambda k, key, a, b: key.eqNullSafe(k),
    "residual": lambda k, key, a, b: (k == key) & (a % 5 < b % 7),
    "residual, as a list": lambda k, key, a, b: [a % 5 < b % 7, k == key],
    "null-safe with residual": lambda k, key, a, b: k.eqNullSafe(key) & (a % 5 < b % 7),
    "composite, null-safe in part": lambda k, key, a, b: k.eqNullSafe(key) & (a % 2 == b % 2),
}


@pytest.mark.every(23)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("case", ["both", pytest.param("left", marks=SLOW), pytest.param("right", marks=SLOW)])
def test_null_safe_and_residual_conditions(skewed, how, condition, case):
    left, right = hot_frames(skewed, case)
    right = right.toDF("key", *right.columns[1:])
    on = CONDITIONS[condition](F.col("k"), F.col("key"), left[left.columns[1]], right[right.columns[1]])
    joined = skewkit.skew_join(left, right, on, how, partitions=5)
    assert_same_rows(joined, left.join(right, on, how))
    text = skewkit.explain(joined)
    if how == "full" and "residual" in condition:
        assert re.search("a full join keeps .* and the condition is more than an equality of keys", text), text
    elif how in ("inner", case):
        assert re.search("strategy   (salt|broadcast_head): ", text), text
        assert ("\n  residual " in text) == ("residual" in condition), text


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


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["full", "inner", "left", "right"])
@pytest.mark.parametrize("on", [pytest.param("k", marks=SLOW), ["x", "k"]], ids=str)
def test_references_after_a_join_by_name(skewed, how, on, connect):
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


@pytest.mark.every(15)
@pytest.mark.parametrize("how", KINDS)
def test_broadcast_head_in_every_type_of_join_that_can_have_it(skewed, how, adaptive):
    for case in ("left", "right"):
        left, right = hot_frames(skewed, case)
        if how == "full":
            with pytest.raises(UnsupportedError, match="keeps both sides"):
                skewkit.skew_join(left, right, "k", how, strategy="broadcast_head")
            continue
        joined = skewkit.skew_join(left, right, "k", how, strategy="broadcast_head")
        assert_same_rows(joined, left.join(right, "k", how))
        if case == ("right" if how == "right" else "left"):
            assert "BroadcastHashJoin" in explained(joined)


@pytest.mark.every(5)
@pytest.mark.parametrize("how", KINDS)
def test_the_salted_plan_of_every_type_of_join(spark, tmp_path, how):
    """Each side is shuffled once; a look-up is a broadcast; no salt is random and nothing runs in Python."""
    spark.range(4000).selectExpr("if(id % 2 = 0, 0, id % 97) AS k", "id AS v").write.parquet(str(tmp_path / "f"))
    facts = spark.read.parquet(str(tmp_path / "f"))
    few = facts.where("v % 40 = 0").withColumnRenamed("v", "w")
    for left, right in ((facts, few), (few, facts)):
        joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
        plan = explained(joined, "FORMATTED").partition("\n\n")[0]
        lines = [line for line in plan.splitlines() if "Exchange" in line and "Broadcast" not in line]
        looked_up = plan.count("BroadcastExchange")
        assert len(lines) == 2 + looked_up, "a look-up groups the few hot keys before it is broadcast"
        named = re.search("the query reads the (.*) side's keys once more", skewkit.explain(joined))
        assert looked_up == (len(named[1].split(" and ")) if named else 0) <= 1, "one side is copied"
        assert not re.search(r"\brand|Python|Nested|Cartesian", plan)


@pytest.mark.connect
def test_what_is_grouped_by_a_key_has_it_once(spark):
    hot = spark.range(900).selectExpr("if(id % 3 = 0, 7, id) AS k", *(f"id + {i} AS v{i}" for i in range(30)))
    wide = hot.groupBy("k").agg(*(F.max(f"v{i}").alias(f"m{i}") for i in range(30)))
    counts = hot.groupBy("k").count()
    for once in (counts, wide, counts.where("count > 1").select("count", "k")):
        keys = join_keys(once, counts, "k")
        assert keys.left.bare == keys.right.bare == ("k",)
        assert Seen(once).once(keys.left.bare)
    pairs = hot.groupBy(F.col("k").alias("my k"), F.col("v1").alias("k")).count()
    least = hot.where("v1 > (SELECT k FROM (SELECT id AS k FROM range(3) WHERE id > 1) GROUP BY k)").select("k")
    for often in (counts.withColumn("k", F.lit(7)), counts.select(F.col("count").alias("k")), pairs, least, hot):
        assert not Seen(often).once(["k"])
        joined = skewkit.skew_join(often, counts, "k", strategy="salt", partitions=4)
        assert_same_rows(joined, often.join(counts, "k"))


def test_explain_says_what_a_look_up_computes_twice(facts, dimension):
    first = skewkit.skew_join(facts, dimension, "k", "full", strategy="salt")
    text = skewkit.explain(skewkit.skew_join(first, dimension.selectExpr("k", "1 AS one"), "k", "full"))
    assert "the left side's shuffles run twice, once for the look-up: cache() it to save that" in text
    assert "run twice" not in skewkit.explain(first)


@pytest.mark.every(2)
def test_a_chain_of_three_skew_joins_on_different_keys(facts, dimension, adaptive):
    keys = {"s": F.when(F.col("v") % 10 < 3, "1").otherwise(F.col("s")), "w": F.expr("if(v % 10 < 5, 7, v % 50)")}
    joined = plain = facts.withColumns(keys)
    sizes = plain.groupBy("s").agg(F.count("*").alias("n"))
    more = facts.selectExpr("v % 50 AS w").distinct().withColumn("even", F.col("w") % 2 == 0)
    for other, on, how in ((dimension, "k", "full"), (sizes, "s", "left"), (more, "w", "right")):
        joined = skewkit.skew_join(joined, other, on, how, strategy="salt")
        plain = plain.join(other, on, how)
        assert_split(joined, "split left")
    assert_same_rows(joined, plain)
    window = Window.partitionBy("k").orderBy("v")
    assert_same_rows(joined.withColumn("r", F.rank().over(window)), plain.withColumn("r", F.rank().over(window)))


SQL = {
    "a.k = b.k": "salt",
    "(a.k <=> b.k) AND a.v % 3 = b.k % 3": "salt",
    "a.k = b.k AND (a.v BETWEEN 1 AND 900 AND b.name <> 'x = y AND z')": "salt",
    "a.k + 1 == b.k + 1 AND CASE WHEN a.v > 2 AND b.k = 0 THEN a.v % 2 = 0 ELSE true END": "salt",
    "a.k = b.k AND a.v > 3 OR a.v = b.k": "native",
    "NOT a.k <> b.k": "native",
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("on", SQL)
def test_conditions_in_sql(facts, dimension, on):
    left, right = facts.alias("a"), dimension.alias("b")
    joined = skewkit.skew_join(left, right, F.expr(on), "left")
    assert_same_rows(joined, left.join(right, F.expr(on), "left"))
    assert f"strategy   {SQL[on]}" in skewkit.explain(joined)


def test_hot_placeholders_on_either_side_are_named(facts, dimension):
    for left, right in ((facts, dimension), (dimension, facts)):
        text = skewkit.explain(skewkit.skew_join(left, right, "k", strategy="salt"))
        assert "note       0 may stand for no value" in text
        assert re.search(r"\n +0 .*\(a placeholder\?\)", text), text


def test_hot_texts_that_stand_for_no_value_are_named(spark):
    text = "CASE id % 4 WHEN 0 THEN '' WHEN 1 THEN 'unknown' ELSE concat('x', id) END AS s"
    left, right = spark.range(4000).selectExpr(text), spark.range(900).where("id % 4 > 1").selectExpr(text, "id AS w")
    shown = skewkit.explain(skewkit.skew_join(left, right, "s", "left"))
    assert "strategy   native" not in shown, shown
    assert re.search("note       ('' and 'unknown'|'unknown' and '') may stand for no value", shown), shown
    assert len(re.findall(r"\(a placeholder\?\)", shown)) == 2, shown


def test_column_order_and_duplicate_names(facts, dimension):
    left = facts.select("v", "s", "k").withColumn("name", F.lit("left"))
    joined = skewkit.skew_join(left, dimension, "k", "left", strategy="salt")
    assert joined.columns == ["k", "v", "s", "name", "name"]
    assert_same_rows(joined, left.join(dimension, "k", "left"))
    doubled = facts.select("v", "v", "k")
    assert_same_rows(skewkit.skew_join(doubled, dimension, "k", strategy="salt"), doubled.join(dimension, "k"))


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "right"])
def test_keys_stay_themselves_beside_columns_that_share_a_name(skewed, how):
    left, right = skewed(300).select("v", "v", "k").alias("a"), skewed(300).selectExpr("v AS w", "k").alias("b")
    joined, plain = skewkit.skew_join(left, right, "k", how, strategy="salt"), left.join(right, "k", how)
    assert joined.schema == plain.schema
    picks = [left["k"], right["k"], right["w"], "a.k", "b.k"]
    assert_same_rows(joined.select(*picks), plain.select(*picks))


def test_helper_names_do_not_clash(facts, dimension):
    left = facts.withColumn("_skew_hash", F.lit(1)).withColumn("_SKEW_l_packed", F.col("v"))
    right = dimension.withColumn("_skew_heavy", F.lit(2)).withColumn("_skew_r_key0", F.lit(3))
    for strategy in ("broadcast_head", "salt"):
        joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
        assert_same_rows(joined, left.join(right, "k", "left"))


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
def test_key_types(skewed, key, how, strategy):
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


@pytest.mark.slow
def test_integers_of_different_width(facts, dimension):
    narrow = dimension.withColumn("k", F.col("k").cast("int"))
    for strategy in ("broadcast_head", "salt"):
        assert_same_rows(
            skewkit.skew_join(facts, narrow, "k", "left", strategy=strategy), facts.join(narrow, "k", "left")
        )
        assert_same_rows(skewkit.skew_join(narrow, facts, "k", strategy="salt"), narrow.join(facts, "k"))


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", ["salt", "broadcast_head"])
def test_any_profile_gives_the_same_rows(spark, facts, dimension, how, strategy):
    true = skewkit.skew_profile(facts, "k")
    old = skewkit.skew_profile(spark.range(50).selectExpr("id % 3 + 5 k"), "k", partitions=3)
    other_type = skewkit.skew_profile(spark.range(50).selectExpr("cast(0 as int) k"), "k")
    expected = facts.join(dimension, "k", how)
    for profile in (true, old, other_type, true.merge(old) if len(true.tail) >= len(old.tail) else true, true.decay(0)):
        joined = skewkit.skew_join(facts, dimension, "k", how, strategy=strategy, left_profile=profile)
        assert_same_rows(joined, expected)


@pytest.mark.every(5)
@pytest.mark.parametrize("partitions", [1, 2, 7, 100])
def test_any_number_of_partitions_and_named_keys(facts, dimension, partitions):
    joined = skewkit.skew_join(facts, dimension, "k", "left", heavy=[0, 1, 999], partitions=partitions)
    assert_same_rows(joined, facts.join(dimension, "k", "left"))
    assert "named" in skewkit.explain(joined)


def test_empty_sides(facts, dimension):
    none = facts.where("v < 0")
    for left, right in ((none, dimension), (facts, dimension.where("k < 0"))):
        for strategy in STRATEGIES:
            joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
            assert_same_rows(joined, left.join(right, "k", "left"))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_salted_plan(facts, dimension, how):
    joined = skewkit.skew_join(facts, dimension, "k", how, strategy="salt", partitions=16)
    plan = explained(joined, "EXTENDED").rpartition("== Physical Plan ==")[2]
    assert plan.count("Exchange") == 2 + explained(dimension, "EXTENDED").rpartition("== Physical")[2].count("Exchange")
    assert "rand(" not in plan.lower()
    assert "Python" not in plan
    assert plan.count("isnotnull(_skew") == plan.count("isnotnull(CASE") == 0, "the packed key is never null"
    assert max(rows := partition_rows(joined)) <= 1.3 * sum(rows) / 16, "some 190 rows each, drawn by hash"


def test_a_small_side_is_left_to_sparks_broadcast(spark, facts, dimension):
    from tests.helpers import conf

    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        joined = skewkit.skew_join(facts, dimension, "k")
        assert "Spark broadcasts one side" in skewkit.explain(joined)


def test_even_keys_are_left_to_spark(spark):
    even = spark.range(3000).selectExpr("id % 500 k", "id v")
    joined = skewkit.skew_join(even, even.select("k").distinct(), "k")
    assert "hashing is level" in skewkit.explain(joined)


def test_a_source_that_must_not_be_read_twice_is_salted(facts, dimension):
    limited = facts.limit(3000)
    joined = skewkit.skew_join(limited, dimension, "k")
    assert "salt: " in skewkit.explain(joined)
    assert "limit" in skewkit.explain(joined)


def test_chained_joins_and_a_group_by_after(facts, dimension):
    sizes = facts.groupBy("s").agg(F.count("*").alias("n"))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt")
    joined = skewkit.skew_join(joined, sizes, "s", strategy="salt").groupBy("k").agg(F.sum("n").alias("n"))
    assert_same_rows(
        joined, facts.join(dimension, "k", "left").join(sizes, "s").groupBy("k").agg(F.sum("n").alias("n"))
    )


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


def test_rows_that_are_all_alike_are_spread(spark, tmp_path):
    spark.range(8000).selectExpr("if(id % 4 < 3, 'hot', cast(id as string)) k", "id % 2 = 0 flag").write.parquet(
        str(tmp_path / "alike")
    )
    df = spark.read.parquet(str(tmp_path / "alike"))
    for left in (df, df.select("k")):
        joined = skewkit.skew_join(left, df.select("k").distinct().withColumn("x", F.lit(1)), "k", strategy="salt")
        rows = partition_rows(joined)
        assert max(rows) <= 1.15 * sum(rows) / 8
        assert sum(rows) == 8000


def test_a_broadcast_needs_a_right_side_that_was_measured(facts, dimension):
    profile = skewkit.skew_profile(facts, "k")
    joined = skewkit.skew_join(facts, dimension, "k", left_profile=profile)
    assert "salt: " in skewkit.explain(joined)
    assert "was not profiled" in skewkit.explain(joined)


def test_a_side_of_an_rdd_is_read_once(spark):
    """Nobody sees what makes an RDD: this one has other rows whenever it is computed."""

    def drawn(rows):
        import random

        return ((random.choice((1, 1, 1, 2, 3)), i) for i in rows)

    rdd = spark.sparkContext.parallelize(range(4000), 4).mapPartitions(drawn)
    frame = spark.createDataFrame(rdd, "k bigint, v bigint")
    keys = spark.range(1, 4).withColumnRenamed("id", "k")
    for left, right, how in ((frame, keys, "right"), (keys, frame, "left"), (frame, keys, "full")):
        joined = skewkit.skew_join(left, right, "k", how, heavy=[1], partitions=4)
        assert "salt: " in skewkit.explain(joined)
        assert len(re.findall("Scan ExistingRDD", physical_plan(joined))) == 1, how
        assert joined.count() == 4000, how
    joined = skewkit.skew_join(frame, frame, "k", "full", heavy=[1], partitions=4)
    assert "comes from an RDD, which may hold other rows the second time" in skewkit.explain(joined)
    listed = spark.createDataFrame([(i % 3, i) for i in range(90)], "k bigint, v bigint")
    for how, strategy in (("full", "salt"), ("left", "salt"), ("inner", "broadcast_head")):
        ours = skewkit.skew_join(listed, listed.withColumnRenamed("v", "w"), "k", how, strategy=strategy, partitions=4)
        assert f"strategy   {strategy}" in skewkit.explain(ours), "who asks for it trusts the RDD"
        assert_same_rows(ours, listed.join(listed.withColumnRenamed("v", "w"), "k", how))
    kept = frame.cache()
    kept.count()
    full = skewkit.skew_join(kept, keys, "k", "full", strategy="salt", partitions=4)
    assert_same_rows(full, kept.join(keys, "k", "full"))
    kept.unpersist()
