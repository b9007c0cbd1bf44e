"""Whether an expression can fail for some row: an allow-list, as rows that a query does not need may be among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.explained.plan_columns import calls_in
from skewkit.spark.session.compat import explained

_ASKED = "_skew_asked"
_CALLS = {
    *("cast", "coalesce", "in", "not", "isnull", "isnotnull", "startswith", "endswith", "contains"),
    *("upper", "lower", "trim", "length", "year", "month", "dayofmonth"),
}
"""Functions whose casts the plan shows; it does not show those inside `nvl`, `between` and their kind."""
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_NUMBER = r"-?\d+(?:\.\d+)?[LDF]?"
_CAST = re.compile(rf"cast\((?:(?P<number>{_NUMBER})|(?P<name>[\w$]+)#\d+L?) as (?P<to>\w+)\)")
_DAY = re.compile(r"cast\((\d{4}-\d\d-\d\d(?: (?:[01]\d|2[0-3]):\d\d:\d\d)?) as (?:date|timestamp|timestamp_ntz)\)")
_NULL = re.compile(r"cast\(null as \w+\)")
_REMAINDER = re.compile(rf" % (?=-?\d*[1-9]){_NUMBER}(?=[\s)])")
_FAILING = re.compile(r" [-+*/%] |-[A-Za-z_(]|\bdiv\b|\blike\b|\bcast\(|subquery|\[|\.\.\.|\{|\)#\d", re.IGNORECASE)
"""Also a UDF, whose result has a number: it may have the name of any function."""


def never_fails(frame: DataFrame, column: Column) -> bool:
    """Return whether it is known that an expression can be computed for every row that a frame may hold.

    >>> ages = spark.createDataFrame([(1, "x")], "age int, name string")
    >>> never_fails(ages, F.expr("age > 17L AND name <> 'x' AND age % 3 = 0")), never_fails(ages, F.expr("1 / age > 0"))
    (True, False)
    >>> never_fails(ages, F.expr("17L % age = 1")), never_fails(ages, F.expr("age % 0L = 1"))
    (False, False)
    >>> never_fails(ages, F.expr("to_date('x') > '2024-02-28'")), never_fails(ages, F.expr("name > date '2024-02-28'"))
    (False, False)
    >>> days = ages.selectExpr("date '2024-01-01' AS day", "upper(name) AS name")
    >>> [never_fails(days, F.expr(text)) for text in ("day >= '2024-02-28' AND year(day) = 2024", "day > '2024-02-31'")]
    [True, False]
    >>> never_fails(ages, F.expr("name > 3")), never_fails(ages, F.expr("raise_error(name) IS NULL"))
    (False, False)
    """
    text = explained(frame.where(F.lit(False)).select(column.alias(_ASKED)), "EXTENDED")
    analyzed = text.partition("== Analyzed Logical Plan ==")[2]
    found = re.search(rf"^\W*Project \[(.*) AS {_ASKED}#\d+L?\]$", analyzed, re.MULTILINE)
    if found is None:
        return False
    names = [name for name, _ in frame.dtypes]
    types = {name: type_ for name, type_ in frame.dtypes if names.count(name) == 1}
    expression = _CAST.sub(lambda cast: cast["number"] or cast["name"] if _widens(cast, types) else cast[0], found[1])
    expression = _DAY.sub(lambda cast: cast[1] if _is_day(cast[1]) else cast[0], expression)
    expression = _REMAINDER.sub("", _NULL.sub("null", expression))
    return calls_in(expression) <= _CALLS and not _FAILING.search(expression)


def _is_day(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).year > 0
    except ValueError:
        return False


def _widens(cast: re.Match[str], types: Mapping[str, str]) -> bool:
    """Return whether a cast is of a number to one that has room for it."""
    if cast["to"] not in _NUMBERS:
        return False
    if cast["name"] is None:
        return cast["to"] in ("bigint", "double")
    found = types.get(cast["name"])
    return found in _NUMBERS and _NUMBERS.index(found) <= _NUMBERS.index(cast["to"])
