"""The layers of skewkit: who may import whom, what needs no Spark, and what no module may do.

The order is that of the design: an import goes up the list, never sideways between layers and never down.
Inside a layer modules may import each other, but never in a circle.
A new module at the top of `skewkit/` belongs into `LAYERS`.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import skewkit

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "skewkit"

# One tuple per level, top first; the names are the modules and packages directly under skewkit/.
LAYERS = (
    ("errors", "logs"),
    ("compiled",),
    ("options", "hashing"),
    ("checks",),
    ("sketch",),
    ("partitioners",),
    ("plan",),
    ("simulator", "spark"),
    ("api",),
    ("attach", "hints", "delta", "streaming", "report", "testing", "reproduce"),
    ("cli",),
    ("__main__",),
)
TO_COME = {"streaming", "report"}  # in the design, not yet in the package
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
PURE = (*(name for names in LAYERS[: LEVEL["spark"]] for name in names), "simulator", "reproduce", "cli")

NEEDED_AT_RUN_TIME = {"numpy", "mmh3"}  # the dependencies of the wheel
NOT_WITHOUT_EXTRAS = (
    "pyspark",
    "delta",
    "py4j",
    "pandas",
    "pyarrow",
    "matplotlib",
    "grpc",
    "numba",
    "llvmlite",
    "sqlglot",
)
CLASSIC = {"_jc", "_jvm", "_jsc", "_jsparkSession"}
ABOUT_CLASSIC = ("skewkit.spark.session.compat", "skewkit.spark.expressions.nodes")
NEVER = {"_jdf", "rdd", "rand", "randn"}
WRITTEN_PLAN = "skewkit.spark.session.written_plan"
"""Has the plan of a classic frame: its hint, and which frame it was made of. Where that is refused there is none."""
NO_CALLS = {"print", "rand", "randn"}
RAND_IN_SQL = re.compile(r"\brandn?\s*\(", re.IGNORECASE)


# --- reading the source ---


@cache
def modules() -> dict[str, str]:
    """Return dotted name -> source of every module under skewkit/; a package's name ends in `.__init__`."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


parsed = cache(ast.parse)
"""A source's tree, which no check changes."""


def layer_of(module: str) -> str | None:
    """Return the name under skewkit/ that a dotted name belongs to, or None for skewkit itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__init__" else None


def is_type_checking(node: ast.AST) -> bool:
    """Return whether a node is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def walk(tree: ast.AST, for_types: bool = False, lazy: bool = False) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Yield every node below `tree`, with: only for type checkers, inside a function."""
    for child in ast.iter_child_nodes(tree):
        in_function = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield child, for_types, in_function
        if is_type_checking(child):
            for part in child.body:
                yield part, True, in_function
                yield from walk(part, True, in_function)
            for part in child.orelse:
                yield part, for_types, in_function
                yield from walk(part, for_types, in_function)
        else:
            yield from walk(child, for_types, in_function)


def targets(node: ast.AST, module: str) -> list[str]:
    """Return the dotted names that a node imports; relative ones are resolved."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            base = ".".join([*module.split(".")[: -node.level], *([base] if base else [])])
        return [f"{base}.{alias.name}" for alias in node.names] if base == "skewkit" else [base]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
        if isinstance(name, str) and name:
            dots = len(name) - len(name.lstrip("."))
            return [".".join([*module.split(".")[:-dots], name[dots:]])] if dots else [name]
    return []


