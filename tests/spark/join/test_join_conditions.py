"""Conditions of `skew_join` whose names mean one thing in a frame alone and another in a join, and casts that fail."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import KINDS, VERSION, conf


def check(left, right, on, how, **options):
    joined = skewkit.skew_join(left, right, on, how, partitions=4, **options)
    return assert_same_rows(joined, left.join(right, on, how)), skewkit.explain(joined)


def posts(spark):
    return spark.range(3000).selectExpr("if(id % 2 = 0, 0, id % 50) AS k", "id AS v", "concat('u', id % 3) AS author")


def users(spark):
    """One of the columns is named like a function that SQL calls without brackets."""
    return spark.range(50).selectExpr("id AS j", "concat('u', id % 3) AS user")


AUTHOR_IS_USER = {
    "columns": lambda: [F.col("k") == F.col("j"), F.col("author") == F.col("user")],
    "sql": lambda: F.expr("k = j AND author = user"),
    "less than": lambda: F.expr("k = j AND author <= user"),
    "lambda": lambda: [F.col("k") == F.col("j"), F.exists(F.array("author"), lambda a: a == F.col("user"))],
}


@pytest.mark.every(11)
@pytest.mark.connect
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("condition", AUTHOR_IS_USER)
def test_a_column_named_like_a_function_is_the_column(spark, how, condition):
    on = AUTHOR_IS_USER[condition]()
    strategy = "auto" if how == "full" else "salt"
    assert check(posts(spark), users(spark), on, how, strategy=strategy)[0] > 0
    mirrored = users(spark).withColumnRenamed("j", "k"), posts(spark).withColumnRenamed("k", "j")
    assert check(*mirrored, on, how, strategy=strategy)[0] > 0


@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_key_made_of_columns_of_both_frames_is_no_key(spark, how):
    left = spark.range(3000).selectExpr("'t' AS tenant", "id AS v")
    right = spark.range(9).selectExpr("'tu' AS full", "'u' AS user", "id AS w")
    for on in (F.concat(F.col("tenant"), F.col("user")) == F.col("full"), F.expr("concat(tenant, user) = full")):
        rows, text = check(left, right, on, how)
        assert rows == 27_000
        assert "no equality of a left and a right column that can be read" in text


@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "left", "semi"])
def test_a_field_of_a_struct_that_is_named_like_the_other_frame(spark, how):
    rows = spark.range(3000).selectExpr("if(id % 2 = 0, 0, id % 50) AS k", "id AS v", "struct(id + 1000 AS w) AS b")
    left, right = rows.alias("a"), spark.range(50).selectExpr("id AS j", "id * 10 AS w").alias("b")
    on = (F.col("a.k") == F.col("b.j")) & (F.col("a.v") > F.col("b.w"))
    assert check(left, right, on, how, strategy="salt")[0] > 0


@pytest.mark.skipif(
    VERSION < (4, 0), reason="session variables came with Spark 3.5, DECLARE OR REPLACE for good with 4"
)
def test_a_column_named_like_a_session_variable_is_the_column(spark):
    spark.sql("DECLARE OR REPLACE VARIABLE most BIGINT DEFAULT -1")
    try:
        left, right = posts(spark), spark.range(50).selectExpr("id AS j", "9000 AS most")
        on = [F.col("k") == F.col("j"), F.col("v") < F.col("most")]
        assert check(left, right, on, "inner", strategy="salt")[0] == 3000
    finally:
        spark.sql("DROP TEMPORARY VARIABLE most")


@pytest.mark.connect
def test_a_function_without_brackets_is_of_no_side(spark):
    left = spark.range(3000).selectExpr("date_sub(current_date, int(id % 3)) AS day", "id AS v")
    right = spark.range(3).selectExpr("int(id) AS days", "id AS w")
    on = F.expr("datediff(current_date, day) = days AND day <= current_date")
    rows, text = check(left, right, on, "inner", strategy="salt")
    assert rows == 3000
    assert "residual" not in text, text


def test_conditions_on_one_side_are_still_applied_to_it_first(spark):
    left, right = posts(spark), users(spark)
    on = F.expr("k = j AND v % 2 = 1 AND upper(author) LIKE 'U%' AND CAST(v AS string) > '1'")
    rows, text = check(left, right, on, "inner", strategy="salt")
    assert rows > 0
    assert "k: 1,499 rows" in text, "so many left rows have an odd v after 1"
    assert "residual" not in text


@pytest.mark.every(7)
@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"]], ids="".join)
def test_casts_that_fail_where_another_key_is_null(spark, how, names):
    """Plain Spark leaves rows with a null key out before it casts the other one, where the join does not keep them."""
    text = "if(id = 7, 'x', string(if(id % 2 = 0, 0, id % 50))) AS b"
    texts = spark.range(3000).selectExpr(text, "if(id = 7, NULL, 0) AS a", "id AS v")
    numbers = spark.range(50).selectExpr("id AS b", "0 AS a", "id AS w")
    left, right = (texts, numbers) if how in ("inner", "right", "semi") else (numbers, texts)
    zero = {"a": 0, "b": "0" if left is texts else 0}  # hot keys are named as the left columns have them
    heavy = [tuple(zero[name] for name in names)]
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        # A broadcast of the right side's hot rows: a profile of that side casts what it holds.
        for strategy in ("salt", "broadcast_head") if how in ("inner", "semi") else ("salt",):
            check(left, right, names, how, strategy=strategy, heavy=heavy)


@pytest.mark.parametrize(
    "condition",
    [
        "k = j AND CASE WHEN author LIKE 'u%' THEN (v) WHEN v > 1 THEN 0 END >= 0",
        r"k = j AND author RLIKE 'u\\d' AND w >= 0",
        "k = j AND timestamp_seconds(v) < timestamp_seconds(w) + INTERVAL 1 DAY",
    ],
    ids=["case", "backslash", "interval"],
)
def test_words_that_are_no_columns_though_a_column_has_their_name(spark, condition):
    """Both frames have columns named `end`, `day` and `d`, so that the condition would be Spark's if it read one."""
    left = posts(spark).selectExpr("*", "v AS end", "v AS day", "v AS d")
    right = spark.range(50).selectExpr("id AS j", "id AS w", "id AS end", "id AS day", "id AS d")
    rows, text = check(left, right, F.expr(condition), "inner", strategy="salt")
    assert rows > 0
    assert "strategy   salt" in text, text
    assert ("residual" in text) == ("timestamp" in condition), text


