"""Expressions of window functions, several frames in one call, durations, and functions that ignore nulls."""

import re
from datetime import timedelta

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.spark.session.compat import physical_plan
from skewkit.spark.session.jobs import counted
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.window.cases import NOW, UNB, check


def by_v():
    return Window.partitionBy("k").orderBy("v")


def by_tied():
    return Window.partitionBy("k").orderBy("tied")


def same(df, window, ours, expected, is_split=True):
    """Compare the columns of a window with those that plain Spark computes."""
    found = window.select(**ours)
    assert ("strategy   split" in skewkit.explain(found)) == is_split, skewkit.explain(found)
    plain = df.select("*", *(column.alias(name) for name, column in expected.items()))
    assert found.schema == plain.schema
    return assert_same_rows(found, plain)


def cut(df, *order):
    return skewkit.skew_window(df, "k", list(order), strategy="split", partitions=4)


@pytest.mark.connect
def test_functions_inside_of_expressions(facts):
    def columns(over):
        lag, total, number = over(F.lag("v")), over(F.sum("v")), over(F.row_number())
        return {
            "diff": F.col("v") - lag,
            "share": F.round(facts["v"] / (total + 1), 3),
            "known": F.coalesce(over(F.lag("d")), F.lit(0)),
            "odd": F.when(number % 2 == 0, over(F.rank()) * F.lit(2)).otherwise(F.col("i")),
            "text": total.cast("string"),
            "parts": F.struct(lag.alias("p"), number.alias("n")),
        }

    same(facts, cut(facts, "v"), columns(lambda f: f), columns(lambda f: f.over(by_v())))


@pytest.mark.connect
def test_frames_of_rows_in_one_call(facts):
    framed = {
        "near": F.avg("i").over(by_v().rowsBetween(-3, 0)),
        "around": F.max("s").over(by_v().rowsBetween(-1, 5)),
        "all": F.count("*").over(by_v().rowsBetween(*UNB)),
        "up": F.sum("i").over(by_v().rowsBetween(UNB[0], 2)),
        "down": F.count("d").over(by_v().rowsBetween(-4, UNB[1])),
    }
    bare = {"run": F.sum("v"), "lag": F.lag("v", 2), "rn": F.row_number(), "share": F.percent_rank(), "of": F.ntile(5)}
    expected = framed | {name: function.over(by_v()) for name, function in bare.items()}
    same(facts, cut(facts, "v"), framed | bare, expected)


def test_frames_of_values_in_one_call(facts):
    framed = {
        "near": F.count("v").over(by_tied().rangeBetween(-2, 1)),
        "up": F.sum("i").over(by_tied().rangeBetween(UNB[0], 3)),
        "down": F.sum("i").over(by_tied().rangeBetween(-1, UNB[1])),
        "equal": F.count("v").over(by_tied().rangeBetween(0, 0)),
        "all": F.max("v").over(by_tied().rowsBetween(*UNB)),
    }
    bare = {"run": F.sum("v"), "rank": F.rank(), "part": F.cume_dist()}
    expected = framed | {name: function.over(by_tied()) for name, function in bare.items()}
    same(facts, cut(facts, "tied"), framed | bare, expected)


def test_functions_of_their_own_frame_beside_a_frame(facts):
    """Spark refuses `lag` and `rank` over a window with a frame."""
    bare = {"lag": F.lag("v"), "rank": F.rank(), "part": F.percent_rank()}
    expected = {name: function.over(by_v()) for name, function in bare.items()}
    expected["near"] = F.sum("i").over(by_v().rowsBetween(-2, 1))
    same(facts, cut(facts, "v").rowsBetween(-2, 1), bare | {"near": F.sum("i")}, expected)


def test_another_window_is_left_to_spark(facts):
    other = F.sum("v").over(Window.partitionBy("s"))
    expected = {"mine": F.sum("i").over(by_v()), "both": other - F.lag("v").over(by_v())}
    same(facts, cut(facts, "v"), {"mine": F.sum("i"), "both": other - F.lag("v")}, expected, is_split=False)
    mixed = {
        "rows": F.sum("i").over(by_v().rowsBetween(-2, 0)),
        "values": F.sum("i").over(by_v().rangeBetween(-2, 0)),
    }
    same(facts, cut(facts, "v"), mixed, mixed, is_split=False)


