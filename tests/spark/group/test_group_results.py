"""What group functions and merges see and return: dtypes by the schema, null keys kept, errors typed in the task."""

import datetime as dt
import decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

import skewkit
from skewkit.spark.group.worker.results import Declared, fitted, in_schema
from skewkit.testing import assert_same_rows
from tests.helpers import conf

ZONE = "America/New_York"
WHEN = dt.datetime(2023, 11, 5, 1, 30)
TYPES = {
    # type -> what a column of it may come as, and the dtype that a merge gets
    LongType: ([1790000000000000001, 3], "Int64"),
    IntegerType: ([1 << 30, 3], "Int32"),
    ShortType: ([1 << 14, 3], "Int16"),
    ByteType: ([100, 3], "Int8"),
    BooleanType: ([True, False], "boolean"),
    DoubleType: ([1e200, 0.1], "float64"),
    FloatType: ([0.5, 0.25], "float32"),
    StringType: (["a", ""], "object"),
    BinaryType: ([b"a", b""], "object"),
    DateType: ([dt.date(2023, 1, 1), dt.date(1, 1, 1)], "object"),
    TimestampNTZType: ([WHEN, dt.datetime(1970, 1, 1)], "datetime64[us]"),
    TimestampType: ([pd.Timestamp(WHEN, tz="UTC"), pd.Timestamp(1, unit="us", tz="UTC")], f"datetime64[us, {ZONE}]"),
    DayTimeIntervalType: ([dt.timedelta(days=1, microseconds=1), dt.timedelta(0)], "timedelta64[us]"),
    DecimalType: ([decimal.Decimal("12345678901234567.25"), decimal.Decimal("0.50")], "object"),
}
MADE = {DecimalType: DecimalType(20, 2)}


def column_of(values, how):
    """Return values as a column of one of pandas' back ends, not by way of floats."""
    objects = pd.Series(values, dtype=object)
    if how == "objects" or (how == "plain" and None in values):
        return objects
    if how == "plain":
        return objects.infer_objects()
    # `convert_dtypes` of whole numbers goes by way of floats.
    if values and all(value is None or type(value) is int for value in values):
        return pd.Series(values, dtype={"numpy_nullable": "Int64", "pyarrow": "int64[pyarrow]"}[how])
    return objects.convert_dtypes(dtype_backend=how, convert_integer=False)


def refused(kind, dtype):
    """Return whether plain Spark takes no texts, or no bytes, from a column of numbers that are all null."""
    return dtype.kind in "fi" and (kind is StringType or (kind is BinaryType and "pyarrow" in str(dtype)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(TYPES)), st.data())
def test_a_merge_gets_the_dtypes_of_the_schema(kind, data):
    """Whatever each part came as: with nulls, without, empty, of every back end."""
    values, dtype = TYPES[kind]
    backends = ["plain", "objects"] if kind in (DateType, DecimalType, TimestampType) else [
        "plain", "objects", "numpy_nullable", "pyarrow",
    ]  # fmt: skip
    part = st.tuples(st.lists(st.sampled_from([*values, None]), max_size=3), st.sampled_from(backends))
    parts = data.draw(st.lists(part, min_size=1, max_size=4))
    if kind is FloatType and any(how == "numpy_nullable" for _, how in parts):
        parts = [(column, "plain") for column, _ in parts]  # whole floats become integers
    declared = Declared(StructType([StructField("x", MADE[kind] if kind in MADE else kind())]))
    frames = [pd.DataFrame({"x": column_of(column, how)}) for column, how in parts]
    frames = [frame.astype(object) if refused(kind, frame.dtypes["x"]) else frame for frame in frames]
    found = in_schema([fitted(frame, declared, "f") for frame in frames], declared, ZONE)["x"]
    given_values = [value for column, _ in parts for value in column]
    plain = None not in given_values and dtype in ("Int64", "Int32", "Int16", "Int8", "boolean")
    assert str(found.dtype) == ({"boolean": "bool"}.get(dtype, dtype.lower()) if plain else dtype)
    assert [None if pd.isna(value) else value for value in found] == given_values


def test_a_timestamp_without_zone_is_a_local_one():
    declared = Declared(StructType([StructField("x", TimestampType())]))
    found = in_schema([pd.DataFrame({"x": pd.to_datetime([WHEN])})], declared, ZONE)["x"]
    assert found[0] == pd.Timestamp("2023-11-05 01:30", tz="EST"), "of two such hours the second, as in PySpark"


