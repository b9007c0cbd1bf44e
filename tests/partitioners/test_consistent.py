"""Consistent Grouping rule by rule: virtual workers, delegation, pairing, piggybacking, eventual consistency."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError
from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.consistent.consistent import ConsistentGrouping
from skewkit.partitioners.consistent.delegation import Delegation, Kind, Signal
from skewkit.partitioners.consistent.virtual_workers import VirtualWorkers
from skewkit.simulator import AddWorker, RemoveWorker, replay, streams

relaxed = settings(deadline=None)


def said(time, worker, kind):
    return Signal(time, worker, worker, kind)


# Virtual workers (Section V-A and V-B)


@relaxed
@given(
    st.lists(st.tuples(st.integers(0, 8), st.floats(0, 10)), min_size=1, max_size=150),
    st.integers(1, 5),
    st.integers(1, 6),
    st.floats(0, 1),
)
def test_virtual_workers_have_bounded_loads_and_workers_those_of_theirs(stream, workers, virtual, epsilon):
    p = PARTITIONERS["consistent"](workers=workers, virtual=virtual, epsilon=epsilon)
    plain = PARTITIONERS["random_choices"](workers=workers * virtual, epsilon=epsilon)
    for key, weight in stream:
        assert p.route(key, weight) == p.owners[plain.route(key, weight)]
    loads = plain.loads
    assert loads.max() <= (1 + epsilon) * loads.mean() + max(w for _, w in stream) + 1e-9
    np.testing.assert_allclose(p.loads, np.bincount(p.owners, loads, workers))


def test_every_worker_begins_with_the_same_number():
    p = PARTITIONERS["consistent"](workers=7, virtual=4)
    assert p.holdings == dict.fromkeys(range(7), 4)
    assert sorted(p.owners) == sorted(list(range(7)) * 4)


# Pairing (Section V-B)


def test_busy_and_idle_workers_are_paired_first_come_first_served():
    pairing = VirtualWorkers(workers=4, virtual=2)  # worker w has w and w + 4
    for worker in (2, 0):
        pairing.follow(said(1.0, worker, Kind.DECREASE))
    assert pairing.owners == [0, 1, 2, 3, 0, 1, 2, 3]  # nobody to give to
    assert pairing.busy == [2, 0]
    pairing.follow(said(2.0, 3, Kind.INCREASE))
    assert pairing.owners == [0, 1, 3, 3, 0, 1, 2, 3]  # the first that came gives what it had for longest
    assert (pairing.busy, pairing.idle, pairing.moves) == ([0], [], 1)
    pairing.follow(said(3.0, 1, Kind.INCREASE))
    assert pairing.owners == [1, 1, 3, 3, 0, 1, 2, 3]
    assert (pairing.busy, pairing.idle, pairing.moves) == ([], [], 2)


def test_a_worker_stands_in_one_queue_and_once():
    pairing = VirtualWorkers(workers=3, virtual=2)
    for kind in (Kind.INCREASE, Kind.INCREASE):
        pairing.follow(said(1.0, 1, kind))
    assert pairing.idle == [1]
    pairing.follow(said(2.0, 1, Kind.DECREASE))  # it has changed its mind
    assert (pairing.busy, pairing.idle, pairing.moves) == ([1], [], 0)


def test_a_worker_keeps_its_last_virtual_worker():
    pairing = VirtualWorkers(workers=2, virtual=1)
    pairing.follow(said(1.0, 1, Kind.INCREASE))
    pairing.follow(said(2.0, 0, Kind.DECREASE))
    assert pairing.owners == [0, 1]
    assert (pairing.idle, pairing.busy) == ([1], [])


kinds = st.sampled_from([Kind.DECREASE, Kind.INCREASE])


@relaxed
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(list(Kind))), max_size=80), st.integers(1, 5))
def test_virtual_workers_are_never_lost(signals, virtual):
    pairing = VirtualWorkers(workers=4, virtual=virtual)
    for time, (worker, kind) in enumerate(signals):
        present = set(pairing.held)
        if kind is Kind.LEAVE and present == {worker}:
            continue
        if kind is Kind.JOIN and (worker in present or len(present) == 4 * virtual):
            continue
        pairing.follow(said(float(time), worker, kind))
        assert not (pairing.idle and pairing.busy)
        assert sorted(itertools.chain(*pairing.held.values())) == list(range(4 * virtual))
        for holder, numbers in pairing.held.items():
            assert numbers
            assert all(pairing.owners[number] == holder for number in numbers)
        assert {*pairing.idle, *pairing.busy} <= set(pairing.held)


def test_workers_that_leave_and_join_move_no_more_than_their_part():
    p = PARTITIONERS["consistent"](workers=5, virtual=4)
    before = p.owners
    p.remove_worker(3)
    assert sum(a != b for a, b in zip(before, p.owners, strict=True)) == 4
    assert set(p.holdings.values()) == {5}
    assert p.add_worker() == 5
    assert p.holdings == {0: 4, 1: 4, 2: 4, 4: 4, 5: 4}
    assert 3 not in p.route_many(range(500))


def test_nobody_joins_who_would_get_no_virtual_worker():
    p = PARTITIONERS["consistent"](workers=2, virtual=2)
    assert [p.add_worker(), p.add_worker()] == [2, 3]
    assert set(p.holdings.values()) == {1}
    with pytest.raises(ArgumentError, match="per worker that it begins with"):
        p.add_worker()
    assert (p.workers, p.active) == (4, (0, 1, 2, 3))
    p.remove_worker(1)
    assert p.add_worker(1) == 1


# Worker delegation and piggybacking (Section V-C)


def slot(delegation, source, messages, service, start, length=100.0):
    """Let worker 0 get and do so many messages, evenly over one slot; return the signals."""
    heard = []
    for message in range(1, messages + 1):
        delegation.arrive(0)
        heard += delegation.acknowledge(source, 0, service, start + message * length / messages)
    return heard


@pytest.mark.parametrize(
    ("messages", "service", "kinds"),
    [
        (10, 7.9, [Kind.INCREASE]),  # 79 of 100
        (10, 8.1, []),
        (20, 4.9, []),
        (20, 5.1, [Kind.DECREASE]),  # 102 of 100
    ],
)
def test_a_worker_signals_outside_its_two_thresholds(messages, service, kinds):
    delegation = Delegation(1, slot=100.0, lower=0.8, upper=1.0)
    source = delegation.subscribe()
    delegation.arrive(0)
    assert delegation.acknowledge(source, 0, service, 0.0) == []
    assert [signal.kind for signal in slot(delegation, source, messages, service, 0.0)] == kinds


def test_messages_that_wait_from_earlier_slots_are_work_to_do():
    delegation = Delegation(1, slot=100.0, lower=0.8, upper=1.0)
    source = delegation.subscribe()
    for _ in range(13):
        delegation.arrive(0)
    delegation.acknowledge(source, 0, 9.0, 0.0)
    heard = [delegation.acknowledge(source, 0, 9.0, 10.0 * (i + 1)) for i in range(10)]
    assert heard[-1] == [said(100.0, 0, Kind.DECREASE)]  # 12 messages of 9 in 100
    assert not any(heard[:-1])


def test_a_worker_that_comes_back_begins_a_slot_of_its_own():
    workers = Delegation(1, slot=10.0, lower=0.8, upper=1.0)
    source = workers.subscribe()
    workers.arrive(0)
    assert workers.acknowledge(source, 0, 1.0, 1.0) == []
    workers.admit(0)  # away from 1 to 100: nothing that it could have done
    for now in (101.0, 102.0, 110.0):
        workers.arrive(0)
        assert workers.acknowledge(source, 0, 1.0, now) == []
    workers.arrive(0)
    assert len(workers.acknowledge(source, 0, 1.0, 111.0)) == 1


def test_there_is_one_signal_per_slot_at_most():
    delegation = Delegation(1, slot=100.0, lower=0.8, upper=1.0)
    source = delegation.subscribe()
    heard = slot(delegation, source, 100, 0.1, 0.0, length=1000.0)
    assert len(heard) == 9
    assert np.diff([signal.time for signal in heard]).min() >= 100.0


def test_a_source_hears_of_a_signal_with_its_own_next_acknowledgement():
    delegation = Delegation(2, slot=10.0, lower=0.8, upper=1.0)
    one, two = delegation.subscribe(), delegation.subscribe()
    for worker in (0, 0, 0, 0, 1):
        delegation.arrive(worker)
    assert delegation.acknowledge(one, 0, 1.0, 0.0) == []
    assert delegation.acknowledge(one, 0, 1.0, 20.0) == [said(20.0, 0, Kind.INCREASE)]
    assert delegation.acknowledge(two, 1, 1.0, 25.0) == []  # another worker knows nothing of it
    assert delegation.acknowledge(two, 0, 1.0, 28.0) == [said(20.0, 0, Kind.INCREASE)]
    assert delegation.acknowledge(two, 0, 1.0, 29.0) == []


def test_the_lower_threshold_is_below_the_upper_one():
    with pytest.raises(ArgumentError, match="lower"):
        PARTITIONERS["consistent"](workers=2, lower=1.1, upper=1.0)


# Eventual consistency


@relaxed
@given(
    st.lists(st.tuples(st.integers(0, 3), kinds), max_size=40),
    st.lists(st.integers(0, 3), max_size=200),
    st.lists(st.integers(0, 3), max_size=200),
)
def test_sources_that_heard_the_same_signals_have_the_same_virtual_workers(signals, one_order, two_order):
    """Each worker's signals come in their order, those of different workers in any order."""
    issued = [[said(float(t), w, kind) for t, (w, kind) in enumerate(signals) if w == worker] for worker in range(4)]
    expected = VirtualWorkers(4, 3)
    for signal in sorted(itertools.chain(*issued)):
        expected.follow(signal)
    for order in (one_order, two_order):
        p = PARTITIONERS["consistent"](workers=4, virtual=3)
        left = [list(queue) for queue in issued]
        for worker in [*order, *(w for w in range(4) for _ in range(len(signals)))]:
            if left[worker]:
                signal = left[worker].pop(0)
                p._follow(signal)
                p._heard[worker] = signal.time
                p._settle()
        assert p.owners == expected.owners
        assert (p._pairing.idle, p._pairing.busy) == (expected.idle, expected.busy)
        assert len(p._recent) <= len(signals)


