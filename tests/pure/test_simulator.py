"""The simulator: traces, queues, sources, and streams."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, UnsupportedError
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.simulator import Trace, replay, streams

relaxed = settings(deadline=None)

every_scheme = pytest.mark.parametrize("name", PARTITIONERS)


class Learner(Partitioner):
    """Sends each message to the worker with the fewest messages not yet reported; keeps a diary."""

    name = "learner"
    learns = True

    def __init__(self, workers, seed=0, **unknown):
        super().__init__(workers, seed, **unknown)
        self.diary = []

    def _route_one(self, hashed, weight):
        pending = self.loads - np.bincount([worker for worker, *_ in self.diary], minlength=self.workers)
        return self._count_one(int(np.argmin(pending)), weight)

    def _choices(self, hashed):
        return self.workers

    def observe(self, worker, key, service_time, now):
        self.diary.append((worker, key, service_time, now))


@every_scheme
@pytest.mark.parametrize("sources", [1, 3])
def test_a_trace_adds_up(name, sources):
    stream = streams.zipf(2000, 100, 1.2, seed=1)
    weights = np.arange(2000) % 3
    trace = replay(stream, name, workers=8, sources=sources, seed=3, weights=weights)
    assert isinstance(trace, Trace)
    np.testing.assert_allclose(trace.loads, np.bincount(trace.routes, weights, 8))
    np.testing.assert_allclose(trace.loads, sum(p.loads for p in trace.partitioners))
    assert trace.imbalance == pytest.approx((trace.loads.max() - weights.sum() / 8) / weights.sum())
    assert trace.pairs == len(set(zip(stream.tolist(), trace.routes.tolist(), strict=True)))
    assert set(trace.choices) == set(stream.tolist())
    assert all(1 <= choices <= 8 for choices in trace.choices.values())
    twins = [PARTITIONERS[name](workers=8, seed=3).as_source(source, sources) for source in range(sources)]
    for twin in twins[1:]:
        twin.share_workers(twins[0])
    messages = enumerate(zip(stream.tolist(), weights.tolist(), strict=True))
    assert trace.routes.tolist() == [twins[i % sources].route(key, weight) for i, (key, weight) in messages]
    assert [p.messages for p in trace.partitioners] == [p.messages for p in twins]


@pytest.mark.parametrize("name", ["key", "two_choices"])
def test_sources_share_their_hash_functions(name):
    """Private loads, common candidates: a key of the tail keeps its two workers (D-Choices paper, V-A)."""
    stream = streams.uniform(20_000, 2000, seed=2)
    trace = replay(stream, name, workers=30, sources=5)
    for key in range(0, 2000, 50):
        assert len(set(trace.routes[stream == key].tolist())) <= trace.choices[key]


@pytest.mark.parametrize("literal", [False, True])
def test_sources_that_learn_make_one_plan(literal):
    """DKG's mapping is global and one-to-one (its paper, Section 2), whoever sends a key."""
    stream = streams.zipf(8000, 500, 0.8, seed=1)
    trace = replay(stream, "dkg", workers=10, sources=5, literal=literal, capacity=500)
    assert [p.plans for p in trace.partitioners] == [1] * 5
    assert set(trace.choices.values()) == {1}
    later = set(zip(stream[1000:].tolist(), trace.routes[1000:].tolist(), strict=True))
    assert len(later) == len(set(stream[1000:].tolist()))
    alone = replay(stream, "dkg", workers=10, literal=literal, capacity=500)
    if not literal:  # the sketches are exact, so what all have seen is what one would have
        assert trace.routes.tolist() == alone.routes.tolist()


def test_choices_of_lists_that_grow_apart_are_those_of_all_sources():
    stream = streams.zipf(40_000, 500, 0.8, seed=1)
    trace = replay(stream, "wrap", workers=10, sources=5, capacity=500)  # no list is forgotten
    later = set(zip(stream[20_000:].tolist(), trace.routes[20_000:].tolist(), strict=True))
    assert all(sum(key == k for k, _ in later) <= trace.choices[key] for key in range(20))


def test_a_text_or_a_mapping_is_no_stream():
    for keys in ("abc", b"abc", {"a": 1}, np.array(3)):
        with pytest.raises(ArgumentTypeError, match="keys is"):
            replay(keys, "key", workers=2)
    with pytest.raises(ArgumentTypeError, match="events is"):
        replay([1], "fish", workers=2, events=np.array(3))


def test_an_instance_is_copied_and_stays_as_it_was():
    p = PARTITIONERS["two_choices"](workers=4, seed=1)
    p.route_many(range(10))
    trace = replay(range(100), p)
    assert p.messages == 10
    assert trace.partitioners[0].messages == 110
    assert trace.loads.sum() == 100


