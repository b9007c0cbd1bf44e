"""Group functions with a merge see bounded sub-groups of hot keys, and plain Spark's rows come out."""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.api.group.function_checks import check_function
from skewkit.errors import ArgumentError
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import group_load
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.group.group_map import GroupMap, apply_in_parts_where_read
from skewkit.spark.session.compat import VERSION, explained
from skewkit.testing import assert_same_rows
from tests.helpers import conf

HERE, TWICE, ONCE = "not shuffled", "read twice", "computed once"
Frames = Iterator[pd.DataFrame]
TOTALS = "k string, n bigint, total bigint, top bigint"


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(3000)


def totals(key, frame):
    return pd.DataFrame({"k": [repr(key)], "n": [len(frame)], "total": [frame["v"].sum()], "top": [frame["v"].max()]})


def add_up(key, parts):
    assert set(parts["k"]) == {repr(key)}
    return parts.groupby("k", as_index=False).agg({"n": "sum", "total": "sum", "top": "max"})


def arrow_totals(key, table):
    v = table.column("v")
    row = {"k": [str(key[0].as_py())], "n": [len(table)], "total": [pc.sum(v).as_py()], "top": [pc.max(v).as_py()]}
    return pa.table(row)


def arrow_add_up(table):
    grouped = table.group_by("k").aggregate([("n", "sum"), ("total", "sum"), ("top", "max")])
    return grouped.rename_columns({"n_sum": "n", "total_sum": "total", "top_max": "top"})


KINDS = {"pandas": ("applyInPandas", totals, add_up), "arrow": ("applyInArrow", arrow_totals, arrow_add_up)}
FRAMES = {
    "where they are read": (lambda df: (df, None), HERE),
    "with a profile": (lambda df: (df, skewkit.skew_profile(df, "k", partitions=4)), TWICE),
    "behind a shuffle": (lambda df: (df.repartition(3, "v"), None), ONCE),
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", FRAMES)
def test_hot_groups_in_parts(spark, facts, frame, kind):
    (df, profile), note = FRAMES[frame][0](facts), FRAMES[frame][1]
    name, func, merge = KINDS[kind]
    with conf(spark, "spark.skewkit.groupRows", "150"):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        ours = getattr(groups, name)(func, TOTALS, merge=merge)
        assert_same_rows(ours, getattr(df.groupBy("k"), name)(func, TOTALS))
    assert note in skewkit.explain(ours)
    assert "maxBytesPerBatch=2147483647 saves that time" in skewkit.explain(ours)


@pytest.mark.every(3)
@pytest.mark.parametrize("frame", FRAMES)
def test_without_adaptive_execution(spark, facts, frame):
    df, profile = FRAMES[frame][0](facts)
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        assert_same_rows(
            ours.applyInPandas(totals, TOTALS, merge=add_up), df.groupBy("k").applyInPandas(totals, TOTALS)
        )


KEYS = {
    "nan and null": (["if(id % 5 < 3, double('NaN'), if(id % 5 = 3, null, id)) a"], ["a"]),
    "composite": (["if(id % 5 < 3, 'hot', string(id)) a", "if(id % 7 > 0, null, id) b"], ["a", "b"]),
    "struct": (["struct(if(id % 5 < 4, 1, id) x, id % 2 y) a"], ["a"]),
    "computed": (["if(id % 5 < 4, 0, id) a"], lambda: [F.col("a") + 1]),
    "timestamp and decimal": (["timestamp_seconds(id % 3) a", "cast(id % 2 as decimal(5, 2)) b"], ["a", "b"]),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("keys", KEYS)
def test_keys(spark, keys):
    columns, by = KEYS[keys]
    by = by() if callable(by) else by
    df = spark.range(200, numPartitions=3).selectExpr(*columns, "id v")
    plain = df.groupBy(*by).applyInPandas(totals, TOTALS)
    groups = skewkit.skew_groupby(df, *by, strategy="wrap", partitions=3)
    assert_same_rows(groups.applyInPandas(totals, TOTALS, merge=add_up), plain)
    assert_same_rows(groups.applyInPandas(totals, TOTALS), plain)


def test_a_frame_with_a_column_twice_is_refused_as_spark_does(spark):
    df = spark.range(9).selectExpr("id k", "id v", "-id v")
    with pytest.raises(ArgumentError, match="AMBIGUOUS_REFERENCE"):
        skewkit.skew_groupby(df, "k").applyInPandas(totals, TOTALS, merge=add_up)


def test_functions_see_what_spark_shows_them(spark):
    df = spark.range(3, numPartitions=1).selectExpr(
        "0 k", "id big", "if(id = 1, null, int(id)) small", "float(id) f", "string(id) s", "array(id) list",
        "named_struct('x', id, 'at', timestamp_seconds(id)) st", "map('a', id) m", "timestamp_seconds(id) at",
        "timestamp_ntz'2024-01-01' ntz", "date'2024-01-01' day", "cast(id as decimal(9, 2)) dec", "binary('b') bin",
        "id = 1 flag", "array(named_struct('y', id)) structs",
    )  # fmt: skip

    def shown(key, frame):
        values = [[type(value).__name__, repr(value)] for column in range(15) for value in frame.iloc[:, column]]
        return pd.DataFrame({"seen": [repr((key, list(frame.columns), list(map(str, frame.dtypes)), values))]})

    groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1)
    ours = groups.applyInPandas(shown, "seen string", merge=lambda parts: parts)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(shown, "seen string"))