def test_a_window_spec_is_taken(facts):
    spec = by_v().rowsBetween(-2, 1)
    window = skewkit.skew_window(facts, spec, strategy="split", partitions=4)
    assert "k ordered by v, rows between 2 preceding and 1 following" in repr(window)
    same(facts, window, {"near": F.sum("i")}, {"near": F.sum("i").over(spec)})
    with pytest.raises(ArgumentError, match="it has its own order"):
        skewkit.skew_window(facts, spec, "v")


@pytest.mark.connect
def test_nulls_are_ignored_over_any_number_of_blocks(facts):
    df = facts.selectExpr("*", "if(v % 397 = 3, v, null) rare")
    calls = [
        "lag(d) ignore nulls",
        "lag(rare, 3) IGNORE NULLS",
        "lead(rare, 2) ignore nulls",
        "lead(d, 1, -1D) ignore nulls",
        "lag(d, 40, 7.5D) ignore nulls",
        "nth_value(d, 3) ignore nulls",
        "nth_value(rare, 2) ignore nulls",
        "nth_value(rare, 500) ignore nulls",
    ]
    functions = {f"f{i}": F.expr(call) for i, call in enumerate(calls)}
    same(df, cut(df, "v"), functions, {name: function.over(by_v()) for name, function in functions.items()})


FRAMES = [None, ("rowsBetween", 0, UNB[1]), ("rowsBetween", *UNB), ("rowsBetween", UNB[0], -1), ("rowsBetween", -2, 3)]


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("frame", FRAMES, ids=str)
def test_extremes_and_conditions(facts, frame):
    # From a row to the end Spark reads all rows behind each row: few rows will do.
    df = facts.where("v < 700").selectExpr("*", "if(v % 4 = 0, null, v % 3 = 0) b", "if(v % 197 = 3, v, null) rare")
    functions = {
        "some": F.bool_or("b"),
        "other": F.some("b"),
        "every": F.every("b"),
        "both": F.bool_and(F.col("i") < 22),
        "any": F.any_value("d", F.lit(True)),
        "many": F.count_if(F.col("i") > 11),
        "most": F.max_by("s", "i"),
        "least": F.min_by("v", "d"),
        "late": F.min_by("d", "rare"),
        "computed": F.max_by(F.col("v") + 1, F.col("d") * 2),
    }
    check(df, ["k"], ["v"], functions, frame)


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("frame", [None, ("rowsBetween", NOW, UNB[1]), ("rowsBetween", *UNB)], ids=str)
def test_a_huge_constant_has_no_deviation(facts, frame):
    """Its square is more than a double holds."""
    df = facts.selectExpr("k", "v", "1e200D c")
    check(df, ["k"], ["v"], {"sd": F.stddev("c"), "var": F.var_pop("c")}, frame)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [None, ("rowsBetween", NOW, UNB[1]), ("rowsBetween", *UNB)], ids=str)
def test_huge_deviations(facts, frame):
    """The square of a mean is more than a double holds, that of the deviations hardly less."""
    df = facts.selectExpr("k", "v", "if(v % 2 = 0, 1e160D, 1e160D + 1e153D) x")
    window = cut(df, "v")
    spec = by_v()
    if frame:
        window, spec = (getattr(each, frame[0])(*frame[1:]) for each in (window, spec))
    ours, plain = window.select(x=F.stddev_pop("x")), df.withColumn("x", F.stddev_pop("x").over(spec))
    assert_same_rows(*(each.select("k", "v", F.round(F.col("x") / 1e152, 4)) for each in (ours, plain)))


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("type_", ["timestamp", "timestamp_ntz"])
def test_durations_along_times(facts, type_):
    df = facts.withColumn("at", F.col("t").cast(type_))
    window = cut(df, F.desc("at")).rangeBetween(timedelta(minutes=-5), timedelta(minutes=1))
    spec = Window.partitionBy("k").orderBy(F.desc(F.unix_micros("t")))
    expected = {"n": F.count("v").over(spec.rangeBetween(-300_000_000, 60_000_000)), "rank": F.rank().over(spec)}
    same(df, window, {"n": F.count("v"), "rank": F.rank()}, expected)


