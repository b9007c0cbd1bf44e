"""Random aggregations, split by force, against plain Spark: to the last bit but for sums of floats."""

import math
import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import skewkit
from tests.helpers import conf
from tests.randomaggregates import random_aggregation
from tests.randomwindows import awkward

ROWS = 500


@pytest.fixture(scope="module")
def facts(spark):
    return awkward(spark, ROWS).cache()


SUMS = re.compile(r"sum|avg|mean|std|var|skew|kurt|corr|covar|regr")


def same(ours, theirs, text):
    """Return whether two values of an aggregate are equal; sums of floats may differ in their last bits."""
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(same(a, b, text) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        close = SUMS.search(text) and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-10)
        return ours == theirs or bool(close)
    return ours == theirs


def by_key(frame, keys):
    """Return the rows of a frame by their key, in which NaN is a text and -0.0 is 0.0."""
    rows = {}
    for row in frame.collect():
        key = tuple("NaN" if isinstance(x, float) and math.isnan(x) else x for x in row[:keys])
        rows[key] = (*rows.get(key, ()), tuple(row[keys:]))
    return rows


def check(df, seed, strategy="wrap"):
    """Compare the aggregation of a seed with plain Spark; return how it was computed."""
    case = random_aggregation(seed)
    names = {"F": F}
    keys, aggregates = ([eval(text, names) for text in texts] for texts in (case.keys, case.aggregates))
    grouped = skewkit.skew_groupby(df, *keys, strategy=strategy, partitions=case.partitions)
    try:
        plain = df.groupBy(*keys).agg(*aggregates)
        expected = by_key(plain, len(keys))
    except PySparkException as error:
        with pytest.raises(Exception, match=r"."):
            grouped.agg(*aggregates).collect()
        return f"refused: {str(error).splitlines()[0][:80]}"
    found = grouped.agg(*aggregates)
    assert found.schema == plain.schema, case
    rows = by_key(found, len(keys))
    assert rows.keys() == expected.keys(), case
    columns = plain.columns[len(keys) :]
    texts = columns if case.by_dict else case.aggregates  # a dict is one text for several columns
    for key, theirs in expected.items():
        assert len(rows[key]) == 1, f"{key} has {len(rows[key])} rows\n{case}"
        for column, text, a, b in zip(columns, texts, rows[key][0], theirs[0], strict=True):
            assert same(a, b, text), f"{column} of {key}: ours {a!r}, plain {b!r}\n{case}\nseed {seed}"
    text = skewkit.explain(found)
    return "split" if "strategy   wrap" in text else text.splitlines()[1]


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("seed", [31, 46])
def test_a_few(facts, seed):
    assert check(facts, seed) == "split"


@pytest.mark.slow
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", range(100, 300))
def test_many(spark, facts, seed, ansi):
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        check(facts, seed)