CONDITIONS_THAT_CAST = {
    "text": lambda: F.expr("k = j AND odd"),
    "texts": lambda: F.expr("k = j AND odd AND few"),
    "column": lambda: (F.col("k") == F.col("j")) & F.col("odd"),
    "not not": lambda: (F.col("k") == F.col("j")) & ~~F.col("odd"),
    "or false": lambda: F.expr("k = j AND (few OR false)"),
    "both sides": lambda: F.expr("k = j AND nvl(odd, few)"),
    "query": lambda: F.expr("k = j AND (SELECT true OR false)"),
    "not a query": lambda: F.expr("k = j AND NOT (SELECT false OR false) = true AND odd"),
    "never": lambda: F.coalesce(F.lit(False), F.col("k") == F.col("j")),
    "never, by nvl": lambda: F.nvl(F.lit(False), F.col("k") == F.col("j")),
    "not computed, = true": lambda: F.coalesce(
        ((F.col("k") == F.col("j")) & (1 / F.col("zero") > 1)) == F.lit(True), F.lit(False)
    ),
    "not computed": lambda: F.coalesce((F.col("k") == F.col("j")) & (1 / F.col("zero") > 1), F.lit(False)),
}


@pytest.mark.parametrize("condition", CONDITIONS_THAT_CAST)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.connect
@pytest.mark.every(9)
def test_texts_queries_and_what_is_never_true_as_conditions(spark, how, condition):
    """In ANSI mode a text is a condition beside AND. What stands within `coalesce` is computed where keys match."""
    on = CONDITIONS_THAT_CAST[condition]()
    zero = "if(id % 50 = 49, 0, 1) AS zero"
    left = spark.range(3000).selectExpr("if(id % 2 = 0, 0, id % 50) AS k", "id AS v", "string(id % 3 = 0) AS odd", zero)
    right = spark.range(49).selectExpr("nullif(id, 99) AS j", "string(id % 3 <> 1) AS few")
    with conf(spark, "spark.sql.ansi.enabled", "true"), conf(spark, "spark.skewkit.margin", "-1e9"):
        check(left, right, on, how)