@pytest.mark.parametrize("columns", [["id v", "id w"], ["id v", "double(id) w", "string(id) s", "int(id) t"]])
def test_functions_may_write_into_their_frame(spark, columns):
    """As into that of plain Spark, whose columns of one type are one array."""
    df = spark.range(6, numPartitions=1).selectExpr("bigint(0) k", *columns)

    def written(frame):
        frame.iloc[0, 1] = 70
        frame["w"].array[1] = 71
        frame.loc[frame.index[2], frame.columns[-1]] = 72
        if len(set(frame.dtypes)) == 1:
            frame.values[3, 2] = 73
        frame["w"] += 1
        return pd.DataFrame({"seen": [repr(frame.to_dict("list"))]})

    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1).applyInPandas(
        written, "seen string", merge=lambda parts: parts
    )
    assert HERE in skewkit.explain(ours)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(written, "seen string"))


TEXTS = {
    "texts": "if(id < 40, 'höt', if(id < 66, '', string(id)))",
    "texts with quotes": """if(id < 40, '"' || chr(39) || chr(92) || chr(10), if(id < 66, '{"a"}', string(id)))""",
    "nulls among them": "if(id < 40, 'hot', if(id < 66, null, string(id)))",
    "binary": "binary(if(id < 60, 'hot', string(id)))",
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize(("place", "profiled", "aqe"), [(0, False, "true"), (2, True, "true"), (2, False, "false")])
def test_texts_of_hot_keys_are_known_to_the_workers(spark, key, place, profiled, aqe):
    columns = ["id v", "string(id) s"]
    columns.insert(place, f"{TEXTS[key]} k")
    df = spark.range(200, numPartitions=3).selectExpr(*columns).where("v NOT BETWEEN 66 AND 133")

    def seen(key, frame):
        types = list(map(str, frame.dtypes))
        values = sorted(map(repr, frame.itertuples(index=False)))
        return pd.DataFrame({"seen": [repr((key, list(frame.columns), types, each)) for each in values]})

    profile = skewkit.skew_profile(df, "k", partitions=3) if profiled else None
    with conf(spark, "spark.sql.adaptive.enabled", aqe):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3, profile=profile).applyInPandas(
            seen, "seen string", merge=lambda parts: parts
        )
        assert_same_rows(ours, df.groupBy("k").applyInPandas(seen, "seen string"))
    assert (TWICE if profiled else HERE) in skewkit.explain(ours)
    hot = 1 if key == "binary" else 2  # where only one key is hot, its index is not sent
    assert columns_sent(explained(ours, "FORMATTED")) == 2 + (not key.startswith("texts")) + (hot > 1)


