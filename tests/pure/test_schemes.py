"""What single schemes promise, and what the papers say about them (papers/README.md has the figures)."""

import copy
import itertools
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit import compiled
from skewkit.errors import SkewkitError
from skewkit.hashing import hash_keys
from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.rules.buckets import bucket_many, expected_weights
from skewkit.partitioners.rules.candidates import candidate_many
from skewkit.partitioners.rules.lpt import longest_first
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.partitioners.wrap.budget import Budget
from skewkit.partitioners.wrap.slack import Slack
from skewkit.simulator import ChangeCapacity, replay, streams
from skewkit.simulator.streams import zipf_shares

relaxed = settings(deadline=None)
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
AIMS = ("w_choices", "d_choices")  # as level as the first, with no more pairs than the second

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


@pytest.mark.parametrize("workers", [2, 20, 100, 1000])
@pytest.mark.parametrize("z", [0.1, 0.5, 0.8, 1.0, 1.4, 2.0])
def test_fitted_wrap_levels_all_workers_with_few_pairs(z, workers):
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
def test_a_cut_is_level_and_has_few_pieces(frequencies, n):
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


CASES = {
    "little skew": streams.zipf(300_000, 10_000, 0.4, seed=10),
    "skew": streams.zipf(300_000, 10_000, 1.2, seed=10),
    "much skew": streams.zipf(300_000, 10_000, 2.0, seed=10),
    "slow drift": streams.drifting_zipf(300_000, 10_000, 1.4, 3, seed=10),
    "uniform": streams.uniform(300_000, 1000, seed=10),
}


@pytest.mark.parametrize("workers", [20, 100])
@pytest.mark.parametrize("case", CASES)
def test_wrap_has_the_balance_of_w_choices_and_the_memory_of_d_choices(case, workers):
    def median(name, figure):
        return np.median([getattr(replay(CASES[case], name, workers=workers, seed=seed), figure) for seed in range(3)])

    few = 3 / CASES[case].size  # messages
    assert median("wrap", "imbalance") <= median("w_choices", "imbalance") + few
    assert median("wrap", "pairs") <= 1.003 * median("d_choices", "pairs")


@pytest.mark.parametrize(("z", "workers"), [(1.4, 20), (1.4, 100), (2.0, 20)])
def test_wrap_keeps_up_with_fast_drift(z, workers):
    """Where D-Choices loses its balance and W-Choices its economy."""
    stream = streams.drifting_zipf(500_000, 10_000, z, 20, seed=11)
    ours, w, d = (replay(stream, name, workers=workers) for name in ("wrap", "w_choices", "d_choices"))
    assert ours.imbalance <= w.imbalance + 1 / stream.size < d.imbalance
    assert ours.pairs < d.pairs < w.pairs


@pytest.mark.parametrize(("keys", "workers"), [(300, 5), (1_000, 20)])
def test_wrap_has_no_more_pairs_than_d_choices_in_the_long_run(keys, workers):
    """D-Choices has two workers per key of little weight, and no more however long it runs."""
    stream = np.random.default_rng(0).integers(0, keys, 1_000_000)
    ours, w, d = ([replay(stream, name, workers, seed=seed) for seed in range(3)] for name in ("wrap", *AIMS))
    assert np.median([trace.pairs for trace in ours]) <= np.median([trace.pairs for trace in d])
    few = 2 / stream.size  # messages
    assert np.median([t.imbalance for t in ours]) <= np.median([t.imbalance for t in w]) + few


@relaxed
@given(
    st.lists(st.integers(0, 12), max_size=400),
    st.integers(1, 12),
    st.sampled_from([0.0, 1e-4, 0.1]),
    st.booleans(),
    st.integers(0, 50),
)
def test_wrap_is_level_at_any_time_or_as_level_as_w_choices(stream, n, epsilon, sort, seed):
    """No message lifts a worker further than the docstring says, unless to the mean and one message."""
    p = PARTITIONERS["wrap"](workers=n, seed=seed, epsilon=epsilon)
    w = PARTITIONERS["w_choices"](workers=n, seed=seed)
    recent = 0.0
    order = sorted(stream) if sort else stream
    for sent, key in enumerate(order, 1):
        pairs = p._budget.own.count
        worker = p.route(key)
        w.route(key)
        recent += (min(w.loads.max() - sent / n, 20.0) - recent) * min(1.0, 4.0 / sent)
        wanted = max(recent, 1.5 * recent - 1.0)
        seen = len(set(order[:sent]))
        share = (pairs - seen) / max(1, p._budget.theirs.count - seen)
        rising, spent = min(1.5, max(0.0, (share - 0.3) / 0.6)), min(1.0, max(0.0, (share - 0.85) / 0.1))
        free = 2.0 * min(1.0, rising)
        slack = min(wanted, free) + max(0.0, wanted - free) * spent
        level = sent / n + max(1.5 + 4.5 * rising + slack, epsilon * sent)
        assert p.loads[worker] <= max(level, w.loads.max(), sent / n + 1.0) + 1e-9


