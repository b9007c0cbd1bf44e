"""Every scheme, with every option that changes its loops: bulk is one by one, compiled or plain, and however cut."""

import copy
import itertools
import pickle
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit import compiled
from skewkit.partitioners import PARTITIONERS, base
from skewkit.partitioners.bases import planned
from skewkit.simulator import streams
from tests.schemes import make, some, worker_counts

FEW = {"capacity": 9}  # counters, so that many are evicted
CASES = {
    **{name: {} for name in PARTITIONERS},
    **dict.fromkeys(("w_choices", "d_choices", "round_robin", "fish"), FEW),
    "wrap": {"capacity": 5, "theta": 0.05, "margin": 1.0},
    "d_choices, each time": {"refresh": 0.0, **FEW},
    "d_choices, fixed": {"d": 3, **FEW},
    "dkg, literal": {"literal": True},
    "wrap, tolerant": {"epsilon": 0.1},
    "wrap, balanced": {"epsilon": 0.0, "margin": 0.5, "capacity": 2},
    "wrap, unequal": {"capacities": (1, 2, 3, 4, 5, 6, 7), "margin": 0.5},
    "random_choices, wide": {"epsilon": 0.5},
    "fish, no ring": {"points": 0, **FEW},
    "fish, margin": {"margin": 2.0, **FEW},
    "fish, all": {"hot_rule": "all", "alpha": 0.0, **FEW},
    "fish, optimal": {"hot_rule": "optimal", "points": 0, "alpha": 1.0, **FEW},
    "fish, load": {"assignment": "load", "margin": 1.0, **FEW},
    "posg, early": {"early": 4},
    "posg, pooled": {"early": 4, "pooled": True},
}
WAYS = ("compiled", "plain", "one by one", "pickled", "copied")
keys = st.lists(st.one_of(st.just(7), st.integers(0, 30)), max_size=200)
weights = st.lists(
    st.one_of(st.just(1.0), st.just(0.0), st.floats(0, 10), st.floats(0, 1e12)), min_size=200, max_size=200
)
amounts_of = st.one_of(st.none(), weights)
cuts_of = st.sets(st.integers(0, 200))
ways_of = st.lists(st.sampled_from(WAYS), min_size=201, max_size=201)
every_scheme = pytest.mark.parametrize("name", PARTITIONERS)


def instances(case, count, workers=7):
    workers = 7 if case == "wrap, unequal" else workers
    return [make(case.partition(",")[0], workers, **CASES[case]) for _ in range(count)]


def state(p):
    """Return all that decides the next routes, sketch included."""
    sketch = getattr(p, "_sketch", None)
    counters = None if sketch is None else (list(sketch), sketch.total, sketch.floor)
    lists = None
    if p.name == "wrap":
        lists = {key: sorted(worker for _, worker in own.heap) for key, own in p._lists.items()}, p._counts, p._total
    return p.loads.tolist(), p.messages, p.plans, counters, lists, [p.choices(key) for key in range(31)]


def routed(p, way, part, own):
    """Send messages in one of the ways; return the routes, and the instance to go on with."""
    if way == "one by one":
        return [p.route(key, weight) for key, weight in zip(part, own, strict=True)], p
    with compiled.forced(way == "compiled"):
        routes = p.route_many(np.array(part, dtype=int) if way == "compiled" else part, own)
    assert routes.dtype == np.int32
    return routes.tolist(), {"pickled": pickle_of, "copied": copy.copy}.get(way, lambda same: same)(p)


def pickle_of(p):
    return pickle.loads(pickle.dumps(p))


def pieces(size, cuts):
    return itertools.pairwise([0, *sorted(cut for cut in cuts if cut < size), size])


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Blocks that short streams fill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_BLOCK", 64)
        patch.setattr(planned, "_BLOCK", 16)
        yield


@pytest.mark.parametrize("case", CASES)
@some
@given(stream=keys, amounts=amounts_of, workers=worker_counts, cuts=cuts_of, ways=ways_of)
def test_bulk_is_one_by_one_compiled_or_plain_and_however_it_is_cut(case, stream, amounts, workers, cuts, ways):
    one, plain, fast, mixed = instances(case, 4, workers)
    own = [1.0] * len(stream) if amounts is None else amounts[: len(stream)]
    expected = [one.route(key, weight) for key, weight in zip(stream, own, strict=True)]
    assert routed(plain, "plain", stream, None if amounts is None else own)[0] == expected
    assert routed(fast, "compiled", stream, None if amounts is None else own)[0] == expected
    for number, (a, b) in enumerate(pieces(len(stream), cuts)):
        found, mixed = routed(mixed, ways[number], stream[a:b], own[a:b])
        assert found == expected[a:b]
    for other in (plain, fast, mixed):
        assert state(other) == state(one)


