"""The figures of a trace, each beside a slow and obvious count."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.simulator import ChangeCapacity, replay, streams

relaxed = settings(deadline=None)

TIMES = st.just(0.0) | st.floats(1e-9, 5)  # one that a clock can tell from none: a message in 5e-324 is infinitely many
messages = st.lists(st.tuples(st.integers(0, 3), TIMES, TIMES, st.floats(0, 3)), min_size=1, max_size=40)


def traced(drawn, events=()):
    keys, gaps, work, weights = (list(column) for column in zip(*drawn, strict=True))
    return replay(
        keys, "two_choices", workers=3, service_times=work, arrivals=np.cumsum(gaps), weights=weights, events=events
    )


@relaxed
@given(messages, st.lists(st.floats(0, 250), min_size=2, max_size=10, unique=True))
def test_queues_and_work_over_time_are_exact(drawn, times):
    trace = traced(drawn, [ChangeCapacity(20.0, 1, 3.0)])
    times = sorted(times)
    lengths = trace.queue_lengths_at(times)
    assert lengths.shape == (len(times), 3)
    for time, row in zip(times, lengths, strict=True):
        here = (trace.arrivals <= time) & (time < trace.departures)
        np.testing.assert_array_equal(row, np.bincount(trace.routes[here], minlength=3))
    if np.diff(times).min() > 1e-6:
        busy = trace.utilisation_over(times)
        begins = trace.departures - trace.services
        for (start, end), row in zip(itertools.pairwise(times), busy, strict=True):
            part = np.clip(np.minimum(end, trace.departures) - np.maximum(start, begins), 0.0, None)
            np.testing.assert_allclose(row * (end - start), np.bincount(trace.routes, part, 3), atol=1e-6)
    whole = trace.utilisation_over([0.0, float(trace.departures.max()) + 1.0])[0]
    np.testing.assert_allclose(
        whole * (trace.departures.max() + 1.0), np.bincount(trace.routes, trace.services, 3), atol=1e-6
    )


@relaxed
@given(messages, st.integers(1, 50))
def test_imbalance_over_time_ends_with_the_imbalance(drawn, points):
    trace = traced(drawn)
    at, found = trace.imbalance_over_time(points)
    assert at[-1] == len(drawn)
    assert len(at) == len(found) <= points
    for t, value in zip(at.tolist(), found.tolist(), strict=True):
        loads = np.bincount(trace.routes[:t], trace.weights[:t], 3)
        expected = (loads.max() - loads.sum() / 3) / loads.sum() if loads.sum() else 0.0
        assert value == pytest.approx(expected, abs=1e-12)
    assert found[-1] == pytest.approx(trace.imbalance, abs=1e-12)


@relaxed
@given(messages, st.integers(1, 50))
def test_latencies_in_short(drawn, window):
    trace = traced(drawn)
    latencies = np.sort(trace.latencies)
    assert trace.completion_time == pytest.approx(np.mean(latencies))
    for percent, value in zip((0, 50, 99, 100), trace.latency_percentiles((0, 50, 99, 100)), strict=True):
        below = np.mean(latencies <= value)
        assert value in latencies
        assert below >= percent / 100
        assert np.mean(latencies < value) <= percent / 100
    over = trace.latencies_over_time(window)
    for row, start in zip(over, range(0, len(drawn), window), strict=True):
        part = trace.latencies[start : start + window]
        np.testing.assert_allclose(row, [part.min(), part.mean(), part.max()])
    assert trace.execution_time == pytest.approx(np.bincount(trace.routes, trace.services, 3).max())
    assert trace.throughput * trace.makespan == pytest.approx(len(drawn) if trace.makespan else 0.0)


@relaxed
@given(messages, st.integers(1, 50))
def test_memory_and_partial_results(drawn, period):
    trace = traced(drawn)
    keys = [key for key, *_ in drawn]
    counts = {key: keys.count(key) for key in keys}
    assert trace.memory_of("key") == len(counts)
    assert trace.memory_of("two_choices") == sum(min(f, 2) for f in counts.values())
    assert trace.memory_of("shuffle") == sum(min(f, 3) for f in counts.values())
    assert trace.pairs <= trace.memory_of("two_choices")
    assert trace.memory_against("shuffle") == trace.pairs / trace.memory_of("shuffle")
    cells = {(i // period, key, worker) for i, (key, worker) in enumerate(zip(keys, trace.routes, strict=True))}
    assert trace.aggregated(period) == len(cells)
    assert trace.aggregated(len(keys)) == trace.pairs


def test_memory_of_the_schemes_is_what_they_are_taken_to_need():
    stream = streams.zipf(50_000, 5000, 1.0, seed=1)
    for name in ("key", "shuffle"):
        trace = replay(stream, name, workers=20)
        assert trace.memory_against(name) == pytest.approx(1.0, rel=0.25)  # some messages of a key meet by chance
        assert trace.pairs <= trace.memory_of(name)
    assert replay(stream, "key", workers=20).memory_against("key") == 1.0


def test_normalised_imbalance_looks_at_capacities():
    times = {"workers": 2, "service_times": 1.0}
    trace = replay(["a"] * 100, "shuffle", capacities=[3.0, 1.0], **times)
    assert trace.imbalance == 0.0
    assert trace.normalised_imbalance == pytest.approx((100 - (100 + 100 / 3) / 2) / 100)
    alike = replay(streams.zipf(1000, 50, 1.0), "key", capacities=[2.0, 2.0], **times)
    assert alike.normalised_imbalance == pytest.approx(alike.imbalance)
    changing = replay(["a"], "shuffle", events=[ChangeCapacity(1.0, 0, 2.0)], **times)
    with pytest.raises(UnsupportedError, match="utilisation_over"):
        _ = changing.normalised_imbalance


def test_execution_time_is_that_of_a_stream_that_is_all_there():
    stream = streams.zipf(5000, 500, 1.4, seed=2)
    at_once = replay(stream, "two_choices", workers=10, service_times=1.0, arrivals=np.zeros(5000))
    spread = replay(stream, "two_choices", workers=10, service_times=1.0)
    assert at_once.makespan == spread.execution_time == spread.loads.max()


def test_exchanged_adds_up_over_the_sources():
    stream = streams.zipf(6000, 50, 1.0)
    trace = replay(stream, "posg", workers=3, sources=2, service_times=2.9, window=50, tolerance=10.0)
    assert trace.exchanged == sum(p.exchanged for p in trace.partitioners) > 0
    assert replay(stream, "two_choices", workers=3).exchanged == 0


def test_service_times_by_key():
    by_key = {"a": 4.0, "b": 1.0, None: 2.0}
    keys = ["a", "b", None, "a"]
    expected = replay(keys, "shuffle", workers=2, service_times=[4.0, 1.0, 2.0, 4.0])
    found = replay(keys, "shuffle", workers=2, service_times=by_key)
    assert found.departures.tolist() == expected.departures.tolist()
    numbers = np.array([3, 1, 3])
    assert replay(numbers, "key", workers=1, service_times={1: 1.0, 3: 5.0}).services.tolist() == [5.0, 1.0, 5.0]
    for missing in ("a", None):
        with pytest.raises(ArgumentError, match=f"the key {missing!r}"):
            replay(keys, "key", workers=1, service_times={k: v for k, v in by_key.items() if k != missing})


def test_an_empty_stream_has_figures_too():
    trace = replay([], "two_choices", workers=3, service_times=1.0)
    assert (trace.completion_time, trace.execution_time, trace.throughput, trace.exchanged) == (0.0, 0.0, 0.0, 0)
    assert trace.latency_percentiles().tolist() == [0.0] * 3
    assert trace.latencies_over_time().shape == (0, 3)
    assert trace.queue_lengths_at([1.0]).tolist() == [[0, 0, 0]]
    assert trace.utilisation_over([0.0, 1.0]).tolist() == [[0.0, 0.0, 0.0]]
    assert [part.size for part in trace.imbalance_over_time()] == [0, 0]
    assert (trace.memory_of("shuffle"), trace.memory_against("key"), trace.aggregated(5)) == (0, 0.0, 0)
    assert trace.normalised_imbalance == 0.0


def test_figures_refuse_nonsense():
    trace = replay(range(5), "key", workers=2, service_times=1.0)
    for call in (
        lambda: trace.imbalance_over_time(0),
        lambda: trace.memory_of("w_choices"),
        lambda: trace.aggregated(0),
        lambda: trace.latency_percentiles([101]),
        lambda: trace.latencies_over_time(0),
        lambda: trace.utilisation_over([1.0, 1.0]),
        lambda: trace.queue_lengths_at([-1.0]),
    ):
        with pytest.raises(ArgumentError):
            call()
    with pytest.raises(ArgumentTypeError, match="percents is 99"):
        trace.latency_percentiles(99)
    plain = replay(range(5), "key", workers=2)
    for call in (
        lambda: plain.completion_time,
        lambda: plain.execution_time,
        lambda: plain.throughput,
        lambda: plain.normalised_imbalance,
        lambda: plain.latency_percentiles(),
        lambda: plain.latencies_over_time(),
        lambda: plain.queue_lengths_at([1.0]),
        lambda: plain.utilisation_over([0.0, 1.0]),
    ):
        with pytest.raises(UnsupportedError, match="service_times"):
            call()
