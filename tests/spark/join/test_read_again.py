"""Sides that may differ when they are read again are read once."""

import re
from collections import Counter

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

from skewkit import SkewkitError, explain, skew_join
from skewkit.errors import UnsupportedError
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.testing import assert_same_rows
from tests.helpers import KINDS, conf, explained
from tests.spark.join.cases import check


def random_keys(frames):
    import random

    for frame in frames:
        yield frame.assign(k=[random.randrange(20) for _ in range(len(frame))])


def test_frames_that_differ_from_one_reading_to_the_next_are_read_once(spark):
    """Every row of the Python side has one of 20 keys, and all 20 are on the other side: none is lost or doubled."""
    stable = spark.range(0, 2000, 1, 3).selectExpr("if(id % 3 > 0, 0, id % 20) AS k", "id AS v")
    fickle = spark.range(0, 3000, 1, 2).selectExpr("id AS w", "0L AS k").mapInPandas(random_keys, "w long, k long")
    joined = skew_join(stable, fickle, "k", partitions=4)
    assert joined.select("w").distinct().count() == 3000
    one_each = spark.range(20).withColumnRenamed("id", "k")
    hot = fickle.withColumn("k", F.when(F.col("k") < 9, 0).otherwise(F.col("k")))
    assert skew_join(hot, one_each, "k", "left", partitions=4).count() == 3000
    try:
        asked_for = skew_join(hot, one_each, "k", "left", strategy="broadcast_head", partitions=4)
    except SkewkitError:
        return
    assert asked_for.count() == 3000


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


def test_a_plan_whose_text_is_cut_off_is_not_trusted(spark, facts, dims):
    fickle = FICKLE["rand"](facts.drop("k"))
    with conf(spark, "spark.sql.maxPlanStringLength", "300"):
        assert "native: a full join keeps" in explain(skew_join(fickle, dims, "k", "full", partitions=4))


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


def test_a_key_that_python_makes_is_not_broadcast_in_two_readings(spark):
    import random

    pick = F.udf(lambda i: random.randrange(4), "int")
    facts, dims = spark.range(60_000).toDF("id"), spark.range(4).selectExpr("int(id) AS d")
    with conf(spark, "spark.skewkit.margin", "-1e9"), conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        joined = skew_join(facts, dims, pick("id") == F.col("d"), "left", partitions=8)
        assert (
            "no broadcast_head, because it reads both sides twice, and the left side is computed by Python"
            in explain(joined)
        )
        assert joined.count() == 60_000


@pytest.mark.connect
@pytest.mark.parametrize("how", ["left", "inner"])
def test_a_key_that_is_made_by_encrypting_is_not_read_twice(spark, how):
    """An initialization vector is drawn whenever a row is encrypted: another reading has other keys."""
    token = spark.range(0, 4_000, 1, 4).selectExpr("id AS v", "hex(aes_encrypt(string(id), '0123456789abcdef')) AS t")
    left = token.selectExpr("v", "CASE WHEN substr(t, 1, 1) < '8' THEN 7L ELSE v % 200 END AS k")
    right = spark.range(200).selectExpr("id AS k", "concat('n', id) AS name")
    assert PlanFacts(left).stability([F.col("k")]).reason == "holds random values"
    with pytest.raises(UnsupportedError, match="left side holds random values"):
        skew_join(left, right, "k", how, strategy="broadcast_head", partitions=4)
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        joined = skew_join(left, right, "k", how, partitions=4)
    rows = joined.groupBy("v").count().agg(F.count("*"), F.max("count")).first()
    assert tuple(rows) == (4_000, 1)


def test_what_a_script_prints_is_read_once(spark):
    rows = spark.sql("SELECT TRANSFORM(id) USING 'cat' AS (k bigint) FROM range(999)")
    assert "source that may have other rows" in PlanFacts(rows).stability().reason
    assert PlanFacts(rows.cache()).stability().repeatable
    rows.unpersist()


