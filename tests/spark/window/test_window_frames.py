"""Frames of rows and of values: each row sees the rows that it sees in plain Spark."""

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf
from tests.spark.window.cases import NOW, UNB, check, ends_of, plain, sums


@pytest.mark.every(7)
@pytest.mark.parametrize("x", ["v", "i", "d", "e"])
def test_whole_partitions(facts, x):
    check(facts, ["k"], [], sums(x) if x != "e" else {"total": F.sum(x), "n": F.count(x), "least": F.min(x)})
    check(facts, ["k"], ["tied"], {"total": F.sum(x), "most": F.max(x)}, ("rowsBetween", *UNB))


@pytest.mark.every(7)
@pytest.mark.parametrize("kind", ["rowsBetween", "rangeBetween"])
@pytest.mark.parametrize("bounds", [(UNB[0], NOW), (NOW, UNB[1]), UNB], ids=["running", "backwards", "whole"])
def test_infinite_frames(facts, kind, bounds):
    order = ["v"] if kind == "rowsBetween" else ["tied"]
    check(facts, ["k"], order, {**sums(), "decimals": F.sum("e"), "ints": F.sum("i")}, (kind, *bounds))


BEFORE, AFTER = (UNB[0], -1), (1, UNB[1])


@pytest.mark.every(2)
@pytest.mark.parametrize("bounds", [BEFORE, AFTER], ids=["before", "after"])
def test_all_rows_before_or_after_this_one(facts, bounds):
    """What such a frame holds of the row's own block may be nothing, though it holds rows of other blocks."""
    functions = {**ends_of("e"), "decimals": F.sum("e"), **sums()}
    if bounds == BEFORE:
        functions |= {"third": F.nth_value("s", 3), "far": F.nth_value("v", 700)}
    check(facts, ["k"], ["v"], functions, ("rowsBetween", *bounds))
    deviations = {"sd": F.stddev("i"), "spread": F.var_pop("d")}
    window = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4).rowsBetween(*bounds)
    both = window.select(**deviations), plain(facts, ["k"], ["v"], deviations, ("rowsBetween", *bounds))
    assert_same_rows(*(frame.select("k", "v", F.round("sd", 6), F.round("spread", 6)) for frame in both))


@pytest.mark.parametrize(
    "frame",
    [("rowsBetween", UNB[0], -2), ("rowsBetween", 2, UNB[1]), ("rangeBetween", UNB[0], -1)],
    ids=str,
)
def test_frames_that_end_within_another_block_are_left_to_spark(facts, frame):
    check(facts, ["k"], ["v"], sums(), frame, is_split=False)


@pytest.mark.every(7)
@pytest.mark.parametrize("bounds", [(NOW, UNB[1]), UNB, (UNB[0], 3), (-3, UNB[1])], ids=str)
def test_values_under_infinite_frames(facts, bounds):
    functions = {**ends_of("e"), **sums()}
    if bounds[0] == UNB[0]:
        functions["third"] = F.nth_value("s", 3)
    check(facts, ["k"], ["v"], functions, ("rowsBetween", *bounds))


FRAMES = {
    "rows around": ("v", "rowsBetween", -5, 3),
    "rows before": ("v", "rowsBetween", -7, -2),
    "rows after": ("v", "rowsBetween", 1, 40),
    "more rows than blocks have": ("v", "rowsBetween", -900, 0),
    "this row": ("v", "rowsBetween", 0, 0),
    "values around": ("tied", "rangeBetween", -2, 1),
    "values before": ("tied", "rangeBetween", -4, -1),
    "values after": ("d", "rangeBetween", 1, 2),
    "doubles around": ("d", "rangeBetween", -1, 1),
    "this value": ("tied", "rangeBetween", 0, 0),
}


@pytest.mark.every(15)
@pytest.mark.connect
@pytest.mark.parametrize("descending", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["asc", "desc"])
@pytest.mark.parametrize("frame", FRAMES)
def test_finite_frames(facts, frame, descending):
    order, *bounds = FRAMES[frame]
    functions = {**sums(), "sd": F.stddev("i"), "sum_d": F.sum("d"), "decimals": F.avg("e")}
    if bounds[0] == "rowsBetween":
        functions |= {"list": F.collect_list("s"), "first": F.first("s"), "second": F.nth_value("s", 2)}
    by = [F.desc(order) if descending else order]
    check(facts, ["k"], by, functions, tuple(bounds))


