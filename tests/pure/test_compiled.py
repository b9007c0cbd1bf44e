"""Compiled loops change nothing: the same routes, loads and counters as in plain Python, bit by bit."""

import ast
import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit import compiled
from skewkit.hashing import hash_key, hash_keys
from skewkit.partitioners import PARTITIONERS, base
from skewkit.partitioners.bases import planned
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.simulator import streams
from skewkit.sketch import SpaceSaving
from skewkit.sketch.packed import pack, unpack

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
LOOPS = sorted((ROOT / "skewkit/compiled").glob("[a-z]*.py"))

# Options that bring a scheme's turning points into the range of short streams; few counters, many evictions.
SHORT = {
    "dkg": {"learning": 30, "mu": 3},
    "wrap": {"mu": 3, "capacity": 5, "theta": 0.05, "margin": 1.0},
    "d_choices": {"refresh": 0.1, "capacity": 9},
    "w_choices": {"capacity": 9},
    "round_robin": {"capacity": 9},
    "bounded_hash": {"points": 3},
    "fish": {"epoch": 20, "points": 3, "interval": 4.0, "capacity": 9},
    "posg": {"window": 2, "tolerance": 0.5},
    "consistent": {"virtual": 3, "slot": 5.0},
}
LEARNERS = {
    "fish": {},
    "fish, margin": {"margin": 2.0},
    "fish, all": {"hot_rule": "all", "alpha": 0.0},
    "fish, optimal": {"hot_rule": "optimal", "points": 0, "alpha": 1.0},
    "fish, load": {"assignment": "load", "margin": 1.0},
    "posg": {},
    "posg, early": {"early": 4},
    "posg, pooled": {"early": 4, "pooled": True},
    "consistent": {},
}
every_scheme = pytest.mark.parametrize("name", PARTITIONERS)
some = settings(max_examples=settings.default.max_examples * 3 // 10, deadline=None)
keys = st.lists(st.one_of(st.just(7), st.integers(0, 30)), min_size=1, max_size=200)
weights = st.lists(
    st.one_of(st.just(1.0), st.just(0.0), st.floats(0, 10), st.floats(0, 1e12)), min_size=200, max_size=200
)


def make(name, workers=7, seed=1):
    return PARTITIONERS[name](workers=workers, seed=seed, **SHORT.get(name, {}))


def state(p):
    """Return all that decides the next routes, sketch included."""
    sketch = getattr(p, "_sketch", None)
    counters = None if sketch is None else (list(sketch), sketch.total, sketch.floor)
    lists = None
    if p.name == "wrap":
        lists = {key: sorted(worker for _, worker in own.heap) for key, own in p._lists.items()}, p._counts, p._total
    return p.loads.tolist(), p.messages, p.plans, counters, lists, [p.choices(key) for key in range(31)]


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_BLOCK", 64)
        patch.setattr(planned, "_BLOCK", 16)
        yield


@every_scheme
@some
@given(
    stream=keys,
    amounts=st.one_of(st.none(), weights),
    workers=st.sampled_from([1, 2, 3, 7, 50]),
    cuts=st.sets(st.integers(0, 200)),
    which=st.lists(st.sampled_from(["compiled", "plain", "one by one", "pickled"]), min_size=201, max_size=201),
)
def test_compiled_is_plain_is_one_by_one(name, stream, amounts, workers, cuts, which):
    amounts = None if amounts is None else amounts[: len(stream)]
    one, plain, fast, mixed = (make(name, workers) for _ in range(4))
    expected = [one.route(key, 1.0 if amounts is None else amounts[i]) for i, key in enumerate(stream)]
    with compiled.forced(False):
        assert plain.route_many(stream, amounts).tolist() == expected
    with compiled.forced(True):
        assert fast.route_many(np.array(stream), amounts).tolist() == expected
    borders = [0, *sorted(c for c in cuts if c < len(stream)), len(stream)]
    for number, (a, b) in enumerate(itertools.pairwise(borders)):
        own = [1.0] * (b - a) if amounts is None else amounts[a:b]
        if which[number] == "one by one":
            found = [mixed.route(key, weight) for key, weight in zip(stream[a:b], own, strict=True)]
        else:
            with compiled.forced(which[number] != "plain"):
                found = mixed.route_many(stream[a:b], own).tolist()
        if which[number] == "pickled":
            mixed = pickle.loads(pickle.dumps(mixed))
        assert found == expected[a:b]
    for other in (plain, fast, mixed):
        assert state(other) == state(one)


OPTIONS = {
    "d_choices, each time": {"refresh": 0.0, "capacity": 9},
    "d_choices, fixed": {"d": 3, "capacity": 9},
    "dkg, literal": {"literal": True, "learning": 30, "mu": 3},
    "wrap, tolerant": {"epsilon": 0.1},
    "wrap, level": {"epsilon": 0.0, "margin": 0.5, "capacity": 2},
    "wrap, unequal": {"capacities": (1, 2, 3, 4, 5, 6, 7), "margin": 0.5},
    "random_choices, wide": {"epsilon": 0.5},
    "fish, no ring": {"points": 0, "epoch": 20},
}


@pytest.mark.parametrize("case", OPTIONS)
@some
@given(stream=keys, amounts=st.one_of(st.none(), weights))
def test_options_too(case, stream, amounts):
    amounts = None if amounts is None else amounts[: len(stream)]
    one, plain, fast = (PARTITIONERS[case.split(",")[0]](workers=7, seed=1, **OPTIONS[case]) for _ in range(3))
    expected = [one.route(key, 1.0 if amounts is None else amounts[i]) for i, key in enumerate(stream)]
    for p, use in ((plain, False), (fast, True)):
        with compiled.forced(use):
            assert p.route_many(np.array(stream), amounts).tolist() == expected
        assert state(p) == state(one)


@every_scheme
@pytest.mark.parametrize("z", [0.5, 1.4])
def test_long_streams(name, z):
    stream = streams.zipf(40_000, 5_000, z, seed=3)
    amounts = np.random.default_rng(4).random(stream.size) * 3
    for own in (None, amounts):
        results = []
        for use in (False, True):
            p = PARTITIONERS[name](workers=40, seed=2)
            with compiled.forced(use):
                results.append((p.route_many(stream, own).tolist(), state(p)))
        assert results[0] == results[1]


@pytest.mark.parametrize("name", [name for name, scheme in PARTITIONERS.items() if scheme.planned])
@some
@given(
    stream=keys,
    amounts=st.one_of(st.none(), weights),
    profile=st.dictionaries(st.integers(0, 40), st.one_of(st.integers(0, 3000), st.floats(0.01, 100)), min_size=1),
    workers=st.sampled_from([1, 2, 7, 50]),
    cuts=st.sets(st.integers(0, 200)),
)
def test_fitted_schemes_too(name, stream, amounts, profile, workers, cuts):
    profile[99] = 1
    one, fast, mixed = (make(name, workers).fit(list(profile), list(profile.values())) for _ in range(3))
    own = [1.0] * len(stream) if amounts is None else amounts[: len(stream)]
    expected = [one.route(key, weight) for key, weight in zip(stream, own, strict=True)]
    with compiled.forced(True):
        assert fast.route_many(stream, own).tolist() == expected
    borders = [0, *sorted(c for c in cuts if c < len(stream)), len(stream)]
    for number, (a, b) in enumerate(itertools.pairwise(borders)):
        with compiled.forced(number % 2 == 0):
            assert mixed.route_many(stream[a:b], own[a:b]).tolist() == expected[a:b]
    assert state(one) == state(fast) == state(mixed)


@pytest.mark.parametrize("case", LEARNERS)
@some
@given(
    stream=keys,
    amounts=st.one_of(st.none(), weights),
    workers=st.sampled_from([1, 2, 3, 7, 50]),
    cuts=st.sets(st.integers(0, 200)),
    lag=st.integers(0, 40),
    times=st.lists(st.floats(0, 9), min_size=200, max_size=200),
)
def test_reports_between_the_calls(case, stream, amounts, workers, cuts, lag, times):
    """All but the last `lag` messages are done before the next call; so every state of a scheme is met."""
    name = case.partition(",")[0]
    options = {**SHORT[name], **LEARNERS[case]}
    one, fast, mixed = (PARTITIONERS[name](workers=workers, seed=3, **options) for _ in range(3))
    own = [1.0] * len(stream) if amounts is None else amounts[: len(stream)]
    borders = [0, *sorted(c for c in cuts if c < len(stream)), len(stream)]
    routes, done = [], 0
    for number, (a, b) in enumerate(itertools.pairwise(borders)):
        expected = [one.route(key, weight) for key, weight in zip(stream[a:b], own[a:b], strict=True)]
        with compiled.forced(True):
            assert fast.route_many(stream[a:b], own[a:b]).tolist() == expected
        with compiled.forced(number % 2 == 0):
            assert mixed.route_many(stream[a:b], own[a:b]).tolist() == expected
        mixed = pickle.loads(pickle.dumps(mixed))
        routes += expected
        while done < len(routes) - lag:
            for p in (one, fast, mixed):
                p.observe(routes[done], stream[done], times[done], float(done))
            done += 1
    assert state(one) == state(fast) == state(mixed)


@every_scheme
def test_arrays_of_any_layout(name):
    stream = np.repeat(streams.zipf(500, 50, 1.0), 2)
    amounts = np.random.default_rng(5).random(1000)
    amounts.flags.writeable = stream.flags.writeable = False
    with compiled.forced(True):
        expected = make(name).route_many(stream[::2].copy(), amounts[::2].copy()).tolist()
        assert make(name).route_many(stream[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream.astype(np.int16)[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream.astype(np.uint64)[::2], amounts[::2]).tolist() == expected
        assert make(name).route_many(stream[::2].astype(float), amounts[::2]).tolist() == expected


@some
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers())
def test_compiled_hashes_are_the_hashes(numbers, seed):
    with compiled.forced(True):
        assert hash_keys(np.array(numbers), seed).tolist() == [hash_key(key, seed) for key in numbers]


@some
@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=40), min_size=1), st.integers())
def test_compiled_hashes_of_texts_are_the_hashes(texts, seed):
    text, raw = np.array(texts), np.array([text.encode("utf-8", "surrogatepass") for text in texts])
    for array in (text, raw, text.astype(text.dtype.newbyteorder(">")), np.repeat(raw, 2)[::2]):
        expected = [hash_key(key, seed) for key in array.tolist()]
        assert hash_keys(array.tolist() * 2, seed).tolist() == expected * 2
        for use in (True, False):
            with compiled.forced(use):
                assert hash_keys(array, seed).tolist() == expected


