"""What every partitioner promises: one suite over the whole registry."""

import copy
import itertools
import pickle
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, SkewkitError, UnsupportedError
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.partitioners.bases import planned
from skewkit.simulator import streams

# Options that bring a scheme's turning points into the range of short streams.
SHORT = {
    "dkg": {"learning": 30, "mu": 3},
    "wrap": {"mu": 3},
    "d_choices": {"refresh": 0.1},
    "fish": {"epoch": 20, "points": 3, "interval": 4.0},
    "posg": {"window": 2, "tolerance": 0.5},
    "consistent": {"virtual": 3, "slot": 5.0},
}

some = settings(max_examples=settings.default.max_examples * 2 // 5, deadline=None)  # of each scheme
every_scheme = pytest.mark.parametrize("name", PARTITIONERS)
# Skewed: one key is drawn as often as all others together.
keys = st.lists(st.one_of(st.just("hot"), st.integers(0, 30)), max_size=150)
weights = st.lists(st.one_of(st.just(1.0), st.floats(0, 10)), min_size=150, max_size=150)
profiles = st.dictionaries(st.integers(0, 40), st.floats(0.01, 100), min_size=1)
worker_counts = st.sampled_from([1, 2, 3, 7, 50])


def make(name, workers=7, seed=1):
    return PARTITIONERS[name](workers=workers, seed=seed, **SHORT.get(name, {}))


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Let the planned schemes count in blocks that short streams fill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planned, "_BLOCK", 16)
        yield


@every_scheme
@some
@given(
    stream=keys,
    amounts=st.one_of(st.none(), weights),
    workers=worker_counts,
    cuts=st.sets(st.integers(0, 150)),
)
def test_route_many_is_route_one_by_one_however_it_is_cut(name, stream, amounts, workers, cuts):
    amounts = None if amounts is None else amounts[: len(stream)]
    one, whole, parts = make(name, workers), make(name, workers), make(name, workers)
    expected = [one.route(key, 1.0 if amounts is None else amounts[i]) for i, key in enumerate(stream)]
    routes = whole.route_many(stream, amounts)
    assert routes.dtype == np.int32
    assert routes.tolist() == expected
    borders = [0, *sorted(c for c in cuts if c < len(stream)), len(stream)]
    pieces = [
        parts.route_many(stream[a:b], None if amounts is None else np.array(amounts[a:b]))
        for a, b in itertools.pairwise(borders)
    ]
    assert np.concatenate(pieces).tolist() == expected
    for other in (whole, parts):
        np.testing.assert_allclose(other.loads, one.loads, rtol=1e-12)
        assert (other.messages, other.plans) == (one.messages, one.plans)
        assert [other.choices(key) for key in ("hot", 1, 2)] == [one.choices(key) for key in ("hot", 1, 2)]


@every_scheme
@some
@given(stream=keys, amounts=weights, workers=worker_counts)
def test_no_load_is_lost_and_every_route_is_a_worker(name, stream, amounts, workers):
    p = make(name, workers)
    routes = p.route_many(stream, amounts[: len(stream)])
    assert p.loads.shape == (workers,)
    assert p.loads.dtype == np.float64
    assert all(0 <= worker < workers for worker in routes.tolist())
    np.testing.assert_allclose(p.loads, np.bincount(routes, amounts[: len(stream)], workers), rtol=1e-12)
    assert p.messages == len(stream)
    p.loads[:] = -1.0  # a copy: nobody changes a partitioner's loads from outside
    assert p.loads.sum() == pytest.approx(sum(amounts[: len(stream)]))


@every_scheme
@some
@given(stream=keys, amounts=weights, workers=worker_counts, power=st.sampled_from([-900, -1, 1, 900]))
def test_the_unit_of_the_weights_does_not_matter(name, stream, amounts, workers, power):
    """Huge and tiny ones, too; a power of two leaves no rounding that could turn a tie."""
    own = np.round(amounts[: len(stream)], 3)
    plain, scaled = make(name, workers), make(name, workers)
    routes = plain.route_many(stream, own)
    assert scaled.route_many(stream, np.ldexp(own, power)).tolist() == routes.tolist()
    assert scaled.loads.tolist() == np.ldexp(plain.loads, power).tolist()
    if scaled.planned and own.sum() > 0.0:
        plans = [make(name, workers).fit(stream, np.ldexp(own, up)) for up in (0, power)]
        assert [p.choices("hot") for p in plans] == [plans[0].choices("hot")] * 2