@pytest.mark.every(3)
@pytest.mark.parametrize("bounds", [(UNB[0], 2), (-2, UNB[1])], ids=str)
def test_half_infinite_frames_of_values(facts, bounds):
    check(facts, ["k"], [F.desc("tied")], {**sums(), "first": F.min("s")}, ("rangeBetween", *bounds))


@pytest.mark.slow
def test_ranges_of_decimals(facts):
    check(facts, ["k"], [F.desc_nulls_first("e")], sums(), ("rangeBetween", -2, 1))


def test_a_frame_that_may_differ_the_second_time_is_left_to_spark(skewed):
    """Blocks and what they carry come from several readings of the frame."""
    fickle = skewed(600).withColumn("x", F.rand(1))
    window = skewkit.skew_window(fickle, "k", "v", strategy="split").select(total=F.sum("x"))
    assert "native: blocks read the frame more than once" in skewkit.explain(window)


@pytest.mark.slow
def test_functions_of_finite_frames_keep_their_constants(facts):
    functions = {
        "middle": F.percentile("v", 0.5),
        "shares": F.percentile_approx("v", [0.2, 0.5], 100),
        "mode": F.mode("s", deterministic=True),
        "distinct": F.approx_count_distinct("s", 0.1),
        "tail": F.max_by("s", "v"),
        "many": F.count_if(F.col("v") > 9),
    }
    check(facts, ["k"], ["v"], functions, ("rowsBetween", -3, 2))
    check(facts, ["k"], ["i"], functions, ("rangeBetween", -3, 2))


@pytest.mark.every(3)
@pytest.mark.parametrize("value", ["if(v % 2 = 0, 0.0D, -0.0D)", "if(v % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE"])
def test_of_equal_values_later_frames_take_the_first(facts, value):
    """Shown as text: Python takes -0.0 for 0.0."""
    if "COLLATE" in value and VERSION < (4, 0):
        pytest.skip("collations came with Spark 4.0")
    df = facts.selectExpr("*", f"{value} AS z")
    found = []
    for ours in (True, False):
        frame = (0, Window.unboundedFollowing)
        if ours:
            window = skewkit.skew_window(df, "k", ["v", "t"], strategy="split", partitions=3).rowsBetween(*frame)
            result = window.select(a=F.max("z"), b=F.min("z"))
        else:
            spec = Window.partitionBy("k").orderBy("v", "t").rowsBetween(*frame)
            result = df.select("*", F.max("z").over(spec).alias("a"), F.min("z").over(spec).alias("b"))
        found.append(sorted(map(repr, result.selectExpr("k", "v", "t", "string(a)", "string(b)").collect())))
    assert found[0] == found[1]


@pytest.mark.parametrize("frame", [(Window.unboundedPreceding, 0), UNB], ids=["running", "whole"])
@pytest.mark.skipif(VERSION < (4, 0), reason="collations came with Spark 4.0")
def test_of_equal_values_the_first_is_taken_however_rows_are_stored(spark, frame):
    """All rows of a key but the last are stored before it, and it is first in the order."""
    value = "if(id = 1199, 'a', 'A') COLLATE UTF8_LCASE AS z"
    df = spark.range(0, 1200, 1, 2).selectExpr("id DIV 1200 AS k", "id AS t", value)
    window = skewkit.skew_window(df, "k", F.desc("t"), strategy="split", partitions=4).rowsBetween(*frame)
    ours = window.select(a=F.max("z"), b=F.min("z"))
    assert "strategy   split" in skewkit.explain(ours)
    found = {tuple(row) for row in ours.selectExpr("string(a)", "string(b)").collect()}
    assert found == {("a", "a")}


@pytest.mark.every(2)
@pytest.mark.parametrize("frame", [("rangeBetween", -2, 2), ("rowsBetween", -3, 1)], ids=str)
def test_a_star_and_a_lambda_are_of_the_row_and_not_of_the_blocks(facts, frame):
    df = facts.select("k", "v", "i")
    functions = {"star": F.max(F.hash("*"))}
    check(df, ["k"], ["v"], functions, frame)
    functions = {"lambda": F.count_if(F.exists(F.array(F.lit(1), F.lit(5)), lambda e: e == F.col("i")))}
    ours = getattr(skewkit.skew_window(df, "k", "v", strategy="split", partitions=4), frame[0])(*frame[1:])
    assert_same_rows(ours.select(**functions), plain(df, ["k"], ["v"], functions, frame))