def test_arrow_tables_of_other_types_get_those_of_the_schema():
    declared = Declared(StructType([StructField("x", LongType()), StructField("a", ArrayType(LongType()))]), arrow=True)
    lists = pa.array([[1]], pa.list_(pa.int64()))
    parts = [pa.table({"x": pa.array([1], t), "a": lists}) for t in (pa.int64(), pa.int8())]
    parts.append(pa.table({"a": lists, "x": pa.array([None])}))
    parts.append(pa.table({"x": pa.array([2], pa.int8()), "a": [[]]}))  # a list of nulls to pyarrow
    parts.append(pa.table({"x": pa.array([3], pa.int8()), "a": pa.array([[7]], pa.list_(pa.int16()))}))
    found = in_schema(parts, declared, "UTC")
    assert found.schema.types == [pa.int64(), pa.list_(pa.field("element", pa.int64()))]
    assert found.column("x").to_pylist() == [1, 1, None, 2, 3]
    assert found.column("a").to_pylist() == [[1], [1], [1], [], [7]]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (ArrayType(TimestampType()), [[WHEN, None], [WHEN], [], None]),
        (StructType([StructField("at", TimestampType())]), [{"at": WHEN}, {"at": WHEN}, {"at": None}, None]),
        (MapType(StringType(), TimestampType()), [[("a", WHEN)], [("b", WHEN)], [], None]),
    ],
    ids=["array", "struct", "map"],
)
def test_timestamps_inside_of_arrow_columns_get_the_type_of_the_schema(type_, values):
    """Newer versions of PySpark name no Arrow type for them without a zone, and parts of several types are no table."""
    moment = pa.timestamp("us", "UTC")

    def holding(of, value):
        if isinstance(type_, ArrayType):
            return pa.array([value], pa.list_(pa.field("element", of)))
        return pa.array([value], pa.struct([("at", of)]) if isinstance(type_, StructType) else pa.map_(pa.string(), of))

    declared = Declared(StructType([StructField("x", type_)]), arrow=True)
    units = (moment, pa.timestamp("ms", "UTC"), pa.timestamp("s", ZONE), moment)
    parts = [pa.table({"x": holding(unit, value)}) for unit, value in zip(units, values, strict=True)]
    found = in_schema(parts, declared, ZONE)
    assert found.schema.field("x").type == holding(moment, None).type
    whole = pa.concat_arrays([holding(moment, value) for value in values])
    assert found.column("x").to_pylist() == whole.to_pylist()


@pytest.fixture(scope="module")
def wide(spark):
    """A hot key whose columns of every type have one null, none, or are never null."""
    return spark.range(0, 400, 1, 4).selectExpr(
        "if(id % 4 < 3, 0, id) k", "id v", "nullif(id, 5) + 1790000000000000001 big", "int(nullif(id, 7)) i",
        "nullif(id, 9) % 2 = 0 b", "tinyint(nullif(id, 3) % 100) y", "smallint(if(id >= 0, id, null)) none",
        "double(nullif(id, 6)) d", "timestamp_seconds(1699160400 + nullif(id, 11) * 60) t", "id % 3 = 0 sure",
        "timestamp_ntz'2024-01-01' n", "date'2024-01-01' day", "cast(nullif(id, 2) as decimal(20, 2)) dec",
        "string(nullif(id, 1)) s", "binary('x') bin", "array(id, null) arr", "struct(id, 1 x) st", "map('a', id) m",
    )  # fmt: skip


def dtypes(frame):
    return pd.DataFrame({"k": frame["k"].iloc[:1], "d": [str(list(map(str, frame.dtypes)))]})


def texts(frame):
    columns = ["big", "i", "b", "y", "none", "sure", "d"]
    return pd.DataFrame(
        {"v": frame["v"], "text": ["/".join(map(str, row)) for row in zip(*map(frame.get, columns), strict=True)]}
    )


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("frame", ["as read", "with a profile", "behind a shuffle", "in order"])
@pytest.mark.parametrize("ext", ["false", "true"])
def test_a_part_has_the_dtypes_of_the_whole_group(spark, wide, frame, ext):
    df = wide.repartition(3, "v") if frame == "behind a shuffle" else wide
    profile = skewkit.skew_profile(df, "k", partitions=4) if frame == "with a profile" else None
    order = "v" if frame == "in order" else None
    with (
        conf(spark, "spark.skewkit.groupRows", "30"),
        conf(spark, "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype", ext),
    ):
        grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        one = lambda parts: parts.drop_duplicates()  # noqa: E731
        ours = grouped.applyInPandas(dtypes, "k bigint, d string", merge=one, order_by=order)
        assert_same_rows(ours, df.groupBy("k").applyInPandas(dtypes, "k bigint, d string"))
        ours = grouped.applyInPandas(texts, "v bigint, text string", merge=lambda parts: parts, order_by=order)
        assert_same_rows(ours, df.groupBy("k").applyInPandas(texts, "v bigint, text string"))