def docstrings(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


# --- the checks, each a function of one module's name and source ---


def layer_errors(module: str, source: str) -> list[str]:
    """Return what a module imports against the order of the layers."""
    own = layer_of(module)
    if own is None:
        return []
    if own not in LEVEL:
        return [f"{module}: skewkit.{own} is in no layer; add {own!r} to LAYERS in tests/test_layers.py"]
    found = []
    for node, for_types, _ in walk(parsed(source)):
        for target in targets(node, module):
            where = f"{module}:{getattr(node, 'lineno', 0)}: imports {target}"
            top, other = target.partition(".")[0], layer_of(target)
            if top in {"pyspark", "delta", "py4j"} and own in PURE and not for_types:
                found.append(f"{where}, but {own} has to work without Spark")
            if top != "skewkit" or other in {own, "__version__"}:
                continue
            if other is None or other not in LEVEL:
                found.append(f"{where}, which is in no layer; import from the module that defines the name")
            elif LEVEL[other] >= LEVEL[own]:
                way = "sideways" if LEVEL[other] == LEVEL[own] else "down"
                found.append(f"{where}, which goes {way}: only the layers above {own} may be imported")
    return found


def dependency_errors(module: str, source: str) -> list[str]:
    """Return the imports that a pure module does at once and that a bare installation does not have."""
    own = layer_of(module)
    if own is not None and own not in PURE:
        return []
    allowed = set() if own is None or LEVEL[own] == 0 else NEEDED_AT_RUN_TIME
    found = []
    for node, for_types, lazy in walk(parsed(source)):
        if for_types or lazy or not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for target in targets(node, module):
            top = target.partition(".")[0]
            if top not in {"skewkit", *allowed, *sys.stdlib_module_names}:
                found.append(f"{module}:{node.lineno}: imports {target} when {module} is imported")
            elif own is None and top == "skewkit" and layer_of(target) not in LAYERS[0]:
                found.append(f"{module}:{node.lineno}: imports {target} when skewkit itself is imported")
    return found


def banned_errors(module: str, source: str) -> list[str]:
    """Return the things that no module may do, with their lines."""
    tree = parsed(source)
    skip = docstrings(tree)
    never = NEVER if module in ABOUT_CLASSIC else NEVER | CLASSIC
    never = never - {"_jdf"} if module == WRITTEN_PLAN else never
    found = []
    for node in ast.walk(tree):
        what = None
        if isinstance(node, ast.Assert):
            what = "assert (it vanishes under python -O): raise an exception of skewkit.errors"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in NO_CALLS:
            what = f"{ast.unparse(node.func)}()"
        elif isinstance(node, ast.Attribute) and node.attr in never:
            what = f".{node.attr}"
        elif isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & {"rand", "randn"}:
            what = "import of rand"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
            if node.value in never:
                what = f"the attribute name {node.value!r} in a string"
            elif RAND_IN_SQL.search(node.value):
                what = "rand() in a string of SQL"
        if what:
            found.append(f"{module}:{node.lineno}: {what}")
    return found


def circles(sources: dict[str, str]) -> list[str]:
    """Return the circles of imports between modules, lazy ones and those for type checkers included."""
    graph = {}
    for module, source in sources.items():
        found = set()
        for node, _, _ in walk(parsed(source)):
            for target in targets(node, module):
                names = [f"{target}.{alias.name}" for alias in getattr(node, "names", [])]
                parts = {name for name in names if name in sources}  # `from package import module`
                found |= parts or {target, f"{target}.__init__"}
        graph[module] = sorted(found & set(sources) - {module})
    state: dict[str, int] = {}
    found_circles = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        state[module] = 1
        for target in graph[module]:
            if state.get(target) == 1:
                found_circles.append(" -> ".join([*path[path.index(target) :], target]))
            elif target not in state:
                visit(target, (*path, target))
        state[module] = 2

    for module in sorted(graph):
        if module not in state:
            visit(module, (module,))
    return found_circles


# --- the checks on skewkit ---


def test_every_layer_up_to_the_functions_has_modules():
    names = {layer_of(module) for module in modules()}
    missing = sorted(set(LEVEL) - names - TO_COME)
    assert not missing, f"in LAYERS, but not under skewkit/: {missing}"
    assert not TO_COME & names, "it has come: take it out of TO_COME"
    assert None in names, "skewkit/__init__.py is missing"


@pytest.mark.parametrize("check", [layer_errors, dependency_errors, banned_errors])
def test_skewkit_passes(check):
    found = [error for module, source in modules().items() for error in check(module, source)]
    assert not found, "\n" + "\n".join(found)


def test_no_circle_of_imports():
    found = circles(modules())
    assert not found, "\n" + "\n".join(found)


def test_folders_and_files_stay_small():
    files = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
    long = [str(path) for path in files if len(path.read_text().splitlines()) > 500]
    full = [str(folder) for folder in {path.parent for path in files} if len(list(folder.glob("*.py"))) > 21]
    assert not full, f"more than 20 modules in a folder: {full}"
    assert not long, f"more than 500 lines: {long}"


def test_no_two_files_or_classes_share_a_name():
    """A name in a traceback, a tab or a search says which one it is."""
    places = defaultdict(list)
    for module, source in modules().items():
        name = module.rpartition(".")[2]
        if not name.startswith("__"):
            places[f"{name}.py"].append(module)
        for node in ast.walk(parsed(source)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice, twice


def test_docstrings_of_every_layer_are_run(request):
    paths = request.config.getini("testpaths")
    assert set(paths) == {"tests", *(f"skewkit/{name}*" for name in set(LEVEL) - TO_COME)}, "compare testpaths"


BLOCKER = f"""
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_WITHOUT_EXTRAS!r}:
            raise ModuleNotFoundError("blocked: " + name, name=name)  # as Python does of what is not installed

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, {str(ROOT)!r})
"""


def run_without_extras(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", BLOCKER + code], capture_output=True, text=True, check=False)


def test_the_blocker_blocks():
    done = run_without_extras("import pyspark")
    assert done.returncode == 1
    assert "blocked: pyspark" in done.stderr


def test_everything_before_spark_imports_without_spark():
    names = [module.removesuffix(".__init__") for module in modules() if layer_of(module) in PURE]
    assert len(names) > len(PURE)
    done = run_without_extras(f"print([importlib.import_module(name).__name__ for name in {names!r}])")
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == names


def test_what_needs_spark_says_how_to_install_it():
    code = """
import skewkit

for name in (*skewkit._MODULES, *skewkit._PACKAGES):
    try:
        getattr(skewkit, name)
    except skewkit.errors.EnvironmentProblem as error:
        assert str(error) == f"skewkit.{name} needs pyspark: pip install 'skewkit[spark]'", error
        print(name)
for name in skewkit.delta.__all__:
    try:
        getattr(skewkit.delta, name)
    except skewkit.errors.EnvironmentProblem as error:
        assert str(error) == f"skewkit.delta.{name} needs pyspark: pip install 'skewkit[spark]'", error
        print(f"delta.{name}")
"""
    done = run_without_extras(code)
    assert done.returncode == 0, done.stderr
    of_delta = {"delta.merge", "delta.write", "delta.MergeBuilder", "delta.ProfileHistory"}
    pure = {"Decision", "HeavyKey", "KeyPlan", "KeyProfile", "delta", "partitioners", "simulator"}  # delta is lazy, too
    assert set(done.stdout.split()) == {*skewkit._MODULES, *skewkit._PACKAGES, *of_delta} - pure


def test_import_skewkit_loads_nothing_heavy():
    code = "import skewkit; print(skewkit.__file__, *{name.partition('.')[0] for name in sys.modules})"
    done = run_without_extras(code)
    assert done.returncode == 0, done.stderr
    file, *loaded = done.stdout.split()
    assert Path(file) == PACKAGE / "__init__.py"
    assert "sys" in loaded
    assert not {*NOT_WITHOUT_EXTRAS, *NEEDED_AT_RUN_TIME} & set(loaded)


# --- the checks on themselves: each must find what it is there for ---


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"skewkit.a": "import skewkit.b", "skewkit.b": "import os"}, 0),
        ({"skewkit.a": "import skewkit.b", "skewkit.b": "def f():\n    from skewkit.a import x"}, 1),
        ({"skewkit.a": "import skewkit.b", "skewkit.b": "if TYPE_CHECKING:\n    from skewkit.a import X"}, 1),
        ({"skewkit.p.__init__": "from skewkit.p.q import x", "skewkit.p.q": "from skewkit.p import y"}, 1),
    ],
)
def test_circles_finds(sources, found):
    assert len(circles(sources)) == found