def test_arguments_of_finite_frames_that_are_of_the_row_s_file(spark, tmp_path):
    """They are computed where the row is read."""
    df = spark.range(0, 2_000, 1, 3).selectExpr("if(id % 10 < 8, 0, id) AS k", "id AS v")
    df.write.parquet(str(tmp_path / "t"))
    files = spark.read.parquet(str(tmp_path / "t"))
    check(files, ["k"], ["v"], {"files": F.collect_list(F.input_file_name())}, ("rowsBetween", -2, 0))


@pytest.mark.slow
def test_lists_of_wide_values_are_not_handed_from_block_to_block(spark):
    # Nobody knows how wide a text is that a query makes, so it is taken to have 4 KB (`COMPUTED`).
    text = F.expr("repeat(string(id), 5000)")
    wide = F.struct(*(F.lit(i).cast("long").alias(f"f{i}") for i in range(1000)))
    df = spark.range(2_000).select(F.expr("if(id % 10 < 9, 0, id) AS k"), F.col("id").alias("v"), text.alias("s"))
    df = df.withColumn("x", wide)
    far = "b would send too many rows"
    for function, why in ((F.lag("x", 60), far), (F.lag("s", 100), far), (F.lag("v", 100), None)):
        found = skewkit.skew_window(df, ["k"], ["v"], strategy="auto", partitions=100).select(b=function)
        assert (why is None) == ("would send too many" not in skewkit.explain(found))
    ten = skewkit.skew_window(df, ["k"], ["v"], partitions=100).rowsBetween(-60, 0)
    assert "would send too many rows" in skewkit.explain(ten.select(b=F.max("x")))
    assert "would send too many rows" not in skewkit.explain(ten.select(b=F.max("v")))
    along = skewkit.skew_window(df, ["k"], ["v", "x"], partitions=100).rowsBetween(-60, 0)
    assert "would send too many rows" in skewkit.explain(along.select(b=F.max("v")))


@pytest.mark.slow
def test_bounds_may_be_numbers_of_numpy(facts):
    check(facts, ["k"], ["v"], {"three": F.sum("v")}, ("rowsBetween", np.int64(-3), np.int32(0)))


def _ends(spark, type_):
    """Return rows along a type of 8 or 16 bits, from end to end."""
    unit = 1 if type_ == "tinyint" else 256
    return spark.range(500, numPartitions=3).selectExpr(
        "if(id % 10 < 8, 0, id % 5) AS k", f"cast((id % 256 - 128) * {unit} AS {type_}) AS t"
    )


@pytest.mark.parametrize(
    ("type_", "bounds", "descending", "is_split"),
    [
        ("tinyint", (-20, 20), True, True),
        ("smallint", (-5_120, 5_120), True, True),
        ("tinyint", (UNB[0], 50), False, True),
        ("tinyint", (-20, -3), False, False),
        ("smallint", (-5_120, UNB[1]), True, False),
        ("tinyint", (UNB[0], 200), False, False),
    ],
)
def test_bounds_that_overflow_wrap_around_as_in_plain_spark(spark, type_, bounds, descending, is_split):
    """With ANSI mode off; a frame that loses rows there has lost them for the rest of its partition."""
    order = [F.desc("t") if descending else F.asc("t")]
    functions = {"n": F.count("*"), "least": F.min("t"), "most": F.max("t")}
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        check(_ends(spark, type_), ["k"], order, functions, ("rangeBetween", *bounds), is_split=is_split)


def test_bounds_that_overflow_fail_as_in_plain_spark(spark):
    """With ANSI mode on."""
    functions, df = {"n": F.count("*")}, _ends(spark, "tinyint")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        check(df.where("t between -100 and 100"), ["k"], ["t"], functions, ("rangeBetween", -20, -3))
        window = skewkit.skew_window(df, "k", "t", strategy="split", partitions=4)
        ours = window.rangeBetween(-20, 20).select(**functions)
        assert "strategy   split" in skewkit.explain(ours)
        for frame in (ours, plain(df, ["k"], ["t"], functions, ("rangeBetween", -20, 20))):
            with pytest.raises(PySparkException, match="OVERFLOW"):
                frame.collect()
        with pytest.raises(ArgumentError, match="CAST_OVERFLOW"):
            window.rangeBetween(-20, 200).select(**functions)
