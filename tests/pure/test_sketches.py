"""Sketches: the bounds hold for every stream, weight, merge and decay."""

import math
import pickle
from collections import Counter as Exact

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError
from skewkit.simulator import streams
from skewkit.sketch import CountMin, Decayed, SpaceSaving

relaxed = settings(deadline=None)

# Whole weights: sums of them are exact, so that the bounds must hold exactly.
messages = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=120)
PROBES = range(17)  # 16 never comes


def exact(*parts):
    total = Exact()
    for part in parts:
        for key, weight in part:
            total[key] += weight
    return total


def spacesaving(stream, counters):
    sketch = SpaceSaving(counters)
    for key, weight in stream:
        sketch.add(key, weight)
    return sketch


def check_bounds(sketch, true, scale=1.0):
    assert sketch.total == pytest.approx(scale * true.total())
    assert len(sketch) <= sketch.counters
    assert sketch.floor <= sketch.total / sketch.counters * (1 + 1e-12)
    for key in PROBES:
        low, high = sketch.low(key), sketch.high(key)
        assert low <= scale * true[key] <= high
        assert high - low <= sketch.floor
    tracked = {counter.key for counter in sketch}
    assert {k for k in true if true[k] * scale > sketch.floor} <= tracked


@relaxed
@given(messages, st.integers(1, 20))
def test_spacesaving_bounds_every_key(stream, counters):
    check_bounds(spacesaving(stream, counters), exact(stream))


@relaxed
@given(messages, messages, messages, st.integers(1, 20), st.integers(1, 20))
def test_merged_spacesaving_bounds_the_union(one, two, three, counters, other):
    a, b, c = spacesaving(one, counters), spacesaving(two, other), spacesaving(three, counters)
    before = sorted(a)
    merged = a.merge(b).merge(c)
    assert merged.counters == min(counters, other)
    check_bounds(merged, exact(one, two, three))
    check_bounds(a.merge(b.merge(c)), exact(one, two, three))
    assert sorted(a) == before
    for key, weight in one:  # a merged sketch goes on counting
        merged.add(key, weight)
    check_bounds(merged, exact(one, two, three, one))


@relaxed
@given(st.lists(messages, min_size=2, max_size=4), st.integers(1, 20), st.randoms())
def test_sketches_merge_in_any_order(parts, counters, random):
    sketches, matrices = [], []
    for part in parts:
        sketches.append(spacesaving(part, counters))
        matrices.append(CountMin(8, 3))
        matrices[-1].add_many([key for key, _ in part] or [0], [weight for _, weight in part] or [0.0])
    cells = sum(matrix.cells for matrix in matrices)
    while len(sketches) > 1:
        one, other = random.sample(range(len(sketches)), 2)
        for found in (sketches, matrices):
            a, b = found[one], found[other]
            found[:] = [sketch for sketch in found if sketch is not a and sketch is not b] + [a.merge(b)]
    check_bounds(sketches[0], exact(*parts))
    assert np.array_equal(matrices[0].cells, cells)


awkward = st.one_of(st.floats(0, 1e-300), st.floats(0, 10), st.floats(0, 1e300), st.just(0.1))


@relaxed
@given(st.lists(st.tuples(st.integers(0, 15), awkward), max_size=80), st.integers(1, 20))
def test_fractional_and_huge_weights_keep_the_bounds_up_to_rounding(stream, counters):
    """Sums of floats are right up to rounding, which is relative to all weight."""
    sketch, matrix = spacesaving(stream, counters), CountMin(8, 3)
    matrix.add_many([key for key, _ in stream] or [0], [weight for _, weight in stream] or [0.0])
    total = math.fsum(weight for _, weight in stream)
    assert math.isfinite(sketch.total)
    for key in PROBES:
        true = math.fsum(weight for own, weight in stream if own == key)
        assert sketch.low(key) <= true + 1e-12 * total
        assert true - 1e-12 * total <= sketch.high(key) <= sketch.low(key) + sketch.floor + 1e-12 * total
        assert true - 1e-12 * total <= matrix.high(key)


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, 1.7e308, 10**400])
def test_weights_whose_sums_are_no_numbers_are_refused(weight):
    for sketch in (SpaceSaving(3), CountMin(8, 3), Decayed(SpaceSaving(3), epoch=5, alpha=0.5)):
        for call in (lambda s=sketch: s.add(1, weight), lambda s=sketch: s.add_many([1], [weight])):
            with pytest.raises(ArgumentError, match="weight"):
                call()
        assert sketch.total == 0.0