@relaxed
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=60),
    st.lists(st.floats(0.1, 4), min_size=3, max_size=3),
)
def test_queues_are_first_come_first_served(messages, capacities):
    keys, gaps, work = (list(column) for column in zip(*messages, strict=True))
    arrivals = np.cumsum(gaps)
    trace = replay(keys, "key", workers=3, service_times=work, capacities=capacities, arrivals=arrivals)
    free = [0.0] * 3
    departures = []
    for worker, arrival, amount in zip(trace.routes.tolist(), arrivals, work, strict=True):
        free[worker] = max(free[worker], arrival) + amount / capacities[worker]
        departures.append(free[worker])
    departures = np.array(departures)
    np.testing.assert_allclose(trace.latencies, departures - arrivals, atol=1e-9)
    assert trace.makespan == pytest.approx(departures.max() - arrivals[0])
    busy = np.bincount(trace.routes, np.array(work) / np.array(capacities)[trace.routes], 3)
    if trace.makespan > 0:
        np.testing.assert_allclose(trace.utilisation, busy / trace.makespan)
    assert (trace.queue_lengths + trace.executed).tolist() == np.bincount(trace.routes, minlength=3).tolist()
    assert trace.queue_lengths.min() >= 0


def test_better_balance_is_lower_latency():
    stream = streams.zipf(20_000, 1000, 1.4, seed=3)
    latency = {
        name: replay(stream, name, workers=20, service_times=19.0).latencies.mean()
        for name in ("key", "two_choices", "w_choices", "shuffle")
    }
    assert latency["key"] > 2 * latency["two_choices"] > 10 * latency["w_choices"]
    assert latency["shuffle"] == pytest.approx(19.0)


def test_messages_in_flight_are_counted_at_the_last_arrival():
    trace = replay(["a"] * 4, "shuffle", workers=2, service_times=3.0)  # arrivals 0, 1, 2, 3
    assert trace.latencies.tolist() == [3.0, 3.0, 4.0, 4.0]
    assert trace.executed.sum() == 1
    assert trace.queue_lengths.sum() == 3
    assert trace.makespan == 7.0


def test_learners_hear_of_every_message_that_is_done_in_time():
    service = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    trace = replay(list("abcdef"), Learner(workers=2), service_times=service, capacities=[1.0, 0.5])
    diary = trace.partitioners[0].diary
    assert [key for _, key, _, _ in diary] == ["b", "a", "d"]
    assert diary[0] == (1, "b", 2.0, 3.0)
    assert all(earlier[3] <= later[3] for earlier, later in itertools.pairwise(diary))
    assert trace.routes.tolist()[:3] == [0, 1, 0]


def test_learners_with_several_sources_hear_of_their_own_messages():
    trace = replay(range(60), Learner(workers=3), sources=2, service_times=2.5)
    for source, p in enumerate(trace.partitioners):
        assert {key % 2 for _, key, _, _ in p.diary} == {source}


def test_a_trace_without_times_says_how_to_get_them():
    trace = replay(range(10), "key", workers=2)
    for name in ("latencies", "completion_time", "makespan", "utilisation", "executed", "queue_lengths"):
        with pytest.raises(UnsupportedError, match="service_times"):
            getattr(trace, name)


def test_an_empty_stream():
    trace = replay([], "two_choices", workers=3, service_times=1.0)
    assert trace.loads.tolist() == [0.0] * 3
    assert (trace.imbalance, trace.pairs, trace.choices, trace.makespan) == (0.0, 0, {}, 0.0)
    assert trace.queue_lengths.tolist() == trace.executed.tolist() == trace.utilisation.tolist() == [0] * 3


def test_any_iterable_of_any_keys():
    keys = ["a", None, ("b", 1), 2.5] * 5
    expected = replay(keys, "two_choices", workers=4).routes.tolist()
    assert replay(iter(keys), "two_choices", workers=4).routes.tolist() == expected
    assert replay(tuple(keys), "two_choices", workers=4).choices == dict.fromkeys(keys[:4], 2)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"partitioner": "w_choice"}, "did you mean 'w_choices'"),
        ({"workers": None}, "workers is missing"),
        ({"thetta": 0.1, "partitioner": "w_choices"}, "did you mean 'theta'"),
        ({"sources": 0}, "sources"),
        ({"weights": [1.0]}, "3 keys and 1 weights"),
        ({"capacities": [1.0, 1.0]}, "without service_times"),
        ({"service_times": 1.0, "capacities": [1.0]}, "expected 2"),
        ({"service_times": 1.0, "capacities": [1.0, 0.0]}, "above zero"),
        ({"service_times": [1.0]}, "3 keys and 1 service_times"),
        ({"service_times": -1.0}, "service_times"),
        ({"service_times": 1.0, "arrivals": [0, 2, 1]}, "order of the stream"),
        ({"partitioner": PARTITIONERS["key"](workers=3)}, "belong to the instance"),
        ({"partitioner": PARTITIONERS["key"](workers=2), "theta": 0.1}, "belong to the instance"),
    ],
)
def test_replay_refuses_nonsense(arguments, match):
    given = {"partitioner": "key", "workers": 2, **arguments}
    with pytest.raises(ArgumentError, match=match):
        replay(["a", "b", "c"], **given)


