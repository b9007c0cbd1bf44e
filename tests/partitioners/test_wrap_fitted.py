"""`wrap` that knows the frequencies: balanced workers with few pieces, in any order, for any capacities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.partitioners import PARTITIONERS
from skewkit.simulator import replay, streams

relaxed = settings(deadline=None)
shapes = st.lists(st.floats(0.1, 10), min_size=1, max_size=12)


@pytest.mark.every(3)
@pytest.mark.parametrize("workers", [2, 20, 100, 1000])
@pytest.mark.parametrize("z", [0.1, 0.5, 0.8, 1.0, 1.4, 2.0])
def test_fitted_wrap_balances_all_workers_with_few_pairs(z, workers):
    """At most n - 1 pairs more than keys, and no worker above the mean rounded up."""
    stream = streams.zipf(1_000_000 if workers == 1000 else 200_000, 10_000, z, seed=9)
    keys, frequencies = np.unique(stream, return_counts=True)
    trace = replay(stream, PARTITIONERS["wrap"](workers=workers).fit(keys, frequencies))
    assert trace.loads.max() == np.ceil(stream.size / workers)
    assert trace.pairs <= keys.size + workers - 1


@pytest.mark.parametrize("order", ["sorted", "reversed", "as it comes"])
def test_fitted_wrap_does_not_mind_the_order(order):
    stream = streams.zipf(100_000, 3000, 1.2, seed=5)
    stream = {"sorted": np.sort(stream), "reversed": np.sort(stream)[::-1], "as it comes": stream}[order]
    keys, frequencies = np.unique(stream, return_counts=True)
    loads = replay(stream, PARTITIONERS["wrap"](workers=30).fit(keys, frequencies)).loads
    assert loads.max() - loads.min() <= 1


@relaxed
@given(
    st.dictionaries(st.integers(), st.floats(0, 1e6), min_size=1, max_size=200).filter(lambda d: sum(d.values())),
    st.integers(1, 12),
)
def test_a_cut_is_balanced_and_has_few_pieces(frequencies, n):
    p = PARTITIONERS["wrap"](workers=n).fit(list(frequencies), list(frequencies.values()))
    assert sum(p.choices(key) for key in frequencies) <= len(frequencies) + n - 1
    loads = np.zeros(n)
    for key, weight in frequencies.items():  # a thousand messages of every key
        for worker, part in zip(*np.unique([p.route(key) for _ in range(1000)], return_counts=True), strict=True):
            loads[worker] += weight * part / 1000
    heaviest = max(frequencies.values())
    assert loads.max() <= sum(frequencies.values()) / n + 2 * n * heaviest / 1000 + 1e-9


def test_unnamed_keys_go_to_all_workers_alike():
    for named in (1, 50, 1000):
        for weights in (None, [1.0] * named):
            p = PARTITIONERS["wrap"](workers=10).fit(list(range(named)), weights)
            loads = replay(np.arange(10_000, 60_000), p).loads
            assert loads.max() < 2.1 * loads.mean()
            assert loads.min() > 0.1 * loads.mean()


@pytest.mark.every(4)
@pytest.mark.parametrize(("several", "above"), [(2, 3), (5, 3), (48, 25)])
@pytest.mark.parametrize("z", [0.1, 0.8, 1.4, 2.0])
def test_what_sources_of_a_fitted_wrap_leave_uneven_does_not_add_up(z, several, above):
    """Where all begin with the same piece of a key, five end 5 to 7 above the mean, and 48 from 19 to 78."""
    stream = streams.zipf(1_000_000, 10_000, z, seed=1)
    keys, counts = np.unique(stream, return_counts=True)
    for workers in (10, 100, 1000):
        trace = replay(stream, PARTITIONERS["wrap"](workers).fit(keys, counts), sources=several)
        assert trace.imbalance * stream.size <= above
        assert trace.pairs <= keys.size + workers - 1


def test_a_fitted_wrap_that_has_routed_keeps_what_its_pieces_got():
    """Where pieces change their places and what they got does not, a used instance ends 180 above the mean."""
    p = PARTITIONERS["wrap"](workers=4).fit(["a", "b"], [5_000, 3_000])
    for _ in range(900):
        p.route("a")
    p.as_source(2, 3).route_many(["a"] * 4_100 + ["b"] * 3_000)
    assert p.loads.max() - p.loads.mean() <= 2


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(st.integers(), st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=200).filter(
        lambda d: sum(d.values())
    ),
    shapes,
)
def test_a_fitted_wrap_loads_the_workers_by_their_capacities(frequencies, capacities):
    keys, weights, share = list(frequencies), list(frequencies.values()), np.array(capacities) / sum(capacities)
    p = PARTITIONERS["wrap"](workers=len(capacities), capacities=capacities).fit(keys, weights)
    assert sum(p.choices(key) for key in keys) <= len(keys) + len(capacities) - 1
    loads = np.zeros(len(capacities))
    for key, weight in frequencies.items():
        routes = [p.route(key) for _ in range(1000 if p.choices(key) > 1 else 1)]
        loads += weight * np.bincount(routes, minlength=len(capacities)) / len(routes)
    whole = sum(weights)
    assert np.all(loads <= share * whole + 2 * len(capacities) * max(weights) / 1000 + 1e-9 * whole)


@pytest.mark.parametrize("weights", [[5e-324], [5e-324, 5e-324], [1e-310, 5e-324, 3e-320]])
@pytest.mark.parametrize("capacities", [None, [5.0, 3.9375]])
def test_weights_of_any_size_can_be_cut(weights, capacities):
    p = PARTITIONERS["wrap"](workers=2, capacities=capacities).fit(range(len(weights)), weights)
    p.route_many([0] * 1_000)  # the heaviest key: with others as heavy it fills one worker, else nearly both
    assert p.loads.sum() == 1_000
    shares = np.array([0.5, 0.5] if capacities is None else capacities) / sum(capacities or [1])
    assert len(weights) == 2 or p.loads == pytest.approx(1_000 * shares, abs=2)


@pytest.mark.parametrize("slow", [0.1, 0.02])
def test_a_fitted_wrap_does_not_overload_workers_that_are_slower_than_a_key_is_heavy(slow):
    capacities = np.repeat([1.0, slow], 5)
    p = PARTITIONERS["wrap"](workers=10, capacities=capacities).fit(range(100), [1_000] * 100)
    p.route_many(np.tile(np.arange(100), 1_000))
    assert p.loads == pytest.approx(100_000 * capacities / capacities.sum(), rel=1e-3, abs=3)


@pytest.mark.parametrize("slow", [1.0, 0.02, 0.001])
def test_a_slow_worker_does_not_make_chance_of_a_sample_count(slow):
    rng, capacities = np.random.default_rng(0), np.array([1.0] * 99 + [slow])
    p = PARTITIONERS["wrap"](workers=100, capacities=capacities).fit(rng.integers(0, 20_000, 100_000))
    p.route_many(rng.integers(0, 20_000, 200_000))
    assert np.all(p.loads[:99] <= 1.15 * 200_000 / capacities.sum())


def test_keys_of_weight_zero_do_not_go_to_slow_workers():
    weights = np.r_[np.full(10, 1e6), np.zeros(10_000)]
    p = PARTITIONERS["wrap"](workers=10, capacities=[1] * 9 + [0.001]).fit(np.arange(10_010), weights)
    p.route_many(np.arange(10, 10_010))
    assert p.loads[-1] <= 20