@pytest.mark.parametrize("case", [*CASES, "bursts"])
def test_the_yardstick_of_wrap_is_w_choices(case):
    stream = np.repeat(np.arange(300) % 37, 1 + np.arange(300) % 53) if case == "bursts" else CASES[case][:30_000]
    weights = np.random.default_rng(15).random(stream.size)
    for own in (None, weights):
        p, w = (PARTITIONERS[name](workers=30, seed=4) for name in ("wrap", "w_choices"))
        for part in np.array_split(np.arange(stream.size), 5):
            for scheme in (p, w):
                scheme.route_many(stream[part], None if own is None else own[part])
            assert np.array_equal(p._yardstick.loads, w.loads)
            assert p._yardstick.top == w.loads.max()


BURSTS = {
    "drift, little skew": (streams.drifting_zipf(300_000, 10_000, 0.8, 3, seed=10), 100),
    "drift, much skew": (streams.drifting_zipf(300_000, 10_000, 2.0, 10, seed=10), 100),
    "the same, few workers": (streams.drifting_zipf(300_000, 10_000, 2.0, 10, seed=10), 20),
}


@pytest.mark.parametrize("case", BURSTS)
def test_wrap_pays_no_pairs_to_be_more_level_than_w_choices(case):
    """Nor, as it has clearly fewer than D-Choices, less level to save some."""
    stream, workers = BURSTS[case]
    ours, w, d = (
        [replay(stream, name, workers=workers, seed=seed) for seed in range(3)]
        for name in ("wrap", "w_choices", "d_choices")
    )

    def over_time(traces):
        return np.median([np.mean(np.prod(trace.imbalance_over_time(), axis=0)) for trace in traces])

    few = 3 / stream.size  # messages
    assert all(one.imbalance <= other.imbalance + few for one, other in zip(ours, w, strict=True))
    assert over_time(ours) <= over_time(w) + 3.0
    assert np.median([trace.pairs for trace in ours]) < 0.97 * np.median([trace.pairs for trace in d])


REAL = {"author": (5, 20, 100), "dir": (5, 20, 100), "path": (20, 100)}


@pytest.mark.parametrize(("column", "workers"), [(column, n) for column, listed in REAL.items() for n in listed])
def test_wrap_keeps_to_both_aims_on_changes_of_git_histories(column, workers):
    """Keys in bursts, where W-Choices is level at times, and D-Choices never."""
    path = DATA / "git_changes.parquet"
    if not path.exists():
        pytest.skip("the git histories are not here")
    keys = pq.read_table(path, columns=[column])[column].drop_null().combine_chunks().dictionary_encode()
    stream = keys.indices.to_numpy().astype(np.int64)
    ours, w, d = ([replay(stream, name, workers, seed=seed) for seed in range(5)] for name in ("wrap", *AIMS))
    assert np.mean([t.pairs for t in ours]) <= np.mean([t.pairs for t in d])
    assert all(one.imbalance <= other.imbalance + 30 / stream.size for one, other in zip(ours, w, strict=True))


@pytest.mark.parametrize("several", [5, 48])
@pytest.mark.parametrize("z", [0.8, 1.4, 2.0])
def test_several_sources_of_wrap_keep_to_both_aims(z, several):
    stream = streams.zipf(400_000, 10_000, z, seed=16)
    ours, w, d = ([replay(stream, name, 100, sources=several, seed=s) for s in range(3)] for name in ("wrap", *AIMS))
    assert np.median([t.pairs for t in ours]) < np.median([t.pairs for t in d])
    assert np.median([t.imbalance for t in ours]) <= np.median([t.imbalance for t in w]) + several / stream.size


