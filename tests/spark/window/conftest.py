"""A frame with orders and values of several kinds."""

import pytest


@pytest.fixture(scope="module")
def facts(skewed):
    """Return a frame with a unique order `v`, orders with ties and nulls, and values of several types."""
    return skewed(2500, tail=60).selectExpr(
        "*",
        "if(v % 11 = 0, null, v * 7919 % 101) tied",
        "if(v % 13 = 0, null, cast(v * 31 % 17 as double)) d",
        "cast(v * 7 % 23 as int) i",
        "if(v % 5 = 0, null, cast(v * 31 % 1000 / 10 as decimal(12,2))) e",
        "timestamp_micros(v * 7919 % 5000 * 1000000) t",
    )