@pytest.mark.parametrize(
    ("module", "source", "part"),
    [
        ("skewkit.sketch.decayed", "import skewkit.partitioners", "goes down"),
        ("skewkit.sketch.decayed", "from skewkit.plan.plan import Plan", "goes down"),
        ("skewkit.sketch.decayed", "from skewkit import plan", "goes down"),
        ("skewkit.sketch.decayed", "from ..plan import Plan", "goes down"),
        ("skewkit.sketch.__init__", "from ..plan import Plan", "goes down"),
        ("skewkit.plan", "from .api import skew_join", "goes down"),
        ("skewkit.plan", "from . import api", "goes down"),
        ("skewkit.plan", "def f():\n    from skewkit.spark import route", "goes down"),
        ("skewkit.plan", "import importlib\nimportlib.import_module('skewkit.api.join.skew_join')", "goes down"),
        (
            "skewkit.plan",
            "import_module('.api', 'skewkit')",
            "goes down",
        ),
        ("skewkit.plan", "if TYPE_CHECKING:\n    from skewkit.api import join", "goes down"),
        ("skewkit.options", "import skewkit.hashing", "goes sideways"),
        ("skewkit.simulator.replay", "import skewkit.spark", "goes sideways"),
        ("skewkit.report", "from skewkit.attach import install", "goes sideways"),
        ("skewkit.cli", "from skewkit import skew_join", "in no layer"),
        ("skewkit.cli", "import skewkit", "in no layer"),
        ("skewkit.utils", "import os", "add 'utils' to LAYERS in tests/test_layers.py"),
        ("skewkit.plan", "import pyspark.sql", "without Spark"),
        ("skewkit.plan", "def f():\n    from pyspark.sql import Row", "without Spark"),
        ("skewkit.plan", "if TYPE_CHECKING:\n    pass\nelse:\n    import pyspark", "without Spark"),
    ],
)
def test_layer_errors_finds(module, source, part):
    found = layer_errors(module, source)
    assert len(found) == 1
    assert part in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("skewkit.errors", "import numpy"),
        ("skewkit.plan", "import pandas as pd"),
        ("skewkit.plan", "class A:\n    from matplotlib import pyplot"),
        ("skewkit.__init__", "import numpy"),
        ("skewkit.__init__", "from skewkit.api import skew_join"),
        ("skewkit.__init__", "from .api.join import skew_join"),
        ("skewkit.__init__", "try:\n    import pyspark\nexcept ImportError:\n    pass"),
    ],
)
def test_dependency_errors_finds(module, source):
    assert len(dependency_errors(module, source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "def f(x):\n    assert x",
        "F.rand()",
        "F.rand",
        "from pyspark.sql.functions import rand",
        "F.expr('1 + RAND (7)')",
        "F.expr(f'pmod(rand(), {n})')",
        "df._jdf.queryExecution()",
        "getattr(df, '_jdf')",
        "df.rdd.getNumPartitions()",
        "spark._jvm.System",
        "column._jc",
        "hasattr(column, '_jc')",
    ],
)
def test_banned_errors_finds(source):
    assert len(banned_errors("skewkit.spark.routing.route", source)) == 1


