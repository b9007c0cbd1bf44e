"""The parts of a join condition, ANDed, are true where the condition is: random conditions, nulls, Columns and SQL."""

from functools import reduce
from operator import and_

import pytest
from pyspark.sql import functions as F

from skewkit.spark.expressions.condition import conjuncts
from tests.seeds import random_of, run_seed_of

NO = ["false", "null", "CAST(null AS boolean)"]


def as_text(random, depth):
    """Return a random condition in SQL over the whole numbers a, b and the boolean c."""
    if depth == 0:
        a, b = random.sample(["a", "b", "1", "2"], 2)
        tests = [f"{a} = {b}", f"{a} <> {b}", f"{a} <=> {b}", f"{a} IS DISTINCT FROM {b}", "a IS NULL"]
        return random.choice([*tests, "c"])
    x, y, no = as_text(random, depth - 1), as_text(random, random.randrange(depth)), random.choice(NO)
    shapes = [
        f"({x}) AND {y}",
        f"({x}) OR {y}",
        f"NOT ({x})",
        f"NOT ({x} OR {y})",
        f"NOT (NOT ({x}))",
        f"({x}) OR {no}",
        f"{no} OR ({x})",
        f"({x}) = true",
        f"true <=> ({x})",
        f"({x}) = false",
        f"if({x}, true, {no})",
        f"if({x}, {no}, true)",
        f"CASE WHEN {x} THEN true ELSE {no} END",
        f"CASE WHEN {x} THEN true END",
        f"CASE WHEN {x} THEN {y} ELSE true END",
        f"coalesce({x}, false)",
        f"coalesce({no}, {x})",
        f"(SELECT {no} OR true) AND ({x})",
        f"nvl({x}, true)",
        f"({x} AND {y}) OR ({y} AND {x})",
    ]
    return random.choice(shapes)


def as_column(random, depth):
    """Return the like as a Column, of which some parts are texts."""
    if depth == 0:
        a, b = random.sample([F.col("a"), F.col("b"), F.lit(1), F.lit(2)], 2)
        tests = [a == b, a != b, a.eqNullSafe(b), F.col("a").isNull(), F.expr("a = b OR false")]
        return random.choice([*tests, F.col("c")])
    x, y = as_column(random, depth - 1), as_column(random, random.randrange(depth))
    no = random.choice([F.lit(False), F.lit(None), F.lit(None).cast("boolean")])
    shapes = [
        x & y,
        x | y,
        ~x,
        ~(x | y),
        ~~x,
        x | no,
        no.cast("boolean") | x,
        x == F.lit(True),
        F.lit(True).eqNullSafe(x),
        x == F.lit(False),
        F.when(x, True).otherwise(no),
        F.when(x, no.cast("boolean")).otherwise(True),
        F.when(x, True),
        F.when(x, True).when(y, True),
        F.coalesce(x, F.lit(False)),
        F.coalesce(no.cast("boolean"), x),
        F.coalesce(x, F.lit(True)),
        x.alias("named"),
        (x & y) | (y & x),
    ]
    return random.choice(shapes)


@pytest.mark.connect
@pytest.mark.parametrize("kind", ["text", "column"])
def test_parts_are_true_where_the_condition_is(spark, request, kind):
    random = random_of(run_seed_of(request.config)[0], "predicates", kind)
    numbers = "array(null, 1, 2)"
    df = spark.range(1).selectExpr(f"explode({numbers}) AS a").selectExpr("a", f"explode({numbers}) AS b")
    df = df.selectExpr("a", "b", "explode(array(null, true, false)) AS c").cache()
    texts, same = [], []
    for _ in range(25):
        depth = random.randint(1, 3)
        condition = F.expr(as_text(random, depth)) if kind == "text" else as_column(random, depth)
        parts = conjuncts(condition)
        texts.append(f"{condition}: {parts}")
        both = [F.coalesce(each, F.lit(False)) for each in (condition, reduce(and_, parts))]
        same.append(F.min(both[0] == both[1]).alias(f"same{len(same)}"))
    found = df.agg(*same).first()
    assert [text for text, equal in zip(texts, found, strict=True) if not equal] == []
    df.unpersist()