@pytest.mark.connect
@pytest.mark.parametrize("type_", ["string", "bigint"])
def test_a_frame_of_nothing_but_its_key(spark, type_):
    df = spark.range(200, numPartitions=3).selectExpr(f"cast(if(id % 3 > 0, -1, if(id < 20, null, id)) AS {type_}) k")
    count = lambda key, frame: pd.DataFrame({"k": [str(key[0])], "n": [len(frame)]})  # noqa: E731
    merge = lambda parts: parts.groupby("k", as_index=False).sum()  # noqa: E731
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        count, "k string, n bigint", merge=merge
    )
    assert_same_rows(ours, df.groupBy("k").applyInPandas(count, "k string, n bigint"))
    assert HERE in skewkit.explain(ours)


def columns_sent(plan):
    """Return how many columns go to the Python function of hot rows, by its plan in Spark 4.2 or before."""
    sent = re.search(r"\(\d+\) MapInArrow[^\n]*\nInput \[(\d+)\]", plan)
    if sent:
        return int(sent.group(1))
    call = plan[plan.index("Arguments: [column(") :].removeprefix("Arguments: [column(")
    depths = list(itertools.accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in call))
    return 1 + sum(
        letter == "," and depth == 0 for letter, depth in zip(call[: depths.index(-1)], depths, strict=False)
    )


def test_a_key_of_the_hash_of_a_hot_one_is_not_taken_for_it(spark):
    df = spark.range(200, numPartitions=3).selectExpr("if(id < 120, 'hot', if(id < 190, 'too', string(id))) k", "id v")
    profile = skewkit.skew_profile(df, "k", partitions=4)
    hot, too = (next(h for h in profile.heavy if h.key == (name,)) for name in ("hot", "too"))
    plan = key_plan(group_load(profile), 4)
    plan = replace(plan, heavy=tuple(replace(h, key=too.key) if h.key == hot.key else h for h in plan.heavy))
    task = GroupMap(totals, df.groupBy("k").applyInPandas(totals, TOTALS).schema, add_up)
    ours = apply_in_parts_where_read(df, find_keys(df, ["k"]), plan, task, None)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(totals, TOTALS))


def sizes(frame):
    return pd.DataFrame({"k": frame["k"].iloc[:1], "sizes": [[len(frame)]]})


def one_list(parts):
    return pd.DataFrame({"k": parts["k"].iloc[:1], "sizes": [[n for each in parts["sizes"] for n in each]]})


@pytest.mark.every(3)
@pytest.mark.parametrize("batch", ["50", "10000"])
@pytest.mark.parametrize(("setting", "value", "most"), [("groupRows", "70", 70), ("groupBytes", "4000", 300)])
def test_sub_groups_are_bounded(spark, facts, setting, value, most, batch):
    with (
        conf(spark, f"spark.skewkit.{setting}", value),
        conf(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", batch),
    ):
        groups = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4)
        rows = groups.applyInPandas(sizes, "k bigint, sizes array<int>", merge=one_list).collect()
    hot = {row.k: row.sizes for row in rows}
    assert max(hot[0]) <= most
    assert sum(hot[0]) > 1000
    assert len(hot[0]) < sum(hot[0]) / most * 3 + 3, "and not much smaller than they may be"


def test_merge_runs_once_for_a_hot_key_with_one_sub_group(spark):
    df = spark.range(100, numPartitions=1).selectExpr("if(id < 60, 0, id) k", "id v")
    rows = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1).applyInPandas(
        lambda frame: pd.DataFrame({"k": frame["k"].iloc[:1], "merged": [0]}),
        "k bigint, merged int",
        merge=lambda parts: parts.assign(merged=len(parts)),
    )
    merged = {row.k: row.merged for row in rows.collect()}
    assert len(merged) == 41
    assert merged[0] == 1