@pytest.mark.connect
@pytest.mark.parametrize("backend", [None, "pyarrow", "numpy_nullable"])
def test_a_merge_that_keeps_rows(spark, wide, backend):
    """Of every type, through every back end of pandas."""
    df = wide if backend is None else wide.drop("t", "n", "day", "dec", "arr", "st", "m", "bin")

    def same(frame):
        return frame if backend is None else frame.convert_dtypes(dtype_backend=backend)

    with conf(spark, "spark.skewkit.groupRows", "30"):
        grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
        ours = grouped.applyInPandas(same, df.schema, merge=same)
        assert_same_rows(ours, df.groupBy("k").applyInPandas(same, df.schema))


@pytest.mark.connect
@pytest.mark.parametrize("hot", ["null", "double('NaN')", "'null beside others'"])
def test_a_hot_key_that_is_null(spark, hot):
    key = "if(id % 5 < 4, null, string(id))" if "others" in hot else f"if(id % 5 < 4, {hot}, id % 7)"
    df = spark.range(0, 1000, 1, 4).selectExpr(f"{key} AS k", "id % 5 + 1 AS v")

    def total(frame):
        return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)], "v": [frame["v"].sum()]})

    schema = f"k {df.schema['k'].dataType.simpleString()}, n bigint, v bigint"
    with conf(spark, "spark.skewkit.groupRows", "100"):
        grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
        kept = lambda parts: parts.groupby("k", as_index=False, dropna=False).sum()  # noqa: E731
        assert_same_rows(grouped.applyInPandas(total, schema, merge=kept), df.groupBy("k").applyInPandas(total, schema))
        lost = lambda parts: parts.groupby("k", as_index=False).sum()  # noqa: E731
        with pytest.raises(PythonException, match=r"MergeError: the merge <lambda> returned no row.*dropna=False"):
            grouped.applyInPandas(total, schema, merge=lost).collect()
        assert grouped.applyInPandas(total, schema, merge=lost, allow_empty=True).where("k is null").count() == 0


def test_arrow_parts_of_which_some_have_empty_lists(spark):
    df = spark.range(0, 400, 1, 4).selectExpr("if(id % 4 < 3, 0, id) k", "id v")

    def large(table):
        ids = [v for v in table.column("v").to_pylist() if v >= 300 or v % 4 == 3]  # of a cold group always one
        return pa.table({"k": table.column("k")[:1], "ids": pa.array([ids])})

    with conf(spark, "spark.skewkit.groupRows", "50"):
        grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
        ours = grouped.applyInArrow(large, "k bigint, ids array<bigint>", merge=lambda parts: parts)
        found = ours.where("k = 0").selectExpr("sort_array(flatten(collect_list(ids)))").first()[0]
    assert found == [v for v in range(300, 400) if v % 4 < 3]


@pytest.mark.parametrize("kind", ["struct", "array"])
def test_a_merge_that_loses_a_key_of_several_values(spark, kind):
    key = F.struct("k").alias("key") if kind == "struct" else F.array("k").alias("key")
    df = spark.range(0, 100, 1, 3).selectExpr("if(id % 4 < 3, 'hot', string(id)) k", "id v").select(key, "v")
    grouped = skewkit.skew_groupby(df, "key", strategy="wrap", partitions=3)
    counted = lambda frame: frame[["key"]].head(1).assign(n=len(frame))  # noqa: E731
    schema = f"key {df.schema['key'].dataType.simpleString()}, n bigint"
    lost = grouped.applyInPandas(counted, schema, merge=lambda parts: parts.head(0))
    with pytest.raises(PythonException, match="MergeError: the merge <lambda> returned no row"):
        lost.collect()
    kept = grouped.applyInPandas(counted, schema, merge=lambda parts: parts.head(1).assign(n=parts["n"].sum()))
    assert_same_rows(kept, df.groupBy("key").applyInPandas(counted, schema))