@pytest.mark.parametrize(
    ("count", "messages", "options"), [(4, 20_000, {}), (20, 40_000, {}), (4, 20_000, {"slot": 100.0})]
)
def test_sources_of_one_replay_agree_in_the_end(count, messages, options):
    """With many sources, or short slots, an acknowledgement brings several signals at once."""
    capacities = np.r_[np.full(3, 3.0), np.ones(7)]
    stream = streams.zipf(messages, 2000, 1.0, seed=1)
    times = {"service_times": 0.9 * capacities.sum(), "capacities": capacities}
    trace = replay(stream, "consistent", workers=10, sources=count, **times, **options)
    sources = trace.partitioners
    assert all(p._delegation is sources[0]._delegation for p in sources)
    assert sources[0].moves > 10
    now = float(trace.departures.max()) + 1.0
    sources[0]._delegation.slot = np.inf  # no new signals
    for p in sources:
        for worker in range(10):
            p._delegation.arrive(worker)
            p.observe(worker, "last", 1.0, now)
    assert len({tuple(p.owners) for p in sources}) == 1
    assert all(len(p._recent) < sources[0].moves for p in sources)  # most signals are settled and forgotten


def test_a_worker_that_leaves_says_what_it_has_not_said_and_no_more():
    """A source that has no message there any more would hear of the signal when the worker returns, or never."""
    p, q = (PARTITIONERS["consistent"](workers=3, virtual=3, slot=10.0) for _ in range(2))
    q.share_workers(p)
    for _ in range(4):
        p._delegation.arrive(0)
    for now in (0.0, 20.0):
        p.observe(0, "k", 1.0, now)
    assert (p._pairing.idle, q._pairing.idle) == ([0], [])
    for each in (p, q):
        each.tick(25.0)
    q.remove_worker(0)
    assert [(s.time, s.kind) for s in q._recent] == [(20.0, Kind.INCREASE), (25.0, Kind.LEAVE)]
    p.remove_worker(0)
    p.observe(0, "k", 1.0, 60.0)  # a message that it had before
    assert q._delegation._mail[q._source][0] == []
    assert p.owners == q.owners