@every_scheme
def test_sums_of_the_heaviest_messages_are_counted(name):
    """Also where messages are counted in blocks, whose sums weigh more than one message may."""
    stream, amounts = ["a", "a", "b"] * 6000, [1e300] * 18_000
    p, one_by_one = make(name, 3), make(name, 3)
    assert p.route_many(stream, amounts).size == 18_000
    assert p.loads.sum() == pytest.approx(1.8e304)
    for key, amount in zip(stream[:300], amounts, strict=False):
        one_by_one.route(key, amount)
    assert one_by_one.loads.sum() == pytest.approx(3e302)


@every_scheme
@some
@given(stream=keys, amounts=weights, workers=worker_counts)
def test_a_key_reaches_at_most_choices_workers_between_two_plans(name, stream, amounts, workers):
    p = make(name, workers)
    reached, allowed = defaultdict(set), defaultdict(int)
    for key, weight in zip(stream, amounts, strict=False):
        worker = p.route(key, weight)
        stretch = (key, p.plans)
        reached[stretch].add(worker)
        allowed[stretch] = max(allowed[stretch], p.choices(key))
        assert 1 <= p.choices(key) <= workers
    for stretch, used in reached.items():
        assert len(used) <= allowed[stretch]


@every_scheme
def test_choices_hold_on_a_long_stream(name):
    p = PARTITIONERS[name](workers=20, seed=2)
    stream = streams.zipf(30_000, 3000, 1.2, seed=4)
    p.route_many(stream[:13_000])
    plans, before = p.plans, {key: p.choices(key) for key in range(3000)}
    routes = p.route_many(stream[13_000:23_000])
    after = {key: p.choices(key) for key in range(3000)}
    assert p.plans == plans
    used = {key: len(set(routes[stream[13_000:23_000] == key].tolist())) for key in range(3000)}
    more = {key for key, workers in used.items() if workers > max(before[key], after[key])}
    # A key at the threshold of the head may join it on the way, and leave it again.
    assert all(before[key] == after[key] == 2 for key in more)
    assert len(more) <= 5, more


@every_scheme
@some
@given(stream=keys, workers=worker_counts, cut=st.integers(0, 150))
def test_pickled_and_copied_partitioners_go_on_as_the_original(name, stream, workers, cut):
    p = make(name, workers)
    p.route_many(stream[:cut])
    twins = [pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p)]
    expected = p.route_many(stream[cut:]).tolist()
    for twin in twins:
        assert twin.route_many(stream[cut:]).tolist() == expected
        np.testing.assert_array_equal(twin.loads, p.loads)


@every_scheme
def test_the_seed_decides(name):
    stream = streams.zipf(3000, 500, 1.0, seed=1)
    routes = [make(name, 50, seed).route_many(stream).tolist() for seed in (0, 0, 1, 2)]
    assert routes[0] == routes[1]
    assert len({tuple(r) for r in routes}) == 3


@every_scheme
@some
@given(stream=keys, workers=worker_counts, seed=st.integers(0, 2**64 - 1), cut=st.integers(0, 150))
def test_the_same_seed_gives_the_same_routes(name, stream, workers, seed, cut):
    first, second = make(name, workers, seed), make(name, workers, seed)
    singly = [first.route(key) for key in stream[:cut]]
    assert singly + first.route_many(stream[cut:]).tolist() == second.route_many(stream).tolist()


