"""One Spark session for all tests of a process: classic, or Connect with `--connect`."""

import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.testing import local_session
from tests.helpers import NOT_COMPILED, conf
from tests.seeds import random_of, run_seed_of

CONFS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.session.timeZone": "UTC",
    # Compiling a small query takes longer than running it; `tests/spark/test_codegen.py` has it compiled.
    **NOT_COMPILED,
    # Small queries, each run once: the JVM's second compiler takes more than it gives, and so do collectors with
    # threads of their own, full collections whenever generated classes fill a little more, and a small code cache.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=1g "
    "-XX:ReservedCodeCacheSize=256m",
    # Delta keeps what it knows of 10,000 tables, with their plans: hundreds of tests fill two GB with it. Its system
    # property of that name can only raise the number.
    "spark.databricks.delta.delta.log.cacheSize": "20",
    # Tests that delete shuffle files have the one executor there is thrown out of the driver's books for good, where a
    # cluster would start another; ten minutes later it would end itself, and the session.
    "spark.executor.heartbeat.maxFailures": "1000000",
    # Nor does it find large results of tasks again, which are fetched from the executor by its place in those books.
    "spark.task.maxDirectResultSize": "256m",
}

# Tests of single plans and corners take turns: one in so many is in `make test`, others for every commit. What every
# commit needs is in tests/differential.
TURNS = {
    **dict.fromkeys(("tests/spark/join", "tests/spark/group", "tests/spark/window"), 60),
    **dict.fromkeys(("tests/spark/sampling", "tests/sql", "tests/decisions"), 10),
    **dict.fromkeys(("tests/spark", "tests/expressions", "tests/partitioners"), 4),
    "tests/pure": 4,
    "tests/delta": 3,
}
ON_CONNECT = 20
"""On Connect one in so many, of those that are for Connect; of Delta's as many as on a classic session."""

# Examples of a property: fewer in `make test`; `make test-slow` asks for the other profile.
settings.register_profile("few", max_examples=40, deadline=None)
settings.register_profile("many", max_examples=100, deadline=None)
settings.load_profile("few")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--connect", action="store_true", help="run on a Spark Connect session")
    parser.addoption("--seed", help="seed of the random cases, as a failed one prints it; else the commit's")
    parser.addoption("--delta", action="store_true", help="run the tests of tests/delta, on a session with Delta Lake")


def pytest_report_header(config: pytest.Config) -> str:
    seed, source = run_seed_of(config)
    return f"random cases: --seed {seed} ({source})"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what is not this commit's turn: cases of `every(n)`, then tests of the folders in `TURNS`.

    Of a test that is marked `every(n)` one case in n is kept, on Connect one in 2n. Which ones are kept follows from
    the seed of the run: other ones for every commit.
    """
    on_connect = config.getoption("--connect")
    if not config.getoption("--delta"):
        away = [item for item in items if item.path.is_relative_to(config.rootpath / "tests" / "delta")]
        if away:
            config.hook.pytest_deselected(items=away)
            items[:] = [item for item in items if item not in away]
    seed, _ = run_seed_of(config)

    def keep(one_in: int, cases: list[pytest.Item], *about: object) -> None:
        kept = random_of(seed, *about).sample(range(len(cases)), -(-len(cases) // one_in))
        for number in set(range(len(cases))) - set(kept):
            cases[number].add_marker("slow")

    tests: defaultdict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    folders: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("slow") and (not on_connect or item.get_closest_marker("connect")):
            tests[item.path, getattr(item, "originalname", item.name)].append(item)
    for (_, name), cases in tests.items():
        mark = cases[0].get_closest_marker("every")
        keep((mark.args[0] if mark else 1) * (2 if on_connect else 1), cases, "every", name)
    for (path, _), cases in tests.items():
        folder = path.parent.relative_to(config.rootpath).as_posix()
        folders[folder] += [item for item in cases if not item.get_closest_marker("slow")]
    for folder, one_in in TURNS.items():
        one_in = ON_CONNECT if on_connect and folder != "tests/delta" else one_in
        keep(one_in, folders[folder], "turns", folder)


@pytest.fixture(scope="session")
def connect(request: pytest.FixtureRequest) -> bool:
    """Whether the tests run on Connect."""
    return bool(request.config.getoption("--connect"))


@pytest.fixture(scope="session")
def spark(connect: bool, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    delta = bool(request.config.getoption("--delta"))
    session = local_session(connect=connect, delta=delta, confs=CONFS | (_own_port() if connect else {}))
    yield session
    session.stop()


def _own_port() -> dict[str, str]:
    """Give this process's Connect server a port of its own, so that several can run side by side.

    A client of `remote("local[2]")` asks for the default port, wherever its server was told to listen.
    """
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)
    return {"spark.connect.grpc.binding.port": str(port)}


@pytest.fixture(autouse=True)
def in_docstrings(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    """Give the examples of the modules that need Spark a session and the names they use."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.name.split(".")[1] in SPARK_LAYERS:
        import skewkit
        from skewkit import testing

        names = {name: getattr(skewkit, name) for name in skewkit.__all__}
        tools = {name: getattr(testing, name) for name in testing.__all__}
        doctest_namespace.update({**names, **tools, "F": F, "spark": request.getfixturevalue("spark")})


SPARK_LAYERS = {"spark", "api", "attach", "hints", "testing"}


@pytest.fixture(params=["true", "false"], ids=["aqe", "no_aqe"])
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Run a test with adaptive execution on and off."""
    with conf(spark, "spark.sql.adaptive.enabled", request.param):
        yield request.param


@pytest.fixture(scope="session")
def skewed(spark: SparkSession) -> Callable[..., DataFrame]:
    """Return a maker of frames over many partitions, some of them empty: a hot key, a warm one, nulls, a tail."""

    def make(rows: int = 6000, hot: float = 0.5, nulls: float = 0.1, tail: int = 300) -> DataFrame:
        at = F.pmod(F.xxhash64("id"), F.lit(10_000)) / 10_000
        key = F.when(at < hot, F.lit(0)).when(at < hot + nulls, F.lit(None)).when(at < hot + nulls + 0.1, F.lit(1))
        wide = spark.range(rows, numPartitions=3).select(
            key.otherwise((F.col("id") % tail) + 2).cast("bigint").alias("k"),
            F.col("id").alias("v"),
            (F.col("id") % 7).cast("string").alias("s"),
        )
        return wide.unionAll(wide.where("v < 0"))

    return make