PASSES = {
    layer_errors: [
        ("skewkit.plan.plan", "from skewkit.errors import ArgumentError\nimport numpy as np\nimport os"),
        (
            "skewkit.plan.plan",
            "from skewkit.plan.profile.key_profile import KeyProfile\nfrom .lookup import x",
        ),
        ("skewkit.plan.__init__", "from .profile import KeyProfile\nfrom skewkit import sketch, errors"),
        ("skewkit.plan", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("skewkit.spark.routing.route", "import pyspark\nfrom skewkit.plan import Plan"),
        ("skewkit.cli", "from skewkit import __version__\nimport skewkit.report"),
        ("skewkit.__init__", "from skewkit.api import skew_join"),
    ],
    dependency_errors: [
        ("skewkit.errors", "import difflib"),
        ("skewkit.plan", "import numpy as np\nimport mmh3\nfrom skewkit.errors import ArgumentError"),
        ("skewkit.plan", "def plot():\n    import matplotlib"),
        ("skewkit.spark.routing.route", "import pandas"),
        ("skewkit.__init__", "from skewkit.errors import SkewkitError\nimport importlib"),
        ("skewkit.__init__", "if TYPE_CHECKING:\n    from skewkit.api import skew_join"),
        ("skewkit.__init__", "def __getattr__(name):\n    import skewkit.api"),
    ],
    banned_errors: [
        ("skewkit.spark.routing.route", '"""No `rand()`, no print(x), no assert."""'),
        ("skewkit.spark.routing.route", 'def f():\n    """Doc.\n\n    >>> print(1)\n    1\n    """'),
        ("skewkit.spark.routing.route", "# df._jdf, rand()\nx = 'operand (1)'"),
        ("skewkit.spark.routing.route", "pprint(1); logger.info('a'); rng.random(); 'grand total'"),
        ("skewkit.spark.session.compat", "spark._jvm; hasattr(column, '_jc')"),
        ("skewkit.spark.expressions.nodes", "spark._jvm; hasattr(column, '_jc')"),
    ],
}


@pytest.mark.parametrize(
    ("check", "module", "source"), [(check, *case) for check, cases in PASSES.items() for case in cases]
)
def test_what_is_allowed_passes(check, module, source):
    assert check(module, source) == []
