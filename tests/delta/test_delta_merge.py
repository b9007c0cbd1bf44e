"""`delta.merge` against the plain MERGE: contents, metrics, history, errors; rows of null keys are spread."""

import random
import re
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import skewkit
from skewkit import delta
from skewkit.delta.merge_keys import merge_keys
from skewkit.delta.merge_sql import BY_SOURCE, MATCHED, NOT_MATCHED, MergeClause, write_join
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, UnsupportedError
from skewkit.spark.session.compat import is_connect
from skewkit.testing import partition_rows
from tests.delta.tablelog import versions
from tests.delta.twins import assert_alike, plain_merge, read, twins
from tests.helpers import conf

pytestmark = [pytest.mark.delta, pytest.mark.connect]


BY_KIND = {
    "M": MergeClause(MATCHED, "UPDATE SET *"),
    "N": MergeClause(NOT_MATCHED, "INSERT *"),
    "S": MergeClause(BY_SOURCE, "DELETE"),
}


def customers(spark, rows=400):
    return spark.range(rows).selectExpr(
        "id AS customer_id", "concat('street ', id % 50) AS address", "true AS current",
        "date'2024-01-01' AS effective", "cast(null AS date) AS ended",
    )  # fmt: skip


@pytest.mark.every(2)
def test_scd2_as_delta_documents_it(spark, tmp_path, adaptive):
    plain, ours = twins(customers(spark), tmp_path)
    updates = spark.range(200, 700).selectExpr(
        "id AS customer_id", "concat('street ', id % 37) AS address", "date'2024-02-01' AS effective"
    )
    current = read(spark, ours).where("current").alias("t")
    moved = F.expr("t.customer_id = u.customer_id AND t.address <> u.address")
    changed = updates.alias("u").join(current, moved).select("u.*")
    staged = changed.selectExpr("cast(null AS bigint) AS merge_key", "*").unionAll(
        updates.selectExpr("customer_id AS merge_key", "*")
    )
    on = "t.customer_id = merge_key"  # without the source's alias, as there
    condition = "t.current = true AND t.address <> s.address"
    ended = {"current": "false", "ended": "s.effective"}
    new = {
        "customer_id": "s.customer_id", "address": "s.address", "current": "true",
        "effective": "s.effective", "ended": "null",
    }  # fmt: skip
    # Both read the table as it was: the staged rows are of the same version.
    staged = spark.createDataFrame(staged.collect(), staged.schema)
    metrics = plain_merge(
        spark, plain, staged, on,
        [f"WHEN MATCHED AND {condition} THEN UPDATE SET current = false, ended = s.effective",
         f"WHEN NOT MATCHED THEN INSERT ({', '.join(new)}) VALUES ({', '.join(new.values())})"],
    )  # fmt: skip
    builder = delta.merge(ours, staged, on).whenMatchedUpdate(condition, ended).whenNotMatchedInsert(values=new)
    assert "spread" in builder.explain()
    result = builder.execute()
    assert result.collect() == metrics
    assert "spread" in skewkit.explain(result)
    assert_alike(spark, plain, ours)
    assert read(spark, ours).columns == read(spark, plain).columns
    assert versions(ours) == 2