def test_large_groups_are_cut_even_where_the_load_is_level(spark, facts):
    def explained_with(rows):
        with conf(spark, "spark.skewkit.minStraggler", "100"), conf(spark, "spark.skewkit.groupRows", rows):
            groups = skewkit.skew_groupby(facts, "k", partitions=4)
            return skewkit.explain(groups.applyInPandas(totals, TOTALS, merge=add_up))

    assert "strategy   native" in explained_with("2000")
    assert "held in one Python worker" in explained_with("1000")


def test_keys_without_results_have_none(facts):
    schema = "k bigint, v bigint"
    groups = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4)
    assert groups.applyInPandas(lambda f: f[["k", "v"]].iloc[:0], schema, merge=lambda p: p.iloc[[0]]).count() == 0
    late = groups.applyInPandas(lambda f: f[["k", "v"]][f["v"] > 2900], schema, merge=lambda p: p.iloc[[0]])
    assert late.where("k = 0").count() == 1, "merge sees the sub-groups that have rows"


def sessions(frame):
    """Return the sessions of a key: rows whose times are at most 40 apart."""
    return sessions_of(frame, 40)


def join_sessions(parts):
    return joined_sessions(parts, 40)


def sessions_of(frame, gap):
    frame = frame.sort_values("v")
    number = (frame["v"].diff() > gap).cumsum()
    grouped = frame.groupby(number)["v"]
    return pd.DataFrame(
        {"k": frame["k"].iloc[0], "start": grouped.min(), "end": grouped.max(), "events": grouped.count()}
    )


def joined_sessions(parts, gap):
    """Join sessions that a cut went through; the parts come in order."""
    assert parts["start"].is_monotonic_increasing
    number = (parts["start"] - parts["end"].shift() > gap).cumsum()
    how = {"k": "first", "start": "min", "end": "max", "events": "sum"}
    return parts.groupby(number.to_numpy()).agg(how)


SESSIONS = "k bigint, start bigint, end bigint, events bigint"


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize(
    ("frame", "aqe"), [("as it is", "true"), ("with a profile", "false"), ("behind a shuffle", "true")]
)
def test_sessions_along_an_order(spark, skewed, frame, aqe):
    df = skewed(3000, tail=40).where("v % 100 < 50 and k is not null")
    df = df.repartition(3, "v") if frame == "behind a shuffle" else df
    profile = skewkit.skew_profile(df, "k", partitions=4) if frame == "with a profile" else None
    with conf(spark, "spark.skewkit.groupRows", "64"), conf(spark, "spark.sql.adaptive.enabled", aqe):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        ours = groups.applyInPandas(sessions, SESSIONS, merge=join_sessions, order_by="v")
        assert_same_rows(ours, df.groupBy("k").applyInPandas(sessions, SESSIONS))
    assert "cut along v" in skewkit.explain(ours)


