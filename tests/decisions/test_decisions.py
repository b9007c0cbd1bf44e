"""What `auto` decides over a grid of sizes, shares, slots and operators, by its own estimate: nothing here is timed."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from skewkit.options import Settings
from skewkit.spark.session import slots as slots_of_sessions
from tests.helpers import conf

PARTITIONS = 32
DYNAMIC = {"dynamicAllocation.enabled": "true"}
OF_BEFORE = "by what the operator before knew of the keys"
SMALL, MIDDLE, LARGE = 10_000, 1_000_000, 20_000_000


@pytest.fixture(autouse=True)
def no_broadcast_by_spark(spark: SparkSession) -> Iterator[None]:
    """Let Spark broadcast no side by its own rule, plan for 32 partitions, and compile what reads millions of rows."""
    confs = {
        "spark.sql.autoBroadcastJoinThreshold": "1",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
    }
    with ExitStack() as settings:
        for name, value in confs.items():
            settings.enter_context(conf(spark, name, value))
        yield


def facts(spark: SparkSession, rows: int, share: float, columns: int = 2) -> DataFrame:
    """Return rows of which the optimizer knows the number, and of which a share has the key 7."""
    more = [f"id + {i} AS c{i}" for i in range(columns - 2)]
    return spark.range(rows).selectExpr(f"if(id % 100 < {share * 100}, 7L, id) AS k", "id AS v", *more)


def others(spark: SparkSession, rows: int) -> DataFrame:
    """Return the other side of a join, every key once."""
    return spark.range(rows).selectExpr("id AS k", "id AS w")


def decided(frame: DataFrame) -> skewkit.Decision:
    """Return the decision behind the frame that was made last."""
    found = skewkit.decisions()[-1]
    assert found.text == skewkit.explain(frame)
    return found


JOINS = [
    # rows, share, slots, columns -> treated, queries
    (SMALL, 0.9, 2, 2, False, 0),
    (SMALL, 0.9, 64, 2, False, 0),
    (SMALL, 0.0, 64, 60, False, 0),
    (MIDDLE, 0.0, 2, 2, False, 1),
    (MIDDLE, 0.1, 2, 2, False, 1),
    (MIDDLE, 0.5, 2, 2, False, 1),
    (MIDDLE, 0.1, 64, 2, False, 1),
    (LARGE, 0.0, 2, 2, False, 1),
    (LARGE, 0.0, 64, 2, False, 1),
    (LARGE, 0.1, 2, 2, False, 1),
    (LARGE, 0.1, 64, 2, True, 1),
    (LARGE, 0.5, 64, 2, True, 1),
    (LARGE, 0.9, 64, 2, True, 1),
    (LARGE, 0.5, 64, 30, True, 1),
]


@pytest.mark.parametrize("how", ["inner", "left", "full"])
@pytest.mark.parametrize(("rows", "share", "slots", "columns", "treated", "queries"), JOINS)
def test_joins(spark, rows, share, slots, columns, treated, queries, how):
    with conf(spark, "spark.skewkit.slots", str(slots)), conf(spark, "spark.skewkit.broadcastSide", "1"):
        left = facts(spark, rows, share, columns)
        joined = skewkit.skew_join(left, others(spark, rows // 10), "k", how)
    found = decided(joined)
    assert found.operator == "join"
    assert (found.strategy != "native") == treated, found.text
    assert found.jobs <= queries, found.text


def window(frame: DataFrame) -> DataFrame:
    return skewkit.skew_window(frame, "k", "v").select(total=F.sum("v"))


def sets(frame: DataFrame) -> DataFrame:
    return skewkit.skew_groupby(frame, "k").agg(F.collect_set("v"))


def function(frame: DataFrame) -> DataFrame:
    return skewkit.skew_groupby(frame, "k").applyInPandas(lambda rows: rows, frame.schema)


def merged(frame: DataFrame) -> DataFrame:
    groups = skewkit.skew_groupby(frame, "k")
    return groups.applyInPandas(lambda rows: rows, frame.schema, merge=lambda rows: rows)


def to_few(how: str) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: skewkit.skew_join(frame, others(frame.sparkSession, LARGE // 10), "k", how)


OPERATORS = {
    # operator -> (rows, share, slots, columns): strategy, queries
    window: {
        (SMALL, 0.9, 64, 2): ("native", 0),
        (MIDDLE, 0.5, 2, 60): ("native", 1),
        (LARGE, 0.0, 64, 2): ("native", 1),
        (LARGE, 0.5, 2, 2): ("native", 1),
        (LARGE, 0.5, 64, 2): ("split", 1),
    },
    sets: {
        (SMALL, 0.9, 64, 2): ("native", 0),
        (MIDDLE, 0.5, 2, 60): ("native", 0),
        (LARGE, 0.0, 64, 2): ("native", 1),
        (LARGE, 0.5, 2, 2): ("native", 1),
        (LARGE, 0.5, 64, 2): ("wrap", 1),
    },
    function: {
        (SMALL, 0.9, 64, 2): ("native", 0),
        (LARGE, 0.0, 64, 2): ("native", 1),
        (LARGE, 0.5, 64, 2): ("native", 1),
    },
    merged: {
        (SMALL, 0.9, 64, 2): ("native", 0),
        (LARGE, 0.0, 64, 2): ("native", 1),
        (LARGE, 0.5, 64, 2): ("wrap", 1),
    },
    to_few("right"): {(SMALL, 0.9, 64, 2): ("native", 0), (LARGE, 0.5, 64, 2): ("salt", 1)},
    to_few("semi"): {(SMALL, 0.9, 64, 2): ("native", 0), (LARGE, 0.5, 64, 2): ("broadcast_head", 1)},
    to_few("anti"): {(SMALL, 0.9, 64, 2): ("native", 0), (LARGE, 0.5, 64, 2): ("broadcast_head", 1)},
}
CELLS = [(call, cell, expected) for call, cells in OPERATORS.items() for cell, expected in cells.items()]


@pytest.mark.parametrize(("call", "cell", "expected"), CELLS)
def test_operators(spark, call, cell, expected):
    rows, share, slots, columns = cell
    with conf(spark, "spark.skewkit.slots", str(slots)), conf(spark, "spark.skewkit.broadcastSide", "1"):
        found = decided(call(facts(spark, rows, share, columns)))
    assert (found.strategy, found.jobs) == expected, found.text
    read = "  note       all of the frame was read for the sample of its keys: it is not one table of files"
    assert (read in found.text) == (found.jobs == 1 and rows > MIDDLE), found.text
    if expected[0] != "native":
        first = found.text.splitlines()[0]
        plain = r"plain Spark is expected to take [\d.,]+ s on 64 slots, its longest task [\d.,]+ s"
        taken = rf"Key 7 has \d+% of the (rows|work): {plain}, and .+ [\d.,]+ s, so it is taken\."
        assert re.fullmatch(taken, first), first


def test_a_window_that_cannot_be_cut_says_what_was_read(spark):
    frame = facts(spark, LARGE, 0.5).selectExpr("k", "if(k = 7, 1, v) AS o")
    with conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_window(frame, "k", "o").select(n=F.rank()))
    assert "the hot partitions have one value of the order" in found.reason
    assert (found.strategy, found.jobs) == ("native", 1)
    assert "all of the frame was read for the sample of its keys" in found.text


def test_a_window_with_a_profile_of_weights_is_priced_by_its_rows(spark):
    """The weight of a row, here 1,000, is not what a window's row costs."""
    frame = facts(spark, MIDDLE, 0.5)
    weighted = skewkit.skew_profile(frame.withColumn("weight", F.lit(1000)), "k", weight="weight")
    with conf(spark, "spark.skewkit.slots", "64"):
        by_rows, by_weight = (
            decided(skewkit.skew_window(frame, "k", "v", profile=profile).select(t=F.sum("v"))).text.splitlines()[0]
            for profile in (skewkit.skew_profile(frame, "k"), weighted)
        )
    assert "of the rows" in by_rows
    assert by_weight == by_rows.replace("of the rows", "of the weight")


