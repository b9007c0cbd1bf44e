"""What the tests of windows share."""

from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows

UNB, NOW = (Window.unboundedPreceding, Window.unboundedFollowing), Window.currentRow


def plain(df, keys, order, functions, frame=None):
    spec = Window.partitionBy(*keys).orderBy(*order) if order else Window.partitionBy(*keys)
    if frame:
        spec = getattr(spec, frame[0])(*frame[1:])
    return df.select("*", *(column.over(spec).alias(name) for name, column in functions.items()))


def check(df, keys, order, functions, frame=None, strategy="split", is_split=True, **options):
    """Compare with plain Spark; return the rows."""
    window = skewkit.skew_window(df, keys, order or None, strategy=strategy, partitions=4, **options)
    if frame:
        window = getattr(window, frame[0])(*frame[1:])
    ours = window.select(**functions)
    text = skewkit.explain(ours)
    assert ("strategy   split" in text) == is_split, text
    expected = plain(df, keys, order, functions, frame)
    assert ours.schema == expected.schema
    return assert_same_rows(ours, expected)


def ranks():
    return {"rank": F.rank(), "dense": F.dense_rank(), "percent": F.percent_rank(), "cume": F.cume_dist()}


def sums(x="v"):
    return {
        "total": F.sum(x),
        "n": F.count(x),
        "rows": F.count("*"),
        "least": F.min(x),
        "most": F.max(x),
        "mean": F.avg(x),
    }


def ends_of(x):
    return {
        "first": F.first(x),
        "first_known": F.first(x, ignorenulls=True),
        "last": F.last(x),
        "last_known": F.last(x, True),
    }