ORDERS = {
    "ties": (lambda: [F.col("t")], lambda t: t),
    "descending": (lambda: [F.desc("t")], lambda t: [-each for each in t]),
    "two columns": (lambda: ["t", "v"], lambda t: t),
    "nulls last": (lambda: [F.asc_nulls_last("nt")], lambda t: t),
    "a struct": (lambda: [F.struct("t")], lambda t: t),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("order", ORDERS)
def test_ranges_are_consecutive_and_merged_in_order(spark, order):
    by, key = ORDERS[order][0](), ORDERS[order][1]
    df = spark.range(2000, numPartitions=3).selectExpr(
        "if(id % 4 < 3, 0, id) k", "cast(hash(id) % 50 as int) t", "nullif(hash(id) % 50, 7) nt", "id v"
    )

    def part(frame):
        column = "nt" if order == "nulls last" else "t"
        values = [1000.0 if math.isnan(each) else float(each) for each in frame[column]]
        return pd.DataFrame({"k": frame["k"].iloc[:1], "parts": [[values]], "v": [frame["v"].tolist()]})

    def merge(parts):
        lists = [[each for part in parts["parts"] for each in part], [each for v in parts["v"] for each in v]]
        return pd.DataFrame({"k": parts["k"].iloc[:1], "parts": [lists[0]], "v": [lists[1]]})

    with conf(spark, "spark.skewkit.groupRows", "100"):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
        rows = groups.applyInPandas(
            part, "k bigint, parts array<array<double>>, v array<bigint>", merge=merge, order_by=by
        )
        hot = rows.where("k = 0").first()
    truth = [row.v for row in df.where("k = 0").select("v").collect()]
    assert sorted(hot.v) == sorted(truth)
    parts = [list(key(part)) for part in hot.parts]
    assert len(parts) >= 15
    assert max(map(len, parts)) <= 100
    assert all(part == sorted(part) for part in parts)
    if order == "two columns":
        rank = {row.v: i for i, row in enumerate(df.where("k = 0").orderBy(*by).collect())}
        assert [rank[v] for v in hot.v] == list(range(len(truth)))
    else:
        assert all(a[-1] < b[0] for a, b in itertools.pairwise(parts)), "no tie is cut"


def test_the_ordered_form_reads_one_exchange(facts, connect):
    groups = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4)
    frame = groups.applyInPandas(totals, TOTALS, merge=add_up, order_by="v")
    with conf(facts.sparkSession, "spark.sql.adaptive.enabled", "false"):
        plan = explained(frame, "FORMATTED").partition("\n\n")[0]
    assert plan.count("ReusedExchange") == 1
    assert plan.count("Exchange") - 1 == 2, "the rows, and the partial results"


def pairs(key, left, right):
    return pd.DataFrame({"k": [repr(key)], "l": [len(left)], "r": [len(right)], "s": [right["w"].sum()]})


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize(("strategy", "aqe"), [("auto", "true"), ("dkg", "false"), ("native", "true")])
def test_cogroups(spark, facts, strategy, aqe):
    other = facts.selectExpr("k kk", "v w").where("w % 3 = 0 or kk is null or kk > 20")
    left = skewkit.skew_groupby(facts, "k", strategy=strategy, partitions=4)
    right = skewkit.skew_groupby(other, "kk", partitions=4)
    schema = "k string, l bigint, r bigint, s bigint"
    ours = left.cogroup(right).applyInPandas(pairs, schema)
    with conf(spark, "spark.sql.adaptive.enabled", aqe):
        assert_same_rows(ours, facts.groupBy("k").cogroup(other.groupBy("kk")).applyInPandas(pairs, schema))
    text = skewkit.explain(ours)
    assert f"strategy   {'dkg' if strategy == 'auto' else strategy}" in text
    assert ("adaptive execution never splits a group-by" in text) == (strategy != "native"), text


@pytest.mark.slow
@pytest.mark.every(3)
@pytest.mark.parametrize("hint", ["left", "both"])
def test_cogroups_of_named_keys_add_no_exchange(facts, hint):
    left = skewkit.skew_groupby(facts, "k", "s", partitions=4, heavy=[(0, "1")])
    right = skewkit.skew_groupby(facts, "k", "s", partitions=4, heavy=[(0, "2")] if hint == "both" else None)
    schema = "k bigint, s string, n int"

    def both(left, right):
        return pd.DataFrame({"k": left["k"].iloc[:1], "s": left["s"].iloc[:1], "n": [len(left) * len(right)]})

    ours = left.cogroup(right).applyInPandas(both, schema)
    grouped = facts.groupBy("k", "s")
    assert_same_rows(ours, grouped.cogroup(grouped).applyInPandas(both, schema))
    assert "named as hot" in skewkit.explain(ours)
    assert explained(ours, "FORMATTED").count("Exchange (") == 2, "one for each side"