CLAUSES = {
    "upsert": (
        ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"],
        lambda b: b.whenMatchedUpdateAll().whenNotMatchedInsertAll(),
    ),
    "insert only": (
        ["WHEN NOT MATCHED AND s.v > 3 THEN INSERT *"],
        lambda b: b.whenNotMatchedInsertAll("s.v > 3"),
    ),
    "update only": (
        ["WHEN MATCHED AND s.v > 3 THEN UPDATE SET v = s.v + t.v"],
        lambda b: b.whenMatchedUpdate("s.v > 3", {"v": "s.v + t.v"}),
    ),
    "delete": (
        ["WHEN MATCHED THEN DELETE", "WHEN NOT MATCHED THEN INSERT (k, l, v) VALUES (s.k, s.l, 0)"],
        lambda b: b.whenMatchedDelete().whenNotMatchedInsert(values={"k": "s.k", "l": "s.l", "v": "0"}),
    ),
    "by source": (
        [
            "WHEN MATCHED AND s.v > 9 THEN UPDATE SET *",
            "WHEN NOT MATCHED THEN INSERT *",
            "WHEN NOT MATCHED BY SOURCE AND t.v < 3 THEN DELETE",
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1",
        ],
        lambda b: (
            b.whenNotMatchedBySourceDelete("t.v < 3")
            .whenMatchedUpdateAll("s.v > 9")
            .whenNotMatchedInsertAll()
            .whenNotMatchedBySourceUpdate(set={"v": "-1"})
        ),
    ),
}
KEYS = {
    "k": ("k", "t.k = s.k"),
    "composite": (["k", "l"], "t.k = s.k AND t.l = s.l"),
    "null safe": ("t.k <=> s.k AND t.l = s.l", "t.k <=> s.k AND t.l = s.l"),
    "beyond": ("t.k = s.k AND s.v >= t.v - 3", "t.k = s.k AND s.v >= t.v - 3"),
    "no equality": ("t.k > s.k + 1000", "t.k > s.k + 1000"),
}
TYPES = [
    "bigint",
    "string",
    "double",
    "decimal(12,2)",
    "date",
    "timestamp",
    "binary",
    "struct<a:string>",
    "array<string>",
]


def random_rows(spark, seed, type_, *, target):
    """Return rows with nulls in both keys; those of the source match at most one each, and repeat where they do not."""
    rng = random.Random(f"{seed} {target}")
    numbers = list(range(40)) if target else [*range(20, 50), *(rng.randrange(100, 105) for _ in range(10))]
    nulls = [None] * (5 if target else 30)
    rows = [(k, None if rng.random() < 0.1 else k % 3 if k else 0, rng.randrange(20)) for k in numbers + nulls]
    rng.shuffle(rows)
    frame = spark.createDataFrame(rows, "k int, l int, v int").repartition(5)
    cast = {
        "struct<a:string>": "if(k IS NULL, null, struct(string(k) AS a))",
        "array<string>": "if(k IS NULL, null, array(string(k)))",
        "date": "date_add(date'2024-01-01', k)",
        "timestamp": "timestamp_seconds(k)",
        "binary": "binary(string(k))",
    }
    return frame.select(F.expr(cast.get(type_, f"cast(k AS {type_})")).alias("k"), "l", "v")


@pytest.mark.every(120)
@pytest.mark.parametrize("clauses", CLAUSES)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("type_", TYPES)
def test_like_the_plain_merge(spark, tmp_path, type_, keys, clauses):
    seed = f"{type_} {keys} {clauses}"
    if keys == "no equality" and type_ not in ("bigint", "double", "decimal(12,2)"):
        pytest.skip("no such comparison")
    on, condition = KEYS[keys]
    sql, build = CLAUSES[clauses]
    aqe = random.Random(seed).random() < 0.5
    features = ("delta.enableChangeDataFeed", "delta.enableDeletionVectors")
    layouts = {}, {"partition_by": ["l"]}, *({"options": [(feature, "true")]} for feature in features)
    layout = random.Random(seed + "layout").choice(layouts)
    if (keys, clauses) == ("null safe", "delete"):
        layout = layouts[
            0
        ]  # with a change data feed Delta 4.4.0's own MERGE loses rows where several match a deleted one
    plain, ours = twins(random_rows(spark, seed, type_, target=True), tmp_path, **layout)
    source = random_rows(spark, seed, type_, target=False)
    with conf(spark, "spark.sql.adaptive.enabled", str(aqe).lower()):

        def outcome(run):
            try:
                return run()
            except Exception as error:
                return type(error).__name__, str(error).split("]")[0]

        expected = outcome(lambda: plain_merge(spark, plain, source, condition, sql))
        found = outcome(lambda: build(delta.merge(ours, source, on)).execute().collect())
    assert found == expected
    assert_alike(spark, plain, ours)