@pytest.mark.parametrize("case", [case for case in CASES if PARTITIONERS[case.partition(",")[0]].planned])
@some
@given(
    stream=keys,
    amounts=amounts_of,
    profile=st.dictionaries(st.integers(0, 40), st.one_of(st.integers(0, 3000), st.floats(0.01, 100)), min_size=1),
    workers=worker_counts,
    cuts=cuts_of,
    ways=ways_of,
)
def test_schemes_that_are_fitted_too(case, stream, amounts, profile, workers, cuts, ways):
    profile[99] = 1
    one, other, mixed = (p.fit(list(profile), list(profile.values())) for p in instances(case, 3, workers))
    other.fit(list(profile)[::-1], list(profile.values())[::-1])
    other.plans -= 1
    own = [1.0] * len(stream) if amounts is None else amounts[: len(stream)]
    expected = [one.route(key, weight) for key, weight in zip(stream, own, strict=True)]
    assert routed(other, "compiled", stream, own)[0] == expected
    for number, (a, b) in enumerate(pieces(len(stream), cuts)):
        found, mixed = routed(mixed, ways[number], stream[a:b], own[a:b])
        assert found == expected[a:b]
    assert state(one) == state(other) == state(mixed)
    reached = defaultdict(set)
    for key, worker in zip(stream, expected, strict=True):
        reached[key].add(worker)
    assert all(len(found) <= one.choices(key) for key, found in reached.items())


@pytest.mark.parametrize("case", [case for case in CASES if make(case.partition(",")[0]).learns])
@some
@given(
    stream=keys,
    amounts=amounts_of,
    workers=worker_counts,
    cuts=cuts_of,
    ways=ways_of,
    lag=st.integers(0, 40),
    ticks=st.booleans(),
    times=st.lists(st.floats(0, 9), min_size=200, max_size=200),
)
def test_reports_and_the_clock_between_the_calls(case, stream, amounts, workers, cuts, ways, lag, ticks, times):
    """All but the last `lag` messages are done before the next call; so every state of a scheme is met."""
    one, fast, mixed = instances(case, 3, workers)
    own = [1.0] * len(stream) if amounts is None else amounts[: len(stream)]
    routes, done, now = [], 0, 0.0
    for number, (a, b) in enumerate(pieces(len(stream), cuts)):
        expected = [one.route(key, weight) for key, weight in zip(stream[a:b], own[a:b], strict=True)]
        assert routed(fast, "compiled", stream[a:b], own[a:b])[0] == expected
        found, mixed = routed(mixed, ways[number], stream[a:b], own[a:b])
        assert found == expected
        routes += expected
        while done < len(routes) - lag:
            now += times[done]
            for p in (one, fast, mixed):
                if ticks:
                    p.tick(now)
                p.observe(routes[done], stream[done], times[done], now)
            done += 1
    assert state(one) == state(fast) == state(mixed)
    assert one.loads == pytest.approx(np.bincount(routes, own, one.workers))


@pytest.mark.every(2)
@every_scheme
@pytest.mark.parametrize("z", [0.4, 1.4])
def test_long_streams(name, z):
    stream = streams.zipf(20_000, 5_000, z, seed=3)
    amounts = np.random.default_rng(4).random(stream.size) * 3
    for own in (None, amounts):
        results = []
        for use in (False, True):
            p = PARTITIONERS[name](workers=40, seed=2)
            with compiled.forced(use):
                results.append((p.route_many(stream, own).tolist(), state(p)))
        assert results[0] == results[1]


@every_scheme
def test_arrays_of_any_layout(name):
    stream = np.repeat(streams.zipf(500, 50, 1.0), 2)
    amounts = np.random.default_rng(5).random(1000)
    amounts.flags.writeable = stream.flags.writeable = False
    with compiled.forced(True):
        expected = make(name).route_many(stream[::2].copy(), amounts[::2].copy()).tolist()
        assert make(name).route_many(stream[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream.astype(np.int16)[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream.astype(np.uint64)[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream[::2].astype(float), amounts[::2]).tolist() == expected


@every_scheme
@pytest.mark.parametrize(
    "stream",
    [
        np.arange(50, dtype=np.int16),
        np.linspace(0, 1, 50),
        np.array([f"k{i}" for i in range(50)]),
        np.array([b"%d" % i for i in range(50)]),
        [None, True, 1.5, "x", ("a", 1), b"y"] * 8,
        np.array([None, "x"] * 25, dtype=object),
    ],
    ids=lambda stream: str(getattr(stream, "dtype", "mixed list")),
)
def test_every_kind_of_key(name, stream):
    one, many = make(name), make(name)
    assert many.route_many(stream).tolist() == [one.route(key) for key in stream]
