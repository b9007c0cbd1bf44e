"""Plans: nothing is lost, cuts are what they say, the balance is what the scheme promises."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ProfileError
from skewkit.hashing.spark import xxhash64
from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.plan.placement.alias import SCALE, alias_table
from skewkit.plan.placement.key_plan import KeyPlan, key_plan
from skewkit.plan.placement.load import HeavyLoad, KeyLoad
from skewkit.plan.placement.lookup import cuckoo_table, slots_of
from skewkit.plan.placement.schemes import SCHEMES


def load_of(weights: list[float], buckets: int = 1024, spread: float = 0.0, divisible: bool = True) -> KeyLoad:
    """Return the load of integer keys with these weights, all listed as heavy candidates; the tail is empty."""
    heavy = tuple(HeavyLoad((i,), xxhash64([i], ["int"]), w, divisible) for i, w in enumerate(weights))
    return KeyLoad(("k",), ("int",), heavy, (0.0,) * buckets, spread)


def zipf(z: float, keys: int = 10_000, rows: int = 1_000_000) -> list[float]:
    weights = 1 / np.arange(1, keys + 1) ** z
    return (weights / weights.sum() * rows).tolist()


loads = st.builds(
    load_of,
    st.lists(st.floats(0.01, 1e6), min_size=0, max_size=60).map(lambda w: sorted(w, reverse=True)),
    buckets=st.sampled_from([64, 256]),
    spread=st.sampled_from([0.0, 5.0, 1e5]),
    divisible=st.booleans(),
)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(load=loads, partitions=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_no_load_is_lost(scheme, load, partitions):
    plan = key_plan(load, partitions, scheme)
    assert len(plan.loads) == partitions
    assert sum(plan.loads) == pytest.approx(load.total)
    assert list(plan.loads) == sorted(plan.loads, reverse=True), "partitions are numbered by falling load"
    for route in plan.heavy:
        assert sum(share for _, share in route.parts) == pytest.approx(1)
        assert len({p for p, _ in route.parts}) == len(route.parts)
        assert all(0 <= p < partitions for p, _ in route.parts)
    assert all(0 <= p < partitions for p in plan.buckets)
    assert bool(plan.spread) == bool(load.spread)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(load=loads, partitions=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_a_plan_survives_json(scheme, load, partitions):
    plan = key_plan(load, partitions, scheme)
    assert KeyPlan.from_json(plan.to_json()) == plan


DAMAGE = {
    "partitions": ["x", 0, 3],
    "buckets": [[], [99, -5], [0.5], None],
    "loads": [[1.0], None],
    "spread": [[[0, 0.5]], [[7, 1.0]], [[0, -1.0], [1, 2.0]]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGE.items() for value in values])
def test_a_damaged_plan_is_refused(name, value):
    data = json.loads(key_plan(KeyLoad(("k",), ("int",), (), (1.0, 2.0), 3.0), 2).to_json())
    KeyPlan.from_json(json.dumps(data))
    with pytest.raises(ProfileError, match="no skewkit plan"):
        KeyPlan.from_json(json.dumps({**data, name: value}))


@pytest.mark.parametrize("scheme", ["dkg", "key"])
def test_schemes_without_cuts_cut_nothing(scheme):
    assert all(len(route.parts) == 1 for route in key_plan(load_of(zipf(1.4)), 32, scheme).heavy)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_key_that_may_not_be_cut_is_whole(scheme):
    plan = key_plan(load_of(zipf(1.8), divisible=False), 16, scheme)
    assert plan.heavy
    assert all(len(route.parts) == 1 for route in plan.heavy)


@pytest.mark.parametrize("z", [0.1, 0.8, 1.0, 1.2, 1.6, 2.0])
@pytest.mark.parametrize("partitions", [2, 32, 200])
def test_wrap_is_level_with_few_pieces(z, partitions):
    plan = key_plan(load_of(zipf(z), buckets=32 * 256), partitions, "wrap")
    assert plan.straggler <= 1.01  # up to one tail bucket
    assert sum(len(route.parts) for route in plan.heavy) <= len(plan.heavy) + partitions - 1


def test_wrap_needs_fewer_pieces_than_the_papers():
    load = load_of(zipf(1.4))
    pieces = {s: sum(len(r.parts) for r in key_plan(load, 50, s).heavy) for s in ("wrap", "d_choices", "w_choices")}
    assert pieces["wrap"] < pieces["d_choices"] < pieces["w_choices"]


@pytest.mark.parametrize(("z", "partitions"), [(1.0, 50), (1.4, 50), (1.4, 100), (2.0, 20)])
def test_d_choices_has_the_d_of_equation_3(z, partitions):
    weights = zipf(z)
    shares = [w / 1e6 for w in weights if w / 1e6 >= 1 / (5 * partitions)]
    d = optimal_choices(shares, 1 - sum(shares), partitions)
    plan = key_plan(load_of(weights), partitions, "d_choices")
    assert plan.choices == d
    assert max(len(route.parts) for route in plan.heavy) <= d


def test_native_straggler_of_one_hot_key():
    load = KeyLoad(("k",), ("int",), (HeavyLoad((1,), 7, 50.0),), (0.5,) * 100)
    assert key_plan(load, 10).native_straggler == pytest.approx(10 * (0.5 + 0.05))


def test_a_plan_refuses_what_makes_no_sense():
    with pytest.raises(ArgumentError, match="'wrap'"):
        key_plan(load_of([1.0]), 4, "wrp")
    with pytest.raises(ArgumentError, match="at least 1"):
        key_plan(load_of([1.0]), 0)
    for text in ("", "{}", "[]", '{"skewkit_plan": 99}'):
        with pytest.raises(ProfileError):
            KeyPlan.from_json(text)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=50))
def test_alias_table_draws_each_part_with_its_share(weights):
    parts = [(100 + i, w / sum(weights)) for i, w in enumerate(weights)]
    table = alias_table(parts)
    drawn = dict.fromkeys((p for p, _ in parts), 0)
    for threshold, partition, alias in table:
        drawn[partition] += threshold
        drawn[alias] += SCALE - threshold
    for partition, share in parts:
        assert drawn[partition] / SCALE / len(parts) == pytest.approx(share, abs=1e-6)


@given(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=400))
@settings(max_examples=50, deadline=None)
def test_cuckoo_table_finds_every_hash_and_no_other(hashes):
    hashes = sorted(hashes)
    table = cuckoo_table(hashes)
    for index, key_hash in enumerate(hashes):
        assert index in {table[slot][1] for slot in slots_of(key_hash, len(table)) if table[slot][0] == key_hash}
    assert sorted(i for _, i in table if i >= 0) == list(range(len(hashes)))
    assert len(table) <= 16 * len(hashes) + 64


@given(row=st.integers(-(2**63), 2**63 - 1), scheme=st.sampled_from(sorted(SCHEMES)))
def test_a_route_stays_inside_its_choices(row, scheme):
    plan = key_plan(load_of([50.0, 30.0, 1.0, 1.0], spread=20.0), 7, scheme)
    for route in plan.heavy:
        assert plan.partition(route.hash, row) in {p for p, _ in route.parts}
    assert plan.draw(len(plan.heavy), row) in {p for p, _ in plan.spread}
    tail = 12345
    assert plan.partition(tail, row) == plan.buckets[tail % len(plan.buckets)]


def test_the_registry_of_schemes_says_which_are_placed_by_a_plan():
    assert list(SCHEMES) == [name for name, scheme in PARTITIONERS.items() if scheme.on_spark]
    assert {scheme.on_spark for scheme in PARTITIONERS.values()} == {"", "plan"}


@given(
    load=loads.filter(lambda load: load.heavy and load.heavy[0].divisible),
    capacities=st.lists(st.floats(0.1, 10), min_size=1, max_size=20),
)
@settings(max_examples=40, deadline=None)
def test_a_plan_loads_partitions_by_capacity(load, capacities):
    n, share = len(capacities), np.array(capacities) / sum(capacities)
    plan = key_plan(load, n, "wrap", capacities=capacities)
    assert sum(plan.loads) == pytest.approx(load.total)
    tail = max(load.above(1 / (5 * n)).tail)
    assert np.all(np.array(plan.loads) <= 1.005 * share * load.total + tail + 1e-6)
    whole = key_plan(load, n, "dkg", capacities=capacities)
    assert all(len(route.parts) == 1 for route in whole.heavy)
    assert sum(whole.loads) == pytest.approx(load.total)


def test_equal_capacities_change_nothing_but_the_numbers():
    load = load_of(zipf(1.2, 300), spread=1e4)
    for scheme in ("wrap", "dkg"):
        plain, equal = key_plan(load, 20, scheme), key_plan(load, 20, scheme, capacities=[3.0] * 20)
        assert sorted(equal.loads) == pytest.approx(sorted(plain.loads))


@pytest.mark.parametrize(
    ("scheme", "capacities", "match"),
    [("w_choices", [1.0, 2.0], "knows of no capacities"), ("wrap", [1.0], "expected 2"), ("dkg", [1.0, 0.0], "is 0")],
)
def test_capacities_of_a_plan_that_make_no_sense_are_refused(scheme, capacities, match):
    with pytest.raises(ArgumentError, match=match):
        key_plan(load_of([5.0, 3.0]), 2, scheme, capacities=capacities)
