"""What every partitioner promises beside its routes in bulk: one suite over the whole registry."""

import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, UnsupportedError
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.partitioners.bases import planned
from skewkit.simulator import streams
from tests.schemes import keys, make, some, weights, worker_counts

every_scheme = pytest.mark.parametrize("name", PARTITIONERS)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Let the planned schemes count in blocks that short streams fill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planned, "_BLOCK", 16)
        yield


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
def test_an_empty_stream_and_a_single_worker(name):
    p = make(name, workers=1)
    assert p.route_many([]).shape == (0,)
    assert p.route_many(["a", "b", "a"]).tolist() == [0, 0, 0]
    assert p.loads.tolist() == [3.0]
    assert p.choices("a") == 1


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


def test_the_registry_names_every_scheme():
    assert all(issubclass(scheme, Partitioner) for scheme in PARTITIONERS.values())
    assert all(scheme.name == name for name, scheme in PARTITIONERS.items())
    for name in ("key", "shuffle", "two_choices", "round_robin", "d_choices", "w_choices", "power_of_two"):
        assert name in PARTITIONERS
    for name in ("random_choices", "bounded_hash", "dkg", "wrap", "fish", "posg", "consistent"):
        assert name in PARTITIONERS
