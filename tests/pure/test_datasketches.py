"""Our sketches beside those of Apache DataSketches: both bound the truth, ours no worse for the same memory."""

import datasketches as apache
import numpy as np
import pytest

from skewkit.simulator import streams
from skewkit.sketch import CountMin, SpaceSaving

KEYS = 5_000
STREAMS = [(z, seed, weighted) for z in (0.6, 1.0, 1.6) for seed, weighted in ((1, False), (2, True))]


def weighted_stream(z: float, seed: int, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys, whole weights and the true weight of every key."""
    keys = streams.zipf(30_000, KEYS, z, seed)
    weights = np.random.default_rng(seed).integers(1, 100, keys.size) if weighted else np.ones(keys.size, dtype=int)
    return keys, weights, np.bincount(keys, weights, KEYS)


def frequent_items(keys: np.ndarray, weights: np.ndarray, lg_size: int) -> apache.frequent_items_sketch:
    theirs = apache.frequent_items_sketch(lg_size)
    for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
        theirs.update(key, weight)
    return theirs


@pytest.mark.parametrize(("z", "seed", "weighted"), STREAMS)
@pytest.mark.parametrize("merged", [False, True])
def test_spacesaving_bounds_are_as_tight_as_those_of_frequent_items(z, seed, weighted, merged):
    keys, weights, true = weighted_stream(z, seed, weighted)
    lg_size = 8
    counters = int(0.75 * 2**lg_size)  # a frequent items sketch fills three quarters of its table
    if merged:
        half = keys.size // 2
        theirs = frequent_items(keys[:half], weights[:half], lg_size)
        theirs.merge(frequent_items(keys[half:], weights[half:], lg_size))
        parts = SpaceSaving(counters), SpaceSaving(counters)
        parts[0].add_many(keys[:half], weights[:half])
        parts[1].add_many(keys[half:], weights[half:])
        ours = parts[0].merge(parts[1])
    else:
        theirs = frequent_items(keys, weights, lg_size)
        ours = SpaceSaving(counters)
        ours.add_many(keys, weights)
    assert theirs.total_weight == ours.total == true.sum()
    for key in range(KEYS):
        assert ours.low(key) <= true[key] <= ours.high(key)
        assert theirs.get_lower_bound(key) <= true[key] <= theirs.get_upper_bound(key)
        # Two intervals around one truth meet.
        assert ours.low(key) <= theirs.get_upper_bound(key)
        assert theirs.get_lower_bound(key) <= ours.high(key)
    a_priori = ours.total / counters
    assert max(counter.high - counter.low for counter in ours) <= a_priori
    assert a_priori <= apache.frequent_items_sketch.get_apriori_error(lg_size, int(ours.total))


@pytest.mark.parametrize(("z", "seed", "weighted"), STREAMS)
def test_both_name_the_same_heavy_keys(z, seed, weighted):
    keys, weights, true = weighted_stream(z, seed, weighted)
    ours, theirs = SpaceSaving(768), frequent_items(keys, weights, 10)
    ours.add_many(keys, weights)
    share = 0.01
    threshold = int(share * true.sum())
    certain = {counter.key for counter in ours.heavy(share, certain=True)}
    possible = {counter.key for counter in ours.heavy(share)}
    kinds = apache.frequent_items_error_type
    sure = {item[0] for item in theirs.get_frequent_items(kinds.NO_FALSE_POSITIVES, threshold)}
    perhaps = {item[0] for item in theirs.get_frequent_items(kinds.NO_FALSE_NEGATIVES, threshold)}
    heavy = set(np.flatnonzero(true >= share * true.sum()).tolist())
    assert certain <= heavy <= possible
    assert sure <= heavy <= perhaps
    assert len(heavy - certain) <= len(heavy - sure) + 1


@pytest.mark.parametrize(("z", "seed", "weighted"), STREAMS)
def test_count_min_errs_as_count_min_does(z, seed, weighted):
    keys, weights, true = weighted_stream(z, seed, weighted)
    hashes, buckets = 3, 256
    excess = {"ours": [], "theirs": []}
    for draw in range(4):
        ours, theirs = CountMin(buckets, hashes, draw), apache.count_min_sketch(hashes, buckets, draw + 1)
        ours.add_many(keys, weights)
        for key in range(KEYS):
            if true[key]:
                theirs.update(key, float(true[key]))  # one update per key: the cells are sums
        assert theirs.total_weight == ours.total
        estimates = np.array([theirs.get_estimate(key) for key in range(KEYS)])
        highs = ours.high_many(np.arange(KEYS))
        assert np.all(highs >= true)
        assert np.all(estimates >= true)
        excess["ours"].append((highs - true).mean())
        excess["theirs"].append((estimates - true).mean())
    assert np.mean(excess["ours"]) == pytest.approx(np.mean(excess["theirs"]), rel=0.15)


@pytest.mark.parametrize("epsilon", [0.1, 0.05, 0.001])
def test_count_min_is_as_wide_as_theirs_for_the_same_error(epsilon):
    assert CountMin.for_error(epsilon, 0.05).width == apache.count_min_sketch.suggest_num_buckets(epsilon)
    assert CountMin.for_error(epsilon, 0.05).depth == apache.count_min_sketch.suggest_num_hashes(0.95)
