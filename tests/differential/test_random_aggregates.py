"""Random aggregations against plain Spark: to the last bit but for sums of floats."""

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import skewkit
from tests.compare import assert_equal_rows, collected
from tests.differential.aggregates import random_aggregation
from tests.helpers import condition_of
from tests.seeds import cases

SUMS = re.compile(r"sum|avg|mean|std|var|skew|kurt|corr|covar|regr")
OTHERS = ["auto", "d_choices", "w_choices", "round_robin", "dkg", "key"]


@pytest.mark.parametrize("number", cases(few=16, many=400))
def test_random_aggregates(shaped, draw, settings, number):
    """Either of two strategies is a random case."""
    df, case, strategies = shaped(), random_aggregation(draw), ["wrap", draw.choice(OTHERS)]
    print(f"{case}\n{strategies} {settings}")
    keys, aggregates = ([eval(text, {"F": F}) for text in texts] for texts in (case.keys, case.aggregates))
    several = [skewkit.skew_groupby(df, *keys, strategy=each, partitions=case.partitions) for each in strategies]
    try:
        plain = df.groupBy(*keys).agg(*aggregates)
        expected = collected(plain)
    except PySparkException as error:
        for grouped in several:
            with pytest.raises(PySparkException, match=re.escape(condition_of(error))):
                grouped.agg(*aggregates).collect()
        return
    columns = plain.columns[len(keys) :]
    texts = columns if case.by_dict else case.aggregates  # a dict is one text for several columns
    close = [len(keys) + i for i, text in enumerate(texts) if SUMS.search(text)]
    for grouped in several:
        found = grouped.agg(*aggregates)
        print(skewkit.explain(found))
        assert found.schema == plain.schema
        assert_equal_rows(collected(found), expected, close)
