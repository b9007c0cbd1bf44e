"""The rate at which rows are taken: bounded by task, and after thinning a Bernoulli sample; numbers, no session."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.plan.profile.sampled_profile import PLAIN, WITH_NULL, FilesTaken, SampledRows, sampled_profile
from skewkit.spark.sampling.row_sample import Rate, distinct_values, largest_shares, thinned

rates = st.builds(
    Rate, st.sampled_from([0.001, 0.02, 0.3, 1.0]), st.sampled_from([64.0, 300.0]), st.sampled_from([300.0, 2_000.0])
)
sizes = st.lists(st.sampled_from([0, 1, 63, 64, 65, 300, 301, 2_000, 2_001, 30_000]), min_size=1, max_size=6)


def rows_of_tasks(sizes, seed):
    """Return the place and the draw of every row of tasks of these sizes."""
    places = np.concatenate([(task << 33) + np.arange(size, dtype=np.int64) for task, size in enumerate(sizes)])
    return places, np.random.default_rng(seed).random(places.size)


@given(sizes, rates, st.integers(0, 1 << 30))
def test_a_sample_is_bounded_and_has_one_fraction(sizes, rate, seed):
    places, draws = rows_of_tasks(sizes, seed)
    sent = np.flatnonzero(rate.wanted(places & ((1 << 33) - 1), draws))
    taken = thinned(places[sent], draws[sent], rate)
    for task, size in enumerate(sizes):
        mine = (places[sent] >> 33 == task).sum()
        assert mine >= min(size, rate.least)
        expected = max(rate.least, rate.most) * (1 + math.log(max(1.0, size / max(rate.least, rate.most))))
        assert mine <= expected + rate.least * (1 + math.log(max(1.0, size))) + 9 * math.sqrt(expected)
    # Thinned, every row has the same chance, wherever it stands: none of those below the fraction was left behind.
    assert set(sent[taken.rows]) == set(np.flatnonzero(draws < taken.fraction)) or _only_last_rows_lost(
        places, draws, sent, taken
    )
    spread = math.sqrt(max(1.0, places.size * taken.fraction * (1 - taken.fraction)))
    assert abs(taken.rows.size - places.size * taken.fraction) <= 6 * spread + 2
    assert taken.fraction < 1 or taken.rows.size == places.size
    if max(sizes) <= rate.least:
        assert taken.fraction == 1


def _only_last_rows_lost(places, draws, sent, taken):
    """Whether rows that should be in the sample stand behind the last one that a task sent, which is all it is."""
    lost = set(np.flatnonzero(draws < taken.fraction)) - set(sent[taken.rows])
    last = {int(p >> 33): int(p) for p in places[sent]}
    return all(places[row] > last[int(places[row] >> 33)] for row in lost) and len(lost) <= 3


@given(st.integers(0, 1 << 30), st.sampled_from([0.01, 0.1]), st.integers(1, 40))
def test_bounds_hold_for_keys_of_random_tables(seed, fraction, hot):
    random = np.random.default_rng(seed)
    hashes = np.where(random.random(20_000) < 0.5, random.integers(0, hot, 20_000), random.integers(0, 1 << 60, 20_000))
    kinds = np.where(random.random(20_000) < 0.05, WITH_NULL, PLAIN)
    rows = np.flatnonzero(random.random(20_000) < fraction)
    profile = sampled_profile(["k"], ["bigint"], SampledRows(hashes[rows], kinds[rows], fraction), 4)
    for heavy in profile.heavy:
        assert heavy.low <= int(((hashes == heavy.hash) & (kinds == PLAIN)).sum()) <= heavy.high
        assert heavy.low <= heavy.estimate <= heavy.high
    assert sum(profile.tail) + profile.nulls + sum(h.estimate for h in profile.heavy) == pytest.approx(
        profile.rows, abs=hot + 2
    )


@given(st.integers(0, 1 << 30), st.floats(0.0, 1.0))
def test_bounds_hold_where_a_key_is_in_some_files_only(seed, spread):
    """120 files, of which 30 are taken, each fourth; the key's share differs from file to file."""
    random = np.random.default_rng(seed)
    share = 0.3 * (1 - spread) + spread * (random.random(120) < 0.3)
    files = np.repeat(np.arange(120), 500)
    hashes = np.where(random.random(files.size) < share[files], 7, random.integers(10, 1 << 60, files.size))
    rows = np.flatnonzero((files % 4 == seed % 4) & (random.random(files.size) < 0.5))
    taken = FilesTaken(files[rows], 30, 120)
    profile = sampled_profile(["k"], ["bigint"], SampledRows(hashes[rows], np.zeros(rows.size, int), 0.125, taken), 4)
    (heavy,) = profile.heavy
    assert heavy.low <= (hashes == 7).sum() <= heavy.high
    assert profile.files == (30, 120)


def test_a_key_in_one_file_has_wide_bounds():
    hashes, files = np.array([7] * 50 + list(range(100, 150))), np.repeat(np.arange(10), 10)
    wide = sampled_profile(["k"], ["int"], SampledRows(hashes, np.zeros(100, int), 0.1, FilesTaken(files, 10, 100)), 4)
    narrow = sampled_profile(["k"], ["int"], SampledRows(hashes, np.zeros(100, int), 0.1), 4)
    assert wide.heavy[0].low < narrow.heavy[0].low
    assert wide.heavy[0].high > narrow.heavy[0].high


@given(st.integers(0, 1 << 30), st.sampled_from([50, 2_000, 50_000]))
def test_distinct_values_are_told_within_a_factor_of_two(seed, values):
    random = np.random.default_rng(seed)
    all_rows = random.integers(0, values, 100_000)
    found = distinct_values(all_rows[random.random(100_000) < 0.05], 100_000)
    assert np.unique(all_rows).size / 2 <= found <= np.unique(all_rows).size * 2


def test_no_rows():
    nothing = np.empty(0, np.int64)
    assert largest_shares(nothing, nothing) == {}
    taken = thinned(nothing, np.empty(0), Rate(0.1, 64.0, 64.0))
    assert (taken.fraction, taken.rows.size, taken.task_rows.size) == (1.0, 0, 0)
