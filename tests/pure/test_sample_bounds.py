"""Bounds of a key's rows from a sample, against the exact chances of a binomial draw."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.plan.profile.sample_bounds import Z, bounds

RARE = math.exp(-Z * Z / 2)


def chances(rows: int, fraction: float) -> list[float]:
    """Return how likely 0, 1, ... rows of so many are in the sample."""
    total = math.lgamma(rows + 1)
    logs = (
        total
        - math.lgamma(k + 1)
        - math.lgamma(rows - k + 1)
        + k * math.log(fraction)
        + (rows - k) * math.log1p(-fraction)
        for k in range(rows + 1)
    )
    return [math.exp(each) for each in logs]


@given(st.integers(1, 300), st.sampled_from([0.02, 0.1, 0.5, 0.9, 0.99]))
def test_so_many_rows_are_rare_in_a_sample_of_fewer_or_more(count, fraction):
    low, high = bounds(count, fraction)
    assert count <= low <= count / fraction <= high
    if low - 1 > count:
        assert math.fsum(chances(int(low) - 1, fraction)[count:]) <= RARE * (1 + 1e-6)
    assert math.fsum(chances(int(high) + 1, fraction)[: count + 1]) <= RARE * (1 + 1e-6)


@pytest.mark.parametrize("fraction", [0.001, 0.3, 1.0])
def test_a_key_without_a_row_has_no_lower_bound(fraction):
    low, high = bounds(0, fraction)
    assert low == 0
    assert (high == 0) == (fraction == 1)
