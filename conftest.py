"""One Spark session for all tests of a process: classic, or Connect with `--connect`."""

import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from zlib import crc32

import pytest
from hypothesis import settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.testing import local_session
from tests.helpers import conf

CONFS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.session.timeZone": "UTC",
    "spark.skewkit.minRows": "0",
    # Small queries, each run once: the JVM's second compiler takes more than it gives, and so do collectors with
    # threads of their own, full collections whenever generated classes fill a little more, and a small code cache.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=1g "
    "-XX:ReservedCodeCacheSize=256m",
    # Tests that delete shuffle files have the one executor there is thrown out of the driver's books for good, where a
    # cluster would start another; ten minutes later it would end itself, and the session.
    "spark.executor.heartbeat.maxFailures": "1000000",
}

# What Connect is to show is that a server is sent the right plans. How Spark compiles them the other session shows;
# compiling took a third of the time.
CONNECT_CONFS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# Examples of a property: fewer in `make test`; `make test-slow` asks for the other profile.
settings.register_profile("few", max_examples=40, deadline=None)
settings.register_profile("many", max_examples=100, deadline=None)
settings.load_profile("few")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--connect", action="store_true", help="run on a Spark Connect session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark cases of tests that are marked `every(n)` as slow: all but every n-th of those that are not slow anyway.

    Cases are the parameters of one test; n is twice as large on Connect. The test's name says with which case to start,
    so that adaptive execution, for one, is on for some tests and off for others.
    """
    on_connect = config.getoption("--connect")
    tests: defaultdict[tuple[object, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("slow") and (not on_connect or item.get_closest_marker("connect")):
            tests[item.path, getattr(item, "originalname", item.name)].append(item)
    for (_, name), cases in tests.items():
        mark = cases[0].get_closest_marker("every")
        step = (mark.args[0] if mark else 1) * (2 if on_connect else 1)
        kept = cases[crc32(str(name).encode()) % min(step, len(cases)) :: step]
        for item in cases:
            if item not in kept:
                item.add_marker("slow")


@pytest.fixture(scope="session")
def connect(request: pytest.FixtureRequest) -> bool:
    """Whether the tests run on Connect."""
    return bool(request.config.getoption("--connect"))


@pytest.fixture(scope="session")
def spark(connect: bool) -> Iterator[SparkSession]:
    session = local_session(connect=connect, confs=CONFS | (CONNECT_CONFS | _own_port() if connect else {}))
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
