"""Random joins as a user may write them: frames, key types, conditions and what is asked of the result, by seed."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from skewkit import SkewkitError, explain, skew_join, skew_profile
from skewkit.errors import UnsupportedError
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import is_connect
from tests.helpers import conf

SAME = [
    "g",
    "int(g)",
    "smallint(g)",
    "tinyint(g)",
    "CASE g % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D WHEN 3 THEN double('-inf') ELSE g END",
    "CASE g % 4 WHEN 0 THEN float(-0.0D) WHEN 1 THEN float(0) WHEN 2 THEN float('NaN') ELSE float(g) END",
    "cast(g AS decimal(38, 18)) / 3",
    "cast(g AS decimal(7, 2))",
    "CASE g WHEN 0 THEN 'é\u0000ß💥' WHEN 1 THEN '' WHEN 2 THEN 'é\u0000ß' ELSE concat('k', g) END",
    "CASE g WHEN 0 THEN X'00FF80' WHEN 1 THEN X'' WHEN 2 THEN X'00FF' ELSE cast(concat('k', g) AS binary) END",
    "g = 0",
    "date_add(DATE'1969-12-20', int(g))",
    "timestamp_micros(g * 123456789 - 5)",
    "cast(timestamp_micros(g * 123456789 - 5) AS timestamp_ntz)",
    "make_dt_interval(0, 0, int(g), 0.5)",
    "make_ym_interval(0, int(g))",
    "CASE g WHEN 0 THEN array(1, NULL) WHEN 1 THEN array(NULL, 1) WHEN 2 THEN array() ELSE array(int(g)) END",
    "CASE g WHEN 0 THEN array_remove(array(1), 1) WHEN 1 THEN array(int(NULL)) WHEN g THEN array(int(g)) END",
    "if(g IS NULL, NULL, named_struct('a', if(g = 0, NULL, g), 'b', if(g = 0, NULL, 'b')))",
    "CASE g WHEN 0 THEN array(-0.0D) WHEN 1 THEN array(0D) WHEN 2 THEN array(double('NaN')) ELSE array(double(g)) END",
    "named_struct('a', if(g = 0, NULL, 1), 'b', if(g = 1, NULL, g))",
    "if(g IS NULL, NULL, named_struct('a', array(named_struct('x', g)), 'b', -0.0D))",
    "CASE WHEN g = 0 THEN if(id % 2 = 0, 'HOT', 'hot') ELSE concat('k', g) END COLLATE UTF8_LCASE",
]
"""Expressions of a key over `g` (0 is hot, 1 is warm) that stand on both sides."""
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
HOWS = [
    "inner",
    "left",
    "leftouter",
    "left_outer",
    "LEFT",
    "right",
    "rightouter",
    "right_outer",
    "outer",
    "full",
    "fullouter",
    "full_outer",
    "Full",
    "semi",
    "leftsemi",
    "left_semi",
    "anti",
    "leftanti",
    "left_anti",
]
_ASKED = 8
NAMES = ["k", "j", "K2", "a.b", "x y", "Ünï", "_skew_hash", "t`k", "item"]


@dataclass
class Case:
    """One join: what goes in, how it is asked for, and under which settings."""

    left: DataFrame
    right: DataFrame
    on: Any
    how: str
    draw: random.Random
    options: dict[str, Any] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)


def run(spark: SparkSession, seed: int, folder: Path | None = None) -> str:
    """Compare one random join with plain Spark's; return what was chosen, or why there was nothing to compare.

    With a folder, some of the frames have more columns, and some are files in it.
    """
    draw = random.Random(seed)
    confs = {
        "spark.sql.adaptive.enabled": draw.choice(["true", "false"]),
        "spark.sql.ansi.enabled": draw.choice(["true", "false"]),
        "spark.sql.session.timeZone": draw.choice(["UTC", "UTC", "America/New_York"]),
        "spark.sql.caseSensitive": draw.choice(["false"] * 5 + ["true"]),
        "spark.skewkit.margin": draw.choice(["0.5", "-1e9"]),
        "spark.skewkit.hashJoinRows": draw.choice(["2000000", "2000000", "0"]),
        # Most of a small query is compiling it.
        "spark.sql.codegen.wholeStage": draw.choice(["false"] * 4 + ["true"]),
        "spark.sql.codegen.factoryMode": draw.choice(["NO_CODEGEN"] * 4 + ["FALLBACK"]),
        "spark.sql.autoBroadcastJoinThreshold": draw.choice(["-1"] * 5 + ["10MB"]),
    }
    with ExitStack() as stack:
        for name, value in confs.items():
            stack.enter_context(conf(spark, name, value))
        case = _case(spark, draw, _Wider(random.Random(-1 - seed), folder / str(seed)) if folder else None)
        case.text += [f"seed {seed}", str(confs)]
        try:
            return _compare(case)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *case.text])) from error


def _case(spark: SparkSession, draw: random.Random, wider: "_Wider | None") -> Case:
    width = draw.choice([1, 1, 1, 2, 2, 3, 5])
    pairs = [draw.choice(MIXED) if draw.random() < 0.35 else (e := draw.choice(SAME), e) for _ in range(width)]
    pairs = [pair[::-1] if draw.random() < 0.5 else pair for pair in pairs]
    names = draw.sample(NAMES, width)
    kind = draw.choice(["names", "names", "names", "columns", "columns", "aliases", "other names", "expr"])
    hots = draw.choice([(0.6, 0.1), (0.1, 0.6), (0.5, 0.4), (0.7, 0.0), (0.0, 0.7), (0.0, 0.0)])
    nulls = draw.choice([(0.1, 0.1), (0.0, 0.0), (0.6, 0.1), (0.1, 0.6)])
    sizes = draw.choice([(240, 60), (60, 240), (150, 150), (300, 12)])
    others = names if kind != "other names" else [f"r_{name}" for name in names]
    if draw.random() < 0.15:
        left = _frame(spark, draw, sizes[0], hots[0], nulls[0], [p[0] for p in pairs], names, "v", 1)
        left = wider.of(left, "v") if wider else left
        right = left if draw.random() < 0.4 else left.where(F.col("v") % 3 == 0)
        if kind == "other names":
            kind = "names"
        others = names
        text = "a self-join"
    else:
        left = _frame(spark, draw, sizes[0], hots[0], nulls[0], [p[0] for p in pairs], names, "v", 1)
        right = _frame(spark, draw, sizes[1], hots[1], nulls[1], [p[1] for p in pairs], others, "w", 2)
        left, right = (wider.of(left, "v"), wider.of(right, "w")) if wider else (left, right)
        text = f"keys {pairs}"
    if kind in ("aliases", "expr") or draw.random() < 0.4:
        left, right = left.alias("a"), right.alias("b")
    case = Case(left, right, None, draw.choice(HOWS), draw)
    case.text += [text, f"frames {left.schema.simpleString()} {right.schema.simpleString()}"]
    _ask(case, draw, kind, names, others)
    _options(case, draw, kind, names, others)
    return case


def _frame(
    spark: SparkSession,
    draw: random.Random,
    rows: int,
    hot: float,
    nulls: float,
    keys: list[str],
    names: list[str],
    own: str,
    salt: int,
) -> DataFrame:
    """Return a frame with the keys, a column `own` that no row shares, and others in any order; some may be null."""
    at = f"pmod(xxhash64(id, {salt}), 1000)"
    steps = [1000 * hot, 1000 * (hot + 0.1), 1000 * (hot + 0.1 + nulls * (1 - hot - 0.1))]
    g = f"CASE WHEN {at} < {steps[0]} THEN 0 WHEN {at} < {steps[1]} THEN 1"
    if nulls:
        g += f" WHEN {at} < {steps[2]} THEN NULL"
    base = spark.range(0, rows, 1, draw.choice([1, 3, 4])).selectExpr("id", f"{g} ELSE pmod({at}, 40) + 2 END AS g")
    columns = [f"{key} AS {quoted(name)}" for key, name in zip(keys, names, strict=True)]
    columns.append(f"id AS {own}")
    pool = [
        "string(id % 3) AS s",
        "if(id % 4 = 0, NULL, id % 4) AS n",
        "map('m', id) AS m",
        "id % 2 AS dup",
        "1 AS dup",
    ]
    columns += [c for c in pool if draw.random() < 0.4]
    draw.shuffle(columns)
    if rows in (150, 300, 12):
        pairs = [column.rsplit(" AS ", 1) for column in columns]
        columns = [f"if(id >= 0, {value}, NULL) AS {name}" for value, name in pairs]
    df = base.selectExpr(*columns)
    return draw.choice(_SHAPES)(df, own)


_SHAPES: list[Callable[[DataFrame, str], DataFrame]] = [
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


_MORE = [
    "string({})",
    "double({}) / 3",
    "date_from_unix_date(int({}))",
    "timestamp_seconds({})",
    "cast({} AS decimal(12, 3))",
    "if({} % 2 = 0, NULL, {} * 7)",
    "int({} % 3)",
    "cast(NULL AS double)",
    "'same'",
]


@dataclass
class _Wider:
    """Frames with more columns, or stored as files: joins hash some columns, and files know their rows' numbers."""

    draw: random.Random
    folder: Path

    def of(self, df: DataFrame, own: str) -> DataFrame:
        """Return the frame with more columns, made of the column `own`, perhaps as files."""
        more = self.draw.sample(_MORE, self.draw.choice([0, 2, 5, 9]))
        df = df.select("*", *(F.expr(text.format(own, own)).alias(f"{own}_{i}") for i, text in enumerate(more)))
        path, kind = str(self.folder / own), self.draw.choice(["", "parquet", "parquet", "orc"])
        if not kind:
            return df
        try:
            df.write.format(kind).save(path)
            stored = df.sparkSession.read.format(kind).load(path)
        except PySparkException:  # not every type can be stored, nor two columns of one name
            return df
        return stored if stored.columns == df.columns else df  # nor every name


