"""Frames to join: small ones with nulls and a hot key, and larger ones over many partitions, some of them empty."""

import pytest

from tests.spark.join.cases import HOT


@pytest.fixture(scope="module")
def facts(spark):
    return spark.range(0, 240, 1, 3).selectExpr(
        f"CASE WHEN id % 10 = 9 THEN NULL ELSE {HOT} END AS k", "id AS v", "id % 4 AS x", "cast(id % 7 AS string) AS s"
    )


@pytest.fixture(scope="module")
def dims(spark):
    return spark.range(0, 40, 1, 2).selectExpr(
        "if(id = 39, NULL, id) AS k", "id * 2 AS w", "id % 4 AS x", "cast(id AS string) AS s"
    )


@pytest.fixture(scope="module")
def sales(skewed):
    return skewed(4000)


@pytest.fixture(scope="module")
def dimension(spark):
    """One row per key, hot key included; half of the tail is missing, two rows have a null key."""
    keys = spark.range(0, 160).selectExpr("id k", "concat('name ', id) name")
    return keys.unionAll(spark.range(2).selectExpr("cast(null as bigint) k", "'nobody' name")).repartition(3)