def test_a_merge_that_returns_another_key(spark):
    df = spark.range(0, 100, 1, 3).selectExpr("if(id % 4 < 3, 'hot', string(id)) k", "id v")
    grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3)
    first = lambda frame: frame[["k"]].head(1)  # noqa: E731
    with pytest.raises(PythonException, match="MergeError: the merge <lambda> returned another value of the key"):
        grouped.applyInPandas(first, "k string", merge=lambda parts: parts.assign(k="cold").head(1)).collect()
    with pytest.raises(PythonException, match=r"MergeError: .* another value of the key column 'k'"):
        grouped.applyInPandas(first, "k string", merge=lambda parts: parts.assign(k=None).head(1)).collect()

    def renamed(key, parts):
        return pd.DataFrame({"n": [key[0]]})

    told = grouped.applyInPandas(lambda frame: pd.DataFrame({"n": frame["k"].iloc[:1]}), "n string", merge=renamed)
    assert told.count() == 26, "a schema without the key has no key to compare"
    none = grouped.applyInPandas(lambda f: pd.DataFrame({"n": [1]}), "n int", merge=lambda parts: parts.head(0))
    assert none.count() == 25


WRONG = {
    "no frame": (lambda frame: 3, "k bigint", "returned int; expected a pandas DataFrame with the columns .'k'."),
    "missing": (lambda frame: frame[["k"]], "k bigint, n int", r"expected \['k', 'n'\].*missing \['n'\]"),
    "texts": (lambda frame: frame[["k"]].assign(n="x"), "k bigint, n int", r"'n' as objects \(str\); expected int"),
    "overflow": (lambda frame: frame[["k"]].assign(n=1 << 40), "k bigint, n int", "'n' as int64.*expected int"),
    "numbers": (lambda frame: frame[["k"]].assign(n=0.5), "k bigint, n string", "'n' as float64.*expected string"),
    "dates": (lambda frame: frame[["k"]].assign(n="soon"), "k bigint, n date", r"as objects \(str\); expected date"),
    "an array": (lambda f: f[["k"]].assign(n=2.0), "k bigint, n array<int>", "'n' as float64.*expected array<int>"),
    "a struct": (lambda f: f[["k"]].assign(n="x"), "k bigint, n struct<a:int>", r"objects \(str\); expected struct"),
}


@pytest.mark.parametrize("strategy", ["native", "wrap"])
@pytest.mark.parametrize("wrong", WRONG)
def test_results_that_do_not_fit_the_schema(spark, strategy, wrong):
    df = spark.range(60).selectExpr("id % 2 k", "id v")
    func, schema, said = WRONG[wrong]
    grouped = skewkit.skew_groupby(df, "k", strategy=strategy, partitions=3)
    with conf(spark, "spark.sql.execution.pandas.convertToArrowArraySafely", "true"):
        for more in ({}, {"merge": lambda parts: parts}):
            with pytest.raises(PythonException, match=f"skewkit.errors.SchemaError: the group function.*{said}"):
                grouped.applyInPandas(func, schema, **more).collect()
        pair = lambda left, right: func(left)  # noqa: E731
        with pytest.raises(PythonException, match=f"SchemaError: the group function.*{said}"):
            grouped.cogroup(grouped).applyInPandas(pair, schema).collect()


def test_arrow_results_that_do_not_fit_the_schema(spark):
    df = spark.range(60).selectExpr("id % 2 k", "id v")
    grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3)
    for func, said in (
        (lambda t: 3, "returned int; expected a pyarrow.Table"),
        (lambda t: pa.table({"k": t["k"]}), r"missing \['n'\]"),
        (lambda t: pa.table({"k": t["k"], "n": pa.array(["x"] * len(t))}), "'n' as string; expected bigint"),
    ):
        for more in ({}, {"merge": lambda parts: parts}):
            with pytest.raises(PythonException, match=f"SchemaError: .*{said}"):
                grouped.applyInArrow(func, "k bigint, n bigint", **more).collect()


def test_what_spark_takes_is_not_refused(spark):
    """Numbers as texts, floats for whole numbers, categories, columns by position."""
    df = spark.range(60).selectExpr("id % 2 k", "id v")
    plain, ours = df.groupBy("k"), skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3)
    for func, schema in (
        (lambda f: pd.DataFrame({"k": f["k"].astype(float), "n": f["v"].astype(str)}), "k bigint, n bigint"),
        (lambda f: pd.DataFrame({"k": f["k"], "n": pd.Categorical(f["v"].astype(str))}), "k bigint, n string"),
        (lambda f: pd.DataFrame({0: f["k"], 1: f["v"]}), "k bigint, n bigint"),
        (lambda f: pd.DataFrame(), "k bigint, n bigint"),
        (lambda f: pd.DataFrame({"k": f["k"], "n": f["v"] + 0.5}), "k bigint, n float"),
        (lambda f: pd.DataFrame({"k": f["k"], "n": [None] * len(f)}), "k bigint, n date"),
    ):
        for more in ({}, {"merge": lambda parts: parts}):
            assert_same_rows(ours.applyInPandas(func, schema, **more), plain.applyInPandas(func, schema))


