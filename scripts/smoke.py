"""README's blocks, and each operator and strategy once beside plain Spark, on the PySpark that is installed.

    python scripts/smoke.py [--connect] [--delta]

Prints one line for each: `ok`, `refused` with skewkit's own sentence, `FAILED`, or `native` with the reason, where a
strategy was asked for and plain Spark answers. Exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import skewkit
from skewkit.plan.placement.schemes import SCHEMES
from skewkit.testing import assert_same_rows, local_session

Case = tuple[str, Callable[[], DataFrame], Callable[[], DataFrame]]


def sums(parts: pd.DataFrame) -> pd.DataFrame:
    """Return the sum of a group, or of its partial sums."""
    return parts.groupby("k", as_index=False, dropna=False)["v"].sum()


def cases(spark: SparkSession) -> Iterator[Case]:
    """Yield a name, what skewkit returns and what plain Spark does."""
    left = spark.range(0, 3000, 1, 3).selectExpr("if(id % 10 < 6, 7, if(id % 50 = 49, null, id % 90)) AS k", "id AS v")
    right = spark.range(0, 120, 1, 2).selectExpr("if(id = 119, null, id) AS k", "id AS w")
    hows = ("inner", "left", "right", "full", "semi", "anti")
    for how in hows:
        for strategy in ("auto", "salt", "broadcast_head", "broadcast_side"):
            if (strategy, how) not in (("broadcast_head", "full"), ("broadcast_side", "full")):
                yield (
                    f"skew_join {how} {strategy}",
                    lambda how=how, strategy=strategy: skewkit.skew_join(left, right, "k", how, strategy=strategy),
                    lambda how=how: left.join(right, "k", how),
                )
    condition = (left["k"] == right["k"]) & (left["v"] > right["w"])
    yield (
        "skew_join by condition",
        lambda: skewkit.skew_join(left, right, condition, "left", strategy="salt"),
        lambda: left.join(right, condition, "left"),
    )
    aggregates = {
        "collect_set": F.collect_set("v"),
        "mode": F.mode(F.expr("int(v % 7 = 0)")),
        "median": F.median("v"),
    }
    for name, aggregate in aggregates.items():
        yield (
            f"skew_groupby agg {name}",
            lambda aggregate=aggregate: _sorted(
                skewkit.skew_groupby(left, "k", strategy="wrap").agg(aggregate.alias("x"))
            ),
            lambda aggregate=aggregate: _sorted(left.groupBy("k").agg(aggregate.alias("x"))),
        )
    for scheme in SCHEMES:
        if scheme != "wrap":
            yield (
                f"skew_groupby agg {scheme}",
                lambda scheme=scheme: _sorted(
                    skewkit.skew_groupby(left, "k", strategy=scheme).agg(F.collect_set("v").alias("x"))
                ),
                lambda: _sorted(left.groupBy("k").agg(F.collect_set("v").alias("x"))),
            )
    schema = "k bigint, v bigint"
    yield (
        "skew_groupby applyInPandas with merge",
        lambda: skewkit.skew_groupby(left, "k", strategy="wrap").applyInPandas(sums, schema, merge=sums),
        lambda: left.groupBy("k").applyInPandas(sums, schema),
    )
    yield (
        "skew_groupby applyInArrow",
        lambda: skewkit.skew_groupby(left, "k", strategy="wrap").applyInArrow(lambda table: table, schema),
        lambda: left.groupBy("k").applyInArrow(lambda table: table, schema),
    )
    by = Window.partitionBy("k").orderBy("v")
    window = lambda: skewkit.skew_window(left, "k", "v", strategy="split")  # noqa: E731
    yield "skew_window sum", lambda: window().select(x=F.sum("v")), lambda: left.withColumn("x", F.sum("v").over(by))
    yield "skew_window lag", lambda: window().select(x=F.lag("v")), lambda: left.withColumn("x", F.lag("v").over(by))
    prices = spark.range(0, 300, 1, 2).selectExpr("id % 90 AS k", "id * 9 AS v", "id AS price")
    for direction in ("backward", "forward", "nearest"):
        yield (
            f"skew_asof_join {direction}",
            lambda direction=direction: skewkit.skew_asof_join(
                left, prices, "v", "k", direction=direction, strategy="split"
            ),
            lambda direction=direction: skewkit.skew_asof_join(
                left, prices, "v", "k", direction=direction, strategy="native"
            ),
        )
    yield (
        "skew_window sessions",
        lambda: window().sessions(5),
        lambda: skewkit.skew_window(left, "k", "v", strategy="native").sessions(5),
    )
    files = lambda: skewkit.repartition_by_file_size(left, "k", target_file_bytes=999)  # noqa: E731
    yield "repartition_by_file_size", files, lambda: left
    left.createOrReplaceTempView("smoke_left")
    right.createOrReplaceTempView("smoke_right")
    query = "SELECT %s l.v, r.w FROM smoke_left l JOIN smoke_right r ON l.k = r.k"
    yield (
        "skewkit.sql SKEW hint",
        lambda: skewkit.sql(spark, query % "/*+ SKEW('l', 'k', 7) */"),
        lambda: spark.sql(query % ""),
    )

    def registered() -> DataFrame:
        skewkit.register(spark)
        return spark.sql("SELECT count(coalesce(skew_bucket(4, k), -1)) AS n FROM smoke_left")

    yield "register", registered, lambda: spark.sql("SELECT count(*) AS n FROM smoke_left")


def readme_blocks(spark: SparkSession) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield README's blocks of Python, but those of Delta Lake, which need tables. They share their names."""
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"spark": spark}

    def run(block: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, "README.md", "exec"), names)

    for number, block in enumerate(blocks):
        if "import delta" not in block:
            without = re.sub(r"^spark = .*$", "", block, flags=re.MULTILINE)
            yield f"README, block {number}", lambda block=without: run(block)


