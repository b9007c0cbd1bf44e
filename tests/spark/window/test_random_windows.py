"""Random windows, split by force, against plain Spark: row by row, to the last bit but for sums of floats."""

import math
import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from tests.helpers import conf
from tests.randomwindows import awkward, random_window

ROWS = 600


@pytest.fixture(scope="module")
def facts(spark):
    return awkward(spark, ROWS).cache()


SUMS = re.compile(r"sum|avg|mean|std|var|skew|kurt|corr|covar|regr")


def same(ours, theirs, text):
    """Return whether two values of a function are equal; sums of floats may differ in their last bits."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        close = SUMS.search(text) and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-10)
        return ours == theirs or bool(close)
    return ours == theirs


def check(df, seed):
    """Compare the window of a seed with plain Spark; return whether it was split."""
    case = random_window(seed)
    names = {"F": F}
    functions = {name: eval(text, names) for name, text in case.functions.items()}
    keys, order = ([eval(text, names) for text in texts] for texts in (case.keys, case.order))
    spec = Window.partitionBy(*keys).orderBy(*order) if order else Window.partitionBy(*keys)
    window = skewkit.skew_window(df, keys, order or None, strategy="split", partitions=case.partitions)
    if case.frame:
        kind, start, end = case.frame
        spec, window = getattr(spec, kind)(start, end), getattr(window, kind)(start, end)
    try:
        plain = df.select("*", *(column.over(spec).alias(name) for name, column in functions.items()))
        expected = {row["id"]: row for row in plain.select("id", *functions).collect()}
    except PySparkException as error:
        with pytest.raises(Exception, match=r"."):
            window.select(**functions).collect()
        return f"refused: {str(error).splitlines()[0][:80]}"
    found = window.select(**functions)
    assert found.schema == plain.schema, case
    rows = found.select("id", *functions).collect()
    assert sorted(row["id"] for row in rows) == sorted(expected), case
    for name, text in case.functions.items():
        wrong = [
            (r["id"], r[name], expected[r["id"]][name])
            for r in rows
            if not same(r[name], expected[r["id"]][name], text)
        ]
        assert not wrong, f"{text}: {len(wrong)} rows differ, (id, ours, plain): {wrong[:3]}\n{case}\nseed {seed}"
    text = skewkit.explain(found)
    return "split" if "strategy   split" in text else text.splitlines()[1]


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("seed", [9, 44])
def test_a_few(facts, seed):
    assert check(facts, seed) == "split"


@pytest.mark.slow
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", range(100, 300))
def test_many(spark, facts, seed, ansi):
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        check(facts, seed)
