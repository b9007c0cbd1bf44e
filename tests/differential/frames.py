"""Random frames: hot keys, nulls, NaN, both zeros, texts and structs, over partitions of which some are empty."""

import random
import re
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

SAME = {
    "bigint": "g",
    "int": "int(g)",
    "smallint": "smallint(g)",
    "tinyint": "tinyint(g)",
    "double": "CASE g % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D WHEN 3 THEN double('-inf') "
    "ELSE g END",
    "float": "CASE g % 4 WHEN 0 THEN float(-0.0D) WHEN 1 THEN float(0) WHEN 2 THEN float('NaN') ELSE float(g) END",
    "wide decimal": "cast(g AS decimal(38, 18)) / 3",
    "decimal": "cast(g AS decimal(7, 2))",
    "string": "CASE g WHEN 0 THEN 'é\u0000ß💥' WHEN 1 THEN '' WHEN 2 THEN 'é\u0000ß' ELSE concat('k', g) END",
    "binary": "CASE g WHEN 0 THEN X'00FF80' WHEN 1 THEN X'' WHEN 2 THEN X'00FF' "
    "ELSE cast(concat('k', g) AS binary) END",
    "boolean": "g = 0",
    "date": "date_add(DATE'1969-12-20', int(g))",
    "timestamp": "timestamp_micros(g * 123456789 - 5)",
    "timestamp_ntz": "cast(timestamp_micros(g * 123456789 - 5) AS timestamp_ntz)",
    "seconds": "make_dt_interval(0, 0, int(g), 0.5)",
    "months": "make_ym_interval(0, int(g))",
    "array": "CASE g WHEN 0 THEN array(1, NULL) WHEN 1 THEN array(NULL, 1) WHEN 2 THEN array() ELSE array(int(g)) END",
    "empty arrays": "CASE g WHEN 0 THEN array_remove(array(1), 1) WHEN 1 THEN array(int(NULL)) "
    "WHEN g THEN array(int(g)) END",
    "struct": "if(g IS NULL, NULL, named_struct('a', if(g = 0, NULL, g), 'b', if(g = 0, NULL, 'b')))",
    "array of doubles": "CASE g WHEN 0 THEN array(-0.0D) WHEN 1 THEN array(0D) WHEN 2 THEN array(double('NaN')) "
    "ELSE array(double(g)) END",
    "struct that is never null": "named_struct('a', if(g = 0, NULL, 1), 'b', if(g = 1, NULL, g))",
    "nested": "if(g IS NULL, NULL, named_struct('a', array(named_struct('x', g)), 'b', -0.0D))",
    "collated": "CASE WHEN g = 0 THEN if(id % 2 = 0, 'HOT', 'hot') ELSE concat('k', g) END COLLATE UTF8_LCASE",
}
"""Expressions of a key over `g` (0 is hot, 1 is warm) that stand on both sides of a join."""
MIXED = [
    ("int(g)", "g"),
    ("tinyint(g)", "cast(g AS decimal(5, 2))"),
    ("string(g)", "int(g)"),
    ("concat(' ', g, ' ')", "g"),
    ("concat(g, '.0')", "double(g)"),
    ("string(g)", "cast(g AS decimal(9, 2))"),
    ("concat('0', g)", "float(g)"),
    ("cast(g AS decimal(9, 2))", "cast(g AS decimal(20, 0))"),
    ("cast(g AS decimal(38, 18))", "cast(g AS decimal(38, 0))"),
    ("cast(g AS decimal(5, 1))", "int(g)"),
    ("cast(g AS decimal(20, 2))", "double(g)"),
    ("float(g) / 10", "double(g) / 10"),
    ("g + 9007199254740992", "double(g + 9007199254740992)"),
    ("int(g) + 16777216", "float(g + 16777216)"),
    ("date_add(DATE'2020-03-07', int(g))", "timestamp(date_add(DATE'2020-03-07', int(g)))"),
    ("date_add(DATE'2020-03-07', int(g))", "cast(date_add(DATE'2020-03-07', int(g)) AS timestamp_ntz)"),
    ("timestamp_seconds(g * 3600 + 1583539200)", "cast(timestamp_seconds(g * 3600 + 1583539200) AS timestamp_ntz)"),
    ("date_add(DATE'2020-01-01', int(g))", "string(date_add(DATE'2020-01-01', int(g)))"),
    ("timestamp_seconds(g)", "string(timestamp_seconds(g))"),
    ("if(g = 0, 'true', 'false')", "g = 0"),
    ("if(g = 0, 't', 'no')", "g = 0"),
    ("array(int(g))", "array(g)"),
    ("named_struct('a', int(g))", "named_struct('a', g)"),
    ("named_struct('a', g)", "named_struct('b', g)"),
    ("make_dt_interval(int(g))", "cast(make_dt_interval(int(g)) AS interval day)"),
    ("string(g)", "cast(string(g) AS binary)"),
    ("concat('k', g)", "concat('K', g) COLLATE UTF8_LCASE"),
    ("g = 0", "int(g = 0)"),
    ("string(g)", "array(g)"),
]
"""Keys of different types; Spark itself refuses some of them, with ANSI or without."""

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
    "n": "CASE h(33) % 40 WHEN 0 THEN NULL WHEN 1 THEN double('NaN') WHEN 2 THEN -0.0D ELSE (h(33) % 99 + 1) / 4D END",
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
"""Columns of the awkward frame, over `id` and random numbers `h(1)`, `h(2)`, ..."""