@pytest.mark.parametrize(("type_", "instants"), [("timestamp", "t"), ("timestamp_ntz", "from_utc_timestamp(t, zone)")])
def test_durations_where_clocks_go_back(facts, type_, instants):
    """Along a timestamp two instants with one local time are an hour apart, and a day has 24 hours."""
    zone = "America/New_York"  # there clocks went back at 06:00 UTC, from 02:00 to 01:00
    times = "timestamp'2023-11-05 05:00:00Z' + make_dt_interval(0, 0, int(v * 7919 % 3000) - 1500) t"
    df = facts.selectExpr("k", "v", times, f"'{zone}' zone")
    with conf(facts.sparkSession, "spark.sql.session.timeZone", zone):
        df = df.withColumn("at", F.col("t").cast(type_))
        spec = Window.partitionBy("k").orderBy(F.unix_micros(F.expr(instants)))
        expected = F.count("v").over(spec.rangeBetween(-24 * 3600 * 1_000_000, 0))
        same(df, cut(df, "at").rangeBetween(timedelta(days=-1), 0), {"n": F.count("v")}, {"n": expected})


@pytest.mark.every(2)
@pytest.mark.parametrize("bounds", [(-7, 0), (timedelta(days=-7), 0)], ids=str)
def test_days_along_dates(facts, bounds):
    df = facts.selectExpr("*", "date_from_unix_date(int(v % 40)) a")
    expected = {"n": F.count("v").over(Window.partitionBy("k").orderBy(F.unix_date("a")).rangeBetween(-7, 0))}
    same(df, cut(df, "a").rangeBetween(*bounds), {"n": F.count("v")}, expected)


def test_bounds_that_do_not_go_with_the_order(facts):
    df = facts.selectExpr("*", "date_from_unix_date(int(v % 40)) a")
    for order, bound, said in (
        ("t", -7, r"along t, a timestamp; give durations, such as datetime\.timedelta"),
        ("v", timedelta(1), "ordered by v of type bigint; durations go with"),
        ("a", timedelta(hours=-1), "a part of a day along a, a date"),
        ("v", -1.5, "a bound is a whole number"),
    ):
        with pytest.raises(ArgumentTypeError, match=said):
            cut(df, order).rangeBetween(*sorted((bound, 0), key=lambda b: b == 0 or b == timedelta(1)))


def test_frames_of_many_rows_over_many_blocks(facts):
    """What the blocks hand on grows with the rows of the frame, and not with their square."""
    window = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=200).rowsBetween(-500, 0)
    expected = {"total": F.sum("i").over(by_v().rowsBetween(-500, 0))}
    same(facts, window, {"total": F.sum("i")}, expected)


def test_without_columns_of_groups(facts):
    with conf(facts.sparkSession, "spark.sql.retainGroupColumns", "false"):
        check(facts, ["k"], ["v"], {"total": F.sum("v"), "lag": F.lag("v", 3), "second": F.nth_value("v", 2)})


def test_what_is_no_window_function_is_refused(facts):
    with pytest.raises(ArgumentError, match="Spark refuses"):
        cut(facts, "v").select(a=F.sum(F.lag("v")))
    with pytest.raises(ArgumentError, match="Spark refuses"):
        cut(facts, "v").select(a=F.col("v") + 1)
    for text in ("v - lag(v)", "v - lag(v) over (partition by k order by v)"):
        for strategy in ("auto", "split"):
            window = skewkit.skew_window(facts, "k", "v", strategy=strategy)
            with pytest.raises(ArgumentError, match=r"SQL text of more than one call.*a=F.col\('v'\) - F.lag\('v'\)"):
                window.select(n=F.row_number(), a=F.expr(text))
    with pytest.raises(ArgumentError, match="Spark refuses") as wrong:
        cut(facts, "v").select(a=F.expr("sum(v) FILTER (WHERE v > 0)"), b=F.sum(F.lag("v")))
    assert "more than one call" not in str(wrong.value)


