"""A nightly Delta pipeline that survives being killed: ingest of lines, SCD2 of customers, revenue by a skew join.

    make pipeline                               # or: python examples/nightly_delta.py [--connect] [--folder DIR]

Two nights over the order lines of a web shop, some 70,000 new ones each; the second night plans with what the first has
recorded. The job is killed with -9 while each of the steps writes, and started again by the same command. In the end
every table is compared with plain Spark: no row is lost or doubled.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import retail
from pyspark.sql import DataFrame, GroupedData, SparkSession, Window
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.testing import assert_same_rows, local_session

NIGHTS = {
    1: "InvoiceDate < '2011-02-01'",
    2: "InvoiceDate >= '2011-02-01' AND InvoiceDate < '2011-04-01'",
}
KILLED = {"customers": 1, "revenue": 1, "lines": 2}
"""The steps in which the job is killed, one life after another, and the night."""
TARGET = 1 << 17
SETTINGS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # Four short lives of a JVM: its second compiler would take more than it gives, and so would full collections
    # whenever the classes it has loaded fill a little more.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=512m "
    "-XX:ReservedCodeCacheSize=256m",  # without the second compiler it is 48 MB, which the job may fill
}
NOTE = "spark.databricks.delta.commitInfo.userMetadata"


def main() -> None:
    """Run the job, kill it and run it again from the command line, or be the job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", action="store_true", help="on a Spark Connect session")
    parser.add_argument("--folder", type=Path, default=Path("build/nightly"), help="where the Delta tables go")
    parser.add_argument("--job", action="store_true", help="the job alone: what is not done yet of both nights")
    arguments = parser.parse_args()
    if arguments.job:
        job(arguments.folder.resolve(), arguments.connect)
        return
    started = time.perf_counter()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    command = [sys.executable, __file__, "--job", "--folder", str(arguments.folder)]
    command += ["--connect"] if arguments.connect else []
    for step, number in KILLED.items():
        say(f"The job, to be killed while it writes {step} of night {number}")
        run(command, kill_in=f"{step} of night {number}", table=arguments.folder / step)
    say("The job, to its end")
    run(command)
    say(f"Done in {time.perf_counter() - started:.0f} seconds. The tables are in {arguments.folder}.")


def run(command: list[str], kill_in: str | None = None, table: Path | None = None) -> None:
    """Run the job in a process group of its own; kill all of it once a step has written its first file."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    lines = process.stdout or ()
    try:
        for line in lines:
            print(f"   {line}", end="", flush=True)
            if kill_in is not None and table is not None and line.startswith(f"{kill_in}: writing"):
                wait_for_file(table)
                kill(process)
                list(lines)  # they end when the JVM has ended, too, which could still commit until then
                said = "after its commit" if is_committed(table, kill_in) else "in the middle, before its commit"
                print(f"   kill -9 of {kill_in}, {said}", flush=True)
                return
        if process.wait() != 0:
            sys.exit(f"the job ended with exit code {process.returncode}")
    finally:
        if process.poll() is None:
            kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill the job and its JVM; Python first, or it may say that its JVM is gone."""
    process.kill()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def is_committed(table: Path, note: str) -> bool:
    """Return whether a commit in the table's log has the note of a step."""
    commits = [file.read_text().splitlines() for file in (table / "_delta_log").glob("*.json")]
    infos = [json.loads(line).get("commitInfo") or {} for lines in commits for line in lines]
    return any(info.get("operation") in ("WRITE", "MERGE") and info.get("userMetadata") == note for info in infos)


def wait_for_file(table: Path, seconds: float = 60.0) -> None:
    """Wait until a table has one more data file than now, which is not committed yet."""
    before, until = len(list(table.rglob("*.parquet"))), time.monotonic() + seconds
    while time.monotonic() < until and len(list(table.rglob("*.parquet"))) <= before:
        time.sleep(0.02)


# --- the job ---


def job(folder: Path, connect: bool) -> None:
    """Run the steps of both nights that are not committed yet, and check the tables."""
    spark = local_session(connect=connect, delta=True, confs=SETTINGS)
    sources, origin = retail.read(spark)
    print(f"{origin}, in {TARGET >> 10} KiB files", flush=True)
    for number, new in NIGHTS.items():
        night(number, sources["lines"].where(new), folder)
    check(spark, sources["lines"].where(" OR ".join(f"({new})" for new in NIGHTS.values())), folder)
    spark.stop()