def test_service_times_by_key_follow_the_keys_as_they_are_hashed():
    trace = replay(np.array([math.nan, 1.0]), "key", workers=2, service_times={float("nan"): 3.0, 1: 2.0})
    assert trace.services.tolist() == [3.0, 2.0]
    with pytest.raises(ArgumentError, match="no time for the key 'c'"):
        replay(["a", "c"], "key", workers=2, service_times={"a": 1.0, "b": 1.0})
    with pytest.raises(KeyTypeError):
        replay([[1]], "key", workers=2, service_times={1: 1.0})


def test_replay_refuses_what_is_not_there():
    with pytest.raises(ArgumentTypeError):
        replay(["a"], 7, workers=2)
    with pytest.raises(ArgumentTypeError):
        replay(["a"], "key", workers=2, events=[1])
    for keys in (5, None):
        with pytest.raises(ArgumentTypeError, match="keys is"):
            replay(keys, "key", workers=2)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
def test_streams_refuse_what_is_no_seed(seed):
    for stream in (lambda: streams.zipf(9, 3, 1.0, seed), lambda: streams.uniform(9, 3, seed)):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="seed"):
            stream()


def test_streams_follow_their_law():
    shares = streams.zipf_shares(1000, 1.2)
    assert shares.sum() == pytest.approx(1.0)
    counts = np.bincount(streams.zipf(200_000, 1000, 1.2, seed=1), minlength=1000)
    np.testing.assert_allclose(counts[:20] / 200_000, shares[:20], rtol=0.1)
    np.testing.assert_allclose(np.bincount(streams.uniform(100_000, 10, seed=1)), 10_000, rtol=0.05)
    np.testing.assert_allclose(streams.zipf_shares(4, 0.0), 0.25)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: streams.zipf(500, 50, 1.0, seed),
        lambda seed: streams.uniform(500, 50, seed),
        lambda seed: streams.drifting_zipf(500, 50, 1.0, 3, seed),
    ],
)
def test_streams_follow_their_seed(make):
    stream = make(4)
    assert stream.dtype == np.int64
    assert stream.shape == (500,)
    assert 0 <= stream.min() <= stream.max() < 50
    assert stream.tolist() == make(4).tolist() != make(5).tolist()


def test_drift_ranks_the_keys_anew_in_every_period():
    stream = streams.drifting_zipf(3000, 100, 2.0, periods=3, seed=1)
    tops = [int(np.bincount(part).argmax()) for part in np.split(stream, 3)]
    assert tops[0] == 0
    assert len(set(tops)) == 3
    once = streams.drifting_zipf(300, 9, 1.0, periods=1, seed=2)
    assert once.tolist() == streams.zipf(300, 9, 1.0, seed=2).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: streams.zipf(-1, 10, 1.0),
        lambda: streams.zipf(10, 0, 1.0),
        lambda: streams.zipf(10, 10, -1.0),
        lambda: streams.uniform(10, 0),
        lambda: streams.drifting_zipf(10, 10, 1.0, periods=0),
    ],
)
def test_streams_refuse_nonsense(call):
    with pytest.raises(ArgumentError):
        call()


def test_a_source_that_was_fitted_is_not_among_those_that_learn():
    stream = streams.zipf(6000, 500, 0.8, seed=1)
    fitted, learning = (PARTITIONERS["dkg"](workers=5) for _ in range(2))
    learning.share_workers(fitted)
    learning.share_workers(fitted)  # once is enough
    places = fitted.fit(["a", "b"], weights=[3, 1]).route_many(stream)
    assert (
        learning.route_many(stream[:1000]).tolist() == PARTITIONERS["dkg"](workers=5).route_many(stream[:1000]).tolist()
    )
    assert (learning.plans, learning.messages, fitted.plans) == (0, 1000, 1)
    learning.route("one more")
    assert (learning.plans, fitted.plans) == (1, 1)
    assert fitted.route_many(stream).tolist() == places.tolist()
