"""The comparison of the differential tests finds what it is there for."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import Row

from tests.compare import assert_equal_rows
from tests.seeds import random_of, run_seed

UNLIKE = [
    (0.0, -0.0),
    (1, True),
    (1, 1.0),
    (1, Decimal(1)),
    (Decimal("1.0"), Decimal("1.00")),
    ("1", 1),
    ("a", b"a"),
    (None, "None"),
    (float("nan"), None),
    ([0.0], [-0.0]),
    ([1], [True]),
    (Row(a=1), Row(b=1)),
    (Row(a=0.0), Row(a=-0.0)),
    (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
    (1.0, 1.0 + 2**-52),
    ({"a": 1}, {"a": 2}),
]


@pytest.mark.parametrize(("a", "b"), UNLIKE, ids=str)
def test_unlike_values_are_told_apart(a, b):
    for rows in ([(a,)], [(a,), (b,)]):
        with pytest.raises(AssertionError):
            assert_equal_rows(rows, [(b,)] * len(rows))


@pytest.mark.parametrize("a", [float("nan"), [float("nan")], Row(a=float("nan")), bytearray(b"x"), -0.0], ids=str)
def test_a_value_is_like_itself(a):
    assert assert_equal_rows([(a, 1), (None, 2)], [(None, 2), (a, 1)]) == 2


def test_rows_are_counted():
    with pytest.raises(AssertionError, match="1 rows too many, 1 missing"):
        assert_equal_rows([(1,), (1,), (2,)], [(1,), (2,), (2,)])


def test_only_named_columns_may_differ_and_only_in_last_bits():
    assert assert_equal_rows([("a", 0.1 + 0.2)], [("a", 0.3)], close=[1]) == 1
    for wrong in (("b", 0.3), ("a", 0.3001), ("a", float("nan")), ("a", None)):
        with pytest.raises(AssertionError):
            assert_equal_rows([wrong], [("a", 0.3)], close=[1])
    with pytest.raises(AssertionError):
        assert_equal_rows([("a", 0.1 + 0.2)], [("a", 0.3)])


def test_a_seed_that_is_asked_for_is_taken(monkeypatch):
    monkeypatch.setenv("SKEWKIT_SEED", "from the environment")
    assert run_seed("this one")[0] == "this one"
    assert run_seed(None) == ("from the env", "SKEWKIT_SEED")
    assert random_of("a", "join", 1).random() == random_of("a", "join", 1).random()
    assert random_of("a", "join", 1).random() != random_of("b", "join", 1).random()
