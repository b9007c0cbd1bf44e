"""What the tests of aggregations share."""

from pyspark.sql import functions as F

from skewkit import skew_groupby
from skewkit.testing import assert_same_rows

HOT = "CASE WHEN id % 10 < 6 THEN 0 WHEN id % 10 = 9 THEN NULL ELSE id % 50 END"


def values():
    return F.collect_list("v").alias("vs")


def check(df, keys, *aggregates, strategy="wrap", **options):
    """Compare with plain Spark; lists and sets in any order."""
    plain = df.groupBy(*keys).agg(*aggregates)
    ours = skew_groupby(df, *keys, strategy=strategy, partitions=3, **options).agg(*aggregates)
    arrays = tuple(name for name, type_ in plain.dtypes if type_.startswith("array") and name not in df.columns)
    return assert_same_rows(ours, plain, unordered=arrays)
