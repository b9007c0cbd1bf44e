"""The ring: few keys move when workers come and go, and all workers get a fair share."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.sketch import HashRing

relaxed = settings(deadline=None)

HASHES = np.random.default_rng(0).integers(0, 2**64, 500, dtype=np.uint64).tolist()
numbers = st.sets(st.integers(0, 60), min_size=2, max_size=15)


@relaxed
@given(numbers, st.integers(1, 20), st.integers(0, 2**40), st.integers(1, 20))
def test_a_walk_meets_the_next_workers_clockwise(workers, points, seed, count):
    ring = HashRing(workers, points, seed)
    assert ring.places == sorted(ring.places)
    assert len(ring.places) == len(ring.owners) == len(workers) * points
    for hashed in [0, 2**64 - 1, *ring.places[:3], *HASHES[:20]]:
        ahead = sorted(range(len(ring.places)), key=lambda i: (ring.places[i] < hashed, ring.places[i]))
        expected = list(dict.fromkeys(ring.owners[i] for i in ahead))
        assert ring.walk(hashed, count) == expected[:count]
        assert ring.owner(hashed) == expected[0]
    assert ring.starts(np.array(HASHES, dtype=np.uint64)).tolist() == [ring.start(h) for h in HASHES]


@relaxed
@given(numbers, st.integers(1, 10), st.data())
def test_only_keys_of_the_worker_that_goes_or_comes_move(workers, points, data):
    ring = HashRing(workers, points, seed=5)
    gone = data.draw(st.sampled_from(sorted(workers)))
    owners, walks = [ring.owner(h) for h in HASHES], [ring.walk(h, 4) for h in HASHES]
    ring.remove(gone)
    for hashed, owner, walk in zip(HASHES, owners, walks, strict=True):
        assert ring.owner(hashed) != gone
        assert owner == gone or ring.owner(hashed) == owner
        left = [worker for worker in walk if worker != gone]
        assert ring.walk(hashed, 4)[: len(left)] == left  # the others stay, in their order
    ring.add(gone)
    assert [ring.owner(h) for h in HASHES] == owners
    assert [ring.walk(h, 4) for h in HASHES] == walks


@relaxed
@given(numbers, st.permutations(range(8)))
def test_a_ring_does_not_remember_how_it_came_about(workers, order):
    ring, twin = HashRing(workers, 3), HashRing(sorted(workers, reverse=True), 3)
    for worker in order:
        if worker not in ring.workers:
            ring.add(worker)
    for worker in reversed(order):
        if worker not in twin.workers:
            twin.add(worker)
    assert (ring.places, ring.owners) == (twin.places, twin.owners)
    copy = pickle.loads(pickle.dumps(ring))
    assert copy.walk(7, 9) == ring.walk(7, 9)


def test_virtual_nodes_even_out_the_shares():
    """Section 5 of FISH: with few workers a ring without virtual nodes is uneven."""

    def spread(points):
        rings = [HashRing(8, points, seed) for seed in range(20)]
        owners = [np.array(ring.owners)[ring.starts(probes)] for ring in rings]
        return np.mean([8 * np.bincount(owner).max() / probes.size for owner in owners])

    probes = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)
    assert spread(1) > 2.0  # the most loaded worker has more than twice the mean
    assert spread(100) < 1.25


@pytest.mark.parametrize("workers", [4, 50])
def test_a_share_of_one_in_n_moves(workers):
    probes = np.random.default_rng(2).integers(0, 2**64, 10_000, dtype=np.uint64)
    ring = HashRing(workers, points=100)
    before = np.array(ring.owners)[ring.starts(probes)]
    ring.add(workers)
    after = np.array(ring.owners)[ring.starts(probes)]
    assert np.mean(before != after) == pytest.approx(1 / (workers + 1), rel=0.35)


def test_a_ring_refuses_nonsense():
    ring = HashRing(2)
    for call in (
        lambda: HashRing(0),
        lambda: HashRing([]),
        lambda: HashRing([1, 1]),
        lambda: HashRing([-1]),
        lambda: HashRing([1 << 64]),
        lambda: ring.add(1 << 64),
        lambda: HashRing(2, points=0),
        lambda: HashRing(2, points=10**30),
        lambda: HashRing(10**30),
        lambda: ring.add(1),
        lambda: ring.remove(2),
        lambda: HashRing([3]).remove(3),
        lambda: ring.owner(1 << 64),
        lambda: ring.owner(-1),
        lambda: ring.walk(5, 0),
    ):
        with pytest.raises(ArgumentError):
            call()
    for wrong in (
        lambda: HashRing(2.5),
        lambda: HashRing(2, seed="x"),
        lambda: ring.owner("a"),
        lambda: ring.remove(True),
        lambda: ring.remove(1.0),
        lambda: ring.add(True),
        lambda: ring.walk(1, "a"),
    ):
        with pytest.raises(ArgumentTypeError):
            wrong()
    assert HashRing(2, seed=-1).places != ring.places
    assert ring.workers == [0, 1]
