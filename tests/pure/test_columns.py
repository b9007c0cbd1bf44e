"""Columns of pandas, Arrow and NumPy are the lists of their values: nulls are None, integers stay exact."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError
from skewkit.hashing import hash_key, hash_keys
from skewkit.partitioners import PARTITIONERS
from skewkit.simulator import replay
from skewkit.sketch import CountMin, Decayed, SpaceSaving

relaxed = settings(deadline=None)

longs = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
money = st.integers(-(10**20), 10**20).map(lambda cents: decimal.Decimal(cents).scaleb(-2))
dates = st.dates(dt.date(1, 1, 1))

# What a column holds, its type in Arrow, and those of pandas that hold the same.
COLUMNS = {
    "long": (longs, pa.int64(), ["Int64", pd.ArrowDtype(pa.int64())]),
    "unsigned": (st.integers(0, 2**64 - 1), pa.uint64(), ["UInt64"]),
    "byte": (st.integers(-128, 127), pa.int8(), ["Int8"]),
    "double": (st.floats(), pa.float64(), [pd.ArrowDtype(pa.float64())]),
    "double, no NaN": (st.floats(allow_nan=False), pa.float64(), ["Float64"]),
    "boolean": (st.booleans(), pa.bool_(), ["boolean", pd.ArrowDtype(pa.bool_())]),
    "text": (texts, pa.string(), ["string[python]", "string[pyarrow]", pd.ArrowDtype(pa.large_string()), object]),
    "bytes": (st.binary(max_size=5), pa.binary(), [pd.ArrowDtype(pa.binary()), object]),
    "date": (dates, pa.date32(), [pd.ArrowDtype(pa.date32()), object]),
    "date of milliseconds": (dates, pa.date64(), []),
    "timestamp": (moments, pa.timestamp("us"), [pd.ArrowDtype(pa.timestamp("us")), "M8[us]"]),
    "moment": (
        moments.map(lambda moment: moment.replace(tzinfo=dt.timezone.utc)),
        pa.timestamp("us", "UTC"),
        [pd.ArrowDtype(pa.timestamp("us", "UTC")), "datetime64[us, UTC]"],
    ),
    "decimal": (money, pa.decimal128(38, 2), [pd.ArrowDtype(pa.decimal128(38, 2)), object]),
    "nothing": (st.none(), pa.null(), [object]),
}


def columns(kind, values, pick):
    """Return the values in the dress of every library: of pandas as a Series, an Index or an array."""
    _, arrow, others = COLUMNS[kind]
    plain = pa.array(values, arrow)
    middle = len(values) // 2
    yield plain
    yield pa.chunked_array([plain[:middle], plain[middle:]], arrow)
    yield pa.concat_arrays([pa.array([None], arrow), plain])[1:]  # nulls are counted anew in a slice
    if kind not in ("nothing", "date of milliseconds"):
        yield plain.dictionary_encode()
    for other in others:
        if isinstance(other, pd.ArrowDtype):  # pandas itself would make nulls of NaN
            series = pd.Series(pd.arrays.ArrowExtensionArray(plain.cast(other.pyarrow_dtype)))
        else:
            series = pd.Series(values, dtype=other)
        yield pick([series, pd.Index(series), series.array, series.set_axis([0.5] * len(series))])


@pytest.mark.parametrize("kind", COLUMNS)
@relaxed
@given(st.data(), st.integers(0, 3))
def test_a_column_is_the_list_of_its_values(kind, data, seed):
    values = data.draw(st.lists(st.none() | COLUMNS[kind][0], max_size=12))
    expected = [hash_key(value, seed) for value in values]
    for column in columns(kind, values, lambda dresses: data.draw(st.sampled_from(dresses))):
        assert hash_keys(column, seed).tolist() == expected, type(column)
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):  # elements of Arrow's are no keys
            assert [hash_key(value, seed) for value in column] == expected, type(column)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_schemes_route_a_column_as_its_values(name):
    values = [2**53, 2**53 + 1, None, 2**53 + 2, 2**53 + 1] * 10
    one, listed = (PARTITIONERS[name](workers=1000, seed=1) for _ in range(2))
    routes = [one.route(value) for value in values]
    assert listed.route_many(values).tolist() == routes
    for column in (
        pa.array(values),
        pa.chunked_array([values[:7], values[7:]]),
        pd.Series(values, dtype="Int64"),
        pd.array(values, pd.ArrowDtype(pa.int64())),
        np.ma.array([value or 7 for value in values], mask=[value is None for value in values]),
    ):
        p = PARTITIONERS[name](workers=1000, seed=1)
        assert p.route_many(column).tolist() == routes
        assert p.choices(None) == one.choices(pd.NA) == listed.choices(np.ma.masked)
        assert replay(column, name, 1000, seed=1).routes.tolist() == routes


@pytest.mark.parametrize("kind", COLUMNS)
@relaxed
@given(st.data())
def test_sketches_count_a_column_as_its_values(kind, data):
    values = data.draw(st.lists(st.none() | COLUMNS[kind][0], max_size=12))
    for make in (lambda: SpaceSaving(20), lambda: CountMin(64, 3), lambda: Decayed(SpaceSaving(20), epoch=5)):
        listed = make()
        listed.add_many(values)
        bounds = [(listed.low(v), listed.high(v)) for v in values]
        for column in columns(kind, values, lambda dresses: data.draw(st.sampled_from(dresses))):
            sketch = make()
            sketch.add_many(column, np.ones(len(values)))
            assert [(sketch.low(v), sketch.high(v)) for v in values] == bounds
            assert sketch.total == listed.total


def test_every_null_is_one_key():
    nulls = [None, pd.NA, pd.NaT, np.datetime64("NaT")]
    assert {hash_key(null) for null in [*nulls, np.ma.masked]} == {hash_key(None)}
    assert hash_key(("a", pd.NA)) == hash_key(("a", None)) != hash_key(("a", float("nan")))
    for column in (np.array([*nulls[:3], "a"], dtype=object), pd.Series([*nulls[:3], "a"], dtype=object)):
        assert hash_keys(column).tolist() == [hash_key(None)] * 3 + [hash_key("a")]
    sketch = SpaceSaving(5)
    sketch.add_many(nulls[:3])
    sketch.add(pd.NA)
    sketch.add_many(np.array(["2024-01-02", "NaT"], dtype="M8[ns]"))
    assert sketch.low(None) == sketch.high(pd.NA) == sketch.low(pd.NaT) == 5.0
    assert {counter.key for counter in sketch} == {None, dt.datetime(2024, 1, 2)}


def test_masks_are_not_lost():
    masked = np.ma.array(["2024-01-02", "2024-01-03"], dtype="M8[D]", mask=[True, False])
    assert hash_keys(masked).tolist() == [hash_key(None), hash_key(dt.date(2024, 1, 3))]
    assert hash_keys(np.ma.array([1, 2])).tolist() == hash_keys([1, 2]).tolist()
    with pytest.raises(ArgumentError, match="weights is masked"):
        SpaceSaving(3).add_many([1, 2], np.ma.array([1.0, 2.0], mask=[True, False]))
    assert replay(np.ma.array([1, 2], mask=[1, 0]), "key", 5).choices == {None: 1, 2: 1}


def test_numbers_without_nulls_are_not_listed(monkeypatch):
    """Else a column of a hundred million integers would become as many Python objects."""
    monkeypatch.setattr("skewkit.hashing.key_hash._hash_list", None)
    for column in (
        pa.array([3, 4]),
        pa.chunked_array([[3], [4]]),
        pd.Series([3, 4]),
        pd.Series([3, 4], dtype="Int64"),
        pd.Series([3, 4], dtype="int64[pyarrow]"),
        np.ma.array([3, 4]),
    ):
        assert hash_keys(column).tolist() == [hash_key(3), hash_key(4)]


@pytest.mark.parametrize(
    ("keys", "error", "match"),
    [
        (pa.array([[1], [2]]), KeyTypeError, "list"),
        (pa.array([{"a": 1}]), KeyTypeError, "dict"),
        (pa.table({"a": [1]}), ArgumentError, "one dimension"),
        (pd.DataFrame({"a": [1]}), ArgumentError, "one dimension"),
        (np.array(5), ArgumentTypeError, "keys is one value, array.5."),
        (pa.scalar(1), ArgumentTypeError, "keys is a Int64Scalar"),
        ("long" * 1000, ArgumentTypeError, r"^.{,150}$"),
        (set(range(1000)), ArgumentTypeError, r"^.{,150}$"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_column_of_keys_is_refused(keys, error, match):
    for act in (hash_keys, PARTITIONERS["key"](3).route_many, CountMin(5, 2).add_many, SpaceSaving(3).add_many):
        with pytest.raises(error, match=match):
            act(keys)