def test_a_window_without_a_profile_asks_one_query(facts):
    with counted() as used:
        cut(facts, "v").select(total=F.sum("v"), lag=F.lag("i"))
    assert used.jobs == 1
    with counted() as used:
        skewkit.skew_window(facts, "k", "v", strategy="native").select(total=F.sum("v"))
    assert used.jobs == 0


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["native", "split"])
def test_sessions_in_one_pass(facts, strategy):
    df = facts.selectExpr("*", "if(v % 50 = 7, null, v * v % 10007) at", "timestamp_seconds(v * v % 10007) moment")
    spec = Window.partitionBy("k").orderBy("at")
    before = df.withColumn("before", F.lag("at").over(spec))
    is_new = F.expr("if(at is null, 0, int(before is null or at - before > 9))")
    plain = before.withColumn("session", F.sum(is_new).over(spec.rowsBetween(UNB[0], 0))).drop("before")
    plain = plain.withColumn("session", F.expr("if(at is null, null, session)"))
    window = skewkit.skew_window(df, "k", "at", strategy=strategy, partitions=4)
    ours = window.sessions(9)
    assert f"strategy   {strategy}" in skewkit.explain(ours)
    assert ours.schema == plain.schema
    assert_same_rows(ours, plain)
    times = skewkit.skew_window(df.drop("at"), "k", "moment", strategy=strategy, partitions=4)
    named = times.sessions(timedelta(seconds=9), name="V")
    numbers = skewkit.skew_window(df.drop("at").withColumn("m", F.unix_seconds("moment")), "k", "m", strategy="native")
    assert_same_rows(
        named.selectExpr("k", "V AS session", "moment"), numbers.sessions(9).select("k", "session", "moment")
    )


def test_sessions_along_what_has_no_gaps(facts):
    for order, gap, error, said in (
        (["v", "t"], 1, ArgumentError, "along one ascending order column"),
        ([F.desc("v")], 1, ArgumentError, "not along v desc of type bigint"),
        (["s"], 1, ArgumentError, "not along s of type string"),
        (["t"], 60, ArgumentTypeError, r"it is a datetime.timedelta, such as timedelta\(minutes=30\)"),
        (["v"], timedelta(1), ArgumentTypeError, "it is a number"),
        (["v"], -1, ArgumentError, "not negative"),
    ):
        with pytest.raises(error, match=said):
            cut(facts, *order).sessions(gap)


def test_a_second_window_takes_what_the_first_one_found(facts):
    """A greatest value so far, a flag, a running sum."""
    flag = F.expr("int(p is null or t = p)")
    first = cut(facts, "v").select(p=F.max("t"), n=F.count("i"))
    with counted() as used:
        second = cut(first.withColumn("new", flag).where("i < 20"), "v").select(session=F.sum("new"))
        ranked = cut(second, "v").select(rank=F.row_number())
    assert used.jobs == 0
    assert "keys and cuts are those of the window before" in skewkit.explain(second)
    assert "strategy   split" in skewkit.explain(ranked)
    assert "native: the frame holds 3 cut windows" in skewkit.explain(cut(ranked, "v").select(x=F.max("i")))
    plain = facts.select("*", F.max("t").over(by_v()).alias("p"), F.count("i").over(by_v()).alias("n"))
    plain = plain.withColumn("new", flag).where("i < 20").withColumn("session", F.sum("new").over(by_v()))
    assert_same_rows(ranked, plain.withColumn("rank", F.row_number().over(by_v())))
    with counted() as used:
        other = cut(first, "i", "v").select(total=F.sum("v"))
    assert used.jobs == 1
    assert_same_rows(
        other.select("k", "v", "total"),
        facts.select("k", "v", F.sum("v").over(Window.partitionBy("k").orderBy("i", "v")).alias("total")),
    )


def test_the_opposite_order_is_cut_at_the_same_places(facts):
    """The first window's last value depends on the order of rows that tie; the second one does not read it."""
    order = [F.desc("v"), F.desc_nulls_first("t")]
    first = cut(facts, "v", F.asc_nulls_last("t")).select(p=F.last("i", ignorenulls=True))
    with counted() as used:
        second = cut(first, *order).select(total=F.sum("v"), last=F.max("s"))
    assert used.jobs == 0
    assert "keys and cuts are those of the window before" in skewkit.explain(second)
    spec = Window.partitionBy("k").orderBy(*order)
    plain = facts.select("*", F.sum("v").over(spec).alias("total"), F.max("s").over(spec).alias("last"))
    assert_same_rows(second.drop("p"), plain)


