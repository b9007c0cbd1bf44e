"""Random cases against plain Spark: their seed, and the command that runs a failed one again."""

import random
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.differential.frames import awkward
from tests.helpers import TREATED_BY_AUTO, conf
from tests.seeds import random_of, run_seed_of

ROWS = 500


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        slow = ' -m ""' if item.get_closest_marker("slow") else ""
        again = f"python -m pytest {shlex.quote(item.nodeid)} --seed {run_seed_of(item.config)[0]}{slow}"
        report.sections.append(("to run this case again", again))
    return report


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> random.Random:
    """Return the random numbers of a case; its name says which case it is, the run's seed which numbers these are."""
    return random_of(run_seed_of(request.config)[0], request.node.name)


@pytest.fixture
def settings(spark: SparkSession, draw: random.Random) -> Iterator[dict[str, str]]:
    """Set what a case may run under; return it."""
    confs = {
        **TREATED_BY_AUTO,
        "spark.sql.adaptive.enabled": draw.choice(["true", "false"]),
        "spark.sql.ansi.enabled": draw.choice(["true", "false"]),
        "spark.sql.session.timeZone": draw.choice(["UTC", "UTC", "America/New_York"]),
        "spark.sql.shuffle.partitions": draw.choice(["4", "5", "8"]),
    }
    with ExitStack() as stack:
        for name, value in confs.items():
            stack.enter_context(conf(spark, name, value))
        yield confs


@pytest.fixture(scope="module")
def facts(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[DataFrame]:
    """Return a frame of awkward values, computed once."""
    seed = random_of(run_seed_of(request.config)[0], "facts").randrange(1 << 30)
    frame = awkward(spark, ROWS, seed).cache()
    yield frame
    frame.unpersist()


@pytest.fixture
def shaped(facts: DataFrame, draw: random.Random) -> Callable[[], DataFrame]:
    """Return a maker of the frame in some shape: empty, of one key, over other partitions, most often as it is."""
    shapes: list[Callable[[], DataFrame]] = [
        *[lambda: facts] * 12,
        lambda: facts.where("k = 0"),
        lambda: facts.where("id < 0"),
        lambda: facts.limit(1),
        lambda: facts.coalesce(1),
        lambda: facts.repartition(13, "u"),
        lambda: facts.where("k IS NULL OR k > 3"),
    ]
    return draw.choice(shapes)