def delta_cases(spark: SparkSession) -> Iterator[Case]:
    """Yield what needs a session with Delta Lake."""
    rows = spark.range(0, 2000, 1, 4).selectExpr("if(id % 10 < 8, 1, id % 20) AS day", "id AS v")

    def written() -> DataFrame:
        folder = tempfile.mkdtemp()
        skewkit.delta.write(rows, folder, partition_by="day", target_file_bytes=4096)
        return spark.read.format("delta").load(folder)

    def merged() -> DataFrame:
        folder = tempfile.mkdtemp()
        rows.where("v < 1500").write.format("delta").save(folder)
        changes = rows.where("v >= 1400").selectExpr("if(v % 3 = 0, null, v) AS v", "-day AS day")
        skewkit.delta.merge(folder, changes, "v").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        return spark.read.format("delta").load(folder).select("v", "day")

    def expected() -> DataFrame:
        changes = rows.where("v >= 1400").selectExpr("if(v % 3 = 0, null, v) AS v", "-day AS day")
        return rows.where("v < 1500").join(changes, "v", "anti").select("v", "day").unionAll(changes)

    yield "delta.write", written, lambda: rows
    yield "delta.merge", merged, expected


def _sorted(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("k", "sort_array(x) AS x") if dict(frame.dtypes)["x"].startswith("array") else frame


def _compared(name: str, frame: DataFrame, plain: Callable[[], DataFrame]) -> str:
    """Compare with plain Spark; return what is to be said."""
    assert_same_rows(frame, plain())
    if not name.startswith("skew_") or "auto" in name:
        return "ok"
    chosen = skewkit.explain(frame).splitlines()[1].partition("strategy   ")[2]
    return chosen if chosen.startswith("native") else "ok"


def _failed(name: str, case: Callable[[], str]) -> bool:
    """Run a case, print its line, and return whether it failed."""
    failed = False
    try:
        said = case()
    except skewkit.SkewkitError as error:
        said = f"refused  {str(error).splitlines()[0][:120]}"
    except Exception as error:
        said, failed = f"FAILED   {type(error).__name__}: {str(error)[:300]}", True
    sys.stdout.write(f"{name:40}{said}\n")
    sys.stdout.flush()
    return failed


def main() -> int:
    """Run all, print a line for each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("--delta", action="store_true")
    parser.add_argument("--packages", help="what Spark fetches, in place of what local_session asks for")
    arguments = parser.parse_args()
    confs = {"spark.sql.shuffle.partitions": "4", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    if arguments.packages:
        confs["spark.jars.packages"] = arguments.packages
    spark = local_session(connect=arguments.connect, delta=arguments.delta, confs=confs)
    failed = 0
    try:
        for name, run in readme_blocks(spark):
            failed += _failed(name, lambda run=run: run() or "ok")
        skewkit.uninstall()
        for name, ours, plain in [*cases(spark), *(delta_cases(spark) if arguments.delta else ())]:
            failed += _failed(name, lambda name=name, ours=ours, plain=plain: _compared(name, ours(), plain))
    finally:
        spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