def test_a_window_over_values_that_depend_on_the_order_of_rows_is_native(facts):
    """Sessions by hand: of rows with equal times, another may be the one before when the lag is computed again."""
    first = cut(facts, "v").select(p=F.lag("t"))
    second = cut(first.withColumn("new", F.expr("int(p is null)")), "v").select(session=F.sum("new"))
    assert "depends on the order of rows" in skewkit.explain(second)
    assert "strategy   native" in skewkit.explain(second)


def test_behind_a_native_window_of_the_same_keys_nothing_is_asked(facts):
    first = skewkit.skew_window(facts, "k", "v", strategy="native").select(p=F.lag("t"))
    with counted() as used:
        second = skewkit.skew_window(first.where("i < 20"), "k", "v").select(n=F.count("p"))
    assert used.jobs == 0
    assert "native: a window before has put the rows of each key together" in skewkit.explain(second)
    assert exchanges(second) == 1
    moved = first.withColumn("k", F.col("k") % 2)
    assert "a window before" not in skewkit.explain(skewkit.skew_window(moved, "k", "v").select(n=F.count("p")))


def exchanges(df):
    return len(re.findall(r"Exchange hashpartitioning", physical_plan(df)))


def test_rows_of_one_partition_are_numbered_by_their_places(spark, tmp_path):
    """A row of a file has the same place whenever it is read."""
    spark.range(0, 900, 1, 3).selectExpr("id v").write.parquet(str(tmp_path / "rows"))
    df = spark.read.parquet(str(tmp_path / "rows")).withColumn("place", F.monotonically_increasing_id())
    ours = skewkit.skew_window(df, [], "place", strategy="split", partitions=4).select(n=F.row_number())
    assert "'all rows' into 4 blocks" in skewkit.explain(ours), "the name of a partition without keys"
    assert "strategy   split" in skewkit.explain(ours)
    assert_same_rows(ours, df.select("*", F.row_number().over(Window.orderBy("place")).alias("n")))
    moved = df.repartition(5).withColumn("place", F.monotonically_increasing_id())
    assert "strategy   native" in skewkit.explain(
        skewkit.skew_window(moved, [], "place", strategy="split").select(n=F.row_number())
    )


CONFS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.retainGroupColumns": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.requireAllClusterKeysForDistribution": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "true",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.statisticalAggregate": "true",
    "spark.sql.legacy.percentileDiscCalculation": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ColumnPruning",
    "spark.sql.exchange.reuse": "false",
    "spark.sql.join.preferSortMergeJoin": "true",
    "spark.sql.sort.enableRadixSort": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.escapedStringLiterals": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.functionNames.lowerCase.enabled": "true",
}


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("name", CONFS)
def test_confs_that_change_what_a_query_means(facts, name):
    functions = {
        "total": F.sum("v"),
        "back": F.lag("s", 2),
        "sd": F.stddev_pop("i"),
        "second": F.nth_value("d", 2),
        "sure": F.expr("lag(d) ignore nulls"),
        "most": F.max_by("s", "i"),
        "money": F.sum("e"),
    }
    with conf(facts.sparkSession, name, CONFS[name]):
        ours = cut(facts, "v").select(**functions)
        assert "strategy   split" in skewkit.explain(ours)
        plain = facts.select("*", *(column.over(by_v()).alias(key) for key, column in functions.items()))
        assert ours.schema == plain.schema
        shown = [F.round(column, 9) if column == "sd" else F.col(column) for column in ("k", "v", *functions)]
        assert_same_rows(ours.select(*shown), plain.select(*shown))


def test_a_small_frame_is_not_asked(facts):
    with conf(facts.sparkSession, "spark.skewkit.margin", "0.5"), counted() as used:
        found = skewkit.skew_window(facts, "k", "v").select(total=F.sum("v"))
    assert used.jobs == 0
    assert "native: some 0.0 s of work" in skewkit.explain(found)
    assert (skewkit.decisions()[-1].operator, skewkit.decisions()[-1].jobs) == ("window", 0)
