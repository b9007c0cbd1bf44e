"""`skew_groupby` returns the rows, columns and types of `DataFrame.groupBy`; hot groups are computed in parts."""

import pandas as pd
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import KeyTypeError
from skewkit.plan.placement.schemes import SCHEMES
from skewkit.testing import assert_same_rows
from tests.helpers import explained


def lists():
    """Return aggregates with large states, and some that Spark combines, beside them."""
    return [
        F.collect_list("v").alias("vs"),
        F.collect_set("v").alias("set"),
        F.sum("v"),
        F.count("*").alias("n"),
        F.mean("v"),
        F.min("s"),
        F.max("s").alias("S"),
    ]


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(3000)


def spread(key, frame):
    """Return one row per key: the key, its rows, the sum and the greatest value."""
    return pd.DataFrame({"k": [key[0]], "n": [len(frame)], "total": [frame["v"].sum()], "top": [frame["v"].max()]})


def together(frame):
    """Merge what `spread` returned."""
    return frame.groupby("k", as_index=False, dropna=False).agg({"n": "sum", "total": "sum", "top": "max"})


SPREAD = "k bigint, n bigint, total bigint, top bigint"


@pytest.mark.every(23)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "native", *SCHEMES])
def test_aggregates(facts, strategy, adaptive):
    grouped = skewkit.skew_groupby(facts, "k", strategy=strategy).agg(*lists())
    assert assert_same_rows(grouped, facts.groupBy("k").agg(*lists()), unordered=("vs", "set")) > 290
    if strategy != "auto":
        assert f"strategy   {strategy}" in skewkit.explain(grouped)


@pytest.mark.parametrize("kind", ["double", "float"])
def test_medians_of_negative_zeros(spark, kind):
    rows = [(i % 2 if i % 10 < 8 else i, 0.0 if i % 2 else -0.0) for i in range(1000)]
    df = spark.createDataFrame(rows, f"k int, d {kind}")
    asked = [F.median("d").cast("string").alias("m"), F.percentile("d", 0.1).cast("string").alias("p")]
    plain = df.groupBy("k").agg(*asked)
    assert plain.where("k = 0").first()[1:] == ("-0.0", "-0.0")
    assert_same_rows(skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).agg(*asked), plain)


@pytest.mark.slow
def test_medians_of_many_columns_are_left_to_spark(facts):
    """Each would be computed from a reading of the hot rows of its own."""
    df = facts.select("k", *((F.col("v") % (90 + i)).alias(f"c{i}") for i in range(9)))
    medians = [F.median(f"c{i}") for i in range(9)]
    assert "the rows of hot keys would be read 9 times" in skewkit.explain(skewkit.skew_groupby(df, "k").agg(*medians))
    asked = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).agg(*medians)
    assert_same_rows(asked, df.groupBy("k").agg(*medians))


def test_maps_are_no_keys(spark):
    df = spark.range(90).selectExpr("map('a', id % 2) AS m", "named_struct('m', map(id % 2, 'a')) AS s", "id AS v")
    for key in ("m", "s"):
        with pytest.raises(KeyTypeError, match=f"key column '{key}' is a .*map"):
            skewkit.skew_groupby(df, key)


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "native", "wrap", "dkg"])
@pytest.mark.parametrize("merge", [None, together], ids=["whole", "merge"])
def test_group_functions(facts, strategy, merge):
    grouped = skewkit.skew_groupby(facts, "k", strategy=strategy).applyInPandas(spread, SPREAD, merge=merge)
    assert_same_rows(grouped, facts.groupBy("k").applyInPandas(spread, SPREAD))


@pytest.mark.connect
def test_a_hot_group_is_cut_and_merged_once(spark, facts):
    from tests.helpers import conf

    def part(frame):
        return pd.DataFrame({"k": frame["k"].iloc[:1], "rows": [len(frame)], "parts": [1], "merges": [0]})

    def merge(key, frame):
        return pd.DataFrame(
            {"k": [key[0]], "rows": [frame["rows"].sum()], "parts": [len(frame)], "merges": [frame["merges"].sum() + 1]}
        )

    schema = "k bigint, rows bigint, parts bigint, merges bigint"
    with conf(spark, "spark.skewkit.groupRows", "100"):
        grouped = skewkit.skew_groupby(facts, "k", strategy="wrap").applyInPandas(part, schema, merge=merge)
    by_key = {row.k: row for row in grouped.collect()}
    truth = {row.k: row["count"] for row in facts.groupBy("k").count().collect()}
    assert {key: row.rows for key, row in by_key.items()} == truth
    assert by_key[0].parts >= truth[0] / 100, "sub-groups of about 100 rows"
    assert by_key[0].merges == 1
    assert by_key[None].merges == 1, "a hot null key is a key like any other"
    assert all(by_key[key].merges == 0 for key in truth if truth[key] < 20), "cold keys see no merge"