@pytest.mark.parametrize("z", [0.8, 1.4, 2.0])
def test_some_sources_are_level_on_many_workers(z):
    """Where each waits for 200 messages per worker until it is calm, they end 7 to 13 above W-Choices."""
    stream = streams.zipf(1_000_000, 10_000, z, seed=1)
    ours, w, d = (replay(stream, name, 1000, sources=5) for name in ("wrap", *AIMS))
    assert ours.imbalance <= w.imbalance + 3 / stream.size
    assert ours.pairs < d.pairs


@pytest.mark.parametrize("z", [1.4, 2.0])
def test_many_sources_know_early_that_a_key_is_too_much_for_two_workers(z):
    """Where a key must have ten messages, W-Choices is 42 above the mean at most, `wrap` 150 and 121."""
    stream = streams.zipf(200_000, 10_000, z, seed=1)
    ours, w = (replay(stream, name, 80, sources=48).imbalance_over_time(200) for name in ("wrap", "w_choices"))
    assert (ours[0] * ours[1]).max() <= 1.5 * (w[0] * w[1]).max()


@pytest.mark.parametrize(("workers", "several", "early", "late"), [(80, 48, 60, 25), (100, 5, 7, 7)])
@pytest.mark.parametrize("z", [1.4, 2.0])
def test_no_worker_of_wrap_lags_far_behind(z, workers, several, early, late):
    """Where a key takes a worker only when all it has are full, one is 442 below the mean, or 116.

    Where somebody looks for such a worker eight times in a round of the workers, it is up to 125 with 48 sources.
    """
    stream = streams.zipf(400_000, 10_000, z, seed=1)
    routes = np.asarray(replay(stream, "wrap", workers, sources=several).routes)
    parts = [np.bincount(part, minlength=workers) for part in np.split(routes, 40)]
    loads = np.cumsum(parts, axis=0)
    lag = loads.mean(axis=1) - loads.min(axis=1)
    assert lag.max() <= early
    assert lag[10:].max() <= late


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


@pytest.mark.parametrize("bulk", [False, True])
def test_wrap_routes_heavy_messages_as_light_ones(bulk):
    """Products of two weights of 2**900 are infinite."""
    stream = streams.zipf(20_000 if bulk else 3_000, 500, 1.4, seed=3)
    routes = []
    for weight in (1.0, 2.0**900):
        p = PARTITIONERS["wrap"](workers=20)
        weights = np.full(stream.size, weight)
        single = zip(stream.tolist(), weights.tolist(), strict=True)
        routes.append(p.route_many(stream, weights).tolist() if bulk else [p.route(*message) for message in single])
    assert routes[0] == routes[1]


def allowed(slack, above=0.0, share=0.3, own_share=0.3, heavy=False, messages=10**9, part=1e-9):
    return slack.allowed(above, 1.0, messages, share, own_share, heavy, part)


@pytest.mark.parametrize(
    ("sources", "shares", "level", "thrift"),
    [
        (1, (0.3, 0.9), (0.0, 1.5, -0.5, 0.0), (1.5, 6.0, 4.0, 0.0)),
        (8, (0.4, 0.9), (0.25, 2.5, 0.0, 3.0), (0.75, 6.0, 4.0, 0.0)),
        (9, (0.85, 1.05), (0.5, 2.0, -0.5, 4.0), (1.0, 5.0, 1.0, 4.0)),
    ],
)
def test_rungs_rise_with_the_pairs_that_are_spent(sources, shares, level, thrift):
    slack = Slack(workers=10, sources=sources)
    low, middle, high = (allowed(slack, share=share) for share in (shares[0], sum(shares) / 2, shares[1]))
    assert low[:4] == level
    assert high[:4] == pytest.approx(thrift)
    assert middle[:4] == pytest.approx([(one + other) / 2 for one, other in zip(level, thrift, strict=True)])
    assert allowed(slack, share=0.0) == low
    beyond = [max(0.0, one + 1.5 * (other - one)) for one, other in zip(level, thrift, strict=True)]
    assert allowed(slack, share=9.0)[:4] == pytest.approx(beyond)


