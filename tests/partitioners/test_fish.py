"""FISH rule by rule: Algorithms 1 to 3, the ring, and the cure for hot keys that are none."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.fish.hot_keys import HotKeys
from skewkit.partitioners.fish.waiting import WaitingTimes
from skewkit.simulator import AddWorker, RemoveWorker, replay, streams
from skewkit.sketch import Decayed, SpaceSaving

relaxed = settings(deadline=None)


def evolving(messages, keys, exponent, periods=5, seed=0):
    """Return a stream as in Section 6.1: after four fifths of every period the ranks of the keys are reversed."""
    parts = []
    for period in range(periods):
        ranks = streams.zipf(messages // periods, keys, exponent, seed=seed + period)
        turn = ranks.size * 4 // 5
        parts += [ranks[:turn], keys - 1 - ranks[turn:]]
    return np.concatenate(parts)


# Algorithm 1


def algorithm_1(stream, epoch, alpha, most):
    """Return the counters of Algorithm 1, line by line."""
    c, counter = {}, 0
    for k in stream:
        if counter == epoch:
            c = {v: c[v] * alpha for v in c}
            counter = 0
        if k in c:
            c[k] += 1
        elif len(c) < most:
            c[k] = 1.0
        else:
            least = min(c, key=c.get)
            c[k] = c.pop(least) + 1
        counter += 1
    return c


@relaxed
@given(
    st.lists(st.integers(0, 12), max_size=150),
    st.integers(1, 40),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.integers(1, 20),
)
def test_a_decayed_spacesaving_is_algorithm_1(stream, epoch, alpha, most):
    sketch = Decayed(SpaceSaving(most), epoch, alpha)
    sketch.add_many(stream)
    assert {counter.key: counter.high for counter in sketch.sketch} == algorithm_1(stream, epoch, alpha, most)


# Algorithm 2


def hot_keys(workers, **options):
    return HotKeys(workers, **{"theta": 1 / (4 * workers), "epoch": 10**6, "alpha": 0.2, "capacity": 1000} | options)


@pytest.mark.parametrize(
    ("count", "degree"), [(1000, 64), (501, 64), (500, 32), (260, 32), (250, 16), (126, 16), (125, 8), (7, 2)]
)
def test_a_hot_key_has_the_workers_of_its_power_of_two(count, degree):
    """d = 64 / 2**floor(log2(1000 / count)); theta is 1 / 256 of about 2,000."""
    hot = hot_keys(64)
    hot.count("top", 1000.0)
    hot.count("others", 1000.0 - count)
    assert hot.count("key", float(count)) == degree
    assert hot.degree("key") == degree


def test_a_hot_key_never_gets_fewer_workers_than_before():
    """M_k, lines 7 to 10."""
    hot = hot_keys(64)
    assert hot.count("early", 100.0) == 64
    assert hot.count("later", 1600.0) == 64
    assert hot.count("early", 1.0) == 64  # 16 times less frequent now: 64 / 2**4 = 4 alone
    assert hot.count("other", 101.0) == 8
    hot.count("flood", 1e6)
    assert hot.count("early", 1.0) == 2  # not hot any more


@relaxed
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(2, 128))
def test_hot_keys_have_as_many_workers_together_as_the_sum_of_their_frequencies_asks_for(counts, workers):
    """So 2 is enough for d_min; a worker more or less is rounding."""
    hot = hot_keys(workers)
    for key, count in [*enumerate(counts), ("tail", 2000)]:
        hot.count(key, float(count))
    total = sum(counts) + 2000
    shares = {key: c / total for key, c in [*enumerate(counts), ("tail", 2000)] if c / total > 1 / (4 * workers)}
    degrees = {key: hot.degree(key) for key in shares}
    assert all(2 <= degree <= workers for degree in degrees.values())
    assert sum(degrees.values()) >= workers * sum(shares.values()) - len(shares)
    assert all(degrees[key] + 1 >= workers * share for key, share in shares.items())


def test_hot_keys_may_follow_the_rules_of_the_other_papers():
    stream = streams.zipf(20_000, 1000, 1.4, seed=1)
    degrees = {}
    for rule in ("chk", "all", "optimal"):
        p = PARTITIONERS["fish"](workers=50, hot_rule=rule)
        p.route_many(stream)
        degrees[rule] = [p.choices(key) for key in (0, 4, 999)]
    assert degrees["all"] == [50, 50, 2]
    assert degrees["chk"][0] == 50 > degrees["chk"][1] > 2 == degrees["chk"][2]
    assert degrees["optimal"][0] == degrees["optimal"][1] > 2
    reference = replay(stream, "d_choices", workers=50, theta=1 / 200).choices[0]
    assert degrees["optimal"][0] == pytest.approx(reference, abs=4)


# Algorithm 3


def test_the_worker_with_the_shortest_wait_is_taken_not_the_one_with_the_fewest_messages():
    waiting = WaitingTimes(3, interval=100.0)
    for worker, pace in enumerate((1.0, 1.0, 0.5)):
        waiting.sample(worker, pace)
    for worker, messages in enumerate((5, 6, 9)):
        waiting.send(worker, float(messages))
    assert waiting.shortest([0, 1, 2]) == 2  # 9 * 0.5 is less than 5 * 1
    waiting.send(2, 1.0)
    assert waiting.shortest([1, 0, 2]) == 0  # a tie, 5 and 5, goes to the first named


def test_unprocessed_messages_fall_by_equation_1():
    waiting = WaitingTimes(2, interval=10.0)
    waiting.sample(0, 2.0)
    waiting.sample(1, 4.0)
    waiting.advance(0.0, 1.0)
    waiting.send(0, 8.0)
    waiting.send(1, 2.0)
    waiting.advance(10.0, 1.0)  # not more than T yet
    assert waiting.unprocessed == [8.0, 2.0]
    waiting.advance(12.0, 1.0)
    assert waiting.unprocessed == [2.0, 0.0]  # (8 * 2 - 12) / 2, and 2 * 4 < 12
    waiting.advance(20.0, 1.0)
    assert waiting.unprocessed == [2.0, 0.0]


def test_the_time_per_message_follows_a_worker_that_changes():
    waiting = WaitingTimes(2, interval=10.0)
    for _ in range(100):
        waiting.sample(0, 1.0)
    assert waiting.pace == [1.0, 1.0]  # the other one is taken to be like it
    for _ in range(100):
        waiting.sample(0, 3.0)
    assert waiting.pace[0] == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("utilisation", [0.8, 1.2])
def test_inferred_messages_are_close_to_the_true_queue(utilisation):
    n, m = 4, 4000
    paces = np.array([2.0, 4.0, 8.0, 8.0]) * utilisation  # together one message per unit of time at 1
    trace = replay(
        streams.zipf(m, 50, 1.2, seed=2), "fish", workers=n, service_times=1.0, capacities=1 / paces, interval=0.0
    )
    found = np.array(trace.partitioners[0]._waiting.unprocessed)
    np.testing.assert_allclose(found, trace.queue_lengths, atol=0.02 * m / n)


def test_waiting_times_pay_where_workers_differ():
    """Figure 16: half of the workers work twice as fast."""
    n = 16
    capacities = np.repeat([1.0, 2.0], n // 2)
    stream = evolving(20_000, 1000, 1.2)
    times = {"service_times": 0.99 * capacities.sum(), "capacities": capacities}
    wait, load = (replay(stream, "fish", workers=n, assignment=a, **times) for a in ("wait", "load"))
    assert wait.makespan < 1.03 * stream.size
    assert load.makespan > 1.4 * stream.size


def test_sources_share_the_workers():
    n = 10
    stream = evolving(20_000, 1000, 1.4)
    for sources in (1, 4):
        trace = replay(stream, "fish", workers=n, sources=sources, service_times=0.95 * n)
        assert trace.makespan < 1.02 * stream.size
        assert trace.loads.max() < 1.1 * trace.loads.mean()


# The whole


@pytest.mark.parametrize("z", [1.0, 1.4, 2.0])
def test_execution_time_is_that_of_shuffle_grouping(z):
    """Figure 10, and papers/README.md: 1.000 of SG."""
    stream = evolving(30_000, 10_000, z)
    trace = replay(stream, "fish", workers=64)
    assert trace.loads.max() <= 1.01 * math.ceil(stream.size / 64)
    assert trace.pairs < 0.55 * replay(stream, "shuffle", workers=64).pairs


def test_a_lifetime_without_decay_misses_the_new_hot_keys():
    """Figure 14; alpha = 1 is counting over the whole lifetime."""
    stream = np.concatenate([streams.zipf(40_000, 5000, 1.6), 4999 - streams.zipf(4_000, 5000, 1.6)])
    n = 64

    def peak(alpha):
        p = PARTITIONERS["fish"](workers=n, alpha=alpha, assignment="load")
        p.route_many(stream[:40_000])
        before = p.choices(4999)
        p.route_many(stream[40_000:41_000])
        return before, p.choices(4999)

    assert peak(0.2) == (2, n)
    assert peak(1.0)[1] < n / 4


def test_new_keys_look_hot_after_a_decay_and_do_not_with_a_margin():
    """theta * alpha * epoch / (1 - alpha) = 0.49 at n = 128: one message of a key is more than that."""
    stream = streams.zipf(3000, 20_000, 1.0, seed=3)
    paper, cured = (PARTITIONERS["fish"](workers=128, margin=margin) for margin in (None, 2.0))
    for p in (paper, cured):
        p.route_many(stream)
    fresh = [f"never seen {i}" for i in range(50)]
    for p in (paper, cured):
        p.route_many(fresh)  # the first 50 messages after the decay
    assert all(paper.choices(key) > 2 for key in fresh)
    assert all(cured.choices(key) == 2 for key in fresh)
    assert paper.choices(0) == cured.choices(0) == 128


@pytest.mark.every(3)
@pytest.mark.parametrize(("z", "gain"), [(1.0, 0.8), (1.4, 0.9), (2.0, 0.9)])
def test_a_margin_saves_memory_and_costs_no_time(z, gain):
    stream = evolving(60_000, 20_000, z)
    paper, cured = (replay(stream, "fish", workers=128, margin=margin) for margin in (None, 2.0))
    assert cured.pairs < gain * paper.pairs
    assert cured.loads.max() <= 1.01 * math.ceil(stream.size / 128)


def test_what_was_hot_at_the_end_of_an_epoch_stays_hot_after_the_decay():
    p = PARTITIONERS["fish"](workers=20, margin=2.0)
    p.route_many((["hot"] + [f"cold {i}" for i in range(24)]) * 400)  # a share of 0.04, theta is 0.0125
    assert p.messages == 10_000
    hot = []
    for i in range(1000):
        p.route(f"new {i}")
        hot.append(p.choices("hot") > 2)
    assert all(hot)
    p.route("one more")
    assert p.choices("hot") == 2


@pytest.mark.parametrize(
    "options",
    [
        {"margin": 2.0},
        {"margin": 0.0, "alpha": 0.0},
        {"margin": 1.0, "alpha": 1.0},
        {"alpha": 0.0},
        {"points": 0, "capacity": 1},
        {"hot_rule": "optimal", "assignment": "load"},
        {"hot_rule": "all", "interval": 0.0},
    ],
)
@relaxed
@given(
    stream=st.lists(st.one_of(st.just("hot"), st.integers(0, 20)), max_size=120),
    weights=st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.5, 1.0, 1e12]), min_size=120, max_size=120)),
)
def test_every_option_keeps_the_promises(options, stream, weights):
    one, many = (PARTITIONERS["fish"](workers=6, epoch=25, **options) for _ in range(2))
    amounts = [1.0] * len(stream) if weights is None else weights[: len(stream)]
    reached, allowed, routes = {}, {}, []
    for key, weight in zip(stream, amounts, strict=True):
        routes.append(one.route(key, weight))
        reached.setdefault(key, set()).add(routes[-1])
        allowed[key] = max(allowed.get(key, 0), one.choices(key))
        assert 2 <= one.choices("hot") <= 6
    assert many.route_many(stream, amounts).tolist() == routes
    assert all(len(reached[key]) <= allowed[key] for key in reached)


def test_a_hot_key_keeps_its_workers_when_all_counts_are_forgotten():
    hot = HotKeys(16, theta=1 / 64, epoch=30, alpha=0.0, capacity=100, margin=2.0)
    for _ in range(15):
        hot.count("hot", 1.0)
        hot.count("warm", 1.0)
    hot.count("next epoch", 1.0)
    assert hot.degree("hot") == 16
    assert hot.degree("next epoch") == 2


# Section 5


def test_few_keys_move_when_a_worker_goes_or_comes():
    stream = streams.zipf(20_000, 5000, 0.8, seed=4)

    def moved(points):
        p = PARTITIONERS["fish"](workers=20, points=points)
        places = [p._walk(h, 2) for h in range(0, 2**64, 2**54)]
        p.remove_worker(7)
        after = [p._walk(h, 2) for h in range(0, 2**64, 2**54)]
        return np.mean([a != b for a, b in zip(places, after, strict=True)])

    def pairs(points):
        p = PARTITIONERS["fish"](workers=20, points=points)
        routes = [p.route_many(stream)]
        p.remove_worker(7)
        routes.append(p.route_many(stream))
        return len(set(zip(np.tile(stream, 2).tolist(), np.concatenate(routes).tolist(), strict=True)))

    assert moved(100) < 0.15
    assert moved(0) > 0.8  # without the ring nearly all keys move (Figure 17)
    assert pairs(100) < 0.75 * pairs(0)


def test_a_worker_that_comes_gets_its_part():
    stream = streams.zipf(40_000, 5000, 1.2, seed=5)
    p = PARTITIONERS["fish"](workers=10)
    p.route_many(stream[:20_000])
    assert p.add_worker() == 10
    before = p.loads
    p.route_many(stream[20_000:])
    share = (p.loads - before) / 20_000
    assert share[10] == pytest.approx(1 / 11, rel=0.01)
    p.remove_worker(10)
    assert 10 not in p.route_many(stream)


def test_without_reports_workers_are_alike_however_many_have_come():
    stream = streams.zipf(6000, 2000, 1.4, seed=1)
    p = PARTITIONERS["fish"](workers=2)
    for _ in range(8):
        p.add_worker()
    p.route_many(stream)
    np.testing.assert_allclose(p.loads, 600, rtol=0.01)
    assert p.theta == PARTITIONERS["fish"](workers=10).theta
    assert PARTITIONERS["fish"](workers=2, theta=0.1).add_worker() == 2


def test_a_worker_that_comes_back_is_not_flooded():
    stream = streams.zipf(20_000, 2000, 1.4, seed=2)
    trace = replay(stream, "fish", workers=4, events=[RemoveWorker(2000.0, 0), AddWorker(18_000.0, worker=0)])
    np.testing.assert_allclose(np.bincount(trace.routes[18_000:], minlength=4), 500, rtol=0.02)


def test_weights_whose_mean_is_zero_as_a_float():
    one_by_one, bulk = (PARTITIONERS["fish"](workers=4, margin=2.0) for _ in range(2))
    stream, amounts = ["a", "b", "b", "a"] * 600, [5e-324, 0.0, 0.0, 5e-324] * 600
    routes = [one_by_one.route(key, amount) for key, amount in zip(stream, amounts, strict=True)]
    assert bulk.route_many(stream, amounts).tolist() == routes