@pytest.mark.parametrize("merge", [None, lambda rows: rows], ids=["whole", "merge"])
def test_what_a_function_costs_decides_where_it_is_said(spark, merge):
    def explained(seconds: float | None) -> tuple[str, int, str]:
        frame = facts(spark, SMALL, 0.9)
        groups = skewkit.skew_groupby(frame, "k")
        found = decided(groups.applyInPandas(lambda rows: rows, frame.schema, merge=merge, seconds_per_row=seconds))
        note = "".join(line for line in found.text.splitlines() if line.startswith("  note") and "cost" in line)
        return found.strategy, found.jobs, note.removeprefix("  note       ")

    parts = ", and with merge= a hot group is computed in parts" if merge is None else ""
    with conf(spark, "spark.skewkit.slots", "64"):
        unknown = "the function is taken to cost little for a row; seconds_per_row= says what it costs"
        assert explained(None) == ("native", 0, unknown + parts)
        assert explained(1e-7) == ("native", 0, "its rows cost what seconds_per_row= says" + parts)
        assert explained(1e-2) == ("native" if merge is None else "wrap", 1, "")


@pytest.mark.parametrize("slots", [2, 64])
def test_a_key_with_half_a_percent_on_both_sides_makes_most_of_the_output(spark, slots):
    left, right = (spark.range(3_000_000).selectExpr("if(id % 200 = 0, 7L, id) AS k", "id AS v") for _ in range(2))
    with conf(spark, "spark.skewkit.slots", str(slots)):
        found = decided(skewkit.skew_join(left, right, "k"))
    assert found.strategy == "salt", found.text