def night(number: int, lines: DataFrame, folder: Path) -> None:
    """Run the steps of one night that are not committed yet."""
    spark = lines.sparkSession
    history = delta.ProfileHistory(spark, folder / "history")
    step(spark, folder / "lines", number, lambda: ingest(lines, folder, history, number))
    step(spark, folder / "customers", number, lambda: merge_customers(lines, folder, number))
    step(spark, folder / "revenue", number, lambda: revenue(spark, folder, history, number))


def step(spark: SparkSession, table: Path, number: int, work: Callable[[], str]) -> None:
    """Do a step unless the table's history says that it was committed; the commit itself carries that note."""
    note = f"{table.name} of night {number}"
    if list((table / "_delta_log").glob("*.json")):  # a write that was killed may leave the folder without a commit
        commits = spark.sql(f"DESCRIBE HISTORY delta.`{table}`").select("operation", "userMetadata").collect()
        if any(commit in (("WRITE", note), ("MERGE", note)) for commit in commits):
            print(f"{note}: skipped, as its commit is in the table's history", flush=True)
            return
    print(f"{note}: writing", flush=True)
    spark.conf.set(NOTE, note)
    try:
        print(f"{note}: {work()}", flush=True)
    finally:
        spark.conf.unset(NOTE)


def ingest(lines: DataFrame, folder: Path, history: delta.ProfileHistory, number: int) -> str:
    """Append the night's lines by country, in files of the target size.

    A kill between the commit and `history.watch` loses this night's profile, as the step is skipped from then on; the
    next night plans by older ones, or counts.
    """
    plan = delta.write(
        lines,
        folder / "lines",
        partition_by="Country",
        target_file_bytes=TARGET,
        mode="append",
        profile=history.profile("lines", "Country"),
        txnAppId="nightly ingest",
        txnVersion=number,
    )
    history.watch("lines", plan, run_id=number)
    return f"{plan.rows:,.0f} lines {plan.counted_by}, {plan.files} files for {plan.tasks} tasks"