@pytest.mark.parametrize("native", ["left", "right"])
def test_cogroups_of_which_one_side_is_native_are_plain_sparks(facts, native):
    left, right = (
        skewkit.skew_groupby(facts, "k", partitions=4, strategy="native" if native == side else "auto")
        for side in ("left", "right")
    )

    def both(left, right):
        return pd.DataFrame({"k": left["k"].iloc[:1], "n": [len(left) * len(right)]})

    ours = left.cogroup(right).applyInPandas(both, "k bigint, n int")
    grouped = facts.groupBy("k")
    assert_same_rows(ours, grouped.cogroup(grouped).applyInPandas(both, "k bigint, n int"))
    assert "strategy   native" in skewkit.explain(ours)


DATA = Path(__file__).parents[3] / "shared" / "data"


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


def test_nulls_and_nans_of_one_hash_are_merged_apart(spark):
    """Spark's hash passes over nulls, and in pandas a null of doubles is a NaN."""
    df = spark.range(2_000).selectExpr(
        "if(id % 3 = 0, null, double('NaN')) AS a", "if(id % 3 = 0, double('NaN'), null) AS b", "id AS v"
    )

    def size(frame):
        return pd.DataFrame({"n": [len(frame)]})

    def add(parts):
        return pd.DataFrame({"n": [int(parts["n"].sum())]})

    ours = skewkit.skew_groupby(df, "a", "b", strategy="wrap", partitions=4).applyInPandas(size, "n bigint", merge=add)
    assert sorted(row.n for row in ours.collect()) == [667, 1333]


def test_whole_groups_are_placed_largest_first(spark):
    """Six groups on three partitions: by their hashes some would meet, and one partition have up to 160 rows."""
    sizes_of = {"a": 60, "b": 50, "c": 40, "d": 40, "e": 50, "f": 60}
    df = spark.createDataFrame([(key, v) for key, n in sizes_of.items() for v in range(n)], "k string, v bigint")

    def where(key, frame):
        from pyspark import TaskContext

        return pd.DataFrame({"k": [key[0]], "task": [TaskContext.get().partitionId()], "n": [len(frame)]})

    def where_in_arrow(key, table):
        from pyspark import TaskContext

        return pa.table({"k": [key[0].as_py()], "task": [TaskContext.get().partitionId()], "n": [table.num_rows]})

    for name, func in (("applyInPandas", where), ("applyInArrow", where_in_arrow)):
        groups = skewkit.skew_groupby(df, "k", strategy="dkg", partitions=3)
        rows = getattr(groups, name)(func, "k string, task bigint, n bigint").collect()
        assert {row.k: row.n for row in rows} == sizes_of
        loads = {task: sum(row.n for row in rows if row.task == task) for task in {row.task for row in rows}}
        assert sorted(loads.values()) == [100, 100, 100], rows


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_one_hash_that_pandas_shows_alike_are_merged_apart(spark, kind):
    """Nulls within a key have no hash either, and within an array of doubles pandas has NaN for them."""
    df = spark.range(2_000, numPartitions=3).selectExpr(
        "CASE id % 4 WHEN 0 THEN array(null, double('NaN')) WHEN 1 THEN array(double('NaN'), null) "
        "WHEN 2 THEN array(1D, null) ELSE array(1D) END AS a",
        "timestamp_seconds(if(id % 3 = 0, -62135596800L - 86400, 0)) AS t",
        "date_add(date'9999-12-31', int(id % 2)) AS d",
        "id AS v",
    )

    def size(frame):
        return pa.table({"n": [len(frame)]}) if kind == "arrow" else pd.DataFrame({"n": [len(frame)]})

    def add(parts):
        n = sum(parts.column("n").to_pylist() if kind == "arrow" else parts["n"])
        return pa.table({"n": [n]}) if kind == "arrow" else pd.DataFrame({"n": [n]})

    # Pandas has no such times, and Python no dates after the year 9999, nor inside of other values.
    df = df.selectExpr("*", "named_struct('t', t, 'ds', array(d)) AS s") if kind == "arrow" else df.drop("t", "d")
    for by in (["a"], ["a", "t"], ["a", "d"], ["a", "s"])[: 4 if kind == "arrow" else 1]:
        groups = skewkit.skew_groupby(df, *by, strategy="wrap", partitions=4)
        ours = getattr(groups, KINDS[kind][0])(size, "n bigint", merge=add)
        assert_same_rows(ours, df.groupBy(*by).agg(F.count("*").alias("n")).select("n"))