@some
@given(
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=120),
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=60),
)
def test_a_sketch_survives_the_arrays(before, counters, after):
    sketch = SpaceSaving(counters)
    for key, weight in before:
        sketch.add(hash_key(key), weight)
    again = unpack(pack(sketch))
    for key, weight in after:
        assert again.add(hash_key(key), weight) == sketch.add(hash_key(key), weight)
    assert (list(again), again.total, again.floor) == (list(sketch), sketch.total, sketch.floor)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=60),
    st.integers(1, 200),
    st.sampled_from([0.0, 1e-4, 0.01]),
    st.floats(1, 3),
)
def test_compiled_equation_3_is_the_readable_one(raw, workers, epsilon, spread):
    from skewkit.compiled.head_tail_loop import choices_for

    shares = np.sort(np.array(raw) / (sum(raw) * spread))[::-1]
    tail = max(0.0, 1.0 - float(np.cumsum(shares)[-1]))
    assert choices_for(shares, workers, epsilon) == optimal_choices(shares, tail, workers, epsilon)


def test_without_numba_the_routes_are_the_same():
    code = (
        "import sys\n"
        "sys.modules['numba'] = None\n"
        "from skewkit import compiled\n"
        "from skewkit.partitioners import PARTITIONERS\n"
        "from skewkit.simulator import streams\n"
        "stream = streams.zipf(70_000, 1000, 1.4, seed=1)\n"
        "print(compiled.available(), int(PARTITIONERS['d_choices'](workers=20).route_many(stream)[-500:].sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    stream = streams.zipf(70_000, 1000, 1.4, seed=1)
    with compiled.forced(True):
        expected = PARTITIONERS["d_choices"](workers=20).route_many(stream)
    assert done.stdout.split() == ["False", str(int(expected[-500:].sum()))]


def test_numba_is_loaded_for_many_messages_only():
    code = (
        "import sys\n"
        "import skewkit.simulator\n"
        "from skewkit.partitioners import PARTITIONERS\n"
        "p = PARTITIONERS['key'](workers=3)\n"
        "p.route('a'), p.route_many(range(5000))\n"
        "print('numba' in sys.modules)\n"
        "p.route_many(range(70_000))\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_one_module_knows_numba():
    for path in (ROOT / "skewkit").rglob("*.py"):
        imported = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        }
        assert "numba" not in imported or path.name == "jit.py", path


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.stem)
def test_a_file_of_loops_calls_no_loop_of_another_file(path):
    """Machine code is kept by file: a loop would go on with the old code of another file."""
    with_loops = {f"skewkit.compiled.{p.stem}" for p in LOOPS if "@compiled" in p.read_text(encoding="utf-8")}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & (with_loops - {"skewkit.compiled.jit"})
