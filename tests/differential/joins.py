"""Random joins as a user may write them: frames, key types, conditions, strategies and hints."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit import SkewkitError, skew_profile
from tests.differential.frames import MIXED, SAME, keyed, quoted

HOWS = (
    ("inner",),
    ("left", "leftouter", "left_outer", "LEFT"),
    ("right", "rightouter", "right_outer"),
    ("outer", "full", "fullouter", "full_outer", "Full"),
    ("semi", "leftsemi", "left_semi"),
    ("anti", "leftanti", "left_anti"),
)
STRATEGIES = ("salt", "broadcast_head", "auto", "salt", "broadcast_side", "native", "auto", "salt")
FORMS = ("names", "columns", "names", "expr", "aliases", "names", "other names")
TYPES = [(text, text) for text in SAME.values()] + MIXED
NAMES = ["k", "j", "K2", "a.b", "x y", "Ünï", "_skew_hash", "t`k", "item"]


@dataclass
class Case:
    """One join: what goes in, and how it is asked for."""

    left: DataFrame
    right: DataFrame
    on: Any
    how: str
    form: str
    options: dict[str, Any] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)


def random_join(spark: SparkSession, draw: random.Random, number: int, folder: Path | None = None) -> Case:
    """Return the join of a number: which type of join, strategy, form and first key type follow from it in turn.

    With a folder, some of the frames have more columns, and some are files in it.
    """
    how = draw.choice(HOWS[number % len(HOWS)])
    strategy = STRATEGIES[(number // len(HOWS)) % len(STRATEGIES)]
    form = FORMS[number % len(FORMS)]
    first = TYPES[number * 19 % len(TYPES)]
    pairs = [first, *(draw.choice(TYPES) for _ in range(draw.choice([0, 0, 0, 0, 1, 1, 4])))]
    pairs = [pair[::-1] if draw.random() < 0.5 else pair for pair in pairs]
    names = draw.sample(NAMES, len(pairs))
    hots = draw.choice([(0.6, 0.1), (0.1, 0.6), (0.5, 0.4), (0.7, 0.0), (0.0, 0.7), (0.0, 0.0)])
    nulls = draw.choice([(0.1, 0.1), (0.0, 0.0), (0.6, 0.1), (0.1, 0.6)])
    sizes = draw.choice([(240, 60), (60, 240), (150, 150), (300, 12)])
    itself = draw.random() < 0.12
    form = "names" if itself and form == "other names" else form
    others = names if form != "other names" else [f"r_{name}" for name in names]
    wider = _Wider(random.Random(draw.random()), folder) if folder else None
    texts = list(zip(*pairs, strict=True))
    keys = [dict(zip(each, texts[i], strict=True)) for i, each in enumerate((names, others))]
    can_be_null = sizes != (240, 60) and sizes != (60, 240)
    left = keyed(spark, draw, sizes[0], hots[0], nulls[0], keys[0], "v", can_be_null)
    left = wider.of(left, "v") if wider else left
    if itself:
        right = left if draw.random() < 0.4 else left.where(F.col("v") % 3 == 0)
    else:
        right = keyed(spark, draw, sizes[1], hots[1], nulls[1], keys[1], "w", can_be_null)
        right = wider.of(right, "w") if wider else right
    if form in ("aliases", "expr") or draw.random() < 0.4:
        left, right = left.alias("a"), right.alias("b")
    case = Case(left, right, None, how, form)
    case.text += [f"{'a self-join' if itself else 'keys'} {pairs}", f"left {left.dtypes}\nright {right.dtypes}"]
    _ask(case, draw, form, names, others)
    case.options = {"strategy": strategy, "partitions": draw.choice([None, 2, 5, 8])}
    if draw.random() < 0.25:
        _hint(case, draw)
    return case


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


def _ask(case: Case, draw: random.Random, form: str, names: list[str], others: list[str]) -> None:
    """Fill in `on`."""
    if form == "names":
        asked = [name.upper() if draw.random() < 0.1 else name for name in names]
        case.on = asked[0] if len(asked) == 1 and draw.random() < 0.6 else draw.choice([list, tuple])(asked)
        case.text.append(f"on {case.on!r} {case.how}")
        return
    pairs = list(zip(names, others, strict=True))
    if form == "expr":
        text = " AND ".join(f"a.{quoted(a)} {draw.choice(['=', '=', '<=>'])} b.{quoted(b)}" for a, b in pairs)
        if draw.random() < 0.4:
            text += draw.choice([" AND a.s <> b.s", " AND b.w % 2 = 0", " AND (a.v < 50 OR b.w > 9)"])
        case.on = F.expr(text)
        case.text.append(f"on {text} {case.how}")
        return
    equalities = []
    for a, b in pairs:
        if form == "aliases":
            x, y = F.col(f"a.{quoted(a)}"), F.col(f"b.{quoted(b)}")
        elif form == "other names" and draw.random() < 0.5:
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


def _hint(case: Case, draw: random.Random) -> None:
    """Add profiles, or hot keys by name: of this frame or the other, good or stale."""
    if case.form != "names":
        return
    names = [case.on] if isinstance(case.on, str) else list(case.on)
    if len(names) == 1 and draw.random() < 0.4:
        case.options["heavy"] = draw.choice([[0], [0, 1], [0, 12345], []])
        if dict(case.left.dtypes).get(names[0]) == dict(case.right.dtypes).get(names[0]) == "bigint":
            case.text.append(f"heavy {case.options['heavy']}")
        else:
            del case.options["heavy"]
        return
    keys = [F.col(quoted(name)) for name in names]
    frames = draw.choice([(case.left, None), (case.left, case.right), (case.right, case.left)])
    try:
        profiles = [f if f is None else skew_profile(f, *keys, partitions=draw.choice([2, 8])) for f in frames]
    except SkewkitError:
        return
    case.options["left_profile"] = profiles[0]
    if profiles[1] is not None:
        case.options["right_profile"] = profiles[1]
    case.text.append("with profiles")