@pytest.mark.parametrize(
    ("sources", "free", "least"),
    [(1, (2 / 3, 11 / 6, 2.0), 0.0), (5, (0.64, 1.83, 2.0), 0.135), (48, (0.3, 0.3, 0.65), 0.0)],
)
def test_slack_is_what_w_choices_was_lately(sources, free, least):
    """Some messages are free, the more the more is spent; what is beyond follows from 85 to 95 % on."""
    slack, found = Slack(workers=10, sources=sources), []
    for share in (0.5, 0.85, 0.95):
        slack.recent = 3.0  # 3.5 is wanted
        found.append(allowed(slack, above=3.0, share=share))
    most = [3.5 if share == 0.95 else part for part, share in zip(free, (0.5, 0.85, 0.95), strict=True)]
    assert [rungs.slack for rungs in found] == pytest.approx(most, abs=1e-3)
    lifted = found[1].light - allowed(Slack(workers=10, sources=sources), share=0.85).light
    assert lifted == pytest.approx(free[1] + least * (3.5 - free[1]), abs=1e-3)


def test_heavy_keys_of_more_than_eight_sources_have_more_where_most_load_is_theirs():
    for sources, expected in ((1, [0.0] * 3), (5, [0.25] * 3), (48, [0.5, 0.5, 1.5])):
        slack, found = Slack(workers=10, sources=sources), []
        for slack.filling in (0.0, 0.5, 1.0):
            found.append(allowed(slack).heavy)
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [(1, [0.0] * 5), (5, [0.97, 0.97, 0.485, 0.0, 0.0]), (48, [0.97, 0.97, 0.97, 0.8083, 0.485])],
)
def test_light_keys_have_two_candidates_where_heavy_ones_have_little_load(sources, expected):
    slack, found, spent = Slack(workers=10, sources=sources), [], []
    for slack.filling in (0.0, 0.05, 0.15, 0.25, 0.35):
        found.append(allowed(slack).both)
        spent.append(allowed(slack, share=2.0, own_share=1.0).both)
    assert found == pytest.approx(expected, abs=1e-4)
    assert spent == [0.0] * 5  # no pairs are left for that
    slack = Slack(workers=10, sources=sources)
    for message in range(1, 2_001):
        allowed(slack, heavy=message % 4 == 0, messages=message, part=1.0 / message)
    assert slack.filling == pytest.approx(0.25, abs=0.01)


def test_heavy_keys_fill_by_weight():
    """A key with a thirtieth of the messages and most of the load leaves nothing uneven."""
    rng = np.random.default_rng(3)
    stream = np.where(rng.random(20_000) < 1 / 30, 7, rng.integers(100, 5_000, 20_000))
    weights = np.where(stream == 7, 60.0, 1.0)
    for fast in (False, True):
        p = PARTITIONERS["wrap"](workers=20).as_source(0, 5)
        with compiled.forced(fast):
            p.route_many(stream, weights)
        assert p._slack.filling == pytest.approx(2 / 3, abs=0.1)
        assert allowed(p._slack, messages=p.messages).both == 0.0


EVEN = {
    "z = 0.4, 5 sources": (streams.zipf(20_000, 10_000, 0.4, seed=1), 20, 5),
    "even keys, 20 sources": (streams.uniform(200_000, 5_000, seed=1), 50, 20),
}


@pytest.mark.parametrize("case", EVEN)
def test_several_sources_are_level_where_no_key_is_heavy(case):
    """What light keys leave uneven is the same at every source, so that it would add up."""
    stream, workers, sources = EVEN[case]
    ours, w, d = (
        [replay(stream, scheme, workers=workers, sources=sources, seed=seed) for seed in range(3)]
        for scheme in ("wrap", "w_choices", "d_choices")
    )
    for measured, level, frugal in zip(ours, w, d, strict=True):
        assert measured.imbalance <= level.imbalance + 2.0 / stream.size
        assert measured.pairs <= frugal.pairs


def test_an_epsilon_saves_pairs_of_several_sources_too():
    """Keys that would take the less loaded of two candidates from the beginning keep to one as long as tolerated."""
    stream = streams.uniform(50_000, 5_000, seed=1)
    for fast in (False, True):
        with compiled.forced(fast):
            pairs = [
                replay(stream, PARTITIONERS["wrap"](workers=20, epsilon=epsilon), workers=20, sources=5).pairs
                for epsilon in (0.0, 0.01)
            ]
        assert pairs[0] > 9_000
        assert pairs[1] < 6_000


