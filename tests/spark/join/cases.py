"""What the tests of joins share."""

import pytest

from skewkit import skew_join
from skewkit.testing import assert_same_rows

HOT = "CASE WHEN id % 10 < 5 THEN 0 WHEN id % 10 < 7 THEN 1 ELSE id % 40 END"
TREATED = ["salt", "broadcast_head"]


def check(left, right, on, how="left", strategy="salt", pick=lambda frame: frame, **options):
    """Compare with plain Spark, the plain join first, so that a test of something Spark refuses fails as such."""
    plain = pick(left.join(right, on, how))
    return assert_same_rows(pick(skew_join(left, right, on, how, strategy=strategy, partitions=3, **options)), plain)


STRATEGIES = ["auto", "native", "broadcast_head", "salt"]
SLOW = pytest.mark.slow
