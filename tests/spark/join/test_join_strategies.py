"""What `auto` takes on Spark with nothing given: each strategy where it is the cheapest, broadcasts in a budget."""

import re

import pytest

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf

pytestmark = pytest.mark.usefixtures("adaptive")


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    """Return frames of files: facts with a hot key and without, one name per key, and many of the hot one."""
    folder = tmp_path_factory.mktemp("strategies")
    frames = {
        "hot": spark.range(60_000).selectExpr("if(id % 3 = 0, 7, id % 9000) AS k", "id AS v"),
        "even": spark.range(60_000).selectExpr("id % 9000 AS k", "id AS v"),
        "names": spark.range(9_000).selectExpr("id AS k", "id AS w"),
        "many": spark.range(9_900).selectExpr("if(id < 9000, id, 7) AS k", "id AS w"),
    }
    for name, frame in frames.items():
        frame.write.parquet(str(folder / name))
    return {name: spark.read.parquet(str(folder / name)) for name in frames}


def chosen(joined):
    return skewkit.explain(joined).partition("strategy   ")[2].partition(":")[0]


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["inner", "left", "semi"])
def test_auto_takes_each_strategy_where_it_is_the_cheapest(stored, how):
    cases = {("even", "names"): "native", ("hot", "names"): "broadcast_head"}
    for (left, right), strategy in cases.items():
        joined = skewkit.skew_join(stored[left], stored[right], "k", how)
        assert chosen(joined) == strategy, skewkit.explain(joined)
        assert_same_rows(joined, stored[left].join(stored[right], "k", how))


@pytest.mark.every(2)
def test_many_pairs_are_salted(stored):
    joined = skewkit.skew_join(stored["hot"].where("v < 6000"), stored["many"], "k")
    assert chosen(joined) == "salt", skewkit.explain(joined)
    assert_same_rows(joined, stored["hot"].where("v < 6000").join(stored["many"], "k"))


@pytest.mark.every(3)
@pytest.mark.parametrize(("setting", "value"), [("broadcastRows", "0"), ("broadcastBytes", "10")])
def test_a_broadcast_that_is_over_its_budget_is_not_chosen(spark, stored, setting, value):
    with conf(spark, f"spark.skewkit.{setting}", value):
        joined = skewkit.skew_join(stored["hot"], stored["names"], "k")
        text = skewkit.explain(joined)
        assert chosen(joined) == "salt", text
        why = "no broadcast_head, because the right side('s rows of the hot keys may be too many| has more than 0 rows)"
        assert re.search(why, text), text