@relaxed
@given(messages, messages)
def test_merge_is_the_union_where_nothing_was_dropped(one, two):
    merged = spacesaving(one, 16).merge(spacesaving(two, 16))
    true = exact(one, two)
    assert {k: (low, high) for k, low, high in merged} == {k: (w, w) for k, w in true.items() if w}


@relaxed
@given(messages, messages, st.integers(1, 20))
def test_scaled_spacesaving_bounds_the_scaled_weights(old, new, counters):
    sketch = spacesaving(old, counters)
    sketch.scale(0.5)
    for key, weight in new:
        sketch.add(key, 0.5 * weight)
    check_bounds(sketch, exact(old, new), scale=0.5)


@relaxed
@given(messages, st.integers(1, 20), st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_heavy_misses_no_heavy_key_and_certain_names_no_other(stream, counters, share):
    sketch, true = spacesaving(stream, counters), exact(stream)
    found = [counter.key for counter in sketch.heavy(share)]
    sure = [counter.key for counter in sketch.heavy(share, certain=True)]
    heavy = {k for k in true if true[k] and true[k] >= share * true.total()}
    assert set(sure) <= set(found)
    assert all(true[k] >= share * true.total() for k in sure)
    if share > 1 / counters:
        assert heavy <= set(found)
    highs = [sketch.high(k) for k in found]
    assert highs == sorted(highs, reverse=True)


@relaxed
@given(messages, st.integers(1, 10))
def test_add_many_is_add_one_by_one(stream, counters):
    one, many = spacesaving(stream, counters), SpaceSaving(counters)
    many.add_many([k for k, _ in stream], [w for _, w in stream])
    assert list(one) == list(many)
    again = pickle.loads(pickle.dumps(many))
    for sketch in (one, many, again):
        sketch.add_many(np.arange(50))
    assert list(one) == list(many) == list(again)


def test_a_counter_that_is_taken_over_gets_the_whole_weight():
    """The error of the best-known weighted implementations: only 1 was added on a take-over."""
    sketch = SpaceSaving(1)
    sketch.add("a", 5)
    assert sketch.add("b", 100) == 100
    assert (sketch.low("b"), sketch.high("b")) == (100, 105)
    assert (sketch.low("a"), sketch.high("a")) == (0, 5)


def test_five_n_counters_find_the_head_of_d_choices():
    """theta = 1 / (5 n) needs more than 5 n counters; 10 n tell the head apart (papers/README.md)."""
    n, z = 50, 1.2
    stream = streams.zipf(100_000, 10_000, z, seed=3)
    share = np.bincount(stream) / stream.size
    sketch = SpaceSaving(10 * n)
    sketch.add_many(stream)
    found = {counter.key for counter in sketch.heavy(1 / (5 * n), certain=True)}
    assert {k for k in range(share.size) if share[k] >= 1.5 / (5 * n)} <= found
    assert all(share[k] >= 1 / (5 * n) for k in found)


@relaxed
@given(messages, messages, st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**40))
def test_countmin_is_never_too_low_and_merges_exactly(one, two, width, depth, seed):
    a, b, both = (CountMin(width, depth, seed) for _ in range(3))
    for key, weight in one:
        a.add(key, weight)
    b.add_many([k for k, _ in two], [w for _, w in two])
    both.add_many([k for k, _ in one + two], [w for _, w in one + two])
    merged, true = a.merge(b), exact(one, two)
    np.testing.assert_array_equal(merged.cells, both.cells)
    assert merged.total == both.total == true.total()
    highs = merged.high_many(list(PROBES))
    for key in PROBES:
        assert merged.low(key) <= true[key] <= merged.high(key) == highs[key] <= merged.total
    merged.scale(0.5)
    assert all(merged.high(key) >= 0.5 * true[key] for key in PROBES)