def test_group_functions_keep_what_spark_gives_them(spark):
    df = spark.range(400).selectExpr(
        "if(id < 300, 'hot', cast(id as string)) k",
        "if(id % 7 = 0, null, 9007199254740993 + id) big",
        "timestamp_ntz'2024-01-01' + make_dt_interval(0, id) at",
        "array(id) list",
    )

    def keep(frame):
        return frame[["at", "k", "list"]].assign(nulls=frame["big"].isna().sum())

    def first_of(frame):
        return frame.sort_values("at").assign(nulls=frame["nulls"].groupby(frame["nulls"].index).first().sum())

    schema = "k string, list array<bigint>, at timestamp_ntz, nulls bigint"
    plain = df.groupBy("k").applyInPandas(keep, schema).drop("nulls")
    ours = skewkit.skew_groupby(df, "k", strategy="wrap").applyInPandas(keep, schema, merge=first_of).drop("nulls")
    assert assert_same_rows(ours, plain) == 400


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "wrap"])
def test_positional_and_empty_results(facts, strategy):
    def positional(frame):
        return pd.DataFrame({0: frame["k"].iloc[:1], 1: [len(frame)]}) if len(frame) > 20 else pd.DataFrame()

    plain = facts.groupBy("k").applyInPandas(positional, "k bigint, n bigint")
    ours = skewkit.skew_groupby(facts, "k", strategy=strategy).applyInPandas(positional, "k bigint, n bigint")
    assert_same_rows(ours, plain)


@pytest.mark.every(5)
@pytest.mark.parametrize("strategy", ["auto", "wrap"])
@pytest.mark.parametrize(
    ("shorthand", "columns"),
    [("count", ()), ("sum", ("v",)), ("avg", ()), ("mean", ("v",)), ("min", ("v", "k")), ("max", ())],
)
def test_shorthands(facts, shorthand, columns, strategy):
    numeric = facts.drop("s")
    ours = getattr(skewkit.skew_groupby(numeric, "k", strategy=strategy), shorthand)(*columns)
    plain = getattr(numeric.groupBy("k"), shorthand)(*columns)
    assert_same_rows(ours, plain)


def test_what_spark_combines_itself_stays_native(facts):
    grouped = skewkit.skew_groupby(facts, "k").agg(F.sum("v"), F.count("*"))
    assert "Spark combines sum, count before the shuffle" in skewkit.explain(grouped)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (lambda: (F.max("v") + F.col("k")).alias("x"), "the column k is read outside of an aggregate"),
        (lambda: F.sum("v").over(Window.partitionBy("k")).alias("x"), "no aggregate of Spark's own"),
        (lambda: F.struct(F.sum("v")).alias("x"), "give them an alias"),
        (lambda: F.upper("k").alias("x"), "the column k is read"),
        (lambda: F.expr("sum(v) over (partition by k)").alias("x"), "left to Spark"),
    ],
)
def test_what_cannot_be_taken_apart_is_computed_natively(facts, expr, reason):
    exprs = F.collect_set("v").alias("set"), expr()
    try:
        plain = facts.groupBy("k").agg(*exprs)
    except AnalysisException:
        with pytest.raises(skewkit.SkewkitError, match="Spark refuses this call"):
            skewkit.skew_groupby(facts, "k", strategy="wrap").agg(*exprs)
        return
    grouped = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(*exprs)
    assert_same_rows(grouped, plain, unordered=("set",))
    assert "strategy   native" in skewkit.explain(grouped)
    assert reason in skewkit.explain(grouped)


def test_a_dict_of_a_field_is_left_to_spark_which_names_its_result(facts):
    df = facts.selectExpr("k", "struct(v AS x) AS st")
    ours = skewkit.skew_groupby(df, "k", strategy="wrap").agg({"st.x": "median"})
    assert_same_rows(ours, df.groupBy("k").agg({"st.x": "median"}))
    assert "pass Columns instead" in skewkit.explain(ours)


def test_an_empty_dict_gives_the_keys(facts):
    ours = skewkit.skew_groupby(facts, "k", strategy="wrap").agg({})
    assert_same_rows(ours, facts.groupBy("k").agg({}))
    assert "without an aggregate" in skewkit.explain(ours)


@pytest.mark.slow
def test_dicts_are_taken_as_spark_takes_them(facts):
    assert_same_rows(skewkit.skew_groupby(facts, "k").agg({"v": "max"}), facts.groupBy("k").agg({"v": "max"}))
    for names in ({"v": "count", "s": "collect_set", "k": "mean"}, {"s": "collect_list", "v": "avg"}, {"v": "median"}):
        ours = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(names)
        assert "strategy   wrap" in skewkit.explain(ours)
        assert_same_rows(ours, facts.groupBy("k").agg(names), unordered=("collect_list(s)", "collect_set(s)"))


