"""The three pure rules that the schemes and the Spark planner share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.partitioners.rules.least_loaded import LeastLoaded
from skewkit.partitioners.rules.lpt import longest_first
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.partitioners.rules.wrap_around import common_load, wrap_around

relaxed = settings(deadline=None)

# Number of choices by Equation (3), Zipf keys, K = 1e4, eps = 1e-4, theta = 1/(5n); shared/papers/README.md.
EXPONENTS = (0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
TABLE = {
    5: (2, 2, 2, 5, 5, 5, 5),
    10: (2, 2, 3, 8, 10, 10, 10),
    20: (2, 3, 7, 10, 13, 17, 20),
    50: (2, 6, 13, 22, 31, 40, 49),
    100: (4, 12, 25, 43, 61, 78, 95),
}

sizes = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e9)), max_size=60)
grounds = st.lists(st.one_of(st.just(0.0), st.floats(0, 1e9)), min_size=1, max_size=40).map(np.array)


def zipf_head(z: float, n: int) -> tuple[np.ndarray, float]:
    p = np.arange(1, 10_001) ** -z
    p /= p.sum()
    head = p[p >= 1 / (5 * n)]
    return head, float(p[head.size :].sum())


@pytest.mark.parametrize("n", TABLE)
def test_optimal_choices_gives_the_table_of_the_paper(n):
    found = tuple(optimal_choices(*zipf_head(z, n), workers=n) for z in EXPONENTS)
    assert found == TABLE[n]


@relaxed
@given(st.lists(st.floats(1e-6, 1.0), max_size=30), st.integers(1, 60), st.floats(0, 0.1))
def test_optimal_choices_is_the_first_that_fits_every_prefix(raw, n, eps):
    total = sum(raw) * 1.25 or 1.0
    p = sorted((x / total for x in raw), reverse=True)
    tail = 1 - sum(p)
    d = optimal_choices(p, tail, n, eps)
    assert min(2, n) <= d <= n

    def fits(d, slack):
        for h in range(1, len(p) + 1):
            b = n - n * ((n - 1) / n) ** (h * d)
            load = sum(p[:h]) + (b / n) ** d * sum(p[h:]) + (b / n) ** 2 * tail
            if load > b * (1 / n + eps) + slack:
                return False
        return True

    if p and n > 2:
        start = max(2, int(np.ceil(p[0] * n - 1e-9)))
        assert d == n or (d >= start and fits(d, 1e-9))
        assert not any(fits(smaller, -1e-9) for smaller in range(start, d))


def test_optimal_choices_does_not_trust_the_order_or_the_sum_of_estimates():
    assert optimal_choices([0.1, 0.4], 0.5, 10) == optimal_choices([0.4, 0.1], 0.5, 10)
    assert optimal_choices([1.3, 0.9], 0.0, 10) == 10  # overestimates of a sketch may pass 1


@pytest.mark.parametrize(
    "arguments", [([0.1], 0.9, 0), ([-0.1], 1.0, 5), ([float("nan")], 1.0, 5), ([0.1], 0.9, 5, -1.0)]
)
def test_optimal_choices_refuses_nonsense(arguments):
    with pytest.raises(ArgumentError):
        optimal_choices(*arguments)


@relaxed
@given(sizes, grounds)
def test_longest_first_is_a_list_schedule_heaviest_first(weights, loads):
    before = loads.copy()
    target = longest_first(weights, loads)
    assert target.dtype == np.int32
    assert target.shape == (len(weights),)
    np.testing.assert_array_equal(loads, before)
    held = loads.copy()
    for item in sorted((i for i in range(len(weights)) if weights[i]), key=lambda i: -weights[i]):
        assert target[item] == int(np.argmin(held))  # argmin takes the lowest index of equals
        held[target[item]] += weights[item]
    zeros = [int(target[i]) for i in range(len(weights)) if weights[i] == 0]
    counts = np.bincount(zeros, minlength=loads.size)
    assert counts.max() - counts.min() <= 1


def test_longest_first_spreads_empty_buckets():
    """Buckets never seen while learning must not all land on one worker (papers/README.md, DKG)."""
    counts = np.bincount(longest_first(np.zeros(1000), np.zeros(7)), minlength=7)
    assert counts.max() - counts.min() <= 1


@relaxed
@given(sizes.filter(any), grounds)
def test_common_load_holds_exactly_the_volume(weights, loads):
    volume = sum(weights)
    common = common_load(volume, loads)
    assert np.maximum(0, common - loads).sum() == pytest.approx(volume, rel=1e-9, abs=1e-6)


@relaxed
@given(sizes, grounds)
def test_wrap_around_levels_every_worker_with_few_pieces(weights, loads):
    before = loads.copy()
    pieces = wrap_around(weights, loads)
    np.testing.assert_array_equal(loads, before)
    assert len(pieces) == len(weights)
    assert sum(map(len, pieces)) <= max(0, len(weights) + loads.size - 1)
    end = loads.copy()
    for weight, parts in zip(weights, pieces, strict=True):
        assert parts
        assert len({worker for worker, _ in parts}) == len(parts)
        assert sum(part for _, part in parts) == pytest.approx(weight, rel=1e-9)
        if weight:
            assert all(part > 0 for _, part in parts)
        else:
            assert len(parts) == 1
        for worker, part in parts:
            assert (type(worker), type(part)) == (int, float)
            end[worker] += part
    if any(weights):
        common = common_load(sum(weights), loads)
        rounding = 1e-9 * (common + sum(weights))
        np.testing.assert_allclose(end[loads < common], common, atol=rounding)
        np.testing.assert_array_equal(end[loads > common + rounding], loads[loads > common + rounding])


@relaxed
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 20))
def test_wrap_around_leaves_no_slivers(weights, n):
    """Whole weights on equal workers: every piece is a multiple of 1/n, never a rounding error."""
    weights = sorted(map(float, weights), reverse=True)
    for parts in wrap_around([w / 7 for w in weights], np.zeros(n)):
        for _, part in parts:
            assert part * 7 * n > 0.999


def test_wrap_around_survives_weights_lost_in_rounding():
    pieces = wrap_around([1e18, 1e-3, 1e-3], np.array([5.0, 0.0]))
    assert [len(p) for p in pieces] == [2, 1, 1]
    assert pieces[1][0][1] == 1e-3
    assert wrap_around([1e-9], np.array([1e12, 1e12])) == [[(0, 5e-10), (1, 5e-10)]]


def test_wrap_around_needs_far_fewer_pieces_than_choices_do():
    """On top of an LPT tail, n = 100, Zipf 1.4: at most n - 1 pieces more than heavy keys."""
    head, tail = zipf_head(1.4, 100)
    loads = np.full(100, tail / 100)
    pieces = sum(map(len, wrap_around(head, loads)))
    assert pieces <= head.size + 99
    assert pieces < head.size * optimal_choices(head, tail, 100) / 5


@pytest.mark.parametrize("rule", [longest_first, wrap_around])
def test_placement_rules_refuse_nonsense(rule):
    with pytest.raises(ArgumentError):
        rule([1.0], np.array([]))
    with pytest.raises(ArgumentError):
        rule([-1.0], np.zeros(2))
    with pytest.raises(ArgumentError):
        rule([1.0], np.array([np.nan]))
    with pytest.raises(ArgumentTypeError):
        rule(["a"], np.zeros(2))
    assert len(rule([], np.zeros(2))) == 0


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.data())
def test_the_least_loaded_is_found_while_loads_grow_and_workers_join(loads, data):
    least, some, members = LeastLoaded(loads), LeastLoaded(loads, [0]), {0}
    for _ in range(8):
        assert least.worker() == loads.index(min(loads))
        assert some.worker() == min(members, key=lambda worker: (loads[worker], worker))
        loads[data.draw(st.integers(0, len(loads) - 1))] += data.draw(st.integers(0, 9))
        new = data.draw(st.integers(0, len(loads) - 1))
        if new not in members:
            members.add(new)
            some.join(new)
        assert len(some) == len(members)