@pytest.mark.connect
@pytest.mark.parametrize("order", [None, "v"])
def test_arrow_functions_in_parts(spark, facts, order):
    """In order, every part is a range of it, and `merge` sees them one after the other."""

    def first_and_last(table):
        v = table.column("v").to_pylist()
        assert order is None or v == sorted(v)
        return pa.table({"k": table.column("k").slice(0, 1), "n": [len(v)], "first": [min(v)], "last": [max(v)]})

    def merged(parts):
        firsts, lasts = parts.column("first").to_pylist(), parts.column("last").to_pylist()
        assert order is None or all(a < b for a, b in zip(lasts, firsts[1:], strict=False))
        k, n = parts.column("k").slice(0, 1), [pc.sum(parts.column("n")).as_py()]
        return pa.table({"k": k, "n": n, "first": [min(firsts)], "last": [max(lasts)]})

    with conf(spark, "spark.skewkit.groupRows", "150"):
        groups = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4)
        ours = groups.applyInArrow(
            first_and_last, "k bigint, n bigint, first bigint, last bigint", merge=merged, order_by=order
        )
        plain = facts.groupBy("k").agg(F.count("*").alias("n"), F.min("v").alias("first"), F.max("v").alias("last"))
        assert_same_rows(ours, plain)
    text = skewkit.explain(ours)
    assert (HERE in text) if order is None else re.search(r"cut along v: .* into [2-9]", text), text


@pytest.mark.parametrize("what", ["function", "aggregate"])
def test_what_may_differ_the_second_time_is_not_cut_where_exchanges_are_not_shared(spark, facts, what):
    """Cold and hot rows would be of two readings of the limit, and rows be lost or there twice."""
    some = facts.limit(1000)
    with conf(spark, "spark.sql.exchange.reuse", "false"):
        for df in (some, facts):
            groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
            ours = (
                groups.applyInPandas(totals, TOTALS, merge=add_up)
                if what == "function"
                else groups.agg(F.collect_list("v").alias("vs"))
            )
            said = (
                "native: cold and hot rows would be of two readings, as spark.sql.exchange.reuse is off, and the frame"
            )
            assert (said in skewkit.explain(ours)) == (df is some), skewkit.explain(ours)
        assert ours.count() == facts.select("k").distinct().count()


def test_a_function_that_fills_its_globals_can_still_be_sent_to_workers(spark, skewed):
    """It is tried on the driver first; what that leaves behind may be no thing to be pickled."""
    held = {}
    exec(FILLS, held)
    df = skewed(2_000)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).applyInPandas(held["size"], "n bigint")
    assert_same_rows(ours, df.groupBy("k").agg(F.count("*").alias("n")).select("n"))


FILLS = """
import threading
import pandas as pd

lock = None

def size(frame):
    global lock
    lock = lock or threading.Lock()
    with lock:
        return pd.DataFrame({"n": [len(frame)]})
"""


@pytest.mark.skipif(VERSION < (4, 1), reason="functions of iterators came with Spark 4.1")
def test_hints_that_are_other_names_of_iterators(spark, skewed):
    def size(parts: "Frames") -> "Frames":
        yield pd.DataFrame({"n": [sum(map(len, parts))]})

    df = skewed(500)
    plain = df.groupBy("k").applyInPandas(size, "n bigint")
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).applyInPandas(size, "n bigint")
    assert_same_rows(ours, plain)