def test_routes_do_not_depend_on_the_process():
    code = (
        "from skewkit.partitioners import PARTITIONERS\n"
        "keys = [f'key{i * i % 37}' for i in range(3000)]\n"
        "print([p(workers=9).route_many(keys).tolist() for p in PARTITIONERS.values()])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1


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


@every_scheme
def test_an_empty_stream_and_a_single_worker(name):
    p = make(name, workers=1)
    assert p.route_many([]).shape == (0,)
    assert p.route_many(["a", "b", "a"]).tolist() == [0, 0, 0]
    assert p.loads.tolist() == [3.0]
    assert p.choices("a") == 1


@every_scheme
def test_an_unknown_option_is_refused_with_the_nearest_one(name):
    scheme = PARTITIONERS[name]
    options = scheme(workers=3).options
    with pytest.raises(ArgumentError, match="'no_such_thing'"):
        scheme(workers=3, no_such_thing=1)
    for option in options:
        with pytest.raises(ArgumentError, match=f"did you mean '{option}'"):
            scheme(workers=3, **{option + "x": 1})
        for bad in (-1, float("nan"), "many"):
            with pytest.raises(SkewkitError, match=option):
                scheme(workers=3, **{option: bad})
    if not options:
        with pytest.raises(ArgumentError, match="no options"):
            scheme(workers=3, theta=0.1)


@every_scheme
def test_sizes_beyond_all_memory_are_refused_or_harmless(name):
    scheme = PARTITIONERS[name]
    for workers in (2**25 + 1, 2**31, 10**30, 10**5000):
        with pytest.raises(ArgumentError, match=r"^workers is .{,60}; expected a whole number, .* at most 33554432"):
            scheme(workers=workers)
    for option, value in itertools.product(scheme(workers=3).options, (10**30, 10**400, 1e-300, 5e-324)):
        with suppress(ArgumentError, ArgumentTypeError):
            assert scheme(workers=3, **{option: value}).route_many(range(100)).max() < 3
    for option in {"points", "virtual", "capacity"} & set(scheme(workers=3).options):
        with pytest.raises(ArgumentError, match=rf"{option} is .* at most 33554432"):
            scheme(workers=3, **{option: 10**30})


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("dkg", {"mu": 10**30}, r"workers \* mu is"),
        ("posg", {"epsilon": 1e-300}, "epsilon is 1e-300; .* at least 8.1"),
        ("posg", {"epsilon": 1e-7}, r"workers \* rows \* columns is"),
        ("fish", {"workers": 10**6}, r"workers \* points is"),
    ],
)
def test_what_takes_too_much_memory_is_named(name, options, match):
    with pytest.raises(ArgumentError, match=match):
        PARTITIONERS[name](**({"workers": 3} | options))


def test_a_million_workers_are_none_too_many():
    assert PARTITIONERS["d_choices"](workers=10**6).route_many(range(5)).max() < 10**6


@every_scheme
def test_options_are_documented_and_shown(name):
    p = PARTITIONERS[name](workers=3, seed=5)
    for option in p.options:
        assert f"{option}: " in type(p).__doc__
    assert repr(eval(repr(p), {"PARTITIONERS": PARTITIONERS})) == repr(p)
    assert repr(p).startswith(f"PARTITIONERS[{name!r}](workers=3, seed=5")


@every_scheme
def test_nonsense_is_refused_and_changes_nothing(name):
    scheme = PARTITIONERS[name]
    for workers in (0, -1):
        with pytest.raises(ArgumentError, match="workers"):
            scheme(workers=workers)
    for workers in (2.5, "ten", True, None):
        with pytest.raises(ArgumentTypeError, match="workers"):
            scheme(workers=workers)
    p = scheme(workers=3)
    for weight in (-1.0, float("nan"), float("inf"), 1e301):
        with pytest.raises(ArgumentError, match="weight"):
            p.route("a", weight)
        with pytest.raises(ArgumentError, match=r"weights\[0\]"):
            p.route_many(["a"], [weight])
    with pytest.raises(ArgumentTypeError, match="not a number"):
        p.route_many(["a", "b"], ["1", "2"])
    for weight in (1 + 2j, True, Decimal("1.5"), Fraction(1, 2), None):  # both forms refuse the same
        for act in (lambda w: p.route("a", w), lambda w: p.route_many(["a"], [w])):
            with pytest.raises(ArgumentTypeError, match="number"):
                act(weight)
    with pytest.raises(ArgumentError, match="2 keys and 1 weights"):
        p.route_many(["a", "b"], [1.0])
    with pytest.raises(KeyTypeError):
        p.route_many(["a", {}])
    with pytest.raises(KeyTypeError):
        p.choices([1])
    with pytest.raises(ArgumentTypeError):
        p.route_many("abc")
    for others in (5, [None], "p"):
        with pytest.raises(ArgumentTypeError, match="others is"):
            p.choices_beside(others, "a")
    for source, sources in ((-1, 2), (2, 2), (0, 0)):
        with pytest.raises(ArgumentError):
            p.as_source(source, sources)
    assert p.loads.tolist() == [0.0] * 3
    assert p.messages == 0