@pytest.mark.connect
@pytest.mark.parametrize("as_text", [False, True], ids=["column", "text"])
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_in_compares_other_types_in_a_way_of_its_own(spark, ansi, as_text):
    """Without ANSI mode, `1 IN ('01')` is false and `1 = '01'` is true."""
    left = spark.range(300).selectExpr("if(id % 2 = 0, 0, id % 50) AS k", "id AS v")
    right = spark.range(49).selectExpr("if(id % 3 = 0, concat('0', id), string(id)) AS j", "id AS w")
    on = F.expr("k IN (j) AND v >= w") if as_text else F.col("k").isin(F.col("j")) & (F.col("v") >= F.col("w"))
    with conf(spark, "spark.sql.ansi.enabled", ansi), conf(spark, "spark.skewkit.margin", "-1e9"):
        rows, text = check(left, right, on, "inner")
    assert (rows > 200) == (ansi == "true"), rows
    assert "no equality of a left and a right column that can be read" in text


@pytest.mark.connect
@pytest.mark.parametrize("how", ["left", "anti"])
def test_what_may_fail_is_asked_of_equal_keys_only(spark, how):
    """Packed keys of different keys may be equal, and here 18 are; the predicate is of one side and fails for all."""
    left = spark.range(100_000).selectExpr("id AS k", "id % 1 AS x")
    right = spark.range(100_000, 200_000).selectExpr("id AS j")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        on = (F.col("k") == F.col("j")) & (100 / F.col("x") > 5)
        joined = skewkit.skew_join(left, right, on, how, strategy="salt", heavy=[-1], partitions=200)
        assert joined.count() == 100_000


@pytest.mark.connect
@pytest.mark.parametrize("how", [how for how in KINDS if how != "full"])
def test_a_residual_is_not_asked_of_nulls_that_change_places(spark, how):
    """(1, null) and (null, 1) have one hash, as Spark's hash passes over nulls."""
    left = spark.createDataFrame([(1, None, 5), (1, 1, 6), (None, 2, 7)] * 50, "a int, b int, x int")
    right = spark.createDataFrame([(None, 1, 5), (1, 1, 5)] * 3, "c int, d int, y int")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        on = F.expr("a <=> c AND b <=> d AND 1 / (x - y) > 0")
        assert check(left, right, on, how, strategy="salt", heavy=[(1, 1)])[0] > 0


@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_two_frames_of_one_of_which_one_hides_a_key(spark, tmp_path, how):
    """Paths of two hops: both sides are read from one frame, under other names."""
    spark.range(2000).selectExpr("if(id % 3 < 2, 0, id % 20) AS dst", "id % 50 AS src").write.parquet(f"{tmp_path}/e")
    edges = spark.read.parquet(f"{tmp_path}/e")
    left = edges.select(F.col("dst").alias("k"), "src")
    right = edges.select(F.col("src").alias("k"), "dst")
    for strategy in ("broadcast_head", "salt"):
        joined = skewkit.skew_join(left, right, "k", how, strategy=strategy, partitions=4)
        assert joined.count() == left.join(right, "k", how).count()
