"""Placeholders of `delta.merge`: keys that stand for no key are spread as null keys are, and mean what they say."""

import decimal
from dataclasses import replace

import pytest

import skewkit
from skewkit import delta
from skewkit.delta.merge_builder import MergeBuilder
from skewkit.delta.merge_keys import PLACEHOLDER_ADDED
from tests.delta.tablelog import versions
from tests.delta.twins import assert_alike, plain_merge, twins
from tests.helpers import conf

pytestmark = [pytest.mark.delta, pytest.mark.connect]


def test_placeholders_are_spread_only_where_the_target_has_none(spark, tmp_path):
    target = spark.range(100).selectExpr("id AS k", "id AS v")
    source = spark.range(300).selectExpr("if(id % 3 > 0, -1, id) AS k", "id AS v").where("k < 0 OR v % 3 = 0")
    plain, ours = twins(target, tmp_path)
    clauses = ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"]
    expected = plain_merge(spark, plain, source, "t.k = s.k", clauses)
    builder = delta.merge(ours, source, "k", placeholders=[-1]).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    assert "strategy   spread" in builder.explain()
    assert "strategy   native" in replace(builder, placeholders=()).explain(), "no key is null"
    assert builder.execute().collect() == expected
    assert_alike(spark, plain, ours)
    # Now the target has rows of -1: a second MERGE matches them, several to one.
    again = delta.merge(ours, source, "k", placeholders=[-1]).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    assert "strategy   native" in again.explain()
    assert "merged as they are" in again.explain()
    with pytest.raises(Exception, match="DELTA_MULTIPLE_SOURCE_ROW_MATCHING"):
        again.execute()
    assert versions(ours) == 2


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_placeholder_that_another_writer_adds_before_the_merge_is_matched(spark, tmp_path, monkeypatch, adaptive):
    target = spark.range(100).selectExpr("id AS k", "id AS v")
    source = spark.range(3000).selectExpr("if(id > 99, -id, id) AS k", "id AS v")
    source = source.selectExpr("if(k < -1, -2, k) AS k", "v").where("k > -1 OR v % 2 = 0")
    source = source.unionAll(spark.sql("SELECT -1L, 7L"))
    plain, ours = twins(target, tmp_path)
    asked = MergeBuilder._absent_placeholders

    def asked_too_early(builder):
        found = asked(builder)
        for path in (plain, ours) if builder.placeholders else ():
            spark.sql("SELECT -1L AS k, 0L AS v").write.format("delta").mode("append").save(path)
        return found

    monkeypatch.setattr(MergeBuilder, "_absent_placeholders", asked_too_early)
    builder = delta.merge(ours, source, "k", placeholders=[-1, -2]).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    clauses = ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"]
    with conf(spark, "spark.sql.adaptive.enabled", str(adaptive).lower()):
        done = builder.execute()
        assert done.collect() == plain_merge(spark, plain, source, "t.k = s.k", clauses)
    assert "failed and ran once more" in skewkit.explain(done)
    assert_alike(spark, plain, ours)
    assert versions(ours) == 3, "the table, the other writer's row, one MERGE"


@pytest.mark.every(4)
@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    ("target_key", "source_key", "placeholders", "compared"),
    [
        ("if(id = 0, '-01', string(id))", "if(id < 9, -1L, id)", ["-1"], False),
        (
            "if(id = 0, '1900-1-1', concat('2020-01-', 10 + id))",
            "if(id < 9, date'1900-01-01', null)",
            ["1900-01-01"],
            False,
        ),
        ("if(id = 0, 9007199254740992L, id)", "if(id < 9, double(9007199254740992), double(id))", [2**53 + 1], False),
        ("if(id = 0, double('NaN'), double(id))", "if(id < 9, float('NaN'), float(id))", [float("nan")], False),
        ("id", "if(id < 9, null, id)", [-1, "unknown"], True),
        ("concat('n', id)", "if(id < 9, 'unknown', concat('n', id))", [-1, "unknown"], True),
        (
            "timestamp_ntz'2024-01-01' + id * interval '1' day",
            "timestamp_ntz'1900-01-01'",
            [decimal.Decimal(7), b"x"],
            False,
        ),
        (
            "date_from_unix_date(int(id))",
            "if(id < 9, '1900-01-01', string(date_from_unix_date(int(id))))",
            ["never", 2.5],
            True,
        ),
        ("named_struct('a', id)", "if(id < 9, null, named_struct('a', id))", [-1, "unknown"], False),
    ],
    ids=[
        "text and number",
        "text and date",
        "number and double",
        "NaN",
        "of no number",
        "of no text",
        "no cast",
        "no date",
        "of a struct",
    ],
)
def test_placeholders_mean_what_a_source_row_with_them_would(
    spark, tmp_path, target_key, source_key, placeholders, compared, adaptive
):
    """MERGE compares keys of two types in a third; with one row of the key in the source it may match."""
    plain, ours = twins(spark.range(20).selectExpr(f"{target_key} AS k", "id AS v"), tmp_path)
    source = spark.range(8, 30).selectExpr(f"{source_key} AS k", "id AS v")
    source = source.unionAll(spark.range(3000).selectExpr(f"cast(null AS {source.dtypes[0][1]})", "id"))
    clauses = ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"]
    builder = delta.merge(ours, source, "k", placeholders=placeholders).whenMatchedUpdateAll()
    builder = builder.whenNotMatchedInsertAll()
    with conf(spark, "spark.sql.adaptive.enabled", str(adaptive).lower()):
        expected = plain_merge(spark, plain, source, "t.k = s.k", clauses)
        done = builder.execute()
    assert done.collect() == expected
    text = skewkit.explain(done)
    assert "strategy   spread" in text, "the source has 3,000 null keys"
    assert (PLACEHOLDER_ADDED in text) == compared, "a placeholder that no target row has is in the condition"
    assert_alike(spark, plain, ours)