def test_what_spark_broadcasts_is_left_to_it(spark):
    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"), conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_join(facts(spark, LARGE, 0.9), others(spark, 100), "k"))
    assert (found.strategy, found.jobs) == ("native", 0)
    assert "Spark broadcasts one side" in found.reason


def test_a_frame_of_which_nobody_knows_the_rows_is_left_alone(spark):
    unknown = spark.createDataFrame([(1, 2)], "k bigint, w bigint")
    with conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_join(facts(spark, LARGE, 0.9), unknown, "k"))
    assert (found.strategy, found.jobs) == ("native", 0)


def test_given_profiles_and_named_keys_take_no_query(spark):
    left, right = facts(spark, LARGE, 0.9), others(spark, LARGE // 10)
    profile = skewkit.skew_profile(left, "k", sample=0.001)
    with conf(spark, "spark.skewkit.slots", "64"):
        for more in ({"left_profile": profile}, {"heavy": [7]}):
            found = decided(skewkit.skew_join(left, right, "k", "left", **more))
            assert (found.strategy, found.jobs) == ("salt", 0), found.text
        found = decided(skewkit.skew_join(left, right, "k", "left", heavy=[]))
    assert (found.strategy, found.jobs) == ("native", 0)
    assert "no key was named as hot" in found.reason


@pytest.mark.parametrize("heavy", [[None], [-7], [7]])
def test_keys_named_as_hot_in_small_frames_are_left_to_plain_spark(spark, heavy):
    left, right = facts(spark, SMALL, 0.9), others(spark, 100)
    for named in (left, left.hint("skew", "k", 7)):
        found = decided(skewkit.skew_join(named, right, "k", "left", heavy=heavy if named is left else None))
        assert (found.strategy, found.jobs) == ("native", 0), found.text
        assert "no plan would save enough" in found.reason or heavy == [None]
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        insisted = decided(skewkit.skew_join(left, right, "k", "left", heavy=heavy))
    # A key that can have no null has no row to spread, whatever it may cost.
    assert insisted.strategy == ("native" if heavy == [None] else "salt")


@pytest.mark.parametrize("heavy", [[-7], [7]])
def test_aggregates_of_small_frames_are_left_to_plain_spark_whatever_keys_are_named(spark, heavy):
    frame = facts(spark, SMALL, 0.9)
    found = decided(skewkit.skew_groupby(frame, "k", heavy=heavy).agg(F.collect_set("v")))
    assert (found.strategy, found.jobs) == ("native", 0), found.text
    assert "no plan would save enough" in found.reason
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        insisted = decided(skewkit.skew_groupby(frame, "k", heavy=heavy).agg(F.collect_set("v")))
    assert insisted.strategy == "w_choices"


def test_named_keys_that_are_on_both_sides_are_looked_for(spark):
    """They may have so many pairs that a plan pays in small frames, too; one query tells."""
    left, right = facts(spark, 60_000, 0.5), facts(spark, 60_000, 0.5).withColumnRenamed("v", "w")
    with conf(spark, "spark.skewkit.slots", "32"):
        hot = decided(skewkit.skew_join(left, right, "k", heavy=[7]))
        absent = decided(skewkit.skew_join(left.where("k <> 7"), right, "k", heavy=[-7]))
        semi = decided(skewkit.skew_join(left, right, "k", "semi", heavy=[7]))
    assert (hot.strategy, hot.jobs) == ("salt", 1), hot.text
    assert (absent.strategy, absent.jobs) == ("native", 1), absent.text
    assert all("small but for what named keys may pair" in each.reason for each in (hot, absent))
    assert (semi.strategy, semi.jobs) == ("native", 0), semi.text


def test_a_side_that_comes_out_of_a_plain_join_is_not_computed_for_a_sample(spark):
    joined = facts(spark, 5 * MIDDLE, 0.9).join(others(spark, 100).withColumnRenamed("w", "name"), "k", "left")
    with conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_join(joined, others(spark, MIDDLE), "k"))
        named = decided(skewkit.skew_join(joined, others(spark, MIDDLE), "k", heavy=[7]))
    assert (found.strategy, found.jobs) == ("native", 0), found.text
    assert "nobody knows how many rows the left side has" in found.reason
    assert "name hot keys (heavy=)" in found.reason
    assert (named.strategy, named.jobs) == ("salt", 0), named.text