@pytest.mark.every(5)
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
@pytest.mark.parametrize("how", ["left", "full", "semi", "anti", "inner"])
def test_texts_of_which_other_rows_are_malformed_when_other_columns_are_read(spark, tmp_path, how):
    """Plain Spark drops the rows whose `w` is no number, but not where only `k` is asked for."""
    path = str(tmp_path / "rows")
    lines = [*(f"0,none{i % 7}" for i in range(6_000)), *(f"{i},{i}" for i in range(1, 91))]
    spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1).write.text(path)
    right = spark.read.csv(path, schema="k bigint, w int", mode="DROPMALFORMED")
    left = spark.range(5).selectExpr("id AS k", "id AS v")
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        joined = skew_join(left, right, "k", how, partitions=4)
    assert_same_rows(joined, left.join(right, "k", how))
    expected = {"left": "native", "full": "native", "semi": "salt", "anti": "salt"}.get(how)
    assert expected is None or f"strategy   {expected}" in explain(joined)
    if expected == "native":
        assert "the right side's hot keys stay whole: it is parsed from texts" in explain(joined)
    hot, cold = spark.range(9_000).selectExpr("id % 3 AS k", "id AS v"), right.where("k > 0")
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        assert "stay whole" not in explain(skew_join(hot, cold, "k", how, partitions=4))


@pytest.mark.parametrize("how", ["left", "full"])
def test_files_of_which_more_are_corrupt_when_other_columns_are_read(spark, tmp_path, how):
    """Plain Spark skips the file whose `w` is a text, but not where only `k` is asked for."""
    spark.range(6_000).selectExpr("0L AS k", "'x' AS w").write.parquet(str(tmp_path / "a"))
    spark.range(1, 90).selectExpr("id AS k", "int(id) AS w").write.parquet(str(tmp_path / "b"))
    left = spark.range(5).selectExpr("id AS k", "id AS v")
    with conf(spark, "spark.skewkit.margin", "-1e9"), conf(spark, "spark.sql.files.ignoreCorruptFiles", "true"):
        right = spark.read.schema("k bigint, w int").parquet(str(tmp_path / "a"), str(tmp_path / "b"))
        joined = skew_join(left, right, "k", how, partitions=4)
        assert_same_rows(joined, left.join(right, "k", how))
        assert "the right side's hot keys stay whole: it reads files, of which Spark may skip" in explain(joined)
    assert PlanFacts(right).rows_depend_on_columns is None


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


@pytest.mark.slow
def test_what_a_group_by_computes_is_neither_salt_nor_repeatable(spark):
    """EXPLAIN shows what is made of the results of a group-by in the logical plan only."""
    grouped = spark.range(4000).selectExpr("if(id % 3 < 2, 0, id % 50) AS k", "id % 400 AS g", "id AS v")
    left = grouped.groupBy("k", "g").agg((F.lit(1) / (F.max("v") - 3999)).alias("bad"), F.sum("v").alias("s"))
    dims = spark.range(50).selectExpr("id AS k", "id AS w")
    check(left, dims, "k", pick=lambda joined: joined.select("k", "s", "w"))  # nobody asks for `bad`, which fails
    assert {"bad", "s"}.isdisjoint(PlanFacts(left).repeatable_columns(left.columns, 9))
    inner = grouped.withColumn("x", F.lit(1) / (F.col("v") - 3999)).groupBy("k", "g").agg(F.max("x").alias("worst"))
    check(inner, dims, "k", pick=lambda joined: joined.select("k", "g", "w"))
    for value in (F.rand(), F.floor(F.rand() * 4), F.expr("uuid()"), F.monotonically_increasing_id()):
        changing = grouped.groupBy("k", "g").count().withColumn("r", value)
        assert not PlanFacts(changing).stability([F.col("r")]).repeatable
        assert "r" not in PlanFacts(changing).repeatable_columns(changing.columns, 9)
    assert PlanFacts(left).stability([F.col("s")]).repeatable


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["limit", "checkpoint", "rdd", "limited checkpoint"])
def test_rows_of_a_limit_and_of_an_rdd_are_spread(spark, dims, kind):
    """All of them come from one or two tasks; a task that runs again finds the same rows, or those of another limit."""
    rows = spark.range(0, 6000, 1, 2).selectExpr("if(id % 10 < 8, 0, id % 50) AS k", "id AS v")
    if "checkpoint" in kind:
        rows = rows.localCheckpoint()
    if kind == "rdd":
        rows = spark.createDataFrame(rows.rdd.coalesce(1), rows.schema)
    rows_of_all = rows
    if "limit" in kind:
        rows = rows.limit(5500)
    for how in ("inner", "left", *(["full"] * (kind in ("checkpoint", "rdd")))):
        joined = skew_join(rows, dims, "k", how, strategy="salt", partitions=8)
        assert "apart" not in explain(joined)
        counts = [row["count"] for row in joined.groupBy(F.spark_partition_id()).count().collect()]
        assert max(counts) < 2 * sum(counts) / 8
        if "limit" not in kind:
            assert_same_rows(joined, rows.join(dims, "k", how))
            continue
        of_all = rows_of_all.join(dims, "k", how)
        assert Counter(joined.collect()) <= Counter(of_all.collect())
        assert how == "inner" or joined.select("v").distinct().count() == 5500


