"""What a sample of raw rows says of a frame, in one query: it is right within its bounds, whatever the frame is."""

import math

import numpy as np
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.options import Settings
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.sampling.ask import Question, ask
from skewkit.spark.sampling.row_sample import Rate, sampled, uniforms_of
from skewkit.spark.session.jobs import counted
from skewkit.spark.window.ordering import find_order

PARTITIONS = 8
FEW = Settings(sample_rows=500)
"""So that a sample of 4,000 rows is taken of larger frames."""


def question(df, *keys, unmatched=None, order=(), values=()):
    by = find_order(df, list(order)) if order else None
    return Question(PlanFacts(df), find_keys(df, keys), unmatched, by, tuple(values))


def answered(df, *keys, settings=None, **asked):
    """Return the answer to one question, and see that it took one query."""
    with counted() as used:
        (answer,) = ask([question(df, *keys, **asked)], PARTITIONS, settings or Settings(), why="a test")
    assert used.jobs == 1
    return answer


@pytest.mark.connect
def test_of_few_rows_all_are_counted(skewed):
    df = skewed(4_000)
    answer = answered(df, "k")
    assert answer.profile == skewkit.skew_profile(df, "k", partitions=PARTITIONS, sample="exact")
    assert answer.named


@pytest.mark.parametrize(("where", "partitions"), [("true", 1), ("true", 50), ("v % 40 = 0", 50), ("v < 3000", 3)])
def test_bounds_hold_of_any_sample(spark, where, partitions):
    """Also where a filter leaves few rows, and where all rows are in the first task."""
    rows = spark.range(0, 60_000, 1, partitions).selectExpr("id AS v", "pmod(xxhash64(id, 1), 1000) AS h")
    for seed in range(3):
        key = f"CASE WHEN pmod(xxhash64(v, {seed}), 10) < 4 THEN 'hot' WHEN h < 50 THEN 'warm' ELSE string(h) END AS k"
        df = rows.where(where).selectExpr(key, "v")
        profile = answered(df, "k", settings=FEW).profile
        true = {row["k"]: row["count"] for row in df.groupBy("k").count().collect()}
        total = sum(true.values())
        found = {h.key[0]: h for h in profile.heavy}
        surely = [key for key, count in true.items() if count >= 2 * total * profile.theta]
        assert set(surely) <= set(found)
        assert all(h.low <= true[key] <= h.high for key, h in found.items())
        assert max((n for key, n in true.items() if key not in found), default=0) <= profile.unlisted
        spread = math.sqrt((1 - profile.fraction) * profile.fraction * total)
        assert abs(profile.rows - total) * profile.fraction <= 4.5 * spread + 1
        assert sum(profile.tail) + sum(h.estimate for h in profile.heavy) == pytest.approx(profile.rows, abs=9)
        assert profile.rows * profile.fraction >= min(total, 400) * 0.8
        assert profile.sampled == (where != "v % 40 = 0")


@pytest.mark.connect
def test_the_driver_knows_by_which_numbers_spark_took_the_rows(spark):
    rate = Rate(0.3, 64.0, 300.0)
    rows = sampled(spark.range(0, 9_000, 1, 3), {"v": F.col("id")}, rate).toPandas()
    places = np.concatenate([(task << 33) + np.arange(3_000) for task in range(3)])
    wanted = rate.wanted(places & ((1 << 33) - 1), uniforms_of(places))
    assert sorted(rows["place"]) == places[wanted].tolist()


@pytest.mark.connect
def test_two_frames_are_asked_together(spark, skewed):
    left, right = skewed(3_000), spark.range(500).selectExpr("int(id) AS k", "id AS v")
    keys = find_keys(left, ["k"])
    with counted() as used:
        one, two = ask(
            [Question(PlanFacts(left), keys, keys.any_null), question(right, "k", values=[F.col("v")])],
            PARTITIONS,
            Settings(),
            why="skew_join on k",
        )
    assert used.jobs == 1
    true = skewkit.skew_profile(left, "k", partitions=PARTITIONS, sample="exact")
    assert (one.profile.heavy, one.profile.nulls, one.profile.null_heavy) == (true.heavy, true.nulls, ())
    assert (two.profile.rows, two.profile.heavy, two.distinct) == (500, (), 1.0)


KINDS = {
    "cast(id AS int)": "int",
    "concat('é', id)": "string",
    "cast(id AS decimal(20, 2))": "decimal",
    "date_add(DATE'1970-01-01', cast(id AS int))": "date",
    "cast(concat('b', id) AS binary)": "binary",
    "if(id = 0, double('NaN'), double(id))": "NaN",
    "if(id = 0, -0.0D, double(id))": "-0.0",
    "timestamp_seconds(id)": "timestamp",
    "named_struct('a', id, 'b', array(string(id)))": "struct",
    "id = 0": "boolean",
    "timestamp_ntz'2020-01-01 00:00:00' + make_interval(0, 0, 0, int(id))": "timestamp_ntz",
    "if(id = 0, NULL, id)": "null",
}


