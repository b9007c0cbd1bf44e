"""`delta.merge` against the plain MERGE: contents, metrics, history, errors; rows of null keys are spread."""

import datetime as dt
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
from skewkit.testing import assert_same_rows, partition_rows
from tests.delta.tablelog import versions
from tests.delta.twins import MORE_TYPES, TYPES, assert_alike, changes, plain_merge, random_rows, read, twins
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
NUMBERS = ("bigint", "double", "decimal(12,2)")
CASES = [
    *((t, k, c) for t in TYPES for k in KEYS for c in CLAUSES if k != "no equality" or t in NUMBERS),
    *((t, k, c) for t in MORE_TYPES for k in ("k", "composite") for c in CLAUSES),
]


@pytest.mark.every(130)
@pytest.mark.parametrize(("type_", "keys", "clauses"), CASES)
def test_like_the_plain_merge(spark, tmp_path, type_, keys, clauses):
    seed = f"{type_} {keys} {clauses}"
    on, condition = KEYS[keys]
    sql, build = CLAUSES[clauses]
    turn = [*TYPES, *MORE_TYPES].index(type_) + list(KEYS).index(keys) + list(CLAUSES).index(clauses)
    feed, vectors = {"delta.enableChangeDataFeed": "true"}, {"delta.enableDeletionVectors": "true"}
    layouts = {}, {"partition_by": ["l"]}, {"options": feed}, {"options": vectors}
    layout = random.Random(seed + "layout").choice(layouts)
    null_l = 0.5 if keys == "null safe" else 0.1
    plain, ours = twins(random_rows(spark, seed, type_, target=True, null_l=null_l), tmp_path, **layout)
    source = random_rows(spark, seed, type_, target=False, null_l=null_l)
    with conf(spark, "spark.sql.adaptive.enabled", ("true", "false")[turn % 2]):
        expected = plain_merge(spark, plain, source, condition, sql)
        done = build(delta.merge(ours, source, on)).execute()
        assert done.collect() == expected
    text = skewkit.explain(done)
    if keys == "no equality":
        strategy, why = "native", "the condition has no equality of t and s that a null never satisfies"
    elif clauses == "update only":
        strategy, why = "native", "source rows of no match are dropped"
    else:
        strategy, why = "spread", ""
    assert f"strategy   {strategy}" in text
    assert why in text
    assert_alike(spark, plain, ours)
    if layout.get("options") is feed:
        assert_same_rows(changes(spark, ours), changes(spark, plain))


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("NULL, 9999L", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("95L, 9999L", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("500L, 9999L", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("7L, 1L", "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"),
    ],
    ids=["inserted without a key", "updated", "inserted", "matched twice"],
)
def test_an_error_of_a_spread_merge_is_deltas_and_leaves_no_version(spark, tmp_path, row, error):
    plain, ours = twins(spark.range(100).selectExpr("id AS k", "id AS v"), tmp_path)
    for path in (plain, ours):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (v < 5000)")
    source = spark.range(3000).selectExpr("if(id > 89, null, id) AS k", "id AS v").unionAll(spark.sql(f"SELECT {row}"))
    builder = delta.merge(ours, source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    assert "strategy   spread" in builder.explain()
    with pytest.raises(Exception, match=error):
        plain_merge(spark, plain, source, "t.k = s.k", CLAUSES["upsert"][0])
    with pytest.raises(Exception, match=error):
        builder.execute()
    assert versions(ours) == versions(plain) == 2
    assert_alike(spark, plain, ours)


@pytest.mark.slow
def test_rows_that_several_source_rows_delete_are_those_of_the_plain_merge(spark, tmp_path):
    plain, ours = twins(spark.range(100).selectExpr("id AS k", "id AS l", "id AS v"), tmp_path)
    source = spark.range(3000).selectExpr("if(id > 99, null, id % 50) AS k", "id AS l", "id AS v")
    expected = plain_merge(spark, plain, source, "t.k = s.k", CLAUSES["delete"][0])
    done = CLAUSES["delete"][1](delta.merge(ours, source, "k")).execute()
    assert "strategy   spread" in skewkit.explain(done)
    assert done.collect() == expected
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


def executions(spark):
    """Return the queries that Spark still lists; the old ones leave its list."""
    listed = spark._jsparkSession.sharedState().statusStore().executionsList()
    return [listed.apply(number) for number in range(listed.size())]


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [False, True])
def test_the_joins_are_those_that_delta_runs(spark, tmp_path, vectors):
    if is_connect(spark):
        pytest.skip("the plans of queries that ran are seen on classic sessions")
    spark.range(300).selectExpr("if(id % 3 > 0, null, id) AS k", "id AS v").createOrReplaceTempView("plain_source")
    for number, kinds in enumerate([("M",), ("N",), ("S",), ("M", "N"), ("M", "S"), ("N", "S"), ("M", "N", "S")]):
        path = tmp_path / str(number)
        rows = spark.range(400).selectExpr("if(id % 4 = 0, null, id) AS k", "id AS v").coalesce(2)
        rows.write.format("delta").option("delta.enableDeletionVectors", vectors).save(str(path))
        before = {each.executionId() for each in executions(spark)}
        clauses = [BY_KIND[kind] for kind in kinds]
        spark.sql(
            f"MERGE INTO delta.`{path}` AS t USING plain_source AS s ON t.k = s.k "
            + " ".join(clause.sql for clause in clauses)
        ).collect()
        plans = [each.physicalPlanDescription() for each in executions(spark) if each.executionId() not in before]
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
    profile = skewkit.skew_profile(source, "k")
    source = source.mapInPandas(waiting, "k long, v long")
    builder = delta.merge(path, source, "k", profile=profile).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    errors = []

    def merged():
        try:
            builder.execute()  # no query before it, as there is a profile
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
    assert "strategy   spread" in skewkit.explain(builder.execute()), "the same MERGE, now that nobody disturbs it"
    assert versions(path) == 3
    assert read(spark, path).count() == 30 + sum(k % 3 == 0 or not 70 <= k < 100 for k in range(50, 150))


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
def test_a_clustered_target_is_that_of_the_plain_merge(spark, tmp_path, adaptive):
    spark.range(4000).selectExpr("if(id % 10 = 0, null, id) AS k", "id % 7 AS c", "id AS v").createOrReplaceTempView(
        "clustered_rows"
    )
    plain, ours = paths = [str(tmp_path / name) for name in ("plain", "ours")]
    for path in paths:
        spark.sql(f"CREATE TABLE delta.`{path}` USING delta CLUSTER BY (c, k) AS SELECT * FROM clustered_rows")
    source = spark.range(3000, 9000, 1, 3).selectExpr("if(id % 2 = 0, null, id) AS k", "id % 5 AS c", "-id AS v")
    expected = plain_merge(spark, plain, source, "t.k = s.k", CLAUSES["upsert"][0])
    done = CLAUSES["upsert"][1](delta.merge(ours, source, "k")).execute()
    assert done.collect() == expected
    assert "strategy   spread" in skewkit.explain(done)
    assert_alike(spark, plain, ours)
    for path in paths:
        assert spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0].clusteringColumns == ["c", "k"]