def _ask(case: Case, draw: random.Random, kind: str, names: list[str], others: list[str]) -> None:
    """Fill in `on`."""
    if kind == "names":
        asked = [name.upper() if draw.random() < 0.1 else name for name in names]
        case.on = asked[0] if len(asked) == 1 and draw.random() < 0.6 else draw.choice([list, tuple])(asked)
        case.text.append(f"on {case.on!r} {case.how}")
        return
    pairs = list(zip(names, others, strict=True))
    if kind == "expr":
        text = " AND ".join(f"a.{quoted(a)} {draw.choice(['=', '=', '<=>'])} b.{quoted(b)}" for a, b in pairs)
        if draw.random() < 0.4:
            text += draw.choice([" AND a.s <> b.s", " AND b.w % 2 = 0", " AND (a.v < 50 OR b.w > 9)"])
        case.on = F.expr(text)
        case.text.append(f"on {text} {case.how}")
        return
    equalities = []
    for a, b in pairs:
        if kind == "aliases":
            x, y = F.col(f"a.{quoted(a)}"), F.col(f"b.{quoted(b)}")
        elif kind == "other names" and draw.random() < 0.5:
            x, y = F.col(quoted(a)), F.col(quoted(b))
        else:
            x, y = case.left[quoted(a)], case.right[quoted(b)]
        if draw.random() < 0.3:
            x, y = y, x
        if draw.random() < 0.1:
            x, y = F.coalesce(x, y), F.coalesce(x, x)
        equalities.append(x.eqNullSafe(y) if draw.random() < 0.25 else x == y)
    conditions = equalities + (_residuals(case, draw) if draw.random() < 0.45 else [])
    draw.shuffle(conditions)
    case.on = conditions if draw.random() < 0.4 else reduce(lambda a, b: a & b, conditions)
    case.text.append(f"on {case.on} {case.how}")


