"""Hashes of keys: one and many agree, equal keys agree, different keys differ, and buckets fill evenly."""

import datetime as dt
import decimal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError
from skewkit.hashing import hash_key, hash_keys
from skewkit.hashing.mix import mix, mix_many, to_range, to_range_many

relaxed = settings(deadline=None)

seeds = st.integers(-(2**70), 2**70)
offsets = st.integers(-720, 720).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.none() | offsets),
    st.decimals(allow_nan=False),
)
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@relaxed
@given(st.lists(keys, max_size=20), seeds)
def test_many_is_one_by_one(batch, seed):
    many = hash_keys(batch, seed)
    assert many.dtype == np.uint64
    assert many.tolist() == [hash_key(key, seed) for key in batch]


@pytest.mark.parametrize(
    "array",
    [
        np.array([-(2**63), -1, 0, 1, 2**63 - 1]),
        np.array([0, 2**63, 2**64 - 1], dtype=np.uint64),
        np.array([-3, 7], dtype=np.int8),
        np.array([0.0, -0.0, 0.5, 1e300, -1e300, np.inf, -np.inf, np.nan, 2.0**63, 3.0]),
        np.array([0.1, 7.0], dtype=np.float32),
        np.array([True, False]),
        np.array(["a", "", "ü"]),
        np.array([b"a", b""]),
        np.array(["a", 1, None, ("b", 2)], dtype=object),
        np.array(["2024-01-01", "NaT"], dtype="M8[D]"),
        np.array(["2024-01-01T10:00:00.000001", "NaT"], dtype="M8[ns]"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_agree_with_their_elements(array):
    assert hash_keys(array, 3).tolist() == [hash_key(key, 3) for key in array]
    assert hash_keys(array.tolist(), 3).size == array.size


@relaxed
@given(keys, keys, seeds)
def test_equal_keys_have_equal_hashes(one, other, seed):
    if one == other:
        assert hash_key(one, seed) == hash_key(other, seed)
    elif "nan" not in repr((one, other)).lower():  # 64 bits: a collision here is a bug
        assert hash_key(one, seed) != hash_key(other, seed)


@pytest.mark.parametrize(
    "same",
    [
        (
            1,
            1.0,
            True,
            decimal.Decimal(1),
            decimal.Decimal("1.00"),
            np.int8(1),
            np.float32(1),
            np.bool_(True),
        ),
        (0, 0.0, -0.0, decimal.Decimal("-0"), False),
        (0.5, decimal.Decimal("0.50"), np.float64(0.5)),
        (2**70, 2.0**70, decimal.Decimal(2**70)),
        (float("inf"), decimal.Decimal("Infinity")),
        (float("nan"), -float("nan"), np.float32("nan"), decimal.Decimal("NaN")),
        (decimal.Decimal("0.1"), decimal.Decimal("0.100")),
        ("a", np.str_("a")),
        (b"a", bytearray(b"a"), np.bytes_(b"a")),
        (None, np.datetime64("NaT")),
        (dt.date(2024, 1, 2), np.datetime64("2024-01-02")),
        (dt.datetime(2024, 1, 2, 3), np.datetime64("2024-01-02T03")),
        (
            dt.datetime(2024, 1, 2, 3, tzinfo=dt.timezone.utc),
            dt.datetime(2024, 1, 2, 5, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ),
    ],
)
def test_the_same_key_in_other_clothes(same):
    assert len({hash_key(key, 9) for key in same}) == 1


def test_keys_of_different_kinds_do_not_meet():
    different = [
        1,
        "1",
        b"1",
        None,
        (),
        (1,),
        ((1,),),
        (1, 1),
        0.1,
        decimal.Decimal("0.1"),
        "",
        b"",
        -1,
        2**64,
    ]
    different += [
        dt.date(1970, 1, 1),
        dt.datetime(1970, 1, 1),
        dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc),
    ]
    assert len({hash_key(key) for key in different}) == len(different)


@relaxed
@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31))
def test_the_mixer_for_arrays_is_the_mixer(value, size):
    array = np.array([value], dtype=np.uint64)
    assert mix_many(array).tolist() == [mix(value)]
    assert to_range_many(array, size).tolist() == [to_range(value, size)]
    assert 0 <= to_range(value, size) < size
    assert array.tolist() == [value]


@pytest.mark.parametrize("make", [np.arange, lambda m: np.arange(m) * 1024, lambda m: np.arange(m) + 0.5])
def test_no_seed_is_terrible_on_regular_keys(make):
    """A single Carter-Wegman draw can be terrible on consecutive integers (papers/README.md); no seed is."""
    for seed in range(100):
        counts = np.bincount(to_range_many(hash_keys(make(10_000), seed), 100), minlength=100)
        chi2 = ((counts - 100.0) ** 2 / 100.0).sum()
        assert 40 < chi2 < 180  # 99 degrees of freedom: within 1e-6 on either side


def test_hashes_do_not_depend_on_the_process():
    code = "from skewkit.hashing import hash_key; print(hash_key(('a', 1, b'x', None, 0.5), 7))"
    for hash_seed in ("1", "2"):
        out = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert int(out.stdout) == hash_key(("a", 1, b"x", None, 0.5), 7)
    assert hash_key("skewkit", 0) == 16538584852498654016  # a change of the hash changes every saved plan


def test_refusals_teach():
    with pytest.raises(KeyTypeError, match="expected int, str"):
        hash_key({"a"})
    with pytest.raises(KeyTypeError, match="list"):
        hash_keys([[1], [2]])
    with pytest.raises(ArgumentTypeError, match=r"as \['abc'\]"):
        hash_keys("abc")
    with pytest.raises(ArgumentTypeError):
        hash_keys(7)
    with pytest.raises(ArgumentError, match="one dimension"):
        hash_keys(np.zeros((2, 2)))
