"""Random windows for a differential test: a frame of awkward values, and for every seed a window over it, as text."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window

COLUMNS = {
    # Partition keys: a hot one, null, NaN, both zeros, a struct, a date.
    "k": "CASE WHEN h(1) % 10 < 5 THEN 0 WHEN h(1) % 10 = 5 THEN NULL WHEN h(1) % 10 = 6 THEN 1 ELSE id % 25 END",
    "kb": "CASE h(2) % 5 WHEN 0 THEN NULL WHEN 1 THEN 'y' ELSE 'x' END",
    "kf": "CASE h(3) % 8 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN NULL WHEN 3 THEN 7D ELSE 0.0D END",
    "ks": "named_struct('a', if(h(4) % 3 = 0, NULL, h(4) % 2), 'b', 'z')",
    "kd": "date_from_unix_date(int(if(h(5) % 4 = 0, 9000 + id % 7, 18000)))",
    # Orders: with ties and nulls, and a unique one.
    "ol": "if(h(10) % 9 = 0, NULL, h(10) % 40 - 20)",
    "oi": "if(h(11) % 9 = 0, NULL, cast(h(11) % 25 - 9 AS int))",
    "oy": "cast(if(h(12) % 9 = 0, NULL, h(12) % 100 - 50) AS tinyint)",
    "od": "CASE h(13) % 11 WHEN 0 THEN NULL WHEN 1 THEN double('NaN') WHEN 2 THEN -0.0D WHEN 3 THEN 0.0D "
    "WHEN 4 THEN double('Infinity') WHEN 5 THEN double('-Infinity') ELSE (h(13) % 300 - 150) / 7D END",
    "og": "CASE h(14) % 7 WHEN 0 THEN NULL WHEN 1 THEN float('NaN') ELSE float((h(14) % 90 - 45) / 3D) END",
    "os": "CASE h(15) % 7 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'é' ELSE string(h(15) % 50) END",
    "oe": "if(h(16) % 8 = 0, NULL, cast((h(16) % 500 - 250) / 10 AS decimal(12,2)))",
    "oa": "if(h(17) % 8 = 0, NULL, date_from_unix_date(int(h(17) % 60 - 30)))",
    "ot": "if(h(18) % 8 = 0, NULL, timestamp_micros((h(18) % 90 - 45) * 1000001))",
    "on": "if(h(19) % 8 = 0, NULL, cast(timestamp_micros((h(19) % 90) * 999) AS timestamp_ntz))",
    "ob": "if(h(20) % 5 = 0, NULL, h(20) % 2 = 0)",
    "ox": "if(h(21) % 5 = 0, NULL, cast(string(h(21) % 30) AS binary))",
    "oz": "if(h(22) % 6 = 0, NULL, named_struct('a', h(22) % 5, 'b', if(h(22) % 4 = 0, NULL, 's')))",
    "u": "id * 7919 % 100003",
    # Values.
    "i": "if(h(30) % 6 = 0, NULL, cast(h(30) % 1000 - 500 AS int))",
    "l": "if(h(31) % 6 = 0, NULL, (h(31) - 500000000) * 8000000)",
    "d": "if(h(32) % 6 = 0, NULL, (h(32) % 2000 - 1000) / 7D)",
    "n": "CASE h(33) % 40 WHEN 0 THEN NULL WHEN 1 THEN double('NaN') WHEN 2 THEN -0.0D ELSE (h(33) % 99) / 4D END",
    "g": "if(h(34) % 6 = 0, NULL, float((h(34) % 200 - 100) / 4D))",
    "e": "if(h(35) % 6 = 0, NULL, cast((h(35) % 100000) / 100 AS decimal(12,2)))",
    "w": "if(h(36) % 6 = 0, NULL, cast(h(36) % 100000 AS decimal(30,4)))",
    "s": "if(h(37) % 3 = 0, NULL, concat('s', h(37) % 30))",
    "a": "if(h(38) % 6 = 0, NULL, date_from_unix_date(int(h(38) % 60)))",
    "t": "if(h(39) % 6 = 0, NULL, timestamp_micros(h(39) % 90 * 1001))",
    "b": "if(h(40) % 6 = 0, NULL, h(40) % 2 = 0)",
    "z": "if(h(41) % 6 = 0, NULL, named_struct('p', h(41) % 9, 'q', if(h(41) % 4 = 0, NULL, 's')))",
    "y": "if(h(42) % 6 = 0, NULL, array(h(42) % 3, NULL))",
    "nil": "cast(NULL AS int)",
}
KEYS = (["'k'"], ["'k'"], ["'k'", "'kb'"], ["'kb'"], ["'kf'"], ["'ks'"], ["'kd'"], ["'kb'", "'kf'"], ["F.col('k') % 3"])
RANGES = ("ol", "oi", "oy", "od", "og", "oe", "oa")
ORDERS = (*RANGES, "os", "ot", "on", "ob", "ox")
NUMBERS = ("i", "l", "d", "n", "g", "e", "w", "u", "nil")
VALUES = (*NUMBERS, "s", "a", "t", "b", "z", "y")
MOMENTS = ("std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp")
LOW, HIGH = Window.unboundedPreceding, Window.unboundedFollowing


@dataclass(frozen=True)
class RandomWindow:
    """A window, as Python source: partition keys, order columns, frame, functions by name; and into how many parts."""

    keys: list[str]
    order: list[str]
    frame: tuple[str, int, int] | None
    functions: dict[str, str]
    partitions: int


def awkward(spark: SparkSession, rows: int, seed: int = 0) -> DataFrame:
    """Return a frame with ties, nulls, NaN, both zeros and infinities, over partitions of which some are empty."""
    texts = [f"{text} AS {name}" for name, text in COLUMNS.items()]
    hashed = [re.sub(r"h\((\d+)\)", rf"pmod(xxhash64(id, {seed}, \1), 1000000007)", text) for text in texts]
    frame = spark.range(0, rows, 1, 3).selectExpr("id", *hashed)
    return frame.unionAll(frame.where("id < 0"))


def random_window(seed: int) -> RandomWindow:
    """Return the window of a seed; its functions have one right answer per row, however ties are ordered."""
    r = random.Random(seed)
    frame, unique = _frame(r), r.random() < 0.6
    ranged = frame is not None and frame[0] == "rangeBetween" and any(b not in (LOW, 0, HIGH) for b in frame[1:])
    if ranged:
        unique, order = False, [_directed(r, r.choice(RANGES))]
    elif frame is None and r.random() < 0.1:
        unique, order = False, []
    else:
        unique = unique or (frame is not None and frame[0] == "rowsBetween")
        names = r.sample(ORDERS, r.choice([0, 1, 1, 2, 3] if unique else [1, 1, 2]))
        names[1:1] = ["oz"] if names and r.random() < 0.1 else []
        order = [_directed(r, name) for name in [*names, *(["u"] if unique else [])]]
    functions = {f"r{i}": _function(r, frame, order, unique) for i in range(r.randint(2, 6))}
    return RandomWindow(r.choice(KEYS), order, frame, functions, r.choice([2, 3, 5, 8, 13]))


def _frame(r: random.Random) -> tuple[str, int, int] | None:
    if r.random() < 0.35:
        return None
    near = sorted(r.choice([0, 1, 2, 5, 30, 200]) * r.choice([-1, 1]) for _ in range(2))
    bounds = [(LOW, 0), (0, HIGH), (LOW, HIGH), (LOW, near[1]), (near[0], HIGH), tuple(near), tuple(near), tuple(near)]
    bounds += [(LOW, -1), (1, HIGH)]
    return (r.choice(["rowsBetween", "rangeBetween"]), *r.choice(bounds))


def _directed(r: random.Random, name: str) -> str:
    how = ["asc", "asc", "desc", "asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last"]
    return f"F.col('{name}').{r.choice(how)}()"


def _function(r: random.Random, frame: tuple[str, int, int] | None, order: list[str], unique: bool) -> str:
    kinds = ["sum", "avg", "least", "moment", "count", "rows"]
    if order and frame is None:  # Spark refuses another frame
        kinds += ["rank", "rank"] + ["number", "shift", "shift"] * unique
    if unique:
        kinds += ["value", "value", "nth"]
    kind, x, n = r.choice(kinds), r.choice(VALUES), r.choice([1, 1, 2, 3, 17, 300])
    if kind == "rank":
        return r.choice(["F.rank()", "F.dense_rank()", "F.percent_rank()", "F.cume_dist()"])
    if kind == "number":
        return r.choice(["F.row_number()", f"F.ntile({r.choice([1, 2, 7, 1000])})"])
    if kind == "shift":
        default = {"i": ", -1", "s": ", 'none'", "d": ", 0.5"}.get(x, "") if r.random() < 0.7 else ""
        return f"F.{r.choice(['lag', 'lead'])}('{x}', {n}{default})"
    if kind == "value":
        return f"F.{r.choice(['first', 'last'])}('{x}', ignorenulls={r.random() < 0.6})"
    if kind == "nth":
        return f"F.nth_value('{x}', {n})"
    if kind == "rows":
        return r.choice(
            ["F.count('*')", "F.count(F.lit(1))", "F.sum(F.lit(2))", "F.max(F.lit('z'))", "F.avg(F.lit(7))"]
        )
    if kind == "count":
        return r.choice([f"F.count('{x}')", f"F.count(F.when(F.col('i') > 0, F.col('{x}')))"])
    if kind == "least":
        return f"F.{r.choice(['min', 'max'])}('{x}')"
    x = r.choice(NUMBERS if kind == "sum" else ("i", "d", "g", "n", "u", "nil", "l"))
    argument = f"F.col('{x}') + 1" if r.random() < 0.2 else f"'{x}'"
    return f"F.{r.choice(MOMENTS) if kind == 'moment' else kind}({argument})"