def _residuals(case: Case, draw: random.Random) -> list[Column]:
    left, right = case.left, case.right
    w = "w" if "w" in right.columns else "v"
    ways: list[Callable[[], Column]] = [
        lambda: left["v"] < right[w],
        lambda: left["v"] + 100 > right[w] * 2,
        lambda: (left["v"] + right[w]) % 3 == 0,
        lambda: left["v"] % 2 == right[w] % 2,
        lambda: left["s"] == right["s"],
        lambda: left["n"].eqNullSafe(right["n"]),
        lambda: ~(left["n"] == right["n"]),
        lambda: left["v"] > 10,
        lambda: right[w] > 10,
        lambda: left["v"] == left["v"],
        lambda: left["v"] == 7,
        lambda: F.lit(True),
        lambda: F.lit(None).cast("boolean"),
        lambda: F.lit(1) == F.lit(1),
        lambda: (left["v"] % 2 == 0) | (right[w] % 3 == 0),
        lambda: left["s"].isin("0", "1") & right["s"].isNotNull(),
        lambda: left["v"].between(right[w] - 40, right[w] + 40),
        lambda: F.when(left["v"] > 50, right[w] > 5).otherwise(right[w] < 30),
        lambda: F.expr("v % 2 = 0"),
        lambda: F.concat(left["s"], right["s"]).like("%1%"),
        lambda: F.coalesce(left["n"] > right["n"], F.lit(True)),
        lambda: left["m"]["m"] > right["m"]["m"],
    ]
    found = []
    for way in draw.sample(ways, draw.choice([1, 1, 2])):
        try:
            found.append(way())
        except PySparkException:
            continue
    return found


