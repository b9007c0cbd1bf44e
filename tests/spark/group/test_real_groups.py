"""Group functions on real data, or on data like it where that is not there."""

from pathlib import Path

import pandas as pd
import pytest

import skewkit
from skewkit.testing import assert_same_rows
from tests.spark.group.functions import SESSIONS, joined_sessions, sessions_of

DATA = Path(__file__).parents[4] / "shared" / "data"
HOT = "int(pow(pmod(xxhash64(id), 1000000) / 1000000D + 1e-3, -1.2))"
"""A key of a Zipf-like distribution, from 1 on."""
GENERATED = {
    "novels_words": f"int(id) AS pos, concat('doc', id div 4000) AS doc, concat('word', {HOT}) AS word",
    "babynames": f"smallint(1880 + id div 500) AS year, concat('name', {HOT}) AS name, int(id % 97) AS births",
    "git_changes": f"cast(timestamp_seconds(id * 900) AS timestamp_ntz) AS ts, concat('dev', {HOT}) AS author",
    "flights13": f"concat('c', {HOT} % 16) AS carrier, int(id % 28) AS day, nullif(int(id % 60), 9) dep_delay",
}


def real(spark, name, rows):
    """Return the first rows of a table of real data, or such rows where the table is not at hand."""
    file = DATA / f"{name}.parquet"
    if file.is_file():
        return spark.read.parquet(str(file)).limit(rows).localCheckpoint()
    print(f"{name}.parquet is not here: generated keys instead")
    return spark.sql(f"SELECT {GENERATED[name]} FROM range({rows})").localCheckpoint()


@pytest.mark.slow
def test_words_of_novels(spark):
    words = real(spark, "novels_words", 15_000)

    def places(frame):
        docs = frame.groupby("doc", as_index=False).agg(n=("pos", "count"), first=("pos", "min"))
        return docs.assign(word=frame["word"].iloc[0])

    def joined(parts):
        return parts.groupby(["word", "doc"], as_index=False).agg({"n": "sum", "first": "min"})

    schema = "word string, doc string, n bigint, first int"
    ours = skewkit.skew_groupby(words, "word", partitions=16, strategy="wrap").applyInPandas(places, schema, joined)
    assert_same_rows(ours, words.groupBy("word").applyInPandas(places, schema))


@pytest.mark.slow
def test_names_weighted_by_births(spark):
    names = real(spark, "babynames", 10_000)
    profile = skewkit.skew_profile(names, "name", weight="births", partitions=8)

    def born(frame):
        total = frame["births"].sum()
        return pd.DataFrame({"name": frame["name"].iloc[:1], "births": [total], "years": [frame["year"].nunique()]})

    plain = names.groupBy("name").applyInPandas(born, "name string, births bigint, years bigint")
    ours = skewkit.skew_groupby(names, "name", profile=profile, strategy="dkg")
    assert_same_rows(ours.applyInPandas(born, "name string, births bigint, years bigint"), plain)

    def yearly(frame):
        by_year = frame.groupby("year", as_index=False)["births"].sum()
        return by_year.assign(name=frame["name"].iloc[0])

    def add_years(parts):
        return parts.groupby(["name", "year"], as_index=False)["births"].sum()

    schema = "name string, year int, births bigint"
    ours = skewkit.skew_groupby(names, "name", profile=profile, strategy="wrap")
    plain = names.groupBy("name").applyInPandas(yearly, schema)
    assert_same_rows(ours.applyInPandas(yearly, schema, merge=add_years), plain)


def test_sessions_of_authors(spark):
    changes = real(spark, "git_changes", 20_000).selectExpr(
        "cast(substr(author, 4) as bigint) k", "unix_seconds(cast(ts as timestamp)) v"
    )

    def func(frame):
        return sessions_of(frame, 3600)

    def merge(parts):
        return joined_sessions(parts, 3600)

    ours = skewkit.skew_groupby(changes, "k", partitions=8).applyInPandas(func, SESSIONS, merge, order_by="v")
    assert_same_rows(ours, changes.groupBy("k").applyInPandas(func, SESSIONS))
    assert "cut along v" in skewkit.explain(ours)


@pytest.mark.slow
def test_flights_by_carrier_and_day(spark):
    flights = real(spark, "flights13", 30_000)

    def delays(key, frame):
        late = frame["dep_delay"].fillna(0)
        return pd.DataFrame({"c": [key[0]], "d": [key[1]], "n": [len(frame)], "late": [late.sum()], "h": [late.max()]})

    def joined(parts):
        return parts.groupby(["c", "d"], as_index=False).agg({"n": "sum", "late": "sum", "h": "max"})

    schema = "c string, d int, n bigint, late double, h double"
    ours = skewkit.skew_groupby(flights, "carrier", "day", partitions=64, strategy="wrap")
    plain = flights.groupBy("carrier", "day").applyInPandas(delays, schema)
    assert_same_rows(ours.applyInPandas(delays, schema, merge=joined), plain)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_a_group_of_twenty_million_rows_fits_into_250_mb(spark):
    df = spark.range(20_000_000, numPartitions=4).selectExpr(
        "if(id % 1000 < 990, 0, id % 1000) k", "id v", "double(id) x", "concat('name ', id % 5000) s"
    )

    def peak(frame):
        frame = frame.assign(y=frame["x"] * 2)
        status = Path("/proc/self/status").read_text()
        high = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)], "y": [frame["y"].sum()], "kb": [high]})

    def merge(parts):
        return parts.groupby("k", as_index=False).agg({"n": "sum", "y": "sum", "kb": "max"})

    groups = skewkit.skew_groupby(df, "k", partitions=8)
    hot = groups.applyInPandas(peak, "k bigint, n bigint, y double, kb bigint", merge=merge).where("k = 0").first()
    assert hot.n == 19_800_000
    assert hot.kb < 250_000
