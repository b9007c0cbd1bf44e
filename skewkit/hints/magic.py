"""`%load_ext skewkit`: the cell magic `%%skewsql`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from skewkit.errors import EnvironmentProblem
from skewkit.hints.sql import sql

MAGIC = "skewsql"


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook `%%skewsql`, whose cell is a query for `skewkit.sql`. `%load_ext skewkit` calls this.

    The line may name a variable for the result: `%%skewsql orders_by_customer`. The session is the notebook's variable
    `spark`, or else the active one.
    """
    shell.register_magic_function(_magic(shell), magic_kind="cell", magic_name=MAGIC)


def unload_ipython_extension(shell: Any) -> None:
    """Take `%%skewsql` away again; `%unload_ext skewkit` calls this."""
    shell.magics_manager.magics["cell"].pop(MAGIC, None)


def _magic(shell: Any) -> Callable[[str, str], DataFrame]:
    def skewsql(line: str, cell: str) -> DataFrame:
        """Run the cell's query with its SKEW hints followed. The line may name a variable for the frame."""
        spark = shell.user_ns.get("spark") or SparkSession.getActiveSession()
        if spark is None:
            raise EnvironmentProblem("there is no Spark session; put one into the variable spark")
        frame = sql(spark, cell)
        if line.strip():
            shell.user_ns[line.strip()] = frame
        return frame

    return skewsql
