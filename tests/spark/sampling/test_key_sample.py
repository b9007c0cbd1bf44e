"""The key sample of large frames: it finds the hot hashes, and `auto` takes it for an answer only where all is even."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.explained import plan_facts
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.explained.stability import Stability, Verdict
from skewkit.spark.routing.salting import Salting
from skewkit.spark.sampling.ask import ask
from skewkit.testing import assert_same_rows
from tests.helpers import explained


@pytest.mark.connect
def test_large_reads_are_sampled_and_need_no_profile_job(spark):
    even = spark.range(100_000).selectExpr("id % 20000 AS k", "id AS v")
    names = spark.range(20_000).selectExpr("id AS k", "id AS w")
    joined = skewkit.skew_join(even, names, "k", partitions=4)
    assert "native: no key holds" in skewkit.explain(joined)
    hot = even.withColumn("k", F.when(F.col("v") % 3 == 0, 0).otherwise(F.col("k")))
    many = skewkit.skew_join(names, hot, "k", partitions=4)
    assert "native" not in skewkit.explain(many).split("note")[0].split("strategy")[1].split(":")[0]
    assert_same_rows(many, names.join(hot, "k"))


def test_a_side_grouped_by_the_key_is_not_read_to_be_profiled(spark, monkeypatch):
    hot = spark.range(100_000).selectExpr("if(id % 3 = 0, 7, id % 20000) AS k", "id AS v")
    once = spark.range(20_000).selectExpr("id % 19999 AS k", "id AS w").groupBy("k").agg(F.max("w").alias("w"))
    asked = []

    def one(questions, *args, **named):
        asked.append(len(questions))
        return ask(questions, *args, **named)

    monkeypatch.setattr("skewkit.api.join.evidence.ask", one)
    for left, right, how in ((hot, once, "inner"), (once, hot, "left")):
        joined = skewkit.skew_join(left, right, "k", how, strategy="salt", partitions=4)
        assert_same_rows(joined, left.join(right, "k", how))
    assert asked == [1, 1]
    assert "every key once" in skewkit.explain(skewkit.skew_join(once, hot, "k", strategy="salt", partitions=4))


def test_keys_whose_values_a_sample_does_not_bring_are_named_by_a_profile(spark):
    hot = spark.range(100_000).selectExpr("timestamp_seconds(if(id % 3 = 0, 7, id % 20000)) AS k", "id AS v")
    names = spark.range(20_000).selectExpr("timestamp_seconds(id) AS k", "id AS w")
    joined = skewkit.skew_join(hot, names, "k", strategy="salt", partitions=4)
    assert "datetime.datetime(1970, 1, 1" in skewkit.explain(joined)
    assert_same_rows(joined, hot.join(names, "k"))
    warm = hot.withColumn("k", F.when(F.col("v") % 15 == 0, F.col("k")).otherwise(F.timestamp_seconds(F.col("v"))))
    text = skewkit.explain(skewkit.skew_join(warm, warm.select("k").distinct(), "k", partitions=4))
    assert "native" in text
    assert "None" not in text


BY_V = "(PARTITION BY k ORDER BY v"


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((f"{call} AS q GROUP BY k", None) for call in ("sum(v)", "sum(d)", "count(x)", "max(x)", "median(v)")),
        *((f"{call} AS q GROUP BY k", "digits") for call in ("sum(x)", "avg(v)", "stddev(v)", "regr_slope(v, x)")),
        *((f"{call} AS q GROUP BY k", "order") for call in ("collect_set(v)", "approx_percentile(v, 0.5)", "first(v)")),
        *((f"{call} OVER {BY_V}) AS q", None) for call in ("sum(v)", "rank()", "max(x)")),
        *((f"{call} OVER {BY_V}) AS q", "order") for call in ("row_number()", "lag(v)")),
        (f"sum(x) OVER {BY_V}) AS q", "digits"),
        (f"rank() OVER {BY_V}) AS r, sum(v) OVER {BY_V} ROWS 1 PRECEDING) AS q", "order"),
    ],
)
@pytest.mark.connect
def test_values_that_may_differ_when_they_are_computed_again(spark, value, reason):
    """A shuffle brings rows in any order: what adds or picks by order may come out different the next time."""
    call, _, group = value.partition(" GROUP BY ")
    rows = "SELECT id % 9 AS k, id % 7 AS v, double(id) AS x, cast(id AS decimal(9,2)) AS d FROM range(99)"
    seen = PlanFacts(spark.sql(f"SELECT k, {call} FROM ({rows})" + (f" GROUP BY {group}" if group else "")))
    said = seen.stability([F.col("q")]).reason
    assert said is None if reason is None else reason in said
    assert seen.stability([F.col("k")]).repeatable


def test_a_filter_on_ranks_is_no_limit(spark):
    """Spark stops early at the rows of the first ranks, which are the same each time."""
    ranked = spark.range(99).selectExpr("id % 9 AS k", "rank() OVER (PARTITION BY id % 9 ORDER BY id % 7) AS r")
    assert PlanFacts(ranked.where("r = 1")).stability([F.col("k")]).repeatable


def test_salts_are_of_stored_and_repeatable_values(spark, skewed, tmp_path):
    skewed(200).selectExpr("k", "v", "double(v) AS d", "string(v) AS s").write.parquet(str(tmp_path / "t"))
    stored = spark.read.parquet(str(tmp_path / "t"))
    assert Salting.of(PlanFacts(stored), ["k"]) == Salting(("d", "v", "s"), stored=True, parquet=True)
    kept = stored.cache()
    assert Salting.of(PlanFacts(kept), ["k"]) == Salting(("d", "v", "s"), stored=True, parquet=False, cached=True)
    kept.unpersist()
    odd = stored.selectExpr("k", "d AS e", "1 / v AS f", "rand() AS g", "s")
    assert Salting.of(PlanFacts(odd), ["k"]) == Salting(("e", "s"), stored=True, parquet=True)
    sums = stored.groupBy("k", "s").agg(F.sum("d").alias("d"), F.max("v").alias("v"))
    assert Salting.of(PlanFacts(sums), ["k"]) == Salting(("v", "s"), stored=False, parquet=False)
    udf = stored.withColumn("u", F.udf(lambda v: v, "bigint")("v"))
    assert Salting.of(PlanFacts(udf), ["k"]) == Salting(("d", "v", "s"), stored=False, parquet=False)


def test_of_a_wide_frame_only_the_keys_are_asked_about(spark):
    wide = spark.range(9).selectExpr("id AS k", *(f"id + {i} AS c{i}" for i in range(60)), "rand() AS r")
    assert PlanFacts(wide).stability([F.col("k")]).repeatable
    assert PlanFacts(wide).stability([F.col("r")]) == Verdict(Stability.RANDOM, "holds random values")


def test_a_renamed_column_is_computed_where_it_was_made(spark, skewed):
    facts = skewed(200).selectExpr("k", "v", "10 / (v + 1) AS w")
    joined = facts.join(spark.range(9).selectExpr("id AS k"), "k").selectExpr("k", "v AS x", "w AS y", "w AS z")
    assert Salting.of(PlanFacts(joined), ["k"]).columns == ("x",)
    assert Salting.of(PlanFacts(facts.cache()), ["k"]).columns == ("w", "v")
    facts.unpersist()


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["range", "list", "files", "grouped", "selected"])
def test_what_is_cached_stays_cached(spark, skewed, tmp_path, kind):
    """Spark drops from the cache what has the plan of a view that is dropped, and EXPLAIN is asked of a view."""
    frames = {
        "range": lambda: spark.range(999),
        "list": lambda: spark.createDataFrame([(i % 3,) for i in range(99)], "id int"),
        "files": lambda: spark.read.parquet(str(tmp_path / "t")),
        "grouped": lambda: spark.range(999).groupBy("id").count(),
        "selected": lambda: spark.range(999).select("*"),
    }
    spark.range(99).write.parquet(str(tmp_path / "t"))
    df = frames[kind]().cache()
    df.count()
    PlanFacts(df).stability([F.col("id")])
    for by in (skewkit.skew_join(df, df.alias("b"), "id", strategy="salt", partitions=2), df.select("id")):
        assert "InMemoryTableScan" in explained(by, "EXTENDED")
    df.unpersist()


def test_one_plan_tells_the_repeatable_columns_of_many(spark, monkeypatch):
    names = [f"c{i}" for i in range(24)]
    wide = spark.range(9).selectExpr("id % 2 AS k", *(f"id AS {name}" for name in names[:-1]), "rand() AS c23")
    seen, asked = PlanFacts(wide), []
    monkeypatch.setattr(plan_facts, "explained", lambda frame: asked.append(frame) or explained(frame))
    assert seen.repeatable_columns(names, 8) == names[:8]
    assert seen.repeatable_columns(names[12:], 24) == names[12:-1]
    assert [seen.stability([F.col(name)]).repeatable for name in ("k", "c0", "c23")] == [True, True, False]
    assert len(asked) == 1
