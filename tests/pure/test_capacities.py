"""What `wrap` knows of unequal workers, and what follows from it: candidates, and the least loaded of all."""

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.partitioners.capacities import Capacities
from skewkit.partitioners.rules.least_loaded import LeastLoaded
from skewkit.partitioners.wrap.further_workers import FurtherWorkers


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.data())
def test_the_least_loaded_is_found_after_loads_have_fallen(loads, data):
    least = LeastLoaded(loads)
    for _ in range(5):
        assert least.worker() == loads.index(min(loads))
        loads[data.draw(st.integers(0, len(loads) - 1))] += data.draw(st.integers(0, 9))
    loads[:] = data.draw(st.permutations(loads))
    least.sort()
    assert least.worker() == loads.index(min(loads))


def shares(further, workers):
    return np.bincount(further.places, minlength=workers) / len(further.places) * workers


@given(st.lists(st.floats(0.05, 20.0), min_size=2, max_size=60))
def test_candidates_are_drawn_by_capacities(capacities):
    relative = np.array(capacities) / np.mean(capacities)
    found = shares(FurtherWorkers(array("d", relative), capacities=relative), relative.size)
    slow = relative <= 1.0
    assert found[slow] == pytest.approx(np.maximum(1, np.rint(16 * relative[slow])) / 16)
    assert np.all(found[~slow] >= 1.0)


@pytest.mark.parametrize("workers", [3, 20, 100, 1000])
def test_a_slow_worker_among_many_is_a_candidate_less_often(workers):
    """The others are above the mean by less than one of their 16 places."""
    relative = np.array([0.25, *[1.0] * (workers - 1)])
    relative /= relative.mean()
    found = shares(FurtherWorkers(array("d", relative), capacities=relative), workers)
    assert found[0] == pytest.approx(np.rint(16 * relative[0]) / 16)
    assert np.all(found[1:] >= 1.0)


def test_candidates_follow_learned_capacities_and_few_move():
    alike = FurtherWorkers(array("d", bytes(800)), capacities=np.ones(100))
    plain = FurtherWorkers(array("d", bytes(800)))
    assert [alike.pair(hashed << 40) for hashed in range(999)] == [plain.pair(hashed << 40) for hashed in range(999)]
    before = np.array(alike.places)
    sure, unsure = np.zeros(100), np.full(100, 1.0)
    alike.follow(np.random.default_rng(1).uniform(0.5, 2.0, 100), sure)
    assert np.array_equal(before, alike.places)
    learned = np.array([6.0] * 5 + [0.6] * 95)
    learned /= learned.mean()
    alike.follow(learned, unsure)
    assert np.array_equal(before, alike.places)
    alike.follow(learned, sure)
    found = shares(alike, 100)  # as if the fast ones were 16 times as fast as the others
    assert found[5:] == pytest.approx(9 / 16)
    assert found[:5] == pytest.approx((100 - 95 * 9 / 16) / 5, rel=0.35)
    once = np.array(alike.places)
    assert np.array_equal(once[before < 5], before[before < 5])  # nobody loses to those that are slower
    other = FurtherWorkers(array("d", bytes(800)), capacities=np.ones(100))
    other.follow(learned * np.random.default_rng(2).uniform(0.85, 1.15, 100), sure)  # another source
    assert other.places == alike.places
    learned[99] *= 3.0
    alike.follow(learned, sure)
    moved = once != np.array(alike.places)
    assert 0 < moved.mean() < 0.06  # its own part of all candidates, and what the others have less
    back = np.array(alike.places)
    alike.follow(learned, sure)
    assert np.array_equal(back, alike.places)


def test_the_emptiest_is_found_after_loads_have_been_revalued():
    further = FurtherWorkers(array("d", range(5)))
    assert further.emptiest() == 0
    further.revalue(np.array([3.0, 4.0, 5.0, 6.0, 1.0]))
    assert further.emptiest() == 4


@pytest.mark.parametrize("factor", [0.5, 1.25, 1.5, 3.0])
def test_capacities_follow_a_change_within_two_hundred_reports(factor):
    rng, found = np.random.default_rng(3), []
    for _ in range(20):
        known = Capacities(None, workers=4)
        for at in range(500):
            for worker in range(4):
                known.report(worker, rng.exponential(factor if at >= 308 and worker == 0 else 1.0))
        found.append(known.relative[0] / known.relative[1:].mean())
    assert np.median(found) == pytest.approx(1.0 / factor, rel=0.1)


@pytest.mark.parametrize("once", [1e-300, 1e4, 1e300])
def test_odd_times_of_one_worker_leave_the_others_alone(once):
    known = Capacities(None, workers=4)
    known.report(3, once)
    for _ in range(80):
        for worker in range(4):
            known.report(worker, [1.0, 2.0, 4.0, 4.0][worker])
    assert known.relative[:3] / known.relative[0] == pytest.approx([1.0, 0.5, 0.25])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-170, 1e160, 1e300])
def test_times_may_be_of_any_size(scale):
    rng, known = np.random.default_rng(4), Capacities(None, workers=4)
    for _ in range(100):
        for worker in range(4):
            known.report(worker, scale * (1 + worker if scale < 1e-320 else 1.0 + worker + rng.random() / 4))
    assert known.relative / known.relative[0] == pytest.approx([1.0, 0.5, 1 / 3, 0.25], rel=0.15)


@pytest.mark.parametrize("given", [None, [1, 1, 1, 5]])
def test_capacities_are_known_exactly_where_times_do_not_vary(given):
    known = Capacities(given, workers=4)
    changed = [known.report(worker, [1.0, 2.0, 4.0, 4.0][worker]) for _ in range(60) for worker in range(4)]
    assert [at + 1 for at, adjusted in enumerate(changed) if adjusted] == [16, 48, 112, 240]
    assert known.relative == pytest.approx([2.0, 1.0, 0.5, 0.5])
    assert not known.new


def test_a_worker_whose_few_reports_are_short_is_not_taken_for_fast():
    rng, known = np.random.default_rng(4), Capacities(None, workers=10)
    known.report(0, 1e-6)
    for _ in range(40):
        for worker in range(1, 10):
            known.report(worker, rng.exponential(1.0))
    assert known.relative[0] < 2.0
