"""What single schemes promise, and what the papers say about them (papers/README.md has the figures)."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.hashing import hash_keys
from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.rules.buckets import bucket_many, expected_weights
from skewkit.partitioners.rules.candidates import candidate_many
from skewkit.partitioners.rules.lpt import longest_first
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.simulator import replay, streams
from skewkit.simulator.streams import zipf_shares

relaxed = settings(deadline=None)

weighted = st.lists(st.tuples(st.integers(0, 8), st.floats(0, 10)), min_size=1, max_size=150)


# The papers' schemes


@pytest.mark.parametrize(("z", "d"), [(0.8, 4), (1.0, 12), (1.4, 43), (2.0, 95)])
def test_d_choices_settles_on_the_choices_of_the_table(z, d):
    trace = replay(streams.zipf(100_000, 10_000, z, seed=1), "d_choices", workers=100)
    assert abs(trace.choices[0] - d) <= 1
    assert trace.choices[max(trace.choices)] == 2


def test_d_choices_computes_d_as_often_as_refresh_says():
    stream = streams.zipf(3000, 100, 1.2, seed=2)
    ever, often = (PARTITIONERS["d_choices"](workers=10, refresh=r) for r in (0.0, 0.01))
    routes = ever.route_many(stream), often.route_many(stream)
    assert abs(ever.choices(0) - often.choices(0)) <= 1
    assert np.mean(routes[0] == routes[1]) < 1.0


@pytest.mark.parametrize(("workers", "z"), [(5, 1.4), (5, 2.0), (10, 2.0)])
def test_d_choices_is_w_choices_where_equation_3_asks_for_all_workers(workers, z):
    """Not so many hashed candidates, of which some are the same worker, but all workers."""
    stream = streams.zipf(50_000, 10_000, z, seed=3)
    w = PARTITIONERS["w_choices"](workers=workers, seed=1).route_many(stream)
    for options in ({}, {"d": workers}, {"d": workers + 3}):
        d = PARTITIONERS["d_choices"](workers=workers, seed=1, **options)
        assert np.array_equal(d.route_many(stream), w)
        assert d.choices(0) == workers


@pytest.mark.parametrize("z", [0.6, 1.0, 1.4, 2.0])
def test_w_choices_balances_any_skew(z):
    stream = streams.zipf(200_000, 10_000, z, seed=3)
    found = [replay(stream, "w_choices", workers=100, seed=seed).imbalance for seed in range(3)]
    assert np.median(found) <= 1e-5  # two messages; 5e-6 at a million of them


def test_balance_falls_in_the_order_of_the_paper():
    stream = streams.zipf(100_000, 10_000, 1.6, seed=4)
    found = {}
    for name in ("key", "two_choices", "d_choices", "w_choices", "shuffle"):
        found[name] = np.median([replay(stream, name, workers=50, seed=s).imbalance for s in range(5)])
    assert found["key"] > found["two_choices"] > 30 * found["d_choices"] > 30 * found["w_choices"]
    assert found["w_choices"] <= 2 / stream.size + found["shuffle"]


def test_two_choices_cannot_split_a_key_further():
    """For p1 > 2 / n the imbalance of PKG is p1 / 2 - 1 / n (D-Choices paper, Section III-A)."""
    stream = streams.zipf(100_000, 10_000, 2.0, seed=5)
    expected = np.mean(stream == 0) / 2 - 1 / 100
    found = np.median([replay(stream, "two_choices", workers=100, seed=s).imbalance for s in range(5)])
    assert found == pytest.approx(expected, rel=0.02)


def test_messages_of_shuffle_and_of_a_round_robin_head_differ_by_one():
    stream = ["hot"] * 1003
    for name in ("shuffle", "round_robin"):
        loads = replay(stream, name, workers=10).loads
        assert loads.max() - loads.min() == 1
        shared = replay(stream, name, workers=10, sources=5).loads  # not all sources begin alike
        assert shared.max() - shared.min() <= 2


@pytest.mark.parametrize("name", ["random_choices", "bounded_hash"])
@relaxed
@given(stream=weighted, n=st.integers(1, 12), epsilon=st.floats(0, 1), seed=st.integers(0, 50))
def test_bounded_loads_are_bounded_after_every_message(name, stream, n, epsilon, seed):
    p = PARTITIONERS[name](workers=n, seed=seed, epsilon=epsilon)
    for key, weight in stream:
        before = p.loads
        worker = p.route(key, weight)
        mean = p.loads.sum() / n
        assert before[worker] <= (1 + epsilon) * mean * (1 + 1e-12) + 1e-12
        assert p.loads.max() <= (1 + epsilon) * mean + max(w for _, w in stream) + 1e-9


@pytest.mark.parametrize(
    ("name", "memory", "tolerance"),
    [("random_choices", 1.60, 0.03), ("bounded_hash", 2.73, 0.3), ("power_of_two", 5.3, 0.1)],
)
def test_memory_of_the_random_schemes(name, memory, tolerance):
    """Pairs per key at n = 100, eps = 0.01, z = 1, ten messages per key (papers/README.md)."""
    stream = streams.zipf(1_000_000, 100_000, 1.0, seed=6)
    trace = replay(stream, name, workers=100)
    assert trace.pairs / np.unique(stream).size == pytest.approx(memory, abs=tolerance)


def test_bounded_hash_keeps_less_state_with_more_points():
    stream = streams.zipf(50_000, 5_000, 1.0, seed=7)
    one, many = (replay(stream, "bounded_hash", workers=50, points=points).pairs for points in (1, 50))
    assert many < 0.8 * one


# Planned schemes


@relaxed
@given(st.dictionaries(st.integers(), st.integers(1, 1000), min_size=1, max_size=200), st.integers(1, 12))
def test_fitted_dkg_is_a_longest_first_schedule(frequencies, n):
    keys, weights = list(frequencies), np.array(list(frequencies.values()), dtype=float)
    p = PARTITIONERS["dkg"](workers=n, theta=1e-9).fit(keys, weights)  # every key is heavy
    p.route_many(keys, weights)
    rule = np.bincount(longest_first(weights, np.zeros(n)), weights, n)
    np.testing.assert_allclose(np.sort(p.loads), np.sort(rule))
    least = max(weights.sum() / n, weights.max())
    assert p.loads.max() <= least + (1 - 1 / n) * weights.max()


def test_dkg_beats_key_grouping_where_no_key_is_too_heavy():
    stream = streams.zipf(200_000, 10_000, 0.8, seed=8)
    frequencies = np.bincount(stream, minlength=10_000)
    fitted = PARTITIONERS["dkg"](workers=20).fit(np.arange(10_000), frequencies)
    known = replay(stream, fitted).imbalance
    learned = replay(stream, "dkg", workers=20).imbalance
    plain = replay(stream, "key", workers=20).imbalance
    assert known < learned < plain / 3
    assert known < 1e-3


def test_dkg_does_not_suffer_from_short_learning_with_many_buckets():
    """By the letter all empty buckets go to one worker, which ends 3 times above the mean (papers/README.md)."""

    def peak(seed, literal):
        stream = streams.uniform(60_000, 20_000, seed=seed)
        return 10 * replay(stream, "dkg", workers=10, seed=seed, mu=500, learning=1000, literal=literal).imbalance

    assert np.median([peak(seed, literal=True) for seed in range(5)]) > 2.0  # the greatest load is 3 times the mean
    assert np.median([peak(seed, literal=False) for seed in range(5)]) < 0.15


@relaxed
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40).filter(any), st.integers(1, 6))
def test_literal_dkg_is_plain_longest_first(weights, n):
    p = PARTITIONERS["dkg"](workers=n, theta=1.0, mu=50, literal=True).fit(range(len(weights)), weights)
    level = np.zeros(n)
    for item in sorted(w for w in np.bincount(bucket_many(hash_keys(range(len(weights))), 50 * n), weights))[::-1]:
        level[level.argmin()] += item
    p.route_many(range(len(weights)), weights)
    if max(weights) < sum(weights):  # else the one key is heavy, and not in a bucket
        np.testing.assert_allclose(np.sort(p.loads), np.sort(level))


@relaxed
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.floats(0.1, 10))
def test_expected_weights_keep_sum_and_order(counts, unit):
    seen = np.array(counts) * unit
    expected = expected_weights(seen, unit)
    assert expected.sum() == pytest.approx(seen.sum())
    assert np.all(np.diff(expected[np.argsort(seen, kind="stable")]) >= -1e-9)
    np.testing.assert_array_equal(expected_weights(seen, 0.0), seen)
    many = expected_weights(seen * 1e6, unit)
    if seen.std():
        np.testing.assert_allclose(many, seen * 1e6, rtol=1e-3, atol=1e-3 * seen.mean() * 1e6)


def test_buckets_do_not_follow_the_candidates():
    hashes = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64)
    equal = bucket_many(hashes, 10) == candidate_many(hashes, 1, 10)
    assert np.mean(equal) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("workers", "exponent"), [(100, 1.4), (100, 0.8), (50, 1.0), (20, 1.2)])
@pytest.mark.parametrize("bulk", [False, True])
def test_the_number_of_choices_is_that_of_the_frequencies_so_far(workers, exponent, bulk):
    """Not of the last message of the head: here every key comes once, the lightest at the end."""
    shares = zipf_shares(2_000, exponent)
    scheme = PARTITIONERS["d_choices"](workers=workers, capacity=4_000)
    if bulk:
        scheme.route_many(np.arange(2_000), shares)
    else:
        for key, share in enumerate(shares):
            scheme.route(key, share)
    head = shares[shares >= scheme.theta]
    twin = copy.copy(scheme)
    assert scheme.choices(0) == optimal_choices(head, 1.0 - head.sum(), workers, scheme.epsilon)
    later = np.arange(500) % 7
    assert scheme.route_many(later).tolist() == twin.route_many(later).tolist()