@pytest.mark.connect
@pytest.mark.parametrize("kind", KINDS, ids=list(KINDS.values()))
def test_keys_of_any_type_have_their_values(spark, kind):
    df = spark.range(100).selectExpr("id % 4 % 3 AS id").selectExpr(f"{kind} AS k")
    answer = answered(df, "k")
    true = skewkit.skew_profile(df, "k", partitions=PARTITIONS)
    assert answer.named
    assert str(answer.profile) == str(true)
    assert [h.hash for h in answer.profile.null_heavy] == [h.hash for h in true.null_heavy]


@pytest.mark.connect
def test_a_key_that_python_cannot_have_is_known_by_its_hash(spark):
    df = spark.sql("SELECT array(date_sub(DATE'0001-01-01', 400)) AS k FROM range(50)")
    with counted() as used:
        (answer,) = ask([question(df, "k")], PARTITIONS, Settings(), why="a test")
    assert (used.jobs, answer.named) == (1, False) or answer.profile.heavy[0].key != (None,)
    assert answer.profile.heavy[0].estimate == 50


@pytest.mark.connect
def test_composite_keys_that_are_partly_null_are_nulls(spark):
    df = spark.range(100).selectExpr("if(id < 40, NULL, 1) AS a", "if(id < 70, 'x', NULL) AS b")
    profile = answered(df, "a", "b").profile
    assert profile == skewkit.skew_profile(df, "a", "b", partitions=PARTITIONS)
    assert (profile.nulls, [h.key for h in profile.heavy]) == (70, [(1, "x")])


@pytest.mark.connect
def test_a_frame_without_rows(spark):
    answer = answered(spark.range(0).selectExpr("id AS k", "id AS v"), "k", order=["v"], values=[F.col("v")])
    assert (answer.profile.rows, answer.profile.heavy, answer.distinct, answer.widest) == (0, (), None, None)
    assert answer.cuts([1]) == {}


ORDERS = {
    "id": "bigint",
    "if(id % 7 = 0, double('NaN'), (id - 50) / 3.0D)": "double",
    "cast((id - 50) / 3 AS decimal(20, 6))": "decimal",
    "if(id % 5 = 0, NULL, chr(int(id) * 300))": "string",
    "timestamp_seconds(id - 50)": "timestamp",
    "timestamp_ntz'0990-01-01 00:00:00' + make_interval(int(id) * 100, 0, 0, 0, 0, 0, 0.5)": "timestamp_ntz",
    "date_add(DATE'1970-01-01', int(id) - 50)": "date",
    "id > 50": "boolean",
    "unhex(hex(id * 37))": "binary",
}


@pytest.mark.connect
@pytest.mark.parametrize("order", ORDERS, ids=list(ORDERS.values()))
def test_order_values_come_in_sparks_order(spark, order):
    df = spark.range(0, 100, 1, 4).selectExpr("'hot' AS k", f"{order} AS o", "id % 3 AS p")
    by = [F.col("p").desc(), F.col("o").asc_nulls_last()]
    answer = answered(df, "k", order=by)
    (cuts,) = answer.cuts([h.hash for h in answer.profile.heavy]).values()
    from skewkit.spark.window.ordering import as_text

    type_ = dict(df.dtypes)["o"]
    rows = df.orderBy(*by).select(F.col("p").cast("string"), as_text(F.col("o"), type_)).collect()
    assert cuts == [tuple(row) for row in rows]


def test_distinct_values_of_all_rows_are_told_from_a_sample(spark):
    df = spark.range(0, 400_000, 1, 4).selectExpr("id % 3 AS k", "id AS once", "pmod(xxhash64(id), 2000) AS often")
    answer = answered(df, "k", values=[F.col("often")], settings=FEW)
    assert answer.profile.sampled
    assert answer.distinct == pytest.approx(2_000 / 400_000, rel=0.2)
    both = answered(df, "k", values=[F.col("often"), F.col("once")], settings=FEW)
    assert (both.distinct, both.most_distinct) == (1.0, 1)


def test_where_a_key_is_and_how_wide_the_widest_task_is(spark):
    one = spark.range(0, 300, 1, 1).selectExpr("7L AS k")
    df = one.unionAll(spark.range(0, 300, 1, 3).selectExpr("8L AS k"))
    answer = answered(df, "k")
    shares = {h.key: answer.one_task[h.hash] for h in answer.profile.heavy}
    assert shares == {(7,): 1.0, (8,): pytest.approx(1 / 3)}
    assert answer.widest == 0.5