def merge_customers(lines: DataFrame, folder: Path, number: int) -> str:
    """Keep every customer's countries with the dates from when on they held (SCD2), by one MERGE."""
    spark, path = lines.sparkSession, folder / "customers"
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` (CustomerID STRING, Country STRING, since TIMESTAMP_NTZ, "
        "ended TIMESTAMP_NTZ, current BOOLEAN) USING delta"
    )
    seen = lines.groupBy("CustomerID").agg(
        F.max_by("Country", F.struct("InvoiceDate", "Country")).alias("Country"), F.min("InvoiceDate").alias("since")
    )
    seen = seen.where("CustomerID IS NOT NULL")
    now = spark.read.format("delta").load(str(path)).where("current").alias("t")
    same = F.expr("s.CustomerID = t.CustomerID AND s.Country <> t.Country")
    moved = seen.alias("s").join(now, same).select("s.*")
    # Delta's recipe: a row to close the old version, and one with no key to insert the new one.
    staged = seen.withColumn("merge_key", F.col("CustomerID")).unionAll(
        moved.withColumn("merge_key", F.lit(None).cast("string"))
    )
    result = (
        delta.merge(path, staged, "t.CustomerID = s.merge_key")
        .whenMatchedUpdate("t.current AND t.Country <> s.Country", {"current": "false", "ended": "s.since"})
        .whenNotMatchedInsert(
            values={"CustomerID": "s.CustomerID", "Country": "s.Country", "since": "s.since", "current": "true"}
        )
        .execute()
    )
    row = result.collect()[0]
    said = skewkit.explain(result).splitlines()[1].strip()
    return f"{row['num_inserted_rows']:,} versions inserted, {row['num_updated_rows']:,} ended; merge {said}"


def revenue(spark: SparkSession, folder: Path, history: delta.ProfileHistory, number: int) -> str:
    """Join the night's lines with their customers, and append revenue and invoices per home country."""
    lines = spark.read.format("delta").load(str(folder / "lines")).where(NIGHTS[number])
    known = history.profile("lines by customer", "CustomerID")
    # Only the first night reads its keys.
    profile = known or skewkit.skew_profile(lines, "CustomerID", partitions=8)
    if known is None:
        history.record("lines by customer", profile, run_id=number)
    joined = skewkit.skew_join(lines, homes(spark, folder), "CustomerID", "left", left_profile=profile)
    grouped = per_home(skewkit.skew_groupby(joined, "home"), number)
    # Some forty rows: Delta's own writer does, and delta.write would compute them twice.
    once = {"txnAppId": "nightly revenue", "txnVersion": number}
    grouped.write.format("delta").mode("append").options(**once).save(str(folder / "revenue"))
    said = skewkit.explain(joined).splitlines()[1].strip()
    return f"{'keys known from the history' if known else 'keys read, as no night is recorded'}; join {said}"


def per_home(grouped: skewkit.SkewGroupedData | GroupedData, number: int) -> DataFrame:
    """Return revenue and invoices of a night per home country."""
    pence = F.round(F.col("Quantity") * F.col("UnitPrice") * 100).cast("bigint")
    found = grouped.agg(F.sum(pence).alias("pence"), F.collect_set("InvoiceNo").alias("seen"))
    return found.select("home", "pence", F.size("seen").alias("invoices"), F.lit(number).alias("night"))


def homes(spark: SparkSession, folder: Path) -> DataFrame:
    """Return each customer's present country."""
    customers = spark.read.format("delta").load(str(folder / "customers"))
    return customers.where("current").select("CustomerID", F.col("Country").alias("home"))


def check(spark: SparkSession, lines: DataFrame, folder: Path) -> None:
    """Stop unless the tables are those of one undisturbed run with plain Spark."""
    found = spark.read.format("delta").load(str(folder / "lines"))
    print(f"check: {assert_same_rows(found, lines):,} lines, none lost or doubled", flush=True)
    customers = spark.read.format("delta").load(str(folder / "customers"))
    compared = assert_same_rows(customers, all_versions(lines))
    known = customers.where("current").count()
    print(f"check: {compared:,} versions of {known:,} customers, as plain Spark", flush=True)
    by_night = []
    for number, where in NIGHTS.items():
        version = merged_version(spark, folder / "customers", number)
        then = spark.read.format("delta").option("versionAsOf", version).load(str(folder / "customers"))
        home = then.where("current").select("CustomerID", F.col("Country").alias("home"))
        plain = lines.where(where).join(home, "CustomerID", "left").groupBy("home")
        by_night.append(per_home(plain, number))
    revenues = spark.read.format("delta").load(str(folder / "revenue"))
    print(
        f"check: {assert_same_rows(revenues, by_night[0].unionAll(by_night[1])):,} revenues, as plain Spark", flush=True
    )


def all_versions(lines: DataFrame) -> DataFrame:
    """Return the versions of all customers by windows over the lines of all nights, without Delta or skewkit."""
    nights = " ".join(f"WHEN {where} THEN {number}" for number, where in NIGHTS.items())
    seen = lines.where("CustomerID IS NOT NULL").withColumn("night", F.expr(f"CASE {nights} END"))
    of_night, of_customer = Window.partitionBy("CustomerID", "night"), Window.partitionBy("CustomerID").orderBy("night")
    latest = F.row_number().over(of_night.orderBy(F.desc("InvoiceDate"), F.desc("Country")))
    since = F.min("InvoiceDate").over(of_night)
    nightly = seen.select("CustomerID", "night", "Country", since.alias("since"), latest.alias("place"))
    nightly = nightly.where("place = 1").withColumn("before", F.lag("Country").over(of_customer))
    ended = F.lead("since").over(of_customer)
    moved = nightly.where("before IS NULL OR before <> Country").withColumn("ended", ended)
    return moved.select("CustomerID", "Country", "since", "ended", F.col("ended").isNull().alias("current"))


def merged_version(spark: SparkSession, table: Path, number: int) -> int:
    """Return the version that a night's MERGE made."""
    commits = spark.sql(f"DESCRIBE HISTORY delta.`{table}`").select("operation", "userMetadata", "version").collect()
    return max(version for *commit, version in commits if commit == ["MERGE", f"customers of night {number}"])


def say(headline: str) -> None:
    """Print a headline at once."""
    print(f"\n{headline}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except skewkit.SkewkitError as error:
        sys.exit(f"skewkit: {error}")
