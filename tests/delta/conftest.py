"""What the tests on Delta Lake share: tables are small here, and are treated all the same."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.helpers import conf


@pytest.fixture(autouse=True)
def balanced_at_any_price(spark: SparkSession) -> Iterator[None]:
    """Let a balanced plan cost what it will: what `auto` weighs has tests of its own in tests/decisions."""
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        yield