def test_what_is_no_delta_table_is_told(spark, tmp_path):
    rows = spark.range(10).selectExpr("id AS k")
    folder = str(tmp_path / "parquet")
    rows.write.parquet(folder)
    rows.createOrReplaceTempView("view_of_no_table")
    with pytest.raises(
        ArgumentError, match=re.escape(f"delta.merge needs a Delta table, and delta.`{folder}` is none")
    ):
        delta.merge(folder, rows, "k")
    for name in ("view_of_no_table", f"parquet.`{folder}`"):
        with pytest.raises(ArgumentError, match="needs a Delta table"):
            delta.merge(name, rows, "k")
    spark.sql(f"CREATE TABLE of_parquet USING parquet LOCATION '{folder}'")
    try:
        with pytest.raises(ArgumentError, match="of_parquet is a table of 'parquet'; expected one of Delta Lake"):
            delta.merge("of_parquet", rows, "k")
    finally:
        spark.sql("DROP TABLE of_parquet")
    assert rows.count() == spark.read.parquet(folder).count()


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
    said = re.search(r"some ([\d.]+) times the mean; it stays", text)
    both = target.select("k").unionAll(source.select("k")).repartition(8, "k")
    tasks = partition_rows(both)
    assert float(said.group(1)) == pytest.approx(max(tasks) / (sum(tasks) / 8), rel=0.2)
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


def test_values_with_comments_odd_names_and_literals(spark, tmp_path):
    made = "named_struct('zip code', 'x') AS addr"
    table = spark.range(20).selectExpr("id AS k", "id AS `my col`", "id AS v", "date'2024-01-01' AS day", made)
    path = str(tmp_path / "t")
    table.write.format("delta").option("delta.columnMapping.mode", "name").save(path)
    source = spark.range(10, 30).selectExpr("id AS k", "id * 2 AS s")
    changed = {"t.my col": "s.s -- twice", "v": "s.s + 1 /* and one */", "addr.zip code": "string(s.s)"}
    merge = delta.merge(path, source, "k").whenMatchedUpdate(set={**changed, "day": "DATE '2024-05-01' -- a day"})
    merge.execute()
    row = read(spark, path).where("k = 15").first()
    assert (row["my col"], row["v"], row["addr"]["zip code"], str(row["day"])) == (30, 31, "30", "2024-05-01")
    if is_connect(source):
        delta.merge(path, source, "k").whenMatchedUpdate(set={"day": F.lit(dt.date(2024, 7, 1))}).execute()
        assert str(read(spark, path).where("k = 15").first()["day"]) == "2024-07-01"
    with pytest.raises(ArgumentTypeError, match=r"write it as text|cannot be written as SQL"):
        delta.merge(path, source, "k").whenMatchedUpdate(set={"day": F.lit(dt.datetime(2024, 7, 1))}).execute()