def test_a_group_by_takes_what_the_join_before_knew_of_its_keys(spark):
    with conf(spark, "spark.skewkit.slots", "64"):
        joined = skewkit.skew_join(facts(spark, LARGE, 0.0), others(spark, LARGE // 10), "k", "left")
        assert decided(joined).jobs == 1
        found = decided(skewkit.skew_groupby(joined, "k").agg(F.collect_set("v")))
        assert (found.strategy, found.jobs) == ("native", 0), found.text
        assert "hashing is balanced" in found.reason
        other = decided(skewkit.skew_groupby(joined, "v").agg(F.collect_set("k")))
    assert OF_BEFORE in found.reason
    assert OF_BEFORE not in other.reason


@pytest.mark.parametrize(
    ("select", "known"),
    [
        (lambda df: df.withColumn("x", F.col("v") + 1), True),
        (lambda df: df.alias("a").select("*", F.lit(1).alias("one")).drop("w"), True),
        (lambda df: df.select(F.col("k"), (F.col("v") % 3).alias("v")).withColumnRenamed("v", "value"), True),
        (lambda df: df.withColumn("k", F.col("k") % 10), False),
        (lambda df: df.selectExpr("v AS k", "k AS v"), False),
        (lambda df: df.where("k > 7"), False),
        (lambda df: df.withColumn("v", F.explode(F.array("v", "v"))), False),
    ],
)
def test_what_is_known_of_keys_goes_through_selects_that_leave_them_alone(spark, select, known):
    with conf(spark, "spark.skewkit.slots", "64"):
        joined = skewkit.skew_join(facts(spark, LARGE, 0.0), others(spark, LARGE // 10), "k", "left")
        found = decided(skewkit.skew_groupby(select(joined), "k").agg(F.collect_set("k")))
    assert (OF_BEFORE in found.reason, found.jobs) == (known, 1 - known), found.text


def test_a_group_by_asks_for_null_keys_that_a_join_has_only_counted(spark):
    orders = facts(spark, LARGE, 0.0).selectExpr("if(v % 10 < 6, null, k) AS k", "v")
    with conf(spark, "spark.skewkit.slots", "64"):
        joined = skewkit.skew_join(orders, others(spark, LARGE // 10), "k", "left")
        assert decided(joined).jobs == 1
        found = decided(skewkit.skew_groupby(joined, "k").agg(F.collect_set("v")))
    assert OF_BEFORE not in found.reason, found.text
    assert found.jobs == 1, found.text
    assert found.strategy != "native", found.text
    assert found.text.startswith("Key null has 60% of the rows: plain Spark is expected to take"), found.text


def test_a_side_that_has_each_key_once_is_not_read_and_need_not_be_counted(spark):
    once = others(spark, MIDDLE).join(others(spark, MIDDLE).withColumnRenamed("w", "u"), "k").groupBy("k").count()
    with conf(spark, "spark.skewkit.slots", "64"), conf(spark, "spark.skewkit.broadcastSide", "1"):
        found = decided(skewkit.skew_join(facts(spark, LARGE, 0.5), once, "k", "left"))
    assert found.jobs == 1, found.text
    assert found.strategy == "salt", found.text


@pytest.mark.parametrize("bounded", [True, False])
def test_a_side_that_has_each_key_once_is_broadcast_only_if_its_sources_bound_it(spark, bounded):
    """It is not read, and what joins and the like make may be any number of rows."""
    made = others(spark, SMALL) if bounded else others(spark, SMALL).selectExpr("explode(sequence(0, k)) AS k", "w")
    once = made.groupBy("k").agg(F.max("w").alias("w"))
    with conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_join(facts(spark, LARGE, 0.5), once, "k", "left"))
    assert (found.strategy == "broadcast_side") == bounded, found.text


@pytest.mark.parametrize("columns", [2, 60])
def test_an_aggregate_is_priced_by_what_it_reads(spark, columns):
    """However many other columns the frame has: they are not shuffled."""
    found = decided(skewkit.skew_groupby(facts(spark, MIDDLE, 0.5, columns), "k").agg(F.collect_set("v")))
    assert (found.strategy, found.jobs) == ("native", 0)
    assert "some 1.9 s of work on 2 slots" in found.reason


@pytest.mark.parametrize(
    ("confs", "slots", "source"),
    [
        ({"master": "local[6]"}, 6, "spark.master"),
        ({"master": "local[6]", "task.cpus": "2"}, 3, "spark.master"),
        ({"master": "local[*]", "executor.instances": "50", "executor.cores": "4"}, 2, "default parallelism"),
        ({"master": "yarn", "executor.instances": "5", "executor.cores": "4"}, 20, "executors and their cores"),
        ({"master": "k8s://x", "executor.instances": "5", "executor.cores": "4", "task.cpus": "4"}, 5, "executors"),
        ({"master": "spark://x", "executor.instances": "5", "executor.cores": "4"}, 2, "default parallelism"),
        ({"master": "yarn", "executor.instances": "5", "executor.cores": "4", **DYNAMIC}, 32, "the partitions"),
        ({"master": "yarn", "dynamicAllocation.maxExecutors": "9", **DYNAMIC}, 9, "dynamic allocation"),
        ({"master": "yarn", "executor.cores": "4", "dynamicAllocation.maxExecutors": "9", **DYNAMIC}, 36, "dynamic"),
        ({"default.parallelism": "2"}, 2, "default parallelism"),
        ({"master": "yarn", "executor.instances": "5"}, 2, "default parallelism"),
        ({"master": "yarn", "task.cpus": "2"}, 1, "default parallelism"),
        ({"skewkit.slots": "7", "master": "local[2]"}, 7, "spark.skewkit.slots"),
    ],
)
def test_slots_of_a_session(spark, monkeypatch, confs, slots, source):
    read = {f"spark.{name}": value for name, value in confs.items()}.get
    monkeypatch.setattr(slots_of_sessions, "conf_reader", lambda session: read)
    settings = Settings(slots=7) if "skewkit.slots" in confs else Settings()
    found = slots_of_sessions.terms_of(spark, settings, PARTITIONS).slots
    assert found.number == slots
    assert found.source.startswith(source)


def test_named_keys_of_frames_that_may_have_any_number_of_rows_are_treated(spark):
    exploded = facts(spark, SMALL, 0.9).selectExpr("k", "explode(sequence(1, 1000)) AS e")
    found = decided(skewkit.skew_join(exploded, others(spark, 100), "k", "left", heavy=[7]))
    assert (found.strategy, found.jobs) == ("salt", 0), found.text


@pytest.mark.parametrize(("name", "value"), [("slots", "many"), ("slots", "-1"), ("margin", "x"), ("margin", "nan")])
def test_slots_and_margins_that_are_no_numbers(spark, name, value):
    with (
        conf(spark, f"spark.skewkit.{name}", value),
        pytest.raises(skewkit.SkewkitError, match=rf"spark\.skewkit\.{name}"),
    ):
        skewkit.skew_join(facts(spark, 10, 0.5), others(spark, 5), "k")


def test_a_negative_margin_lets_the_balanced_plan_cost_what_it_will(spark):
    with conf(spark, "spark.skewkit.margin", "-1e9"), conf(spark, "spark.skewkit.broadcastSide", "1"):
        found = decided(skewkit.skew_join(facts(spark, SMALL, 0.5), others(spark, SMALL), "k", "full"))
    assert found.strategy == "salt"


def test_every_decision_says_the_seconds_and_the_slots(spark):
    with conf(spark, "spark.skewkit.slots", "64"):
        found = decided(skewkit.skew_join(facts(spark, LARGE, 0.5), others(spark, LARGE // 10), "k", "full"))
    assert "key 7" in found.reason
    assert "64 slots" in found.reason
    assert found.seconds > 0
