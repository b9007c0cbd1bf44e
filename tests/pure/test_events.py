"""Workers that change, leave and join during a replay: exact times, and schemes that follow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.simulator import AddWorker, ChangeCapacity, RemoveWorker, replay, streams
from skewkit.simulator.events import in_order
from skewkit.simulator.speeds import Speeds

relaxed = settings(deadline=None)

changes = st.lists(st.builds(ChangeCapacity, st.floats(0, 60), st.integers(0, 2), st.floats(0.1, 5)), max_size=6).map(
    lambda events: sorted(events, key=lambda event: event.time)
)
capacities = st.lists(st.floats(0.1, 5), min_size=3, max_size=3)


class Diary(Partitioner):
    """Shuffles, and writes down what it is told."""

    name = "diary"
    learns = True
    elastic = True

    def __init__(self, workers, seed=0, **unknown):
        super().__init__(workers, seed, **unknown)
        self.told = []

    def _route_one(self, hashed, weight):
        return self._count_one(self._active[self.messages % len(self._active)], weight)

    def _choices(self, hashed):
        return len(self._active)

    def observe(self, worker, key, service_time, now):
        self.told.append(("done", now, worker, key, service_time))

    def tick(self, now):
        self.told.append(("tick", now))

    def _admit(self, worker):
        self.told.append(("join", worker))

    def _dismiss(self, worker):
        self.told.append(("leave", worker))


def possible(start, end, worker, first, events):
    """Return the work that a worker can do between two times: the sum over all parts of equal capacity."""
    borders = [(0.0, first), *((e.time, e.capacity) for e in events if e.worker == worker), (np.inf, 0.0)]
    parts = itertools.pairwise(borders)
    return sum(max(0.0, min(end, until) - max(start, begin)) * value for (begin, value), (until, _) in parts)


@relaxed
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=50),
    capacities,
    changes,
    st.sampled_from(["key", Diary(workers=3)]),
)
def test_departures_are_exact_whatever_the_capacities_do(messages, first, events, scheme):
    """Between its begin and its departure the worker could do just the work of the message."""
    keys, gaps, work = (list(column) for column in zip(*messages, strict=True))
    arrivals = np.cumsum(gaps)
    workers = None if isinstance(scheme, Partitioner) else 3
    trace = replay(
        keys,
        scheme,
        workers=workers,
        service_times=work,
        capacities=first,
        arrivals=arrivals,
        events=events,
    )
    free = [0.0] * 3
    for message, worker in enumerate(trace.routes.tolist()):
        begin, left = max(free[worker], arrivals[message]), trace.departures[message]
        assert possible(begin, left, worker, first[worker], events) == pytest.approx(work[message], abs=1e-6)
        assert trace.services[message] == pytest.approx(left - begin, abs=1e-6)
        free[worker] = left
    if isinstance(scheme, Partitioner):
        for _, done, worker, key, took in [entry for entry in trace.partitioners[0].told if entry[0] == "done"]:
            match = np.flatnonzero((trace.routes == worker) & np.isclose(trace.departures, done, atol=1e-6))
            assert any(keys[i] == key and trace.services[i] == pytest.approx(took, abs=1e-6) for i in match)


@relaxed
@given(capacities, changes, st.floats(0, 80), st.floats(0, 30))
def test_a_clock_of_work_runs_both_ways(first, events, start, work):
    speeds = Speeds(np.array(first), events)
    for worker in range(3):
        end = speeds.finish(worker, start, work)
        assert possible(start, end, worker, first[worker], events) == pytest.approx(work, abs=1e-6)
        clock = speeds.work(worker, np.array([start, end]))
        assert clock[1] - clock[0] == pytest.approx(work, abs=1e-6)
        np.testing.assert_allclose(speeds.times(worker, clock), [start, end], atol=1e-6)


def test_schemes_hear_of_everything_in_the_order_of_time():
    events = [AddWorker(5.0, 2.0), RemoveWorker(2.5, 0), AddWorker(7.0, 0.5, 0), ChangeCapacity(0.5, 1, 2.0)]
    trace = replay(list("abcdefgh"), Diary(workers=2), service_times=2.0, events=events)
    told = trace.partitioners[0].told
    assert [entry for entry in told if entry[0] in ("join", "leave")] == [("leave", 0), ("join", 2), ("join", 0)]
    times = [entry[1] for entry in told if entry[0] in ("tick", "done")]
    assert times == sorted(times)
    assert trace.routes.tolist() == [0, 1, 0, 1, 1, 2, 1, 1]
    assert trace.workers == 3
    # Worker 0 leaves with a message at work and finishes it; worker 1 works twice as fast from 0.5 on.
    assert trace.departures.tolist() == [2.0, 2.0, 4.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert ("done", 4.0, 0, "c", 2.0) in told


@pytest.mark.parametrize("times", [{}, {"service_times": 3.0}])
@pytest.mark.parametrize("name", [name for name, scheme in PARTITIONERS.items() if scheme.elastic])
@pytest.mark.parametrize("sources", [1, 3])
def test_nobody_sends_to_a_worker_that_is_not_there(name, sources, times):
    stream = streams.zipf(3000, 200, 1.2, seed=1)
    events = [RemoveWorker(1000, 2), AddWorker(1500), AddWorker(2000, worker=2), RemoveWorker(2000.5, 4)]
    trace = replay(stream, name, workers=4, sources=sources, events=events, **times)
    present = {0: {0, 1, 2, 3}, 1000: {0, 1, 3}, 1500: {0, 1, 3, 4}, 2000: {0, 1, 2, 3, 4}, 2001: {0, 1, 2, 3}}
    for start, end in zip(present, [*list(present)[1:], 3000], strict=True):
        assert set(trace.routes[start:end].tolist()) <= present[start]
    assert set(trace.routes[1600:2000].tolist()) == {0, 1, 3, 4}
    assert set(trace.routes[2100:].tolist()) == {0, 1, 2, 3}
    assert trace.loads.shape == (5,)
    assert trace.loads.sum() == 3000
    assert all(p.active == (0, 1, 2, 3) for p in trace.partitioners)
    if times:
        assert trace.queue_lengths.sum() + trace.executed.sum() == 3000


def test_events_after_the_last_message_come_too():
    for times in ({}, {"service_times": 1.0}):
        for scheme in ("shuffle", "fish"):
            trace = replay(range(10), scheme, workers=2, events=[AddWorker(99.0)], **times)
            assert trace.workers == 3
            assert trace.loads.tolist()[2] == 0.0


def test_routes_without_events_of_its_kind_stay_as_they_were():
    stream = streams.zipf(2000, 200, 1.2, seed=1)
    plain = replay(stream, "two_choices", workers=4, service_times=3.9)
    slow = replay(stream, "two_choices", workers=4, service_times=3.9, events=[ChangeCapacity(500, 1, 0.5)])
    assert plain.routes.tolist() == slow.routes.tolist()
    other = plain.routes != 1
    np.testing.assert_allclose(plain.latencies[other], slow.latencies[other])
    assert slow.latencies[~other].mean() > 2 * plain.latencies[~other].mean()


def test_learners_follow_a_change_of_capacities():
    """Figure 13 of Consistent Grouping, and Figure 10 of POSG: all capacities change at once, their sum does not."""
    capacities = np.r_[np.full(3, 3.0), np.ones(7)]
    stream = streams.zipf(60_000, 5000, 1.0, seed=1)
    events = [ChangeCapacity(30_000.0, w, c) for w, c in enumerate(capacities[::-1])]
    times = {"workers": 10, "service_times": 0.8 * capacities.sum(), "capacities": capacities, "events": events}
    edges = [20_000.0, 30_000.0, 50_000.0, 60_000.0]
    for name, options in (("consistent", {"slot": 300.0}), ("fish", {})):
        trace = replay(stream, name, **times, **options)
        busy = trace.utilisation_over(edges)
        assert busy[0].max() < 0.98
        assert busy[2].max() < 0.98
        assert trace.queue_lengths_at([29_999.0, 59_999.0]).max() < 20
    plain = replay(stream, "shuffle", **times)
    assert plain.utilisation_over(edges).max() == pytest.approx(1.0)
    assert plain.queue_lengths_at([59_999.0]).max() > 1000


def test_posg_learns_anew_when_the_instances_change():
    """Figure 10: five instances change their speed at half of the stream."""
    rng = np.random.default_rng(1)
    by_key = dict(enumerate(rng.permutation(np.repeat(np.arange(1.0, 65.0), 16)).tolist()))
    stream = streams.zipf(60_000, 1024, 1.0, seed=1)
    mean = np.mean([by_key[key] for key in stream.tolist()])
    arrivals = np.arange(60_000) * mean / 5 * 1.02
    half = float(arrivals[30_000])
    factors = [0.90, 0.95, 1.0, 1.05, 1.10]
    events = [ChangeCapacity(half, worker, 1 / factor) for worker, factor in enumerate(factors)]
    times = {
        "workers": 5,
        "service_times": by_key,
        "arrivals": arrivals,
        "capacities": 1 / np.array([1.05, 1.025, 1.0, 0.975, 0.95]),
        "events": events,
    }
    turns = replay(stream, "shuffle", **times).latencies_over_time(2000)
    posg = replay(stream, "posg", window=256, tolerance=0.3, **times).latencies_over_time(2000)
    assert posg.shape == (30, 3)
    for settled in (slice(10, 15), slice(22, 30)):
        assert posg[settled, 1].mean() < turns[settled, 1].mean() / 2
        assert posg[settled, 2].mean() < turns[settled, 2].mean()


# Nonsense


@pytest.mark.parametrize(
    ("events", "match"),
    [
        ([RemoveWorker(1.0, 5)], "no worker 5"),
        ([ChangeCapacity(1.0, 2, 1.0)], "no worker 2"),
        ([RemoveWorker(1.0, 0), ChangeCapacity(2.0, 0, 1.0)], "no worker 0"),
        ([RemoveWorker(1.0, 0), RemoveWorker(2.0, 1)], "no worker is left"),
        ([AddWorker(1.0, worker=1)], "one that was removed"),
        ([AddWorker(1.0, worker=3)], "one that was removed"),
        ([AddWorker(2.0, worker=0), RemoveWorker(3.0, 0)], "one that was removed"),
    ],
)
def test_impossible_events_are_refused_before_anything_is_routed(events, match):
    p = PARTITIONERS["fish"](workers=2)
    with pytest.raises(ArgumentError, match=match):
        replay(["a"], p, service_times=1.0, events=events)


def test_events_refuse_numbers_that_make_no_sense():
    for make in (
        lambda: ChangeCapacity(-1.0, 0, 1.0),
        lambda: ChangeCapacity(1.0, -1, 1.0),
        lambda: ChangeCapacity(1.0, 0, 0.0),
        lambda: RemoveWorker(float("nan"), 0),
        lambda: AddWorker(1.0, capacity=-1.0),
        lambda: AddWorker(1.0, worker=-1),
    ):
        with pytest.raises(ArgumentError):
            make()
    with pytest.raises(ArgumentTypeError, match="expected ChangeCapacity"):
        in_order([(1.0, 2)], 2, [0, 1])
    with pytest.raises(ArgumentTypeError, match="expected a list"):
        replay(["a"], "fish", workers=2, events=5)
    with pytest.raises(UnsupportedError, match=r"'two_choices'.*'fish'"):
        replay(["a"], "two_choices", workers=2, events=[AddWorker(1.0)])
    with pytest.raises(ArgumentError, match="without service_times"):
        replay(["a"], "fish", workers=2, events=[ChangeCapacity(1.0, 0, 1.0)])
    with pytest.raises(AttributeError):
        AddWorker(1.0).time = 2.0