def test_names_that_differ_by_case_are_no_key_of_an_or():
    target = StructType().add("k", "long").add("K", "long").add("v", "long")
    source = StructType().add("j", "long").add("w", "long")
    for on in ("(t.k = s.j AND t.v = 1) OR (t.K = s.j AND s.w = 2)", "t.k = s.j OR (t.K = s.j AND s.w = 2)"):
        keys = merge_keys(on, target, source, aliases=("t", "s"), tells_case=True)
        assert keys.why_native is not None
        assert keys.target == ()


def test_rows_of_null_keys_are_spread(spark, tmp_path):
    target = spark.range(4000).selectExpr("if(id % 10 = 0, null, id) AS k", "id AS v")
    path, _ = twins(target, tmp_path)
    source = spark.range(6000, numPartitions=3).selectExpr("if(id % 2 = 0, null, id) AS k", "id AS v")
    builder = delta.merge(path, source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    text = builder.explain()
    condition = text.split("  on         ")[1].splitlines()[0]
    sides = target.alias("t"), source.alias("s")
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        spread, piled = (partition_rows(sides[0].join(sides[1], F.expr(on), "full")) for on in (condition, "t.k = s.k"))
    assert max(piled) > 3 * sum(piled) / 8
    assert max(spread) < 1.2 * sum(spread) / 8
    assert "full outer" in text


@pytest.mark.slow
def test_schema_evolution_and_no_helper_column(spark, tmp_path):
    target = spark.range(50).selectExpr("id AS k", "struct(id AS a) AS s", "id AS v")
    source = spark.range(40, 100).selectExpr(
        "if(id % 2 = 0, null, id) AS k", "struct(id AS a, 'x' AS b) AS s", "id AS v", "id AS more"
    )
    plain, ours = twins(target, tmp_path)
    clauses = ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"]
    expected = plain_merge(spark, plain, source, "t.k = s.k", clauses, evolve=True)
    builder = delta.merge(ours, source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll().withSchemaEvolution()
    assert "strategy   spread" in builder.explain()
    assert builder.execute().collect() == expected
    assert_alike(spark, plain, ours)
    assert read(spark, ours).schema == read(spark, plain).schema


@pytest.mark.every(2)
@pytest.mark.parametrize("vectors", ["false", "true"])
def test_rows_of_null_keys_are_spread_where_they_meet(spark, tmp_path, vectors):
    """Which join writes a MERGE's rows depends on its clauses and on deletion vectors."""
    target = spark.range(400).selectExpr("if(id % 4 = 0, null, id) AS k", "id AS v", "id % 2 = 0 AS flag")
    source = spark.range(0, 3000, 1, 3).selectExpr("if(id % 3 > 0, null, id) AS k", "id AS v", "id % 2 = 0 AS flag")
    update = "WHEN MATCHED THEN UPDATE SET *"
    insert, delete = "WHEN NOT MATCHED THEN INSERT *", "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    expected = {
        (update,): ("right outer", "inner"),
        (update, insert): ("full outer", "left outer"),
        (update, delete): ("full outer", "right outer"),
        (update, insert, delete): ("full outer", "full outer"),
        (insert,): ("left anti", "left anti"),
    }
    for number, (clauses, joins) in enumerate(expected.items()):
        (tmp_path / str(number)).mkdir()
        plain, ours = twins(target, tmp_path / str(number), options=[("delta.enableDeletionVectors", vectors)])
        builder = delta.merge(ours, source, "t.k = s.k")
        builder = builder.whenMatchedUpdateAll() if update in clauses else builder
        builder = builder.whenNotMatchedInsertAll() if insert in clauses else builder
        builder = builder.whenNotMatchedBySourceDelete() if delete in clauses else builder
        done = builder.execute()
        text = skewkit.explain(done)
        join = joins[vectors == "true"]
        assert f"join       {join};" in text
        assert ("strategy   native" in text) == (join in ("right outer", "inner")), text
        assert done.collect() == plain_merge(spark, plain, source, "t.k = s.k", clauses)
        assert_alike(spark, plain, ours)


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [False, True])
def test_the_joins_are_those_that_delta_runs(spark, tmp_path, vectors):
    if is_connect(spark):
        pytest.skip("the plans of queries that ran are seen on classic sessions")
    spark.range(300).selectExpr("if(id % 3 > 0, null, id) AS k", "id AS v").createOrReplaceTempView("plain_source")
    ran = spark._jsparkSession.sharedState().statusStore()
    for number, kinds in enumerate([("M",), ("N",), ("S",), ("M", "N"), ("M", "S"), ("N", "S"), ("M", "N", "S")]):
        path = tmp_path / str(number)
        rows = spark.range(400).selectExpr("if(id % 4 = 0, null, id) AS k", "id AS v").coalesce(2)
        rows.write.format("delta").option("delta.enableDeletionVectors", vectors).save(str(path))
        before = ran.executionsCount()
        clauses = [BY_KIND[kind] for kind in kinds]
        spark.sql(
            f"MERGE INTO delta.`{path}` AS t USING plain_source AS s ON t.k = s.k "
            + " ".join(clause.sql for clause in clauses)
        ).collect()
        plans = [ran.executionsList().apply(i).physicalPlanDescription() for i in range(before, ran.executionsCount())]
        joins = [set(re.findall(r"(?:Join|Hash)[^\n]*?(\w+Outer|Inner|LeftAnti)", plan)) for plan in plans]
        found = [each for each in joins if each]
        wrote = found[min(1, len(found) - 1)]  # the first query, if there are more, finds the files to rewrite
        assert wrote == {write_join(clauses, deletion_vectors=vectors).title().replace(" ", "")}