@pytest.mark.every(7)
@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (lambda: ["k", "s"], "v"),
        (lambda: [F.col("k") % 2], "s"),
        (lambda: [F.upper("s").alias("S"), "k"], "v"),
        (lambda: ["f"], "f"),
        (lambda: ["st"], "d"),
    ],
)
def test_keys_and_values_of_other_types(facts, keys, values):
    df = facts.selectExpr(
        "*",
        "if(k = 0, double('NaN'), if(k = 1, double('-0.0'), if(k = 2, double('0.0'), double(k)))) f",
        "struct(k, if(k = 1, null, 1) as one) st",
        "cast(v as decimal(20,2)) d",
    )
    exprs = F.collect_set(values).alias("set"), F.collect_list(values).alias("list"), F.count(values).alias("n")
    ours = skewkit.skew_groupby(df, *keys(), strategy="wrap").agg(*exprs)
    assert_same_rows(ours, df.groupBy(*keys()).agg(*exprs), unordered=("set", "list"))


def test_sums_of_decimals_keep_their_type(facts):
    df = facts.withColumn("d", F.col("v").cast("decimal(20,2)"))
    exprs = F.sum("d"), F.collect_list("d").alias("ds")
    ours = skewkit.skew_groupby(df, "k", strategy="wrap").agg(*exprs)
    assert_same_rows(ours, df.groupBy("k").agg(*exprs), unordered=("ds",))


def test_any_profile_gives_the_same_rows(spark, facts):
    expected = facts.groupBy("k").agg(*lists())
    true = skewkit.skew_profile(facts, "k")
    old = skewkit.skew_profile(spark.range(50).selectExpr("id % 3 + 5 k"), "k", partitions=3)
    for arguments in ({"profile": true}, {"profile": old}, {"profile": true.decay(0)}, {"heavy": [0, None, 77]}):
        ours = skewkit.skew_groupby(facts, "k", strategy="wrap", **arguments).agg(*lists())
        assert_same_rows(ours, expected, unordered=("vs", "set"))


def test_frames_that_hold_nothing_but_the_key(facts):
    only = facts.select("k")
    ours = skewkit.skew_groupby(only, "k", strategy="wrap").agg(F.collect_list("k").alias("ks"))
    assert_same_rows(ours, only.groupBy("k").agg(F.collect_list("k").alias("ks")))


def test_odd_names_and_doubled_columns(facts):
    odd = facts.toDF("a.b", "_skew_heavy", "x y`z").select("*", F.col("`_skew_heavy`").alias("_skew_heavy"))
    ours = skewkit.skew_groupby(odd, "`a.b`", strategy="wrap").agg(F.collect_set("`x y``z`").alias("set"))
    assert_same_rows(ours, odd.groupBy("`a.b`").agg(F.collect_set("`x y``z`").alias("set")), unordered=("set",))


def test_payloads_without_a_hash(facts):
    df = facts.withColumn("m", F.create_map("s", "v"))
    ours = skewkit.skew_groupby(df, "k", strategy="wrap").agg(F.collect_list("m").alias("ms"))
    plain = df.groupBy("k").agg(F.collect_list("m").alias("ms"))
    assert_same_rows(ours.select("k", F.explode("ms").alias("m")), plain.select("k", F.explode("ms").alias("m")))


def test_collated_keys_are_left_to_spark(spark):
    df = spark.range(100).selectExpr("if(id % 2 = 0, 'A', 'a') collate utf8_lcase k", "id v")
    ours = skewkit.skew_groupby(df, "k").agg(F.collect_set("v").alias("set"))
    assert ours.count() == 1
    assert "collation" in skewkit.explain(ours)
    with pytest.raises(skewkit.SkewkitError, match="collation"):
        skewkit.skew_groupby(df, "k", strategy="wrap")


def test_both_branches_share_one_exchange(facts, connect):
    if connect:
        pytest.skip("the executed plan is read from a classic frame")
    grouped = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(F.collect_list("v").alias("vs"))
    executed = grouped._jdf.queryExecution()
    executed.executedPlan().executeCollect()
    final = executed.executedPlan().toString().partition("== Initial Plan ==")[0]
    assert "isFinalPlan=true" in final, "adaptive execution is on, and the plan is the one that ran"
    placed = [line for line in final.splitlines() if "REPARTITION_BY_NUM" in line]
    assert sorted("ReusedExchange" in line for line in placed) == [False, True]
    plan = explained(grouped, "EXTENDED").rpartition("== Physical Plan ==")[2].partition("== Initial Plan ==")[0]
    assert "rand(" not in plan.lower()
    assert "Python" not in plan
    assert plan.count("ENSURE_REQUIREMENTS") == 1, "only the merge of the hot keys adds an exchange"


