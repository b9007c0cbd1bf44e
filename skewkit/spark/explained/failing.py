"""Whether an expression can fail for some row: an allow-list, as rows that a query does not need may be among them."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.explained.plan_columns import calls_in
from skewkit.spark.explained.typed_text import INTS, NOT_ZERO, reduced, typed_text
from skewkit.spark.session.compat import explained_whole, in_force, is_connect

_ASKED = "_skew_asked"
_ANSI = "spark.sql.ansi.enabled"
_CALLS = {
    *("cast", "coalesce", "in", "not", "isnull", "isnotnull", "isnan", "startswith", "endswith", "contains"),
    *("upper", "ucase", "lower", "lcase", "trim", "substring", "date_add", "date_sub", *INTS.split("|")),
}
"""Functions whose casts the plan shows; it does not show those inside `nvl` and its kind."""
_NULL = re.compile(r"cast\(null as \w+\)")
_REMAINDER = re.compile(rf" % {NOT_ZERO}(?=[\s)])")
_ESCAPED = re.compile(r"\\[\\%_]")
_LIKE = re.compile(r" LIKE (?!CASE |if )[^()\[\]{}‹›,'\"]*(?=[),]| AND | OR | THEN | ELSE | END|$)")
_FAILING = re.compile(
    r" [-+*/%] |-[A-Za-z_(‹]|\bdiv\b|\blike\b|\bcast\(|subquery|\[|\.\.\.|\{|[)›]#\d|\bescape\b", re.IGNORECASE
)
"""Also a UDF, whose result has a number: it may have the name of any function."""


def never_fails(frame: DataFrame, column: Column) -> bool:
    """Return whether it is known that an expression can be computed for every row that a frame may hold.

    Whole numbers overflow in ANSI mode alone; fractions never do. What is cast or reckoned with must be of a type that
    can be told: columns, literals, and what is made of these.

    >>> ages = spark.createDataFrame([(1, "x", 0.5)], "age int, name string, x double")
    >>> never_fails(ages, F.expr("age > 17L AND name <> 'x' AND age % 3 = 0")), never_fails(ages, F.expr("1 / age > 0"))
    (True, False)
    >>> never_fails(ages, F.expr("17L % age = 1")), never_fails(ages, F.expr("age % 0L = 1"))
    (False, False)
    >>> never_fails(ages, F.expr("abs(x - age) / 2 > 0.1")), never_fails(ages, F.expr("abs(age - 1) > 3"))
    (True, False)
    >>> never_fails(ages, F.expr("name LIKE 'a_c%'")), never_fails(ages, F.expr("name LIKE name"))
    (True, False)
    >>> never_fails(ages, F.expr("to_date('x') > '2024-02-28'")), never_fails(ages, F.expr("name > date '2024-02-28'"))
    (False, False)
    >>> days = ages.selectExpr("date '2024-01-01' AS day", "upper(name) AS name")
    >>> [never_fails(days, F.expr(text)) for text in ("day >= '2024-02-28' AND year(day) = 2024", "day > '2024-02-31'")]
    [True, False]
    >>> never_fails(days, F.expr("day >= current_date() - 7")), never_fails(days, F.expr("day > current_timestamp()"))
    (True, False)
    >>> never_fails(ages, F.expr("name > 3")), never_fails(ages, F.expr("raise_error(name) IS NULL"))
    (False, False)
    """
    analyzed = explained_whole(frame.where(F.lit(False)).select("*", column.alias(_ASKED)), "EXTENDED")
    found = re.search(
        rf"^\W*Project \[(.*) AS {_ASKED}#\d+L?\]$",
        analyzed.partition("== Analyzed Logical Plan ==")[2],
        re.MULTILINE,
    )
    expression = None if found is None else typed_text(found[1], frame.dtypes)
    if expression is None:
        return False
    # A frame of Connect is resolved when it runs, and by then the session may be in ANSI mode.
    ansi = is_connect(frame) or in_force(frame.sparkSession, _ANSI) != "false"
    if not ansi or "null" not in str(column):  # the text 'null' looks like NULL in a plan, but not in a Column
        expression = _NULL.sub("null", expression)
    expression = reduced(expression, ansi=ansi)
    expression = _ESCAPED.sub("", _REMAINDER.sub("", expression))
    if "\\" not in expression and "#" not in expression:  # no pattern has a wrong escape, or is of a column
        expression = _LIKE.sub(" = ", expression)
    return calls_in(expression) <= _CALLS and not _FAILING.search(expression)