@pytest.mark.slow
def test_a_condition_that_is_false_replaces_all_rows(spark, tmp_path):
    """Delta's documented way to replace rows in one MERGE."""
    plain, ours = twins(spark.range(50).selectExpr("id AS k", "id AS v"), tmp_path)
    source = spark.range(30, 90).selectExpr("id AS k", "-id AS v")
    clauses = ["WHEN NOT MATCHED THEN INSERT *", "WHEN NOT MATCHED BY SOURCE THEN DELETE"]
    expected = plain_merge(spark, plain, source, "false", clauses)
    done = delta.merge(ours, source, "false").whenNotMatchedInsertAll().whenNotMatchedBySourceDelete().execute()
    assert done.collect() == expected
    assert_alike(spark, plain, ours)


@pytest.mark.slow
def test_a_table_that_another_job_changed_is_deltas_error(spark, tmp_path):
    """The other job deletes rows that the MERGE has read, before it commits."""
    path, _ = twins(spark.range(100).selectExpr("id AS k", "id AS v"), tmp_path)
    reading, deleted = str(tmp_path / "reading"), str(tmp_path / "deleted")

    def waiting(frames):
        import pathlib
        import time

        for frame in frames:
            pathlib.Path(reading).touch()
            for _ in range(600):
                if pathlib.Path(deleted).exists():
                    break
                time.sleep(0.1)
            yield frame

    source = spark.range(50, 150).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v").coalesce(1)
    source = source.mapInPandas(waiting, "k long, v long")
    errors = []

    def merged():
        try:
            delta.merge(path, source, "k").whenMatchedUpdateAll().execute()  # no query before it
        except Exception as error:
            errors.append(str(error))

    running = threading.Thread(target=merged)
    running.start()
    while running.is_alive() and not Path(reading).exists():
        time.sleep(0.1)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE k < 70")
    Path(deleted).touch()
    running.join()
    assert len(errors) == 1
    assert "DELTA_CONCURRENT" in errors[0] or "Concurrent" in errors[0]
    assert versions(path) == 2
    assert sorted(row.k for row in read(spark, path).collect()) == list(range(70, 100))