_BESIDE = ["string(id % 3) AS s", "if(id % 4 = 0, NULL, id % 4) AS n", "map('m', id) AS m", "id % 2 AS dup", "1 AS dup"]
_SHAPES: list[Callable[[DataFrame, str], DataFrame]] = [
    lambda df, own: df,
    lambda df, own: df,
    lambda df, own: df,
    lambda df, own: df.unionAll(df.where(f"{own} < 0")),
    lambda df, own: df.where(f"{own} % 7 > 0").repartition(5),
    lambda df, own: df.where(F.col(own) < 0),
    lambda df, own: df.limit(0),
    lambda df, own: df.coalesce(1),
    lambda df, own: df.repartition(3, own).sortWithinPartitions(own),
    lambda df, own: df.withColumn("rank", F.row_number().over(Window.partitionBy(F.col(own) % 3).orderBy(own))),
    lambda df, own: df.cache(),
    lambda df, own: df.select("*", F.explode(F.array(F.lit(1), F.lit(2))).alias("e")),
]


def quoted(name: str) -> str:
    """Return a column's name as SQL takes it literally."""
    return f"`{name.replace('`', '``')}`"


def awkward(spark: SparkSession, rows: int, seed: int = 0) -> DataFrame:
    """Return a frame with ties, nulls, NaN, both zeros and infinities, over partitions of which some are empty."""
    texts = [f"{text} AS {name}" for name, text in COLUMNS.items()]
    hashed = [re.sub(r"h\((\d+)\)", rf"pmod(xxhash64(id, {seed}, \1), 1000000007)", text) for text in texts]
    frame = spark.range(0, rows, 1, 3).selectExpr("id", *hashed)
    return frame.unionAll(frame.where("id < 0"))


def keyed(
    spark: SparkSession,
    draw: random.Random,
    rows: int,
    hot: float,
    nulls: float,
    keys: dict[str, str],
    own: str,
    columns_can_be_null: bool,
) -> DataFrame:
    """Return a frame of any shape with keys by name, a column that no row shares, and others, in any order.

    A part `hot` of the rows has `g` = 0, a tenth has 1, and a part `nulls` of the others has none.
    """
    at = f"pmod(xxhash64(id, {draw.randrange(1 << 30)}), 1000)"
    steps = [1000 * hot, 1000 * (hot + 0.1), 1000 * (hot + 0.1 + nulls * (1 - hot - 0.1))]
    g = f"CASE WHEN {at} < {steps[0]} THEN 0 WHEN {at} < {steps[1]} THEN 1"
    if nulls:
        g += f" WHEN {at} < {steps[2]} THEN NULL"
    base = spark.range(0, rows, 1, draw.choice([1, 3, 4])).selectExpr("id", f"{g} ELSE pmod({at}, 40) + 2 END AS g")
    columns = [f"{key} AS {quoted(name)}" for name, key in keys.items()]
    columns += [f"id AS {own}", *(column for column in _BESIDE if draw.random() < 0.4)]
    draw.shuffle(columns)
    if columns_can_be_null:
        pairs = [column.rsplit(" AS ", 1) for column in columns]
        columns = [f"if(id >= 0, {value}, NULL) AS {name}" for value, name in pairs]
    return draw.choice(_SHAPES)(base.selectExpr(*columns), own)