@relaxed
@given(st.randoms(use_true_random=False))
def test_virtual_workers_follow_from_the_signals_that_a_source_has_heard(random):
    """Whatever comes and goes, and however late a signal is heard."""
    workers, heard = random.choice([2, 3, 5]), {}
    present, known, events = set(range(workers)), workers, []
    for time in sorted(random.uniform(0, 300) for _ in range(random.choice([1, 3, 5]))):
        if len(present) > 1 and random.random() < 0.5:
            events.append(RemoveWorker(time, random.choice(sorted(present))))
            present.remove(events[-1].worker)
        else:
            gone = sorted(set(range(known)) - present)
            events.append(AddWorker(time, 1.0, random.choice(gone) if gone else known))
            present.add(events[-1].worker)
            known = max(present | set(gone)) + 1
    keys = [int(min(1000.0, random.paretovariate(0.8))) for _ in range(300)]
    slot, virtual = random.choice([0.0, 5.0, 20.0]), 5
    times = {"service_times": random.choice([0.5, 1.2]) * workers, "capacities": [1.0, *[3.0] * (workers - 1)]}
    follow = ConsistentGrouping._follow

    def noted(self, signal):
        heard.setdefault(id(self), []).append(signal)
        follow(self, signal)

    with mock.patch.object(ConsistentGrouping, "_follow", noted):
        trace = replay(
            keys,
            "consistent",
            workers,
            sources=random.choice([1, 4]),
            events=events,
            slot=slot,
            virtual=virtual,
            **times,
        )
    for source in trace.partitioners:
        expected = VirtualWorkers(workers, virtual)
        for signal in sorted(heard.get(id(source), [])):
            expected.follow(signal)
        assert source.owners == expected.owners