@pytest.mark.connect
def test_the_time_zone_is_that_of_the_run(spark):
    df = spark.range(400).selectExpr("if(id % 4 < 3, 0, id) AS k", "timestamp_seconds(id * 5000) AS t")
    found = []
    for ours in (True, False):
        with conf(spark, "spark.sql.session.timeZone", "UTC"):
            grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3) if ours else df.groupBy("k")
            merge = {"merge": lambda parts: parts} if ours else {}
            result = grouped.applyInPandas(
                lambda f: f.assign(hour=f["t"].dt.hour)[["k", "t", "hour"]], "k bigint, t timestamp, hour int", **merge
            ).selectExpr("k", "unix_seconds(t) AS t", "hour")
            result.schema  # noqa: B018
        with conf(spark, "spark.sql.session.timeZone", "Asia/Tokyo"):
            found.append(sorted(map(tuple, result.collect())))
    assert found[0] == found[1]


def test_a_trial_counts_nothing(spark, skewed, connect):
    if connect:
        pytest.skip("Connect has no accumulators")
    seen = spark.sparkContext.accumulator(0)

    def function(frame):
        seen.add(len(frame))
        return frame[["k"]].head(1)

    df = skewed(rows=500)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        function, "k bigint", merge=lambda parts: parts.head(1)
    )
    assert seen.value == 0
    ours.collect()
    assert seen.value == 500


def test_a_trial_of_a_function_that_reads_a_broadcast(spark, skewed, connect):
    """What is pickled with a broadcast in it is noted by PySpark for the thread's next function."""
    if connect:
        pytest.skip("Connect has no broadcasts")
    context = spark.sparkContext
    seen, factor = context.accumulator(0), context.broadcast(2)

    def function(frame):
        seen.add(len(frame))
        return frame[["k"]].head(1).assign(n=len(frame) * factor.value)

    df = skewed(rows=500)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        function, "k bigint, n bigint", merge=lambda parts: parts.head(1).assign(n=parts["n"].sum())
    )
    assert seen.value == 0
    assert ours.agg(F.sum("n")).first()[0] == 1000
    check_function(function, None, df.schema, ours.schema, ["k"])
    assert list(context._pickled_broadcast_vars) == []


def test_orders_by_which_nothing_can_be_cut(spark, skewed):
    grouped = skewkit.skew_groupby(skewed(rows=500).repartition(3), "k", strategy="wrap", partitions=3)
    given = {"func": lambda f: f[["k"]].head(1), "schema": "k bigint", "merge": lambda parts: parts.head(1)}
    with pytest.raises(ArgumentError, match="does not support ordering on type"):
        grouped.applyInPandas(order_by=F.expr("make_interval(0, 0, 0, int(v))"), **given)
    for order, why in (
        (F.rand(), "holds random values"),
        (F.expr("s COLLATE UTF8_LCASE"), "the order has a collation"),
    ):
        if "COLLATE" in str(order) and VERSION < (4, 0):
            continue
        ours = grouped.applyInPandas(order_by=order, **given)
        assert "strategy   native" in skewkit.explain(ours)
        assert why in skewkit.explain(ours)


@pytest.mark.parametrize("hot", [1, 3])
def test_few_hot_texts_are_told_without_a_hash(spark, hot):
    """They are compared, once for a row."""
    df = spark.range(0, 42_000, 1, 4).selectExpr(
        f"if(id % 10 < 8, concat('hot ', id % {hot}), if(id % 100 = 8, null, string(id % 97))) k", "id v"
    )

    def total(frame):
        return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)], "v": [frame["v"].sum()]})

    def merged(parts):
        return pd.DataFrame({"k": parts["k"].iloc[:1], "n": [parts["n"].sum()], "v": [parts["v"].sum()]})

    schema = "k string, n bigint, v bigint"
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=8).applyInPandas(total, schema, merge=merged)
    assert HERE in skewkit.explain(ours), skewkit.explain(ours)
    assert "xxhash64" not in explained(ours)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(total, schema))
