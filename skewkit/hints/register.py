"""`register`: the SQL functions of `sql/functions/`, bodies in SQL, for `spark.sql` on classic and Connect."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from skewkit.errors import EnvironmentProblem, UnsupportedError
from skewkit.spark.session.compat import has_sql_functions

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # Python 3.11 and later have it there


def register(spark: SparkSession) -> list[str]:
    """Create skewkit's SQL functions as temporary functions of the session and return their names.

    * `skew_salt(row_hash, choices)`: a salt in 0..choices-1, the same for the same row.
    * `skew_bucket(key_hash, buckets)`: the tail bucket of a key.
    * `skew_route(plan, key_hash, row_hash)`: the partition of a row, for a plan as JSON (`KeyPlan.to_json()`).

    They are evaluated by Spark itself, no Python is involved; calling it again replaces them.

    Raises:
        UnsupportedError: before Spark 4.0 there are no functions with SQL bodies.

    >>> register(spark)
    ['skew_bucket', 'skew_route', 'skew_salt']
    >>> spark.sql("SELECT skew_salt(xxhash64('a row'), 8) AS salt").first().salt
    1
    """
    if not has_sql_functions(spark):
        raise UnsupportedError(
            f"SQL functions need Spark 4.0 or later, this session has {spark.version}; use pmod(xxhash64(...), n)"
        )
    names = []
    for file in sorted(_folder().iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            spark.sql(file.read_text(encoding="utf-8"))
            names.append(file.name.removesuffix(".sql"))
    return names


def _folder() -> Traversable:
    """Return `functions/`: inside an installed package, or at the top of a checkout."""
    for base in (resources.files("skewkit") / "_sql", Path(__file__).parents[2] / "sql"):
        if (folder := base / "functions").is_dir():
            return folder
    raise EnvironmentProblem("skewkit's SQL files are missing from this installation; install it again with pip")