@pytest.mark.parametrize("z", [0.6, 1.2])
def test_countmin_keeps_its_error(z):
    stream = streams.zipf(50_000, 5_000, z, seed=1)
    true = np.bincount(stream, minlength=5_000)
    epsilon, delta = 0.01, 0.05
    failures = 0
    for seed in range(10):
        sketch = CountMin.for_error(epsilon, delta, seed)
        sketch.add_many(stream)
        excess = sketch.high_many(np.arange(5_000)) - true
        failures += np.count_nonzero(excess > epsilon * stream.size)
    assert failures <= delta * 50_000


def test_countmin_cells_collide_as_rarely_as_two_universal_ones():
    width = 64
    collisions = pairs = 0
    for seed in range(20):
        slots = CountMin(width, 3, seed).slots(np.arange(200))
        for row in slots:
            counts = np.bincount(row, minlength=width)
            collisions += (counts * (counts - 1) // 2).sum()
            pairs += 200 * 199 // 2
    assert collisions / pairs == pytest.approx(1 / width, rel=0.1)


@relaxed
@given(messages, st.integers(1, 30), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 20))
def test_decayed_bounds_the_decayed_weights(stream, epoch, alpha, counters):
    true, last = Exact(), max(0, len(stream) - 1) // epoch
    for i, (key, weight) in enumerate(stream):
        true[key] += weight * alpha ** (last - i // epoch)
    one = Decayed(SpaceSaving(counters), epoch, alpha)
    for key, weight in stream:
        one.add(key, weight)
    many, cells = Decayed(SpaceSaving(counters), epoch, alpha), Decayed(CountMin(8, 2), epoch, alpha)
    for sketch in (many, cells):
        sketch.add_many([k for k, _ in stream], np.array([w for _, w in stream], dtype=float))
    assert sorted(one.sketch) == sorted(many.sketch)
    assert one.epochs == many.epochs == (last if stream else 0)
    for sketch in (one, cells):
        assert sketch.total == pytest.approx(sum(true.values()))
        for key in PROBES:
            slack = 1e-12 * (1 + true[key])
            assert sketch.low(key) - slack <= true[key] <= sketch.high(key) + slack


def test_decay_follows_a_new_heavy_key():
    plain, decayed = SpaceSaving(20), Decayed(SpaceSaving(20), epoch=1000, alpha=0.2)
    stream = ["old"] * 10_000 + ["new"] * 2_000
    for sketch in (plain, decayed):
        sketch.add_many(stream)
    assert plain.high("new") < plain.high("old")
    assert decayed.low("new") > 4 * decayed.high("old")


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, 10**400, -(10**400)], ids=lambda weight: str(weight)[:9])
def test_sketches_refuse_bad_weights(weight):
    for sketch in (SpaceSaving(2), CountMin(2, 2), Decayed(SpaceSaving(2))):
        with pytest.raises(ArgumentError):
            sketch.add("a", weight)
        with pytest.raises(ArgumentError):
            sketch.add_many(["a"], [weight])
        with pytest.raises(ArgumentError):
            sketch.add_many(["a"], [1.0, 2.0])
        with pytest.raises(ArgumentTypeError):
            sketch.add("a", "1")
        with pytest.raises(KeyTypeError, match="list cannot be hashed"):
            sketch.add(["a"])
        with pytest.raises(KeyTypeError, match="list cannot be hashed"):
            sketch.high(["a"])
        assert sketch.total == 0.0