def _options(case: Case, draw: random.Random, kind: str, names: list[str], others: list[str]) -> None:
    case.options["strategy"] = draw.choice(["auto", "auto", "salt", "salt", "salt", "broadcast_head", "native"])
    case.options["partitions"] = draw.choice([None, 1, 2, 5, 8])
    if draw.random() < 0.25 and kind == "names":
        keys = [F.col(quoted(name)) for name in case.on] if not isinstance(case.on, str) else [F.col(quoted(case.on))]
        frames = draw.choice([(case.left, None), (case.left, case.right), (case.right, case.left)])
        try:
            profiles = [f if f is None else skew_profile(f, *keys, partitions=draw.choice([2, 8])) for f in frames]
        except SkewkitError:
            return
        case.options["left_profile"] = profiles[0]
        if profiles[1] is not None:
            case.options["right_profile"] = profiles[1]
        case.text.append("with profiles")


def _compare(case: Case) -> str:
    try:
        plain = case.left.join(case.right, list(case.on) if isinstance(case.on, tuple) else case.on, case.how)
        plain.schema  # noqa: B018 - on Connect the schema is what triggers the analysis
    except PySparkException as error:
        try:
            skew_join(case.left, case.right, case.on, case.how, **case.options)
        except (SkewkitError, PySparkException):
            return "refused"
        raise AssertionError(f"plain Spark refuses this, skewkit does not: {error}") from error
    try:
        joined = skew_join(case.left, case.right, case.on, case.how, **case.options)
    except UnsupportedError:
        joined = skew_join(case.left, case.right, case.on, case.how, **{**case.options, "strategy": "auto"})
    case.text.append(explain(joined))
    if joined.schema != plain.schema:
        raise AssertionError(f"schema:\n{joined.schema}\n{plain.schema}")
    given_up = _hidden_keys(case, joined, plain)
    references = _references(case, plain, given_up)
    before = _counted(plain.select("*", *references.values()))
    if before is None:
        return "no answer"
    try:
        after = _counted(joined.select("*", *references.values()))
    except PySparkException as error:
        raise AssertionError(f"one of {list(references)} is gone: {str(error)[:300]}") from error
    if after is None:
        raise AssertionError("plain Spark answers this, skewkit's join fails")
    if before != after:
        raise AssertionError(
            f"{list(references)} rows:\n{list((before - after).items())[:3]}\n{list((after - before).items())[:3]}"
        )
    changes: list[Callable[[DataFrame], DataFrame]] = []
    if not given_up:
        changes += [lambda f: f.select("a.*"), lambda f: f.select("b.*")]
    for frame in (case.left, case.right):
        for name in frame.columns[:2]:
            if is_connect(joined) and name.lower() in given_up:
                continue
            changes.append(lambda f, frame=frame, name=name: f.drop(frame[quoted(name)]))
            changes.append(lambda f, name=name: f.drop(name))
    for change in changes:
        _same_columns(plain, joined, change)
    return explain(joined).split("strategy   ")[1].partition(":")[0]


