"""Hot keys that are texts are known to the Python workers."""

import itertools
import re
from dataclasses import replace

import pandas as pd
import pytest

import skewkit
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import group_load
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.group.group_map import GroupMap, apply_in_parts_where_read
from skewkit.spark.group.worker.results import Declared
from skewkit.testing import assert_same_rows
from tests.helpers import conf, explained
from tests.spark.group.functions import (
    HERE,
    TOTALS,
    TWICE,
    add_up,
    totals,
)

TEXTS = {
    "texts": "if(id < 40, 'höt', if(id < 66, '', string(id)))",
    "texts with quotes": """if(id < 40, '"' || chr(39) || chr(92) || chr(10), if(id < 66, '{"a"}', string(id)))""",
    "nulls among them": "if(id < 40, 'hot', if(id < 66, null, string(id)))",
    "binary": "binary(if(id < 60, 'hot', string(id)))",
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize(("place", "profiled", "aqe"), [(0, False, "true"), (2, True, "true"), (2, False, "false")])
def test_texts_of_hot_keys_are_known_to_the_workers(spark, key, place, profiled, aqe):
    columns = ["id v", "string(id) s"]
    columns.insert(place, f"{TEXTS[key]} k")
    df = spark.range(200, numPartitions=3).selectExpr(*columns).where("v NOT BETWEEN 66 AND 133")

    def seen(key, frame):
        types = list(map(str, frame.dtypes))
        values = sorted(map(repr, frame.itertuples(index=False)))
        return pd.DataFrame({"seen": [repr((key, list(frame.columns), types, each)) for each in values]})

    profile = skewkit.skew_profile(df, "k", partitions=3) if profiled else None
    with conf(spark, "spark.sql.adaptive.enabled", aqe):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3, profile=profile).applyInPandas(
            seen, "seen string", merge=lambda parts: parts
        )
        assert_same_rows(ours, df.groupBy("k").applyInPandas(seen, "seen string"))
    assert (TWICE if profiled else HERE) in skewkit.explain(ours)
    hot = 1 if key == "binary" else 2  # where only one key is hot, its index is not sent
    assert columns_sent(explained(ours, "FORMATTED")) == 2 + (not key.startswith("texts")) + (hot > 1)


@pytest.mark.parametrize("type_", ["string", "bigint"])
def test_a_frame_of_nothing_but_its_key(spark, type_):
    df = spark.range(200, numPartitions=3).selectExpr(f"cast(if(id % 3 > 0, -1, if(id < 20, null, id)) AS {type_}) k")
    count = lambda key, frame: pd.DataFrame({"k": [str(key[0])], "n": [len(frame)]})  # noqa: E731
    merge = lambda parts: parts.groupby("k", as_index=False).sum()  # noqa: E731
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        count, "k string, n bigint", merge=merge
    )
    assert_same_rows(ours, df.groupBy("k").applyInPandas(count, "k string, n bigint"))
    assert HERE in skewkit.explain(ours)


def columns_sent(plan):
    """Return how many columns go to the Python function of hot rows, by its plan in Spark 4.2 or before."""
    sent = re.search(r"\(\d+\) MapInArrow[^\n]*\nInput \[(\d+)\]", plan)
    if sent:
        return int(sent.group(1))
    call = plan[plan.index("Arguments: [column(") :].removeprefix("Arguments: [column(")
    depths = list(itertools.accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in call))
    return 1 + sum(
        letter == "," and depth == 0 for letter, depth in zip(call[: depths.index(-1)], depths, strict=False)
    )


def test_a_key_of_the_hash_of_a_hot_one_is_not_taken_for_it(spark):
    df = spark.range(200, numPartitions=3).selectExpr("if(id < 120, 'hot', if(id < 190, 'too', string(id))) k", "id v")
    profile = skewkit.skew_profile(df, "k", partitions=4)
    hot, too = (next(h for h in profile.heavy if h.key == (name,)) for name in ("hot", "too"))
    plan = key_plan(group_load(profile), 4)
    plan = replace(plan, heavy=tuple(replace(h, key=too.key) if h.key == hot.key else h for h in plan.heavy))
    task = GroupMap(totals, Declared(df.groupBy("k").applyInPandas(totals, TOTALS).schema), add_up)
    ours = apply_in_parts_where_read(df, find_keys(df, ["k"]), plan, task, None)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(totals, TOTALS))


@pytest.mark.parametrize("hot", [1, 3])
def test_few_hot_texts_are_told_without_a_hash(spark, hot):
    """They are compared, once for a row."""
    df = spark.range(0, 42_000, 1, 4).selectExpr(
        f"if(id % 10 < 8, concat('hot ', id % {hot}), if(id % 100 = 8, null, string(id % 97))) k", "id v"
    )

    def total(frame):
        return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)], "v": [frame["v"].sum()]})

    def merged(parts):
        return pd.DataFrame({"k": parts["k"].iloc[:1], "n": [parts["n"].sum()], "v": [parts["v"].sum()]})

    schema = "k string, n bigint, v bigint"
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=8).applyInPandas(total, schema, merge=merged)
    assert HERE in skewkit.explain(ours), skewkit.explain(ours)
    assert "xxhash64" not in explained(ours)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(total, schema))
