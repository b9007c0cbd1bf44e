"""Compiled loops of hashes, sketches and Equation (3), and when they are taken; tests of routes stand elsewhere."""

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit import compiled
from skewkit.hashing import hash_key, hash_keys
from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.simulator import streams
from skewkit.sketch import SpaceSaving
from skewkit.sketch.packed import pack, unpack

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
relaxed = settings(max_examples=settings.default.max_examples * 3 // 10, deadline=None)
FIXED = {"least_heap": "09c4af27f2de45d7", "mixing": "cb2a217e36465d77"}
"""Files of loops that those of other files call, and the hash of their code without docstrings."""
LOOPS = sorted((ROOT / "skewkit/compiled").glob("[a-z]*.py"))


@relaxed
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers())
def test_compiled_hashes_are_the_hashes(numbers, seed):
    with compiled.forced(True):
        assert hash_keys(np.array(numbers), seed).tolist() == [hash_key(key, seed) for key in numbers]


@relaxed
@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=40), min_size=1), st.integers())
def test_compiled_hashes_of_texts_are_the_hashes(texts, seed):
    text, raw = np.array(texts), np.array([text.encode("utf-8", "surrogatepass") for text in texts])
    for array in (text, raw, text.astype(text.dtype.newbyteorder(">")), np.repeat(raw, 2)[::2]):
        expected = [hash_key(key, seed) for key in array.tolist()]
        assert hash_keys(array.tolist() * 2, seed).tolist() == expected * 2
        for use in (True, False):
            with compiled.forced(use):
                assert hash_keys(array, seed).tolist() == expected


@relaxed
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
def test_a_file_of_loops_calls_no_loop_of_another_file_that_may_change(path):
    """Machine code is kept by file: a loop would go on with the old code of another file."""
    with_loops = {f"skewkit.compiled.{p.stem}" for p in LOOPS if "@compiled" in p.read_text(encoding="utf-8")}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & (with_loops - {"skewkit.compiled.jit", *(f"skewkit.compiled.{name}" for name in FIXED)})


@pytest.mark.parametrize("name", FIXED)
def test_what_loops_of_several_files_call_never_changes(name):
    source = (ROOT / f"skewkit/compiled/{name}.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node):
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (said.end_lineno - said.lineno + 1)
    found = hashlib.sha256("\n".join(filter(None, lines)).encode()).hexdigest()[:16]
    assert found == FIXED[name], "put the other code into another file, under other names; only docstrings may change"