def _same_columns(plain: DataFrame, joined: DataFrame, change: Callable[[DataFrame], DataFrame]) -> None:
    try:
        expected = change(plain).columns
    except PySparkException:
        return
    if change(joined).columns != expected:
        raise AssertionError(f"columns after a change: {change(joined).columns}, plain Spark {expected}")


def _hidden_keys(case: Case, joined: DataFrame, plain: DataFrame) -> set[str]:
    """Return the columns that skewkit's join hides, as its docstring says.

    By name, keys whose hidden column it gives up; on Connect, all columns after a broadcast of hot rows.
    """
    if is_connect(joined) and "strategy   broadcast_head" in explain(joined):
        return {name.lower() for frame in (case.left, case.right) for name in frame.columns}
    if not isinstance(case.on, str | list | tuple) or not all(isinstance(name, str) for name in case.on):
        return set()
    broadcast, how = "strategy   broadcast_head" in explain(joined), case.how.lower()
    never_null = [f for f in plain.schema.fields if not f.nullable]
    twice = any(len(set(map(str.lower, f.columns))) < len(f.columns) for f in (case.left, case.right))
    by_union = broadcast and (never_null or twice or is_connect(joined))
    kept = how == "inner" and not all(f.nullable for f in case.right.schema.fields)
    itself = case.left.columns == case.right.columns and "v" in case.right.columns
    if not (by_union or kept or itself) or "strategy   native" in explain(joined):
        return set()
    return {name.lower() for name in ([case.on] if isinstance(case.on, str) else case.on)}


def _references(case: Case, plain: DataFrame, given_up: set[str]) -> dict[str, Column]:
    """Return the references to columns that work on the plain join."""
    ways: dict[str, Callable[[], Column]] = {}
    for side, frame, alias in (("left", case.left, "a"), ("right", case.right, "b")):
        for name in dict.fromkeys(frame.columns):
            ways[name] = lambda name=name: F.col(quoted(name))
            if name.lower() in given_up:
                continue
            ways[f"{side}[{name!r}]"] = lambda frame=frame, name=name: frame[quoted(name)]
            ways[f"{alias}.{name}"] = lambda alias=alias, name=name: F.col(f"{alias}.{quoted(name)}")
    found = {}
    for name, way in case.draw.sample(list(ways.items()), min(_ASKED, len(ways))):
        try:
            column = way()
            plain.select(column).schema  # noqa: B018
        except PySparkException:
            continue
        found[name] = column
    return found


def _counted(frame: DataFrame) -> Counter[str] | None:
    """Return how often each row is there, as text; None where Spark cannot compute or collect them."""
    names = [f"c{i}" for i in range(len(frame.columns))]
    months = [field.dataType.simpleString().endswith(("year", "month")) for field in frame.schema.fields]
    cells = [F.col(name).cast("string") if odd else F.col(name) for name, odd in zip(names, months, strict=True)]
    try:
        return Counter(repr(tuple(row)) for row in frame.toDF(*names).select(*cells).collect())
    except PySparkException:
        return None
