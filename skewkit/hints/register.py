"""`register`: the SQL functions of `sql/functions/`, bodies in SQL, for `spark.sql` on classic and Connect."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from skewkit.api.arguments import check_session
from skewkit.errors import EnvironmentProblem, UnsupportedError
from skewkit.spark.session.compat import has_sql_functions

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # Python 3.11 and later have it there


TOP_KEYS = "skew_top_keys"


def register(spark: SparkSession) -> list[str]:
    """Create skewkit's SQL functions as temporary functions of the session and return their names.

    * `skew_salt(row_hash, choices)`: a salt in 0..choices-1, the same for the same row.
    * `skew_salts(choices)`: the array of all salts, to explode on the other side of a salted join.
    * `skew_bucket(key_hash, buckets)`: the tail bucket of a key.
    * `skew_route(plan, key_hash, row_hash)`: the partition of a row, for a plan as JSON (`KeyPlan.to_json()`).
    * `skew_is_heavy(plan, key_hash)`: whether a plan treats a key as heavy.
    * `skew_share(profile, key_hash)`: the share of a key in a profile as JSON (`KeyProfile.to_json()`).
    * `skew_top_keys(top, total)`: a table of the most frequent keys, from `approx_top_k` and `count(*)`.

    They are evaluated by Spark itself, no Python is involved. Calling it again replaces them. Each is a file of its own
    in `sql/functions/`, to be read by `SOURCE` in `spark-sql`. A function that the session's Spark cannot have is left
    out of the list: `skew_top_keys` works from Spark 4.1 on, where `approx_top_k` came.

    Raises:
        ArgumentTypeError: `spark` is no session.
        UnsupportedError: before Spark 4.0 there are no functions with SQL bodies.

    >>> register(spark)
    ['skew_bucket', 'skew_is_heavy', 'skew_route', 'skew_salt', 'skew_salts', 'skew_share', 'skew_top_keys']
    >>> spark.sql("SELECT skew_salt(xxhash64('a row'), 8) AS salt, skew_salts(3) AS salts").first()
    Row(salt=1, salts=[0, 1, 2])
    """
    check_session(spark, "register")
    if not has_sql_functions(spark):
        raise UnsupportedError(
            f"SQL functions need Spark 4.0 or later, this session has {spark.version}; use pmod(xxhash64(...), n)"
        )
    names = []
    for file in sorted(sql_files("functions").iterdir(), key=lambda entry: entry.name):
        name = file.name.removesuffix(".sql")
        if file.name.endswith(".sql") and not (name == TOP_KEYS and not _has_top_k(spark)):
            spark.sql(file.read_text(encoding="utf-8"))
            names.append(name)
    return names


def need_top_keys(spark: SparkSession) -> None:
    """Create `skew_top_keys` in the session, unless it has one.

    Raises:
        UnsupportedError: the session has no `approx_top_k`.
    """
    if not _has_top_k(spark):
        raise UnsupportedError(
            f"skew_top_keys needs approx_top_k, which came with Spark 4.1, and this session has {spark.version}; "
            "use skewkit.skew_profile(df, key)"
        )
    if not spark.catalog.functionExists(TOP_KEYS):
        spark.sql((sql_files("functions") / f"{TOP_KEYS}.sql").read_text(encoding="utf-8"))


def _has_top_k(spark: SparkSession) -> bool:
    return spark.catalog.functionExists("approx_top_k")


def sql_files(kind: str) -> Traversable:
    """Return the folder `functions` or `recipes`: inside an installed package, or at the top of a checkout."""
    for base in (resources.files("skewkit") / "_sql", Path(__file__).parents[2] / "sql"):
        if (folder := base / kind).is_dir():
            return folder
    raise EnvironmentProblem("skewkit's SQL files are missing from this installation; install it again with pip")