# The whole (Figures 9 and 10)


@pytest.mark.parametrize("sources", [1, 5])
def test_strong_workers_get_more(sources):
    """Two machines five times as powerful as the other eight, at 80 % of the capacity."""
    capacities = np.r_[np.full(2, 5.0), np.ones(8)]
    stream = streams.zipf(40_000, 5000, 1.0, seed=2)
    times = {"workers": 10, "service_times": 0.8 * capacities.sum(), "capacities": capacities}
    settled = slice(30_000, None)
    found = {
        name: replay(stream, name, sources=sources, **times, **options)
        for name, options in (("key", {}), ("shuffle", {}), ("consistent", {"slot": 300.0}))
    }
    latency = {name: trace.latencies[settled].mean() for name, trace in found.items()}
    assert latency["consistent"] < 50 < latency["shuffle"] / 100
    assert latency["key"] > 1000
    assert found["consistent"].queue_lengths.max() < 20 < found["shuffle"].queue_lengths.max()
    assert found["consistent"].pairs < 0.75 * found["shuffle"].pairs
    holdings = found["consistent"].partitioners[0].holdings
    assert min(holdings[0], holdings[1]) > 3 * max(holdings[worker] for worker in range(2, 10))


def test_nothing_moves_where_all_workers_are_alike_and_have_enough_to_do():
    stream = streams.zipf(20_000, 5000, 1.0, seed=3)
    trace = replay(stream, "consistent", workers=10, service_times=9.3, lower=0.8, upper=1.1)
    assert trace.partitioners[0].moves == 0
    assert trace.partitioners[0].exchanged == 0


def test_one_virtual_worker_each_cannot_be_moved():
    """Figure 12: with too few virtual workers there is nothing to move."""
    capacities = np.r_[np.full(2, 5.0), np.ones(8)]
    stream = streams.zipf(10_000, 5000, 1.0, seed=2)
    times = {"workers": 10, "service_times": 0.8 * capacities.sum(), "capacities": capacities}
    one, ten = (replay(stream, "consistent", virtual=v, slot=300.0, **times) for v in (1, 10))
    assert one.partitioners[0].moves == 0
    assert one.latencies.mean() > 5 * ten.latencies.mean()