def test_the_budget_of_wrap_compares_what_is_beyond_one_pair_per_key():
    """Most keys come once or twice: pairs are nearly alike, and further ones are not."""
    stream = streams.zipf(20_000, 10_000, 0.8, seed=1)
    known = np.unique(stream).size
    further = {}
    for scheme in ("wrap", "d_choices"):
        p = PARTITIONERS[scheme](workers=20)
        routes = p.route_many(stream)
        further[scheme] = np.unique(np.stack([stream, routes]), axis=1).shape[1] - known
        if scheme == "wrap":
            budget = p._budget
    assert budget.share == pytest.approx(further["wrap"] / further["d_choices"], rel=0.02)
    assert budget.own.count / budget.theirs.count > budget.share + 0.1


@pytest.mark.parametrize("sources", [1, 5])
def test_the_budget_of_wrap_knows_pairs_whose_bits_are_taken(sources):
    """Of a million messages 70 % have a key of their own: as many bits as a quarter of the set."""
    rng = np.random.default_rng(4)
    often = streams.zipf(300_000, 10_000, 1.0, seed=2)
    stream = rng.permutation(np.concatenate([often, np.arange(10_000, 710_000)]))
    p = PARTITIONERS["wrap"](workers=100).as_source(0, sources)
    d = PARTITIONERS["d_choices"](workers=100)
    known, times = np.unique(stream, return_counts=True)
    ours, theirs = (np.unique(stream * 100 + routes).size for routes in (p.route_many(stream), d.route_many(stream)))
    budget = p._budget
    assert [budget.own.count, budget.theirs.count] == pytest.approx([ours, theirs], rel=2e-3)
    assert budget.keys.count == pytest.approx(known.size, rel=2e-3)
    assert budget.share == pytest.approx((ours - known.size) / (theirs - known.size), abs=0.1)
    if sources > 1:
        single = (budget.keys.count - budget.again.count) / budget.keys.taken
        assert single == pytest.approx((times == 1).mean(), abs=0.01)


@pytest.mark.parametrize(("times", "more"), [(1, 1.0), (8, 1.0 + 0.35 * 0.8)])
def test_the_budget_of_some_sources_foresees_what_others_add_to_keys_that_are_seen_often(times, more):
    one, some = (Budget(workers=10, seed=0, theta=0.02, capacity=100, sources=s) for s in (1, 5))
    for hashed in hash_keys(np.tile(np.arange(500), times), seed=0).tolist():
        for budget in (one, some):
            budget.count(hashed, 1.0)
            budget.own.add(hashed, hashed % 10)
            budget.own.add(hashed, hashed % 7)
    assert one.share > 0.0
    assert some.share == pytest.approx(more * one.share)


def test_sources_of_wrap_give_second_workers_to_the_same_light_keys():
    """Where each takes the keys that come just then, all five have 2.9 times the second workers that each has."""
    stream = streams.zipf(400_000, 10_000, 0.8, seed=18)
    parts = [stream[source::5] for source in range(5)]
    pairs = [
        np.unique(part * 100 + PARTITIONERS["wrap"](workers=100).as_source(source, 5).route_many(part))
        for source, part in enumerate(parts)
    ]
    own = np.mean([found.size - np.unique(part).size for found, part in zip(pairs, parts, strict=True)])
    assert np.unique(np.concatenate(pairs)).size - np.unique(stream).size < 2.5 * own


@pytest.mark.parametrize("several", [2, 5, 48])
def test_every_source_of_wrap_routes_single_messages_as_in_bulk(several):
    stream = streams.drifting_zipf(8_000, 500, 1.0, 3, seed=19)
    for source, fitted in itertools.product((0, several - 1), (False, True)):
        one, many = (PARTITIONERS["wrap"](workers=7, seed=source) for _ in range(2))
        for p in (one, many):
            if fitted:
                p.fit(stream)
            p.as_source(source, several)
        assert many.route_many(stream[:3_000]).tolist() == [one.route(key) for key in stream[:3_000].tolist()]
        assert many.route_many(stream[3_000:]).tolist() == [one.route(key) for key in stream[3_000:].tolist()]


def test_a_light_key_keeps_its_first_worker_as_long_as_that_has_room():
    """What Power of Two Choices gives two workers at once."""
    stream = streams.zipf(300_000, 10_000, 0.8, seed=17)
    ours, two = (replay(stream, name, workers=100) for name in ("wrap", "two_choices"))
    keys = np.unique(stream).size
    assert ours.pairs - keys < 0.7 * (two.pairs - keys)


