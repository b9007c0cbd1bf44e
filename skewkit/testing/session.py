"""A quiet local Spark session, classic or Connect, with or without Delta Lake; one sentence if it cannot start."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from pyspark.sql import SparkSession

from skewkit.errors import EnvironmentProblem

_TRIED = re.compile(r"(?m)^\s+https?://([^/\s:]+)")
"""The hosts that Ivy lists below a module that it did not find."""
_UNREACHABLE = re.compile(r"(?:Host |Server access error at url https?://|connect to )([^/\s:]+)")
"""The hosts of which Ivy or Java says that they do not answer."""
_CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
}
_DELTA_CONFS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    # Spark brings these itself, and its own come first: 70 of 87 MB that would be fetched, and copied at every start.
    "spark.jars.excludes": ",".join(
        f"{group}:*"
        for group in (
            *("org.apache.hadoop", "org.apache.parquet", "org.apache.logging.log4j", "org.slf4j", "org.roaringbitmap"),
            *("com.fasterxml.jackson.core", "com.github.luben", "org.xerial.snappy", "io.airlift"),
        )
    ),
}


def local_session(
    *,
    cores: int = 2,
    connect: bool = False,
    delta: bool = False,
    confs: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start, or return, a Spark session on this machine without a screenful of log lines.

    What the JVM writes goes to a log file, whose path is `spark.conf.get("spark.skewkitLog")`. Python workers run
    this very Python, unless the environment variable PYSPARK_PYTHON names another.

    Args:
        cores: tasks at a time, `local[cores]`.
        connect: a Spark Connect session to a server on this machine, instead of a classic one.
        delta: with Delta Lake, whose jars Spark fetches the first time (some 15 MB).
        confs: more settings, which win over the built-in ones.

    Raises:
        EnvironmentProblem: Java is missing or too old, Delta's jars cannot be fetched, or a package is missing.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("skewkit")
    if connect:
        _need_connect()
        builder = builder.remote(f"local[{cores}]")
    else:
        builder = builder.master(f"local[{cores}]")
    packages = _server_packages() if connect else []
    if delta:
        builder = _with_delta(builder, packages)
    elif packages:
        builder = builder.config("spark.jars.packages", ",".join(packages))
    log = Path(tempfile.gettempdir()) / f"skewkit-spark-{os.getpid()}.log"
    settings = {**_CONFS, **(_DELTA_CONFS if delta else {}), **(confs or {}), "spark.skewkitLog": str(log)}
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _quiet(log), warnings.catch_warnings():
            # A Connect client sets every setting once more, and warns of those that only a new server takes.
            warnings.filterwarnings("ignore", message=r"(?s).*CANNOT_MODIFY_", category=UserWarning)
            return builder.getOrCreate()
    except Exception as error:
        said = log.read_text(errors="replace") if log.exists() else ""
        raise EnvironmentProblem(f"{_why(f'{said}{error}')} The whole story is in {log}.") from error


def _server_packages() -> list[str]:
    """Return what Spark must fetch to start a Connect server: before PySpark 4 the package does not bring it."""
    version = metadata.version("pyspark")
    return [f"org.apache.spark:spark-connect_2.12:{version}"] if version.startswith("3.") else []


def _with_delta(builder: SparkSession.Builder, packages: list[str]) -> SparkSession.Builder:
    """Return the builder with the jars of the Delta Lake of the installed Python package, and other packages."""
    try:
        from delta import configure_spark_with_delta_pip
    except ImportError as error:
        raise EnvironmentProblem("Delta Lake for Python is missing: pip install 'skewkit[delta]'.") from error
    return configure_spark_with_delta_pip(builder, extra_packages=packages)


def _need_connect() -> None:
    try:
        metadata.version("grpcio")
    except metadata.PackageNotFoundError as error:
        raise EnvironmentProblem("Spark Connect needs more packages: pip install 'skewkit[connect]'.") from error


def _why(said: str) -> str:
    """Return one sentence for what kept Spark from starting."""
    if "unresolved dependency" in said.lower() or "UNRESOLVED DEPENDENCIES" in said:
        if re.search(r"#spark-connect\S*: not found", said):
            return "The server of Spark Connect could not be fetched; name another release in spark.jars.packages."
        missing = re.findall(r"module not found: ([^#\s]+)#([^;\s]+);(\S+)", said)
        answering = set(_TRIED.findall(said)) - set(_UNREACHABLE.findall(said))
        if missing and answering:
            names = ", ".join(dict.fromkeys(map(":".join, missing)))
            return (
                f"No repository that answers ({', '.join(sorted(answering))}) has {names}; install another release of "
                "delta-spark, or name one in spark.jars.packages."
            )
        return (
            "The jars of Delta Lake could not be fetched, because no Maven repository can be reached from here; "
            "connect to a network once (Spark keeps the jars in ~/.ivy2), or run without Delta."
        )
    if "UnsupportedClassVersionError" in said or "Unsupported major.minor" in said:
        return "This Java is too old for Spark; install Java 17 or later and set JAVA_HOME to its folder."
    if "JAVA_HOME is not set" in said or "java: not found" in said or "No such file or directory" in said:
        home = os.environ.get("JAVA_HOME")
        none = f"JAVA_HOME is {home!r}, where there is none" if home else "found none"
        return f"Spark needs Java, and {none}; install Java 17 or later and set JAVA_HOME to its folder."
    if "BindException" in said and "SparkConnect" in said:
        return "The port of Spark Connect (15002) is taken, by another local Connect session; end that one first."
    if "JAVA_GATEWAY_EXITED" in said or "Java gateway process exited" in said:
        return "Java did not start for Spark; check that 'java -version' says 17 or later, or set JAVA_HOME."
    return f"Spark did not start: {said.strip().splitlines()[-1] if said.strip() else 'no reason given'}."


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Send file descriptors 1 and 2 to a file. A JVM that is started meanwhile keeps writing there."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(target)