@pytest.mark.parametrize("written", [False, True])
def test_what_the_order_of_rows_decides_is_no_salt(spark, facts, written):
    """A task that runs again may take another one of rows that tie, or join another row: its row would move."""
    latest = facts.withColumn("n", F.row_number().over(Window.partitionBy("k", "x").orderBy("s"))).where("n = 1")
    few = spark.range(50).selectExpr("id AS k", "id AS more").limit(20)
    for frame in (latest.drop("n"), facts.join(few, "k", "left"), facts.join(few, "k")):
        assert PlanFacts(frame).repeatable_columns(frame.columns, 9, all_computed=written) == []
    by_python = facts.where(F.udf(lambda k: True, "boolean")("k"))
    for frame in (facts.limit(99), facts.sample(0.5), facts.where("rand() < 0.5"), by_python):
        assert PlanFacts(frame).repeatable_columns(frame.columns, 9, all_computed=written)
    made = spark.createDataFrame(facts.limit(9).rdd, facts.schema)
    assert PlanFacts(made).repeatable_columns(made.columns, 9, all_computed=written)


def test_rows_that_nothing_tells_apart_are_said_to_stay_together(spark, dims):
    made = spark.range(0, 3000, 1, 2).selectExpr("id AS v", "0L AS k").mapInPandas(lambda each: each, "v long, k long")
    joined = skew_join(made, dims, "k", strategy="salt", partitions=4)
    assert "nothing that comes out the same again tells the left side's rows of a hot key apart" in explain(joined)
    assert "apart" not in explain(skew_join(made.cache(), dims, "k", strategy="salt", partitions=4))
    made.unpersist()


def test_only_steps_that_are_known_keep_the_bound_of_the_sources(spark):
    grouped = spark.range(90).selectExpr("id % 9 AS k", "sequence(1, id) AS s").groupBy("k").agg(F.max("s").alias("s"))
    assert PlanFacts(grouped.repartition(3).sort("k").limit(5)).bounded
    assert not PlanFacts(grouped.selectExpr("k", "explode(s) AS e")).bounded
    assert not PlanFacts(grouped.join(spark.range(9).selectExpr("id AS k"), "k")).bounded
    assert not PlanFacts(grouped.sample(True, 3.0, 1)).bounded
    exploded = grouped.selectExpr("k", "explode(s) AS e").cache()
    assert not PlanFacts(exploded.groupBy("k").count()).bounded
    assert PlanFacts(exploded.unpersist().select("k").distinct().groupBy("k").count()).bounded is False
    kept = grouped.cache()
    assert PlanFacts(kept.groupBy("k").count()).bounded
    kept.unpersist()


def test_a_row_number_is_above_zero_in_whatever_order(spark, facts):
    """Cut windows keep a window that orders ties by such a filter."""
    numbered = facts.withColumn("n", F.row_number().over(Window.partitionBy("x").orderBy("s")))
    assert PlanFacts(numbered.where("n > 0")).stability([F.col("x")]).repeatable
    assert not PlanFacts(numbered.where("n > 1")).stability([F.col("x")]).repeatable
    united = numbered.unionAll(facts.withColumn("n", F.lag("x").over(Window.partitionBy("x").orderBy("s"))))
    for frame in (united, numbered.withColumn("n", F.col("n") - 1)):
        assert not PlanFacts(frame.where("n > 0")).stability([F.col("x")]).repeatable
