"""The files of `sql/`: functions against the Python side, recipes against the plain queries in their comments."""

import json
from importlib.resources.abc import Traversable

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.hints.register import sql_files
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import group_load
from skewkit.testing import assert_same_rows

pytestmark = pytest.mark.connect

FILES: list[Traversable] = sorted(sql_files("functions").iterdir(), key=lambda file: file.name)


def test_every_file_makes_one_function_and_shows_an_example(spark):
    made = skewkit.register(spark)
    assert [f"{name}.sql" for name in made] == [file.name for file in FILES]
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert text.startswith("-- ")
        assert "\n-- Example: " in text
        assert text.count("CREATE OR REPLACE TEMPORARY FUNCTION") == 1
        assert ";" not in text


def test_shares_and_heavy_keys_are_those_of_python(spark, skewed):
    skewkit.register(spark)
    frame = skewed(2000)
    profile = skewkit.skew_profile(frame, "k", partitions=6, sample="exact")
    plan = key_plan(group_load(profile), 6, "wrap")
    keys = frame.where("k IS NOT NULL").select("k").distinct()
    rows = keys.select(
        "k",
        F.expr("xxhash64(k)").alias("hash"),
        F.expr(f"skew_share('{profile.to_json()}', xxhash64(k))").alias("share"),
        F.expr(f"skew_is_heavy('{plan.to_json()}', xxhash64(k))").alias("heavy"),
    ).collect()
    assert json.loads(profile.to_json())["heavy"]
    assert any(row.heavy for row in rows)
    for row in rows:
        assert row.share == pytest.approx(profile.share(row.k))
        assert row.heavy == (plan.heavy_index(row.hash) >= 0)


def test_top_keys(tables):
    found = skewkit.sql(tables, "SELECT * FROM skew_top_keys(TABLE(a), 'k')")
    assert found.columns == ["key", "rows", "share"]
    top = found.orderBy(F.desc("rows")).first()
    assert (top.key, top.rows) == ("0", tables.sql("SELECT * FROM a WHERE k = 0").count())
    assert top.share == pytest.approx(top.rows / 1000)
    few = skewkit.sql(tables, "SELECT count(*) AS n FROM skew_top_keys(TABLE(SELECT * FROM a WHERE v > 5), 'k', 3) t")
    assert few.first().n == 3
    own = tables.sql(
        "SELECT t.* FROM (SELECT approx_top_k(CAST(k AS STRING), 20) AS top, count(*) AS n FROM a) q, "
        "LATERAL skew_top_keys(q.top, q.n) AS t"
    )
    assert_same_rows(own, found)
    with pytest.raises(ArgumentError, match="write skew_top_keys"):
        skewkit.sql(tables, "SELECT * FROM skew_top_keys(TABLE(a), k)")


@pytest.mark.parametrize("recipe", [file.name for file in sorted(sql_files("recipes").iterdir(), key=str)])
def test_recipes(spark, recipe):
    skewkit.register(spark)
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW orders AS SELECT id, "
        "if(id % 10 < 6, 0, if(id % 13 = 0, null, id % 40)) AS cust, id % 17 AS item, id % 5 AS amount FROM range(2000)"
    )
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW customers AS SELECT id AS cust, string(id) AS name FROM range(30)")
    text = (sql_files("recipes") / recipe).read_text(encoding="utf-8")
    plain = next(line.removeprefix("--   ") for line in text.splitlines() if line.startswith("--   SELECT"))
    assert_same_rows(spark.sql(text), spark.sql(plain))
