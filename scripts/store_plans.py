"""Store what EXPLAIN COST says of the frames of tests/plans/frames.sql, and the names of SQL's functions.

Run it with the Python of each version of Spark; on a classic session, then with `--connect`:

    python scripts/store_plans.py            # writes tests/plans/4.2.1-classic.json
    python scripts/store_plans.py --connect  # writes tests/plans/4.2.1-connect.json
    python scripts/store_plans.py --connect org.apache.spark:spark-connect_2.12:3.5.7  # the server, where it is apart

Numbers of expressions are written anew in the order in which they come, and folders, times and seeds are left out, so
that two runs write the same. Of a Connect session only those plans are stored that differ from a classic session's.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from getpass import getuser
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from skewkit.spark.session.compat import explained_whole  # noqa: E402
from skewkit.testing import local_session  # noqa: E402

PLANS = ROOT / "tests" / "plans"
ROWS = """
    id % 7 AS k, id AS v, double(id) / 3 AS x, cast(id AS decimal(9, 2)) AS d, concat('a', id) AS s,
    timestamp_seconds(id) AS t, array(int(id), 2) AS ar, map('x', id) AS m, named_struct('p', id, 'q', 'r') AS st
"""


def same_pandas(parts):  # noqa: D103 - run by workers
    yield from parts


def of_group(rows):  # noqa: D103
    return rows


MADE: dict[str, Callable[[SparkSession], DataFrame]] = {
    "udf": lambda spark: spark.table("facts").select("k", F.udf(lambda v: v, "bigint")("v").alias("u")),
    "udf_filter": lambda spark: spark.table("facts").where(F.udf(lambda v: v > 3, "boolean")("v")).select("k"),
    "pandas_udf": lambda spark: spark.table("facts").select("k", F.pandas_udf(same_pandas_series, "bigint")("v")),
    "map_in_pandas": lambda spark: spark.table("dims").mapInPandas(same_pandas, "k bigint, name string"),
    "map_in_arrow": lambda spark: spark.table("dims").mapInArrow(same_pandas, "k bigint, name string"),
    "apply_in_pandas": lambda spark: spark.table("dims").groupBy("k").applyInPandas(of_group, "k bigint, name string"),
    "cogrouped": lambda spark: (
        spark.table("dims")
        .groupBy("k")
        .cogroup(spark.table("dims").groupBy("k"))
        .applyInPandas(lambda a, b: a, "k bigint, name string")
    ),
    "sampled_frame": lambda spark: spark.table("facts").sample(0.5, 7),
    "repartitioned_by": lambda spark: spark.table("facts").repartition(5, "k").select("k", "v").where("v > 3"),
    "repartitioned_by_range": lambda spark: spark.table("facts").repartitionByRange(5, "k"),
    "repartitioned_round": lambda spark: spark.table("facts").repartition(5),
    "repartitioned_by_id": lambda spark: spark.table("facts").repartitionById(5, F.col("k").cast("int")),
    "of_rows": lambda spark: spark.createDataFrame([(1, "a"), (2, "b")], "k bigint, s string"),
    "dropped_duplicates": lambda spark: spark.table("facts").dropDuplicates(["k"]).select("k", "v"),
    "unpivoted": lambda spark: spark.table("facts").unpivot("k", ["v", "x"], "name", "value"),
    "filled": lambda spark: spark.table("facts").select("k", "x", "s").fillna({"x": 0.0, "s": "none"}),
    "observed": lambda spark: spark.table("facts").select("k").observe("seen", F.count(F.lit(1)).alias("n")),
    "wide": lambda spark: spark.range(9).select("id", *(F.col("id").alias(f"c{i}") for i in range(60)), F.rand(7)),
    "joined_grouped": lambda spark: (
        spark.table("facts").join(spark.table("dims"), "k").groupBy("k", "name").agg(F.sum("v").alias("q"))
    ),
    "renamed_twice": lambda spark: spark.table("facts").selectExpr("k", "10 / (v + 1) AS w").selectExpr("k", "w AS y"),
    "same_names": lambda spark: spark.table("facts").alias("a").join(spark.table("facts").alias("b"), "k"),
}


def same_pandas_series(v):  # noqa: D103
    return v


def stored_frames() -> Iterator[tuple[str, str]]:
    """Yield the names and queries of `frames.sql`."""
    text = (PLANS / "frames.sql").read_text(encoding="utf-8")
    for found in re.finditer(r"^-- (\w+): [^\n]*\n((?:(?!--).+\n)+)", text, re.MULTILINE):
        yield found[1], found[2].strip()


def views(spark: SparkSession, folder: str) -> None:
    """Make the tables that the queries read."""
    facts = spark.sql(f"SELECT {ROWS} FROM range(0, 200, 1, 2)")
    dims = spark.sql("SELECT id AS k, concat('n', id) AS name FROM range(0, 20, 1, 2)")
    flat = facts.select("k", "v", "x", "s")
    facts.write.parquet(f"{folder}/facts")
    dims.write.parquet(f"{folder}/dims")
    flat.write.orc(f"{folder}/facts_orc")
    flat.write.csv(f"{folder}/facts_csv", header=True)
    flat.write.json(f"{folder}/facts_json")
    facts.withColumn("day", F.col("k")).write.partitionBy("day").parquet(f"{folder}/facts_by_day")
    for name in ("facts", "dims", "facts_by_day"):
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    spark.read.orc(f"{folder}/facts_orc").createOrReplaceTempView("facts_orc")
    spark.read.schema(flat.schema).csv(f"{folder}/facts_csv", header=True).createOrReplaceTempView("facts_csv")
    spark.read.schema(flat.schema).json(f"{folder}/facts_json").createOrReplaceTempView("facts_json")
    spark.table("facts").selectExpr("k", "rand(5) AS r").cache().createOrReplaceTempView("cached_random")
    spark.table("facts").groupBy("k").sum("x").cache().createOrReplaceTempView("cached_sums")


def plain(text: str, folder: str) -> str:
    """Return a plan's text with numbers and folders that are the same in each run."""
    numbers: dict[str, int] = {}
    text = re.sub(r"#(\d+)", lambda found: f"#{numbers.setdefault(found[1], len(numbers))}", text)
    text = re.sub(r"plan_id=\d+", "plan_id=0", text)
    text = re.sub(r"\brand(n?)\(-?\d{5,}\)", r"rand\1(99999)", text)
    text = re.sub(r"\bSome\(-?\d{5,}\)", "Some(99999)", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d( \d\d:\d\d:\d\d\.\d+)?", lambda found: "now" if found[1] else "today", text)
    return text.replace(folder, "/t").replace(f"{getuser()} AS", "user AS").strip()


def main(connect: bool, packages: str | None = None) -> None:
    """Write the file of this version."""
    fetched = {"spark.jars.packages": packages} if packages else {}
    spark = local_session(connect=connect, confs={"spark.sql.shuffle.partitions": "8", **fetched})
    plans: dict[str, str] = {}
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        views(spark, folder)
        queries = {name: query.replace("{folder}", folder) for name, query in stored_frames()}
        made = {name: lambda spark, query=query: spark.sql(query) for name, query in queries.items()}
        for name, make in {**made, **MADE}.items():
            try:
                frame = make(spark)
                plans[name] = plain(explained_whole(frame), folder)
                errors.update({} if plans[name] else {name: "no plan"})
            except Exception as error:
                errors[name] = str(error).strip().splitlines()[0][:150]
        functions = sorted(row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
    kind = "connect" if connect else "classic"
    lines: dict[str, list[str] | None] = {name: text.splitlines() for name, text in plans.items() if text}
    print(f"{pyspark.__version__} {kind}: {len(lines)} plans, {len(functions)} functions")
    if connect:
        classic = json.loads((PLANS / f"{pyspark.__version__}-classic.json").read_text(encoding="utf-8"))["plans"]
        lines = {name: lines.get(name) for name in {**classic, **lines} if lines.get(name) != classic.get(name)}
    stored = {"functions": functions, "plans": lines}
    path = PLANS / f"{pyspark.__version__}-{kind}.json"
    path.write_text(json.dumps(stored, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, error in errors.items():
        print(f"  not {name}: {error}")
    spark.stop()


if __name__ == "__main__":
    main("--connect" in sys.argv, next((word for word in sys.argv if word.count(":") == 2), None))