@pytest.mark.parametrize("hot", [True, False])
def test_nothing_of_the_users_runs_before_an_action(spark, tmp_path, hot):
    df = spark.range(400).selectExpr("if(id % 4 < 3 and %s, 0, id) k".replace("%s", str(hot)), "id v")
    log = tmp_path / "ran"

    def sends(frame):
        log.write_text("sent")
        return frame[["k"]].head(1)

    for more in ({}, {"merge": sends}, {"merge": sends, "order_by": "v"}):
        frame = skewkit.skew_groupby(df, "k", partitions=4).applyInPandas(sends, "k bigint", **more)
        skewkit.explain(frame)
        assert not log.exists()
    assert frame.count() == df.select("k").distinct().count()
    assert log.exists()


def test_a_function_that_pivots(spark):
    df = spark.range(200).selectExpr("concat('s', id % 7) k", "id v", "concat('m', id % 3) metric")

    def pivoted(frame):
        return frame.pivot_table(index="k", columns="metric", values="v", aggfunc="sum").reset_index()

    schema = "k string, m0 bigint, m1 bigint, m2 bigint"
    assert_same_rows(
        skewkit.skew_groupby(df, "k").applyInPandas(pivoted, schema), df.groupBy("k").applyInPandas(pivoted, schema)
    )


def test_the_cure_of_a_hot_group_without_a_merge(spark):
    df = spark.range(2000).selectExpr("if(id % 10 < 9, 'hot', string(id)) k", "id v")
    size = lambda frame: pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)]})  # noqa: E731
    grouped = skewkit.skew_groupby(df, "k", partitions=8)
    without = skewkit.explain(grouped.applyInPandas(size, "k string, n bigint"))
    assert "give merge=" in without
    assert "hot group of up to 1,800 rows stays whole in one task ('hot')" in without
    add = lambda parts: parts.groupby("k", as_index=False).sum()  # noqa: E731
    assert "give merge=" not in skewkit.explain(grouped.applyInPandas(size, "k string, n bigint", merge=add))
    even = skewkit.skew_groupby(spark.range(900).selectExpr("id % 90 k"), "k", partitions=8)
    assert "give merge=" not in skewkit.explain(even.applyInPandas(size, "k bigint, n bigint"))


@pytest.mark.connect
@pytest.mark.parametrize("names", ["k n", "n k"], ids=["by name", "by position"])
@pytest.mark.parametrize("type_", ["string", "date", "timestamp", "decimal(20,2)", "binary", "bigint", "boolean"])
def test_a_null_key_may_become_a_column_of_floats_in_a_merge(spark, type_, names):
    """Where columns count by their position, names that are those of others mislead nobody."""
    df = spark.range(0, 300, 1, 3).selectExpr("CAST(CASE WHEN id % 3 = 2 THEN '1' END AS string) AS s", "id AS v")
    made = {"date": "date_add(date'2024-01-01', int(s))", "timestamp": "timestamp_seconds(int(s))", "binary": "s"}
    df = df.selectExpr(f"CAST({made.get(type_, 's')} AS {type_}) AS k", "v")

    def total(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({key: rows["k"].iloc[:1], n: [len(rows)]})

    def merge(parts: pd.DataFrame) -> pd.DataFrame:
        # By position, what the schema calls `k` is first, whatever the function calls it.
        return parts.groupby("k", dropna=False).sum().reset_index().set_axis([key, n], axis=1)

    key, n = names.split()
    grouped = skewkit.skew_groupby(df, "k", heavy=[None], strategy="wrap", partitions=4)
    with conf(spark, "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", str(key == "k").lower()):
        ours = grouped.applyInPandas(total, f"k {type_}, n bigint", merge=merge)
        assert "1 heavy key" in skewkit.explain(ours)
        assert_same_rows(ours, df.groupBy("k").agg(F.count("*").alias("n")))


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["native", "wrap"])
def test_whole_numbers_are_decimals_where_spark_is_told_so(spark, strategy):
    df = spark.range(0, 300, 1, 3).selectExpr("string(if(id % 3 = 2, id % 7, 0)) AS k", "id AS v")

    def size(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": rows["k"].iloc[:1], "n": [len(rows)]})

    def merge(parts: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": parts["k"].iloc[:1], "n": [int(parts["n"].sum())]})

    grouped = skewkit.skew_groupby(df, "k", strategy=strategy, partitions=4)
    with conf(spark, "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled", "true"):
        ours = grouped.applyInPandas(size, "k string, n decimal(10,2)", merge=merge)
        assert_same_rows(ours, df.groupBy("k").applyInPandas(size, "k string, n decimal(10,2)"))
