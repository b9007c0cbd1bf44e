"""The main job: profile, group, join, compare with plain Spark, explain, write to Delta Lake.

    make demo                                   # or: python examples/main_job.py [--connect] [--folder DIR]

A nightly pipeline over the order lines of a web shop. One country has 91 % of the lines and a quarter of the lines
have no customer, so two of its steps have one task that runs long after all others are done. Run it as often as you
like: every table is overwritten.
"""

import argparse
import sys
import time
from pathlib import Path

import pandas as pd
import retail
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import local_session, partition_rows

PARTITIONS = 16
SETTINGS = {
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    # The tables are small here. In a warehouse neither side of these joins could be broadcast.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


def main() -> None:
    """Run the job from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", action="store_true", help="on a Spark Connect session")
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="where the Delta tables go")
    arguments = parser.parse_args()
    spark = local_session(connect=arguments.connect, delta=True, confs=SETTINGS)
    started = time.perf_counter()
    run(spark, arguments.folder.resolve())
    say(f"Done in {time.perf_counter() - started:.0f} seconds. The tables are in {arguments.folder}.")
    spark.stop()


def run(spark: SparkSession, folder: Path) -> dict[str, int]:
    """Run every step; return the number of rows that each compared step has in common with plain Spark."""
    skewkit.install()
    same = {}

    say("1. Order lines, customers and products, as Delta tables")
    sources, origin = retail.read(spark)
    print(f"   {origin}")
    tables = {name: as_delta(table, folder / name) for name, table in sources.items()}
    lines, stock = tables["lines"], tables["stock"]
    customers = tables["customers"].withColumnRenamed("Country", "HomeCountry")

    say("2. Which keys are hot?")
    for column in ("Country", "CustomerID"):
        show(lines.skew_profile(column, partitions=PARTITIONS))

    say("3. Revenue per country and month, with pandas: a group function and its merge")
    revenue = lines.skew_groupby("Country").applyInPandas(monthly, MONTHLY, merge=add_up)
    show(skewkit.explain(revenue))
    written = {"revenue": as_delta(revenue, folder / "revenue")}
    same["revenue"] = compare(written["revenue"], lines.groupBy("Country").applyInPandas(monthly, MONTHLY))

    say("4. The invoices of each country, without repetitions: collect_set")
    exprs = F.collect_set("InvoiceNo").alias("invoices"), F.count(F.lit(1)).alias("lines")
    invoices = lines.skew_groupby("Country").agg(*exprs)
    show(skewkit.explain(invoices).splitlines()[1])
    same["invoices"] = compare(invoices, lines.groupBy("Country").agg(*exprs), unordered=("invoices",))

    say("5. Lines with their customers: a left join, a quarter of whose keys is null")
    with_customers = lines.skew_join(customers, "CustomerID", "left", strategy="salt")
    show(skewkit.explain(with_customers))
    loads("plain Spark", lines.repartition(PARTITIONS, "CustomerID"))
    loads("skewkit", with_customers)
    written["lines_with_customers"] = as_delta(with_customers, folder / "lines_with_customers")
    same["left join"] = compare(written["lines_with_customers"], lines.join(customers, "CustomerID", "left"))
    print("   Left to itself it would have taken:")
    show(skewkit.explain(lines.skew_join(customers, "CustomerID", "left")).splitlines()[1])

    say("6. Lines with their products: an inner join whose keys are even enough")
    with_products = lines.skew_join(stock, "StockCode", "inner")
    show(skewkit.explain(with_products).splitlines()[1])
    print(f"   {with_products.count():,} rows")

    say("7. The same from SQL: a salt for a join written by hand")
    print(f"   registered: {', '.join(skewkit.register(spark))}")
    salts = spark.sql(
        "SELECT skew_salt(xxhash64(id), 8) AS salt, count(*) AS rows FROM range(80000) GROUP BY 1 ORDER BY 1"
    )
    print("   rows per salt: " + ", ".join(f"{row.rows:,}" for row in salts.collect()))

    say("8. What was written to Delta Lake")
    for name, table in written.items():
        print(f"   {name}: {table.count():,} rows")
    skewkit.uninstall()
    return same


MONTHLY = "Country string, month string, lines bigint, pence bigint"


def monthly(lines: pd.DataFrame) -> pd.DataFrame:
    """Return one country's lines and revenue (in pence) per month."""
    rows = pd.DataFrame(
        {
            "Country": lines["Country"],
            "month": lines["InvoiceDate"].dt.strftime("%Y-%m"),
            "lines": 1,
            "pence": (lines["Quantity"] * lines["UnitPrice"] * 100).round().astype("int64"),
        }
    )
    return add_up(rows)


def add_up(parts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per country and month; partial results of a hot country are merged by it too."""
    return parts.groupby(["Country", "month"], as_index=False, dropna=False).sum()


def as_delta(table: DataFrame, path: Path) -> DataFrame:
    """Write a frame as a Delta table and read it back."""
    table.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(path))
    return table.sparkSession.read.format("delta").load(str(path))


def compare(actual: DataFrame, expected: DataFrame, *, unordered: tuple[str, ...] = ()) -> int:
    """Stop unless both frames have as many rows and the same sum of their hashes; say how many.

    `skewkit.testing.assert_same_rows` compares row by row and takes longer.
    """
    started = time.perf_counter()
    rows, hashes = checksum(actual, unordered)
    if (rows, hashes) != checksum(expected, unordered):
        sys.exit("skewkit: these are not the rows of plain Spark")
    took = f"{time.perf_counter() - started:.1f} s"
    print(f"   The same {rows:,} rows as plain Spark (compared by their hashes in {took}).")
    return rows


def checksum(frame: DataFrame, unordered: tuple[str, ...]) -> tuple[int, int]:
    """Return how many rows a frame has, and the sum of their hashes; `unordered` names arrays without an order."""
    columns = [F.array_sort(name) if name in unordered else F.col(name) for name in frame.columns]
    # A null leaves a hash as it is, so which values are null is hashed, too.
    hashes = F.sum(F.xxhash64(*columns, *(column.isNull() for column in columns)).cast("decimal(20, 0)"))
    rows, total = frame.agg(F.count(F.lit(1)), hashes).collect()[0]
    return rows, int(total or 0)


def loads(who: str, frame: DataFrame) -> None:
    """Draw the rows per partition: each column a partition, its height the rows over the mean."""
    rows = sorted(partition_rows(frame), reverse=True)
    rows += [0] * (PARTITIONS - len(rows))
    mean = sum(rows) / len(rows)
    bar = "".join(" ▁▂▃▄▅▆▇█"[min(8, round(count / mean * 4))] for count in rows)
    print(f"   rows per partition, {who:<12}|{bar}| greatest {max(rows) / mean:.2f} times the mean")


def say(headline: str) -> None:
    """Print a step's headline at once."""
    print(f"\n{headline}", flush=True)


def show(text: object) -> None:
    """Print text indented."""
    print("\n".join(f"   {line}" for line in str(text).splitlines()), flush=True)


if __name__ == "__main__":
    try:
        main()
    except skewkit.SkewkitError as error:
        sys.exit(f"skewkit: {error}")
