"""What joins cost at the least: plans by hand with the hot key known, and parts of them, so what is in reach."""

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import skewkit
from benchmarks.join import TUNED, tables, total
from benchmarks.report import compared, timed
from benchmarks.session import PARTITIONS

TABLES = 2 * PARTITIONS
"""Partitions of a hash join whose tables stay in a core's cache, as skewkit would take them here."""


def by_hand(fact: DataFrame, dim: DataFrame, how: str = "inner") -> DataFrame:
    """Join key 0 by a broadcast and the rest by hash tables; in a full join, which keeps both sides, by sorting.

    Nothing is looked for: that key 0 is the hot one, and is on both sides, is known.
    """
    hot = fact.where("k = 0").join(F.broadcast(dim.where("k = 0")), "k")
    left, right = fact.where("k <> 0"), dim.where("k <> 0")
    if how == "full":
        return hot.unionAll(left.join(right, "k", how))
    return hot.unionAll(hashed(left, right))


def hashed(left: DataFrame, right: DataFrame) -> DataFrame:
    """Join by hash tables with nothing salted."""
    left, right = (side.repartition(TABLES, "k") for side in (left, right))
    return left.join(right.hint("shuffle_hash"), "k")


def full_hashed(fact: DataFrame, dim: DataFrame) -> DataFrame:
    """Join both sides in full by a hash table, which has to remember what it met."""
    return fact.join(dim.hint("shuffle_hash"), "k", "full")


def keys_of(fact: DataFrame, dim: DataFrame) -> DataFrame:
    """Read the keys of both tables, as whoever looks for hot keys must."""
    return fact.agg(F.max("k").alias("v")).crossJoin(dim.agg(F.max("k").alias("name")))


def shuffled(fact: DataFrame, dim: DataFrame) -> DataFrame:
    """Read and shuffle both tables, without a join."""
    return fact.repartition(PARTITIONS, "k").unionAll(dim.repartition(PARTITIONS, "k")).selectExpr("v", "v AS name")


def decided(fact: DataFrame, dim: DataFrame) -> DataFrame:
    """Take the key sample and plan, as `skew_join` does before anything runs, and run next to nothing."""
    skewkit.skew_join(fact, dim, "k")
    return fact.limit(0).selectExpr("v", "v AS name")


PLANS: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "AQE tuned": lambda fact, dim: fact.join(dim, "k"),
    "by hand": by_hand,
    "hash join": hashed,
    "broadcast": lambda fact, dim: fact.join(F.broadcast(dim), "k"),
    "shuffled only": shuffled,
    "keys only": keys_of,
    "decided only": decided,
}
FULL: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "AQE tuned": lambda fact, dim: fact.join(dim, "k", "full"),
    "by hand": partial(by_hand, how="full"),
    "hash join": full_hashed,
}


def main(rows: int = 5_000_000, runs: int = 3) -> None:
    """Print one line per share of the hottest key and plan; AQE tuned = 1.00."""
    print(f"{rows:,} rows joined to {int(rows * 0.15):,}, {PARTITIONS} partitions, median of {runs} runs")
    with compared("AQE tuned") as (spark, folder, done):
        for p1 in (0.38, 0.12, 0.0):
            fact, dim = tables(spark, folder / f"p{p1}", rows, p1)
            cases = {f"p1 {p1:.2f}": PLANS, **({f"p1 {p1:.2f}, full": FULL} if p1 else {})}
            for case, plans in cases.items():
                for number in range(runs + 1):
                    for name, plan in plans.items():
                        confs = TUNED if name == "AQE tuned" else {}
                        run = timed(spark, case, name, lambda p=plan, f=fact, d=dim: total(p(f, d)), confs)
                        if number:
                            done.append(run)
