"""Frames to group: a small one with nulls and a hot key, and a larger one over many partitions, some of them empty."""

import pytest

from tests.spark.group.cases import HOT


@pytest.fixture(scope="module")
def sales(skewed):
    return skewed(3000)


@pytest.fixture(scope="module")
def facts(spark):
    return spark.range(0, 300, 1, 3).selectExpr(
        f"{HOT} AS k", "id AS v", "cast(id % 7 AS string) AS s", "id % 3 = 0 AS b", "timestamp_micros(id) AS t"
    )