@pytest.mark.slow
def test_hostile_names_a_clustered_target_and_a_view_left_behind(spark, tmp_path):
    path = tmp_path / "it's a `t`"
    named = "delta.`" + str(path).replace("`", "``") + "`"
    spark.sql(
        f"CREATE TABLE {named} (`a b` BIGINT, `c.d` STRING, t BIGINT) USING delta CLUSTER BY (t) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    rows = spark.range(300).selectExpr("if(id % 2 = 0, null, id)", "string(id)", "id").toDF("a b", "c.d", "t")
    for _ in range(2):
        builder = delta.merge(str(path), rows, ["a b"]).whenMatchedUpdate(set={"c.d": "'seen'", "a b": "s.`a b`"})
        builder.whenNotMatchedInsertAll().execute()
    found = read(spark, path)
    assert found.where("`c.d` = 'seen'").count() == 150
    assert found.count() == 150 + 2 * 150
    assert spark.sql("SHOW VIEWS LIKE 'skewkit_merge*'").count() == 0


@pytest.mark.slow
def test_the_users_cache_stays(spark, tmp_path, connect):
    path, _ = twins(spark.range(10).selectExpr("id AS k"), tmp_path)
    source = spark.range(20).selectExpr("if(id > 10, null, id) AS k", "id AS v").select("k").cache()
    source.count()
    delta.merge(path, source, "k").whenNotMatchedInsertAll().execute()
    assert source.storageLevel.useMemory
    source.unpersist()


@pytest.mark.slow
def test_explain_says_how_long_a_hot_key_takes(spark, tmp_path):
    target = spark.range(4000).selectExpr("if(id % 10 < 6, 7, id) AS k", "id AS v")
    path, _ = twins(target, tmp_path)
    source = spark.range(100).selectExpr("id AS k", "id AS v")
    text = delta.merge(path, source, "k").whenMatchedUpdateAll().explain()
    assert "times the mean; it stays" in text
    assert "broadcast of a small source" in text


def test_bad_input_is_told_before_anything_is_written(spark, tmp_path):
    target = spark.range(10).selectExpr("id AS k", "id AS v")
    path, _ = twins(target, tmp_path)
    with pytest.raises(ColumnNotFoundError, match="did you mean 'k'"):
        delta.merge(path, target, ["kk"])
    with pytest.raises(ColumnNotFoundError):
        delta.merge(path, target, "nothing")
    for on in ("", []):
        with pytest.raises(ArgumentError, match="on is empty"):
            delta.merge(path, target, on)
    with pytest.raises(ArgumentTypeError, match="SQL text"):
        delta.merge(path, target, F.col("k") == F.col("k"))
    with pytest.raises(ArgumentError, match="no clause"):
        delta.merge(path, target, "k").execute()
    for given in (None, {}):
        with pytest.raises(ArgumentError, match="no action"):
            delta.merge(path, target, "k").whenMatchedUpdate(set=given)
    with pytest.raises(ArgumentTypeError, match="write it as text"):
        delta.merge(path, target, "k").whenMatchedUpdate(set={"v": F.col("s.v") + 1})
    with pytest.raises(ArgumentError, match="none"):
        delta.merge(str(tmp_path / "not" / "there"), target, "k")
    with pytest.raises(ArgumentError, match="aliases"):
        delta.merge(path, target, "k", source_alias="T")
    with pytest.raises(ArgumentError, match="placeholder"):
        delta.merge(path, target, "k", placeholders=[(1, 2)])
    with pytest.raises(ArgumentTypeError, match="profile is a KeyProfile"):
        delta.merge(path, target, "k", profile="yesterday")
    for relative in ("./t", "lake/t", "delta.`t`", Path("t")):
        with pytest.raises(ArgumentError, match="relative path"):
            delta.merge(relative, target, "k")
    with pytest.raises(UnsupportedError):
        delta.merge(path, spark.readStream.format("rate").load(), "k")
    with pytest.raises(ArgumentTypeError):
        delta.merge(path, "frame", "k")
    for name in ("kk", "t.kk", "s.k", "`kk`"):
        with pytest.raises(ColumnNotFoundError, match="did you mean 'k'"):
            delta.merge(path, target, "k").whenMatchedUpdate(set={name: "1"})
    # Delta 4.4 has no text for this error, which PySpark fails to read.
    with pytest.raises(Exception, match="DELTA_MERGE_UNRESOLVED_EXPRESSION"):
        delta.merge(path, target, "k").whenMatchedUpdate(set={"v": "s.nothing"}).execute()
    assert versions(path) == 1
