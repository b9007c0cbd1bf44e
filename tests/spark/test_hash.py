"""The pure xxhash64 is Spark's, for every key type."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skewkit.errors import KeyTypeError
from skewkit.hashing.spark import xxhash64

NAN = float("nan")
CASES = {
    "tinyint": [0, -128, 127],
    "smallint": [-1, 32767],
    "int": [0, -1, 2**31 - 1, -(2**31)],
    "bigint": [0, -5, 2**63 - 1, -(2**63)],
    "boolean": [True, False],
    "float": [0.0, -0.0, 1.5, NAN, float("-inf")],
    "double": [0.0, -0.0, 0.1, NAN, float("inf"), 5e-324],
    "decimal(10,2)": [Decimal("1.25"), Decimal("-99999999.99"), Decimal(0)],
    "decimal(38,4)": [Decimal("-1"), Decimal("0.0128"), Decimal("-0.0128"), Decimal("1234567890123456789012345.6789")],
    "string": ["", "a", "abcd", "é\0x", "x" * 31, "y" * 32, "z" * 77, "日本"],
    "binary": [b"", b"\x00\xff", bytes(range(100))],
    "date": [dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [dt.datetime(2020, 1, 5, 3, 4, 5, 6), dt.datetime(1910, 6, 1)],
    "timestamp_ntz": [dt.datetime(2020, 1, 5, 3, 4, 5, 6), dt.datetime(1, 1, 1)],
    "interval day to second": [dt.timedelta(days=-1, seconds=5, microseconds=7)],
    "array<int>": [[], [1, None, 3]],
    "array<array<string>>": [[["a"], None, []]],
    "struct<a:int,b:struct<c:string,d:decimal(5,2)>>": [(1, ("x", Decimal("1.50"))), (None, None)],
}


@pytest.mark.parametrize("type_", CASES)
def test_equals_spark(spark, type_):
    values = [*CASES[type_], None]
    frame = spark.createDataFrame([(value, 7) for value in values], f"v {type_}, o int")
    found = [row[0] for row in frame.selectExpr("xxhash64(v, o)").collect()]
    assert found == [xxhash64([value, 7], [type_, "int"]) for value in values]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=50)), min_size=1, max_size=30))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equals_spark_on_any_row(spark, rows):
    rows = [(number, text.encode("utf-8", "ignore").decode()) for number, text in rows]
    frame = spark.createDataFrame(rows, "a bigint, b string")
    found = {tuple(row[:2]): row[2] for row in frame.selectExpr("a", "b", "xxhash64(a, b)").collect()}
    assert found == {row: xxhash64(row, ["bigint", "string"]) for row in rows}


@pytest.mark.parametrize("type_", ["map<int,int>", "variant", "string collate unicode"])
def test_types_without_a_hash_are_refused(type_):
    with pytest.raises(KeyTypeError, match="no fixed hash"):
        xxhash64([1], [type_])