@every_scheme
def test_only_planned_schemes_fit(name):
    p = make(name)
    if not p.planned:
        with pytest.raises(UnsupportedError, match=r"'dkg'.*'wrap'"):
            p.fit(["a"], [1.0])
        return
    assert p.fit(["a", "b"], [2.0, 1.0]) is p
    assert p.plans == 1
    choices = p.choices("a")
    p.route_many(["a", "b", "c"] * 100)
    assert (p.plans, p.choices("a")) == (1, choices)
    for bad in (([], []), (["a"], [0.0]), (["a"], [-1.0]), (["a"], [1.0, 2.0])):
        with pytest.raises(ArgumentError):
            p.fit(*bad)


@every_scheme
@some
@given(
    stream=keys,
    profile=st.dictionaries(st.integers(0, 40), st.floats(0.01, 100), min_size=1),
    cut=st.integers(0, 150),
)
def test_a_foreign_profile_loses_nothing(name, stream, profile, cut):
    p, twin = make(name), make(name)
    if p.planned:
        p.fit(list(profile), list(profile.values()))
        twin.fit(list(profile)[::-1], list(profile.values())[::-1])
    routes = np.concatenate([p.route_many(stream[:cut]), p.route_many(stream[cut:])])
    assert routes.tolist() == [twin.route(key) for key in stream]
    assert p.loads.sum() == len(stream)
    if p.planned:
        for key in set(stream):
            assert len(set(routes[[k == key for k in stream]].tolist())) <= p.choices(key)


@every_scheme
def test_schemes_that_do_not_learn_ignore_reports(name):
    p, twin = make(name), make(name)
    stream = streams.zipf(300, 50, 1.0)
    for key in stream.tolist():
        p.observe(p.route(key), key, 1.0, 5.0)
    twin.route_many(stream)
    assert PARTITIONERS[name].learns or p.loads.tolist() == twin.loads.tolist()


@every_scheme
@some
@given(stream=keys, workers=worker_counts, data=st.data())
def test_reports_and_the_clock_keep_every_promise(name, stream, workers, data):
    """Reports between messages: bulk is still one by one, and no route leaves the workers."""
    one, many = make(name, workers), make(name, workers)
    reports = data.draw(st.lists(st.tuples(st.integers(0, 150), st.floats(0, 9)), max_size=30))
    due = defaultdict(list)
    for position, took in reports:
        due[position].append(took)
    routes, now, done, start = [], 0.0, 0, 0
    for position in sorted({*due, len(stream)}):
        part = stream[start : min(position, len(stream))]
        expected = [one.route(key) for key in part]
        assert many.route_many(part).tolist() == expected
        routes += expected
        start += len(part)
        for took in due[position]:  # a worker reports its messages in the order in which it got them
            now += took
            for p in (one, many):
                p.tick(now)
                if done < len(routes):
                    p.observe(routes[done], stream[done], took, now)
            done += 1
    assert all(0 <= worker < workers for worker in routes)
    assert one.loads.tolist() == np.bincount(routes, minlength=workers).tolist()
    assert [one.choices(key) for key in ("hot", 1)] == [many.choices(key) for key in ("hot", 1)]
    twin = pickle.loads(pickle.dumps(one))
    assert twin.route_many(stream).tolist() == many.route_many(stream).tolist()