def test_what_is_refused_is_not_counted_in_part():
    for sketch in (SpaceSaving(9), CountMin(9, 2), Decayed(SpaceSaving(9), epoch=2, alpha=0.5)):
        with pytest.raises(ArgumentError, match=r"weights\[3\] is -1\.0;"):
            sketch.add_many(["a"] * 4, [1, 1, 1, -1])
        assert sketch.total == 0.0


@pytest.mark.parametrize("keys", [5, {"a"}, None])
def test_keys_are_a_sequence(keys):
    for sketch in (SpaceSaving(2), Decayed(SpaceSaving(2))):
        for weights in (None, [1.0]):
            with pytest.raises(ArgumentTypeError, match="keys is"):
                sketch.add_many(keys, weights)


def test_sketches_refuse_nonsense():
    for make in (
        lambda: SpaceSaving(0),
        lambda: CountMin(0, 1),
        lambda: CountMin.for_error(0.0, 0.1),
        lambda: CountMin.for_error(1e-300, 0.1),
        lambda: CountMin.for_error(1e-7, 1e-300),
        lambda: CountMin(10**30, 1),
        lambda: CountMin(1, 10**30),
        lambda: CountMin(2**25, 2),
        lambda: SpaceSaving(10**30),
        lambda: Decayed(SpaceSaving(1), epoch=0),
        lambda: Decayed(SpaceSaving(1), alpha=1.1),
        lambda: SpaceSaving(1).scale(-1),
        lambda: SpaceSaving(1).heavy(2),
        lambda: CountMin(2, 2, seed=1).merge(CountMin(2, 2, seed=2)),
    ):
        with pytest.raises(ArgumentError):
            make()
    for make in (
        lambda: SpaceSaving("7"),
        lambda: SpaceSaving(True),
        lambda: CountMin(2, 2, seed="x"),
        lambda: SpaceSaving(1).merge({}),
        lambda: CountMin(2, 2).merge(SpaceSaving(1)),
        lambda: SpaceSaving(1).heavy("all"),
    ):
        with pytest.raises(ArgumentTypeError):
            make()
    assert CountMin.for_error(0.5, 5e-324).depth == 745


def test_messages_shorten_values():
    for value in (list(range(1000)), "x" * 1000, np.arange(1000), 10**400, 10**5000):
        for make in (SpaceSaving, lambda value: CountMin(value, 1), lambda value: SpaceSaving(1).scale(value)):
            with pytest.raises((ArgumentError, ArgumentTypeError), match=r"^[^\n]{,150}$"):
                make(value)


def test_every_nan_is_one_key():
    sketch = SpaceSaving(10)
    sketch.add_many(np.array([math.nan] * 5 + [1.0]))
    other = SpaceSaving(10)
    other.add(float("nan"), 2.0)
    other.add(np.float32("nan"))
    for found in (sketch.merge(other), pickle.loads(pickle.dumps(sketch)).merge(other)):
        assert len(found) == 2
        assert found.low(math.nan) == found.high(np.float64("nan")) == 8.0
        assert math.isnan(found.heavy(0.5)[0].key)
    decayed = Decayed(SpaceSaving(4), epoch=2, alpha=0.5)
    decayed.add_many([float("nan")] * 3)
    assert decayed.high(math.nan) == 2.0


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Decayed(3), ArgumentTypeError, "sketch is 3"),
        (lambda: SpaceSaving(2).add("a", np.ones(2)), ArgumentTypeError, "expected a number"),
        (lambda: SpaceSaving(2).add("a", True), ArgumentTypeError, "weight is True"),
        (lambda: SpaceSaving(2).add("a", 1e301), ArgumentError, "at most 1e.300"),
        (lambda: SpaceSaving(5).add_many("abc"), ArgumentTypeError, "expected a sequence"),
    ],
)
def test_what_is_no_sketch_weight_or_stream_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
