"""Random windows against plain Spark: row by row, to the last bit but for sums of floats."""

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from tests.compare import assert_equal_rows, collected
from tests.differential.windows import random_window
from tests.helpers import condition_of
from tests.seeds import cases

SUMS = re.compile(r"sum|avg|mean|std|var")


@pytest.mark.parametrize("number", cases(few=33, many=400))
def test_random_windows(shaped, draw, settings, number):
    """Either strategy, over other partitions, is a random case."""
    df, case = shaped(), random_window(draw)
    print(f"{case}\n{settings}")
    functions = {name: eval(text, {"F": F}) for name, text in case.functions.items()}
    keys, order = ([eval(text, {"F": F}) for text in texts] for texts in (case.keys, case.order))
    spec = Window.partitionBy(*keys).orderBy(*order) if order else Window.partitionBy(*keys)
    several = [
        skewkit.skew_window(df, keys, order or None, strategy=strategy, partitions=partitions)
        for strategy, partitions in (("split", case.partitions), ("auto", draw.choice([2, 3, 7])))
    ]
    if case.frame:
        kind, start, end = case.frame
        spec, several = getattr(spec, kind)(start, end), [getattr(each, kind)(start, end) for each in several]
    try:
        plain = df.select("*", *(column.over(spec).alias(name) for name, column in functions.items()))
        expected = collected(plain.select("id", *functions))
    except PySparkException as error:
        if condition_of(error) == "DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE":
            return  # a number as a bound along dates, which skew_window takes as days
        for window in several:
            with pytest.raises((PySparkException, ArgumentError), match=re.escape(condition_of(error))):
                window.select(**functions).collect()
        return
    close = [1 + i for i, text in enumerate(case.functions.values()) if SUMS.search(text)]
    for window in several:
        found = window.select(**functions)
        print(skewkit.explain(found))
        assert found.schema == plain.schema
        assert_equal_rows(collected(found.select("id", *functions)), expected, close)
