"""Join conditions that Spark's optimizer makes equi-joins of."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.expressions.condition import compared, conjuncts
from skewkit.spark.expressions.sql_condition import conjuncts_of, equality_of
from skewkit.testing import assert_same_rows

K, KK = "l.k", "r.k"


@pytest.mark.parametrize(
    ("source", "sides"),
    [
        ("l.k = r.k", (K, KK, "=")),
        ("l.k IS NOT DISTINCT FROM r.k", (K, KK, "<=>")),
        ("(l.k is not distinct from r.k)", (K, KK, "<=>")),
        ("equal_null(l.k, r.k)", (K, KK, "<=>")),
        ("l.k = r.k OR (l.k IS NULL AND r.k IS NULL)", (K, KK, "<=>")),
        ("(r.k IS NULL AND l.k IS NULL) OR l.k = r.k", (K, KK, "<=>")),
        ("L.K = r.k OR isnull(l.k) AND isnull(R.k)", ("L.K", KK, "<=>")),
        ("NOT (l.k <> r.k)", (K, KK, "=")),
        ("NOT l.k != r.k", (K, KK, "=")),
        ("l.k IN (r.k)", (K, KK, "in")),
        ("l.k IN (VALUES 1)", None),
        ("l.k IN (TABLE t)", None),
        ("l.k IN ((FROM t))", None),
        ("l.k = r.k OR (l.k IS NULL AND l.k IS NULL)", None),
        ("l.k = r.k OR (l.k IS NULL AND r.j IS NULL)", None),
        ("l.k = r.k OR l.k IS NULL", None),
        ("l.k <=> r.k OR (l.k IS NULL AND r.k IS NULL)", None),
        ("concat(l.k, 'A') = r.k OR (concat(l.k, 'a') IS NULL AND r.k IS NULL)", None),
        ("l.k IS DISTINCT FROM r.k", None),
        ("NOT (l.k IS DISTINCT FROM r.k)", (K, KK, "<=>")),
        ("NOT (l.k IS NOT DISTINCT FROM r.k)", None),
        ("NOT (l.k = r.k)", None),
        ("NOT (l.k <> r.k OR l.v = 1)", None),
        ("l.k IN (r.k, r.j)", None),
        ("l.k IN (SELECT k FROM t)", None),
        ("l.k NOT IN (r.k)", None),
        ("equal_null(l.k, r.k) = true", ("equal_null(l.k, r.k)", "true", "=")),
        ("l.k = r.k IS NOT DISTINCT FROM true", None),
    ],
)
def test_equalities_in_texts(source, sides):
    assert equality_of(source) == sides


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("1 = 1 AND l.k = r.k", ["l.k = r.k"]),
        ("true AND 'a' = 'a' AND l.k = r.k", ["l.k = r.k"]),
        ("1 = 1", ["1 = 1"]),
        ("1 = 2 AND l.k = r.k", ["1 = 2", "l.k = r.k"]),
        ("null = null AND l.k = r.k", ["null = null", "l.k = r.k"]),
        ("'a' = 'A' AND l.k = r.k", ["'a' = 'A'", "l.k = r.k"]),
        ("(l.k = r.k AND l.v = 1) OR (r.v = 2 AND l.k = r.k)", ["l.k = r.k", None]),
        ("l.k = r.k OR l.k = r.k AND r.v = 2", ["l.k = r.k"]),
        ("(l.k = r.k AND l.v = 1) OR r.v = 2", [None]),
        ("NOT (l.k <> r.k OR l.v <= 3)", ["NOT (l.k <> r.k)", "NOT (l.v <= 3)"]),
        ("NOT (NOT (l.k = r.k AND l.v = 1))", ["l.k = r.k", "l.v = 1"]),
        ("NOT (l.k <> r.k AND l.v = 1)", [None]),
        ("l.k = r.k OR false", ["l.k = r.k"]),
        ("NULL OR (l.k = r.k AND l.v = 1) OR CAST(NULL AS boolean)", ["l.k = r.k", "l.v = 1"]),
        ("l.k = r.k OR true", [None]),
        ("(l.k = r.k) = true", ["l.k = r.k"]),
        ("true <=> (l.k = r.k)", ["l.k = r.k"]),
        ("true <=> (l.k = r.k AND l.v = 1)", [None]),
        ("(l.k = r.k AND l.v = 1) = true", ["l.k = r.k", "l.v = 1"]),
        ("(l.v << 1) = true", [None]),
        ("l.k = r.k AND NOT (SELECT x OR y FROM c)", ["l.k = r.k", "NOT (SELECT x OR y FROM c)"]),
        ("(SELECT l.v = 1 OR y = 2 FROM c) = true", [None]),
        ("l.k = r.k AND (SELECT x FROM c)", ["l.k = r.k", "(SELECT x FROM c)"]),
        ("l.k = true", [None]),
        ("(l.k) = true", [None]),
        ("f(l.k = r.k) = true", [None]),
        ("if(l.k = r.k, true, false)", ["l.k = r.k"]),
        ("if(l.k = r.k, false, true)", [None]),
        ("if(l.k = r.k, true, null) AND l.v = 1", ["l.k = r.k", "l.v = 1"]),
        ("CASE WHEN l.k = r.k THEN true ELSE false END", ["l.k = r.k"]),
        ("CASE WHEN l.k = r.k THEN true END", ["l.k = r.k"]),
        ("CASE WHEN l.k = r.k THEN true WHEN l.v = 1 THEN true END", [None]),
        ("CASE WHEN l.k = r.k THEN true ELSE l.v = 1 END", [None]),
        ("CASE l.k WHEN r.k THEN true END", [None]),
        ("coalesce(l.k = r.k, false)", ["l.k = r.k"]),
        ("coalesce(l.k = r.k AND l.v = 1, false)", [None]),
        ("coalesce((l.k = r.k AND l.v = 1) = true, false)", [None]),
        ("if((l.k = r.k AND l.v = 1) = true, true, false)", [None]),
        ("((l.k = r.k AND l.v = 1) = true) <=> true", [None]),
        ("coalesce(false, l.k = r.k)", [None]),
        (
            "l.k = r.k AND NOT ((SELECT b FROM c) UNION SELECT x OR y)",
            ["l.k = r.k", "NOT ((SELECT b FROM c) UNION SELECT x OR y)"],
        ),
        ("(l.v::array<int>[0]) = true AND l.k = r.k", ["(l.v::array<int>[0]) = true", "l.k = r.k"]),
        ("coalesce(l.k, false)", [None]),
        ("nvl(l.k = r.k, true)", [None]),
    ],
)
def test_parts_of_texts(source, parts):
    """None stands for the whole."""
    assert conjuncts_of(source) == [source if part is None else part for part in parts]


@pytest.fixture
def frames(spark):
    left = spark.range(0, 400, 1, 3).selectExpr("if(id % 3 = 0, null, if(id % 2 = 0, 7, id % 40)) AS k", "id AS v")
    right = spark.range(0, 60, 1, 3).selectExpr("if(id % 20 = 0, null, id % 45) AS kk", "id AS w")
    return left, right


CONDITIONS = {
    "constant": (lambda k, kk: F.lit(True) & (k == kk), False),
    "constants": (lambda k, kk: (F.lit(1) == F.lit(1)) & F.expr("1 = 1 AND k = kk"), False),
    "equal_null": (lambda k, kk: F.equal_null(k, kk), True),
    "or_both_null": (lambda k, kk: (k == kk) | (k.isNull() & kk.isNull()), True),
    "or_both_null_turned": (lambda k, kk: (F.isnull(kk) & F.isnull(k)) | (kk == k), True),
    "not_unequal": (lambda k, kk: ~(k != kk), False),
    "text": (lambda k, kk: F.expr("k IS NOT DISTINCT FROM kk"), True),
    "in": (lambda k, kk: k.isin(kk), False),
    "or_false": (lambda k, kk: (k == kk) | F.lit(False), False),
    "or_null": (lambda k, kk: F.lit(None).cast("boolean") | (k == kk), False),
    "is_true": (lambda k, kk: (k == kk) == F.lit(True), False),
    "true_null_safe": (lambda k, kk: F.lit(True).eqNullSafe(k == kk), False),
    "alias": (lambda k, kk: (k == kk).alias("on"), False),
    "case": (lambda k, kk: F.when(k == kk, True).otherwise(False), False),
    "case_without_else": (lambda k, kk: F.when(k == kk, True), False),
    "de_morgan": (lambda k, kk: ~((k != kk) | F.lit(False)), False),
    "not_twice": (lambda k, kk: ~~k.eqNullSafe(kk), True),
    "nvl": (lambda k, kk: F.nvl(k == kk, F.lit(False)), False),
    "distinct": (lambda k, kk: F.expr("NOT (k IS DISTINCT FROM kk)"), True),
    "text_de_morgan": (lambda k, kk: F.expr("NOT (k <> kk OR false)"), False),
    "text_if": (lambda k, kk: F.expr("if(k = kk, true, false) OR null"), False),
}


@pytest.mark.connect
@pytest.mark.parametrize("named", CONDITIONS)
def test_conditions_that_are_equalities(frames, named):
    left, right = frames
    make, null_safe = CONDITIONS[named]
    for condition in (make(left["k"], right["kk"]), make(F.col("k"), F.col("kk"))):
        (part,) = conjuncts(condition)
        sides = compared(part)
        assert sides is not None
        assert (sides[2] == "<=>") == null_safe
    joined = skewkit.skew_join(left, right, condition, "left", strategy="salt", partitions=4)
    assert "salt" in skewkit.explain(joined)
    assert_same_rows(joined, left.join(right, condition, "left"))


AS_COLUMN_AND_TEXT = [
    (lambda x, y, k: x & (y | F.lit(False)), "k = kk AND (v < w OR false)"),
    (lambda x, y, k: x | F.lit(None).cast("boolean"), "k = kk OR CAST(null AS boolean)"),
    (lambda x, y, k: x | y, "k = kk OR v < w"),
    (lambda x, y, k: (x & y) | (y & x), "(k = kk AND v < w) OR (v < w AND k = kk)"),
    (lambda x, y, k: x == F.lit(True), "(k = kk) = true"),
    (lambda x, y, k: F.lit(True).eqNullSafe(x), "true <=> (k = kk)"),
    (lambda x, y, k: x == F.lit(False), "(k = kk) = false"),
    (lambda x, y, k: F.col("c") == F.lit(True), "c = true"),
    (lambda x, y, k: F.when(x, True), "CASE WHEN k = kk THEN true END"),
    (lambda x, y, k: F.when(x & y, True).otherwise(False), "if(k = kk AND v < w, true, false)"),
    (lambda x, y, k: F.when(x, True).otherwise(False), "if(k = kk, true, false)"),
    (lambda x, y, k: (x & y) == F.lit(True), "(k = kk AND v < w) = true"),
    (lambda x, y, k: (x & y).eqNullSafe(F.lit(True)), "(k = kk AND v < w) <=> true"),
    (lambda x, y, k: F.coalesce(x & y, F.lit(False)), "coalesce(k = kk AND v < w, false)"),
    (lambda x, y, k: F.coalesce((x & y) == F.lit(True), F.lit(False)), "coalesce((k = kk AND v < w) = true, false)"),
    (lambda x, y, k: ((x & y) == F.lit(True)).eqNullSafe(F.lit(True)), "((k = kk AND v < w) = true) <=> true"),
    (lambda x, y, k: k.isin(F.col("kk")), "k IN (kk)"),
    (lambda x, y, k: F.coalesce(F.lit(False), x), "coalesce(false, k = kk)"),
    (lambda x, y, k: F.nvl(F.lit(False), x), "nvl(false, k = kk)"),
    (lambda x, y, k: F.coalesce(F.lit(False), F.lit(False), x), "coalesce(false, false, k = kk)"),
    (lambda x, y, k: F.shiftleft("k", 1) == F.lit(True), "(k << 1) = true"),
    (lambda x, y, k: F.when(x, False).otherwise(True), "if(k = kk, false, true)"),
    (lambda x, y, k: F.when(x, True).when(y, True), "CASE WHEN k = kk THEN true WHEN v < w THEN true END"),
    (lambda x, y, k: F.coalesce(x, F.lit(False)), "coalesce(k = kk, false)"),
    (lambda x, y, k: F.nvl(x, F.lit(True)), "nvl(k = kk, true)"),
    (lambda x, y, k: ~(~x | (k != F.col("kk"))), "NOT (NOT (k = kk) OR k <> kk)"),
    (lambda x, y, k: ~(x & y), "NOT (k = kk AND v < w)"),
    (lambda x, y, k: ~(~(x & y)), "NOT (NOT (k = kk AND v < w))"),
]


@pytest.mark.connect
@pytest.mark.parametrize("at", range(len(AS_COLUMN_AND_TEXT)))
def test_columns_and_texts_are_read_alike(spark, at):
    column, text = AS_COLUMN_AND_TEXT[at]
    k, kk, v, w = map(F.col, ("k", "kk", "v", "w"))
    read = []
    for condition in (column(k == kk, v < w, k), F.expr(text)):
        sides = [compared(part) for part in conjuncts(condition)]
        read.append([None if each is None else each[2] for each in sides])
    assert read[0] == read[1]


@pytest.mark.connect
def test_what_both_sides_of_an_or_ask_is_a_key(frames):
    left, right = frames
    equal = left["k"] == right["kk"]
    condition = (equal & (left["v"] < 50)) | (equal & (right["w"] > 30))
    first, whole = conjuncts(condition)
    assert compared(first) is not None
    assert compared(whole) is None
    joined = skewkit.skew_join(left, right, condition, strategy="salt", partitions=4)
    assert "salt" in skewkit.explain(joined)
    assert_same_rows(joined, left.join(right, condition))


@pytest.mark.connect
def test_conditions_that_are_none(frames):
    left, right = frames
    k, kk = left["k"], right["kk"]
    for condition in (
        (k == kk) | (k.isNull() & k.isNull()),
        (k == kk) | (k.isNull() & right["w"].isNull()),
        (k == kk) | k.isNull(),
        ~(k == kk),
        k.isin(kk, right["w"]),
        F.lit(None) == F.lit(None),
        F.lit(1) == F.lit(2),
        ~((k != kk) & (left["v"] > 3)),
        F.when(k == kk, False).otherwise(True),
        F.when(k == kk, True).otherwise(left["v"] > 3),
        F.coalesce(k == kk, F.lit(True)),
        (k == kk) == F.lit(1).cast("boolean"),
        (k == kk) | (left["v"] > 3) | F.lit(False),
    ):
        (part,) = conjuncts(condition)
        found = compared(part)
        assert found is None or not {str(each) for each in found[:2]} & {str(k), str(kk)}