def test_keys_that_share_a_byte_for_their_second_worker_keep_two():
    """One slot for all keys: choices(key) and the loads keep what they promise."""
    p = PARTITIONERS["wrap"](workers=30)
    hashes = np.arange(1, 2_001, dtype=np.uint64)  # alike in their first 20 bits
    routes = p._route_all(np.tile(hashes, 20), np.ones(40_000))
    pairs = np.unique(np.tile(np.arange(2_000), 20) * 30 + routes)
    each = np.bincount(pairs // 30, minlength=2_000)
    assert all(each[i] <= p._choices(int(hashed)) for i, hashed in enumerate(hashes))
    assert p.loads.max() - p.loads.mean() < 10


# Capacities


shapes = st.lists(st.floats(0.1, 10), min_size=1, max_size=12)


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("capacities", [[1e308] * 2, [1e-320, 1e300], [5e-324] * 2])
def test_wrap_takes_any_capacities_above_zero(capacities):
    p = PARTITIONERS["wrap"](workers=2, capacities=capacities)
    assert p.route_many(["a", "b"] * 5).size == 10
    p.fit(["a", "b"], [3, 1]).route_many(["a", "b"] * 5)
    assert p.loads.sum() == 20


@relaxed
@given(st.lists(st.integers(0, 12), max_size=400), shapes, st.integers(0, 50))
def test_wrap_is_level_by_capacities_whatever_the_stream_does(stream, capacities, seed):
    relative = np.array(capacities) / np.mean(capacities)
    p = PARTITIONERS["wrap"](workers=len(capacities), seed=seed, capacities=capacities)
    for key in stream:
        worker = p.route(key)
        assert (
            p.loads[worker] / relative[worker] <= p.messages / len(capacities) + 5.5 + (1.0 / relative[worker]) + 1e-9
        )


@pytest.mark.parametrize("z", [0.1, 1.4])
@pytest.mark.parametrize("capacities", [[20] + [1] * 4, [20] + [1] * 19, range(1, 21)])
def test_wrap_that_is_told_capacities_has_fewer_pairs_than_d_choices(capacities, z):
    stream, workers = streams.zipf(200_000, 10_000, z, seed=12), len(capacities)
    ours = replay(stream, PARTITIONERS["wrap"](workers=workers, capacities=capacities))
    assert ours.pairs < 0.95 * replay(stream, "d_choices", workers=workers).pairs
    relative = np.array(capacities) / np.mean(capacities)
    assert np.all(ours.loads / relative <= stream.size / workers + 6 + 1 / relative)


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("z", [0.4, 1.4])
def test_wrap_with_capacities_is_level_on_long_streams(z, fitted):
    stream = streams.zipf(200_000, 10_000, z, seed=12)
    capacities = np.repeat([1.0, 2.0, 4.0], [10, 5, 5])
    p = PARTITIONERS["wrap"](workers=20, capacities=capacities)
    if fitted:
        p.fit(*np.unique(stream, return_counts=True))
    trace = replay(stream, p, service_times=10.0, capacities=capacities)
    assert trace.normalised_imbalance < 1e-4
    assert trace.pairs <= replay(stream, "d_choices", workers=20).pairs


@pytest.mark.parametrize("sources", [1, 5])
@pytest.mark.parametrize("z", [0.8, 1.4])
def test_wrap_that_learns_capacities_does_as_well_as_if_it_were_told(z, sources):
    stream, capacities = streams.zipf(40_000, 10_000, z, seed=12), np.tile([20.0, 1.0, 1.0, 1.0, 1.0], 4)
    told, learns = (
        replay(stream, p, sources=sources, service_times=0.95 * capacities.sum(), capacities=capacities)
        for p in (PARTITIONERS["wrap"](workers=20, **o) for o in ({"capacities": capacities}, {"learn": True}))
    )
    assert learns.pairs <= min(1.1 * told.pairs, replay(stream, "d_choices", workers=20, sources=sources).pairs)
    assert learns.normalised_imbalance <= told.normalised_imbalance + 0.01 / 20


@pytest.mark.parametrize("sources", [1, 5])
def test_wrap_that_learns_has_no_more_pairs_where_times_vary_and_capacities_are_not_far_apart(sources):
    stream, capacities = streams.zipf(30_000, 10_000, 1.2, seed=3), np.geomspace(0.5, 2.0, 20)
    times = 0.9 * capacities.sum() * np.random.default_rng(1).exponential(1.0, stream.size)
    p = PARTITIONERS["wrap"](workers=20, learn=True)
    trace = replay(stream, p, sources=sources, service_times=times, capacities=capacities)
    assert trace.pairs <= replay(stream, "d_choices", workers=20, sources=sources).pairs


def test_a_source_that_has_learned_keeps_its_candidates():
    p, rng = PARTITIONERS["wrap"](workers=10, learn=True), np.random.default_rng(2)
    for now, key in enumerate(rng.integers(0, 1000, 3000).tolist()):
        worker = p.route(key)
        p.observe(worker, key, 1.0 if worker == 0 else 10.0, float(now))
    places = list(p._further.places)
    assert places.count(0) > 40
    assert list(p.as_source(0, 3)._further.places) == places


@pytest.mark.parametrize("fitted", [True, False])
def test_wrap_learns_capacities_and_their_changes(fitted):
    stream = streams.zipf(24_000, 1000, 1.2, seed=13)
    capacities = np.repeat([1.0, 3.0], [5, 5])
    change = [ChangeCapacity(12_000, worker, 3.0 if worker < 5 else 1.0) for worker in range(10)]
    p = PARTITIONERS["wrap"](workers=10, learn=True)
    if fitted:
        p.fit(*np.unique(stream, return_counts=True))
    trace = replay(stream, p, service_times=14.0, capacities=capacities, events=change)
    for part, fast in ((slice(4000, 12_000), slice(5, 10)), (slice(16_000, 24_000), slice(0, 5))):
        share = np.bincount(trace.routes[part], minlength=10) / 8000
        assert share[fast].sum() == pytest.approx(0.75, abs=0.02)
    blind = replay(stream, "wrap", workers=10, service_times=14.0, capacities=capacities, events=change)
    assert trace.latencies[4000:].mean() < blind.latencies[4000:].mean() / 5
    assert p.plans == int(fitted)  # the instance given stays as it is
    assert (trace.partitioners[0].plans > 1) or not fitted


def test_fitted_sources_whose_plans_differ_know_how_many_workers_a_key_has():
    keys, weights = range(40), [400, 300, 200] + [20] * 37
    one, other = (PARTITIONERS["wrap"](workers=8, learn=True).fit(keys, weights) for _ in range(2))
    for now in range(400):
        for worker in range(8):
            one.observe(worker, "any", 40.0 if worker < 3 else 1.0, float(now))
    unfitted = PARTITIONERS["wrap"](workers=8)
    for others in ([other], [other, unfitted]):
        routes = [source.route_many(np.repeat(keys, 50)) for source in (one, *others)]
        for key in keys:
            used = {worker for found in routes for worker in found[50 * key : 50 * key + 50].tolist()}
            assert len(used) <= one.choices_beside(others, key)
    assert any(one.choices_beside([other], key) > one.choices(key) for key in keys)


def test_reports_change_nothing_unless_wrap_learns():
    stream = streams.zipf(3000, 100, 1.4, seed=14)
    p, twin = (PARTITIONERS["wrap"](workers=5) for _ in range(2))
    for now, key in enumerate(stream.tolist()):
        worker = p.route(key)
        p.observe(worker, key, 1.0 + 5.0 * worker, float(now))
    twin.route_many(stream)
    assert (p.learns, p.loads.tolist()) == (False, twin.loads.tolist())


@pytest.mark.parametrize("capacities", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, float("nan")], "ab", [1.0, "x"]])
def test_capacities_that_make_no_sense_are_refused(capacities):
    with pytest.raises(SkewkitError, match="capacities"):
        PARTITIONERS["wrap"](workers=2, capacities=capacities)


@pytest.mark.parametrize("z", [0.4, 1.0, 2.0])
def test_wrap_has_as_many_choices_as_a_heavy_key_needs(z):
    stream = streams.zipf(300_000, 10_000, z, seed=10)
    trace = replay(stream, "wrap", workers=100)
    assert max(trace.choices.values()) >= trace.choices[0] > 100 * np.mean(stream == 0) - 1


def test_wrap_plans_before_the_messages_first_times_powers_of_two():
    p = PARTITIONERS["wrap"](workers=3, first=5)
    plans = []
    for message in range(45):
        p.route(message % 4)
        plans.append(p.plans)
    grown = [i for i in range(45) if plans[i] > (plans[i - 1] if i else 0)]
    assert grown == [5, 10, 20, 40]


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