def test_composite_keys_whose_nulls_hash_alike(spark):
    df = spark.range(900).selectExpr("if(id % 3 = 0, 5, null) a", "if(id % 3 = 1, 5, null) b", "id v")
    exprs = F.collect_list("v").alias("vs"), F.count("*").alias("n")
    ours = skewkit.skew_groupby(df, "a", "b", strategy="wrap").agg(*exprs)
    assert assert_same_rows(ours, df.groupBy("a", "b").agg(*exprs), unordered=("vs",)) == 3

    def count(key, frame):
        return pd.DataFrame({"a": [key[0]], "b": [key[1]], "n": [len(frame)]}).astype("Int64")

    def total(key, frame):
        return pd.DataFrame({"a": [key[0]], "b": [key[1]], "n": [frame["n"].sum()]}).astype("Int64")

    schema = "a bigint, b bigint, n bigint"
    ours = skewkit.skew_groupby(df, "a", "b", strategy="wrap").applyInPandas(count, schema, merge=total)
    assert assert_same_rows(ours, df.groupBy("a", "b").applyInPandas(count, schema)) == 3


def test_a_computed_key_is_computed_once(spark):
    df = spark.range(2000).repartition(3).selectExpr("id v")
    ours = skewkit.skew_groupby(df, F.floor(F.rand(3) * 5).alias("k"), strategy="wrap").agg(
        F.collect_list("v").alias("vs")
    )
    assert ours.count() == 5
    assert ours.select(F.sum(F.size("vs"))).first()[0] == 2000


def test_stars_and_whole_rows(facts):
    exprs = F.collect_list(F.struct("*")).alias("rows"), F.count("*").alias("n")
    ours = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(*exprs)
    assert_same_rows(ours, facts.groupBy("k").agg(*exprs), unordered=("rows",))


def test_an_overflowing_sum_of_decimals_is_null_as_in_spark(spark):
    from tests.helpers import conf

    df = spark.range(90).selectExpr("0 k", "id v", "cast(repeat('9', 38) as decimal(38,0)) d")
    exprs = F.sum("d").alias("total"), F.collect_list("v").alias("vs")
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap").agg(*exprs)
        assert_same_rows(ours, df.groupBy("k").agg(*exprs), unordered=("vs",))


def test_schemas_are_those_of_spark(facts):
    ours = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(*lists())
    assert ours.schema == facts.groupBy("k").agg(*lists()).schema


def test_sets_of_few_values_stay_native(facts):
    grouped = skewkit.skew_groupby(facts, "k").agg(F.collect_set("s").alias("set"))
    assert "partial sets are small" in skewkit.explain(grouped)
    assert "strategy   wrap" in skewkit.explain(skewkit.skew_groupby(facts, "k").agg(F.collect_set("v").alias("set")))


def test_values_that_repeat_in_the_frame_but_not_in_a_task(spark):
    key, value = "if(id % 10 < 6, 0, id) AS k", "pmod(xxhash64(id), 4000) AS v"
    for tasks, said in ((16, "strategy   wrap"), (1, "partial sets are small")):
        df = spark.range(0, 100_000, 1, tasks).selectExpr(key, value)
        assert said in skewkit.explain(skewkit.skew_groupby(df, "k").agg(F.collect_set("v").alias("set")))


def test_without_group_columns(spark, facts):
    from tests.helpers import conf

    exprs = [F.collect_list("v").alias("vs")]
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        ours = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(*exprs)
        plain = facts.groupBy("k").agg(*exprs)
    assert ours.columns == ["vs"]
    assert_same_rows(ours, plain, unordered=("vs",))


def test_percentiles_are_cut_by_values_that_repeat_and_by_ranges_of_those_that_do_not(spark):
    facts = spark.range(60_000).selectExpr("if(id % 5 < 4, 0, id % 977) AS k", "id AS u", "id % 9001 AS v")
    groups = skewkit.skew_groupby(facts, "k", partitions=8)
    assert "native: the values hardly repeat" in skewkit.explain(groups.agg(F.percentile("u", 0.5, F.lit(2))))
    assert "strategy   wrap" in skewkit.explain(groups.agg(F.collect_set("u")))
    for name, how in (("v", "cut by the hash of the values"), ("u", "counts by ranges of the values")):
        found = groups.agg(F.median(name).alias("m"))
        assert how in skewkit.explain(found)
        assert_same_rows(found, facts.groupBy("k").agg(F.median(name).alias("m")))