@every_scheme
def test_reports_that_make_no_sense_are_refused(name):
    p = make(name)
    for report in ((7, "a", 1.0, 1.0), (-1, "a", 1.0, 1.0), (0, "a", -1.0, 1.0), (0, "a", 1.0, float("nan"))):
        with pytest.raises(ArgumentError):
            p.observe(*report)
    for worker in ("0", 0.5, None, True):
        with pytest.raises(ArgumentTypeError, match="worker is"):
            p.observe(worker, "a", 1.0, 1.0)
    with pytest.raises(KeyTypeError):
        p.observe(0, [], 1.0, 1.0)
    if not p.learns:
        return
    with pytest.raises(ArgumentError):
        p.tick(float("inf"))
    with pytest.raises(ArgumentTypeError):
        p.share_workers(make("key" if name != "key" else "shuffle"))
    for other in (PARTITIONERS[name](workers=p.workers + 1), PARTITIONERS[name](workers=p.workers, seed=p.seed + 1)):
        with pytest.raises(ArgumentError, match="expected one like this source"):
            p.share_workers(other)


@every_scheme
@some
@given(stream=keys, changes=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=12), data=st.data())
def test_workers_come_and_go_where_the_scheme_allows_it(name, stream, changes, data):
    """Consistent grouping has three virtual workers per worker here, so room for twelve workers and no more."""
    one, many = make(name, 4), make(name, 4)
    assert one.active == (0, 1, 2, 3)
    if not one.elastic:
        for p, act in ((one, one.add_worker), (one, lambda: one.remove_worker(0))):
            with pytest.raises(UnsupportedError, match=r"'fish'.*'shuffle'"):
                act()
            assert p.active == (0, 1, 2, 3)
        return
    routes = []
    for come, number in changes:
        for p in (one, many):
            if come and name == "consistent" and len(p.active) == 12:
                with pytest.raises(ArgumentError, match="last virtual worker"):
                    p.add_worker()
            elif come:
                gone = sorted(set(range(p.workers)) - set(p.active))
                back = gone[number % len(gone)] if gone and number % 2 else None
                assert p.add_worker(back) in p.active
            elif len(p.active) > 1:
                p.remove_worker(p.active[number % len(p.active)])
        part = data.draw(st.sampled_from([stream, stream[:7]]))
        found = many.route_many(part).tolist()
        assert [one.route(key) for key in part] == found
        assert set(found) <= set(one.active) == set(many.active)
        assert all(1 <= one.choices(key) <= len(one.active) for key in ("hot", 1))
        routes += found
        reached = defaultdict(set)
        allowed = defaultdict(int)
        for key in part:
            reached[key].add(one.route(key))
            allowed[key] = max(allowed[key], one.choices(key))
        assert all(len(reached[key]) <= allowed[key] for key in reached)
        routes += many.route_many(part).tolist()
    assert one.loads.tolist() == many.loads.tolist() == np.bincount(routes, minlength=one.workers).tolist()


@every_scheme
def test_a_change_of_workers_that_makes_no_sense_is_refused(name):
    p = make(name, 2)
    if not p.elastic:
        return
    for call in (
        lambda: p.remove_worker(2),
        lambda: p.remove_worker(-1),
        lambda: p.add_worker(0),
        lambda: p.add_worker(5),
    ):
        with pytest.raises(ArgumentError):
            call()
    for call in (p.remove_worker, p.add_worker):
        with pytest.raises(ArgumentTypeError, match="worker is"):
            call("0")
    p.remove_worker(0)
    with pytest.raises(ArgumentError, match="last one"):
        p.remove_worker(1)
    with pytest.raises(ArgumentError, match=r"\[0\]"):
        p.add_worker(1)
    assert p.add_worker() == 2
    assert p.add_worker(0) == 0
    assert p.active == (0, 1, 2)
    assert p.loads.shape == (3,)


def test_the_registry_names_every_scheme():
    assert all(issubclass(scheme, Partitioner) for scheme in PARTITIONERS.values())
    assert all(scheme.name == name for name, scheme in PARTITIONERS.items())
    for name in ("key", "shuffle", "two_choices", "round_robin", "d_choices", "w_choices", "power_of_two"):
        assert name in PARTITIONERS
    for name in ("random_choices", "bounded_hash", "dkg", "wrap", "fish", "posg", "consistent"):
        assert name in PARTITIONERS
