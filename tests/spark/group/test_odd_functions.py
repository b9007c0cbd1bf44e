"""Group functions of odd results and schemas."""

import pandas as pd
import pytest

from skewkit import explain, skew_groupby
from skewkit.testing import assert_same_rows
from tests.helpers import conf


def count_rows(key, frame):
    return pd.DataFrame({"k": [key[0]], "n": [len(frame)], "merged": [0]})


def add_rows(key, frame):
    return pd.DataFrame({"k": [key[0]], "n": [frame["n"].sum()], "merged": [frame["merged"].max() + 1]})


def test_merge_runs_once_per_hot_key(facts):
    grouped = skew_groupby(facts, "k", strategy="wrap", partitions=7)
    rows = {
        row["k"]: row for row in grouped.applyInPandas(count_rows, "k long, n long, merged int", add_rows).collect()
    }
    assert {k: row["n"] for k, row in rows.items()} == {
        r["k"]: r["count"] for r in facts.groupBy("k").count().collect()
    }
    assert rows[0]["merged"] == 1
    assert max(row["merged"] for row in rows.values()) == 1


FUNCTIONS = {
    "rows as they are": (lambda frame: frame[["v", "t", "s"]], "v long, t timestamp, s string"),
    "large integers": (lambda frame: pd.DataFrame({"x": frame["v"] + 9007199254740993}), "x long"),
    "some groups empty": (lambda frame: frame[["v"]][frame["v"] > 280], "v long"),
    "frame without columns": (lambda frame: frame[["v"]] if (frame["k"] % 2 == 0).any() else pd.DataFrame(), "v long"),
    "index and order": (lambda frame: frame.set_index("v")[["s", "b"]], "b boolean, s string"),
    "by position": (lambda frame: pd.DataFrame([[i, i] for i in frame["v"]]), "a long, b long"),
    "category": (lambda frame: pd.DataFrame({"s": frame["s"].astype("category")}), "s string"),
    "key": (lambda key, frame: frame[["v"]].assign(key=repr(key)), "v long, key string"),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("merge", [None, lambda frame: frame], ids=["whole", "merged"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_group_functions(facts, function, merge):
    func, schema = FUNCTIONS[function]
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).applyInPandas(func, schema, merge)
    assert_same_rows(ours, facts.groupBy("k").applyInPandas(func, schema))


def test_columns_by_position_where_spark_is_told_so(spark, facts):
    with conf(spark, "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "false"):
        ours, plain = (
            grouped.applyInPandas(lambda frame: pd.DataFrame({"other": [len(frame)]}), "n long")
            for grouped in (skew_groupby(facts, "k", strategy="wrap", partitions=3), facts.groupBy("k"))
        )
        assert_same_rows(ours, plain)


def test_a_schema_that_does_not_fit_is_told(facts):
    fits_not = skew_groupby(facts, "k").applyInPandas(lambda frame: frame, "n long")
    with pytest.raises(Exception, match="SchemaError"):
        fits_not.collect()


def test_pairs_of_arrow_groups_are_plain_sparks(facts):
    def left_rows(left, right):
        return left.select(["k", "v"]).slice(0, right.num_rows)

    ours = skew_groupby(facts, "k").cogroup(skew_groupby(facts, "k")).applyInArrow(left_rows, "k bigint, v bigint")
    assert "pairs of Arrow groups are not placed" in explain(ours)
    assert_same_rows(ours, facts.select("k", "v"))
