"""Random group functions, of one frame and of two: each with what makes one result of the results of parts."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

KEYS = (["k"], ["k"], ["k"], ["kb"], ["kf"], ["ks"], ["kd"], ["k", "kb"], ["kd", "kf"])


ROWS = "id bigint, s string, d double, t timestamp, b boolean"


@dataclass(frozen=True)
class GroupFunction:
    """A function, its merge, and the columns of both; `order` names the order that its parts are cut along."""

    name: str
    method: str
    function: Callable[..., Any]
    merge: Callable[..., Any]
    schema: str
    order: str | None = None


def shown(key: tuple[Any, ...]) -> str:
    """Return a key as text; both zeros are one key, of which either may be shown."""
    return repr(key).replace("-0.0", "0.0")


def totals(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
    values = frame["u"]
    row = {"key": [shown(key)], "n": [len(frame)], "total": [values.sum()], "top": [values.max()]}
    return pd.DataFrame(row)


def add_totals(parts: pd.DataFrame) -> pd.DataFrame:
    return parts.groupby("key", as_index=False).agg({"n": "sum", "total": "sum", "top": "max"})


def texts(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
    found = sorted(
        {"any", *frame["s"].dropna()}
    )  # never empty: Spark takes no texts from a frame that pandas leaves empty
    return pd.DataFrame({"key": shown(key), "text": found})


def unite_texts(parts: pd.DataFrame) -> pd.DataFrame:
    return parts.drop_duplicates()


def same_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["id", "s", "d", "t", "b"]]


def as_they_are(parts: pd.DataFrame) -> pd.DataFrame:
    return parts


def latest(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.nlargest(3, "u")[["id", "u", "s"]]


def latest_of_parts(parts: pd.DataFrame) -> pd.DataFrame:
    return parts.nlargest(3, "u")


def runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a key: rows whose `u` are at most 900 apart."""
    ordered = frame.sort_values("u")
    number = (ordered["u"].diff() > 900).cumsum()
    return ordered.groupby(number)["u"].agg(start="min", end="max", rows="count")


def join_runs(parts: pd.DataFrame) -> pd.DataFrame:
    """Join the runs that a cut went through; the parts come in order."""
    number = (parts["start"] - parts["end"].shift() > 900).cumsum().to_numpy()
    return parts.groupby(number).agg({"start": "min", "end": "max", "rows": "sum"})


def arrow_totals(table: pa.Table) -> pa.Table:
    values = table.column("u")
    return pa.table({"n": [len(table)], "total": [pc.sum(values).as_py()], "low": [pc.min(values).as_py()]})


def add_arrow_totals(parts: pa.Table) -> pa.Table:
    sums = {name: [pc.sum(parts.column(name)).as_py()] for name in ("n", "total")}
    return pa.table({**sums, "low": [pc.min(parts.column("low")).as_py()]})


FUNCTIONS = (
    GroupFunction("totals", "applyInPandas", totals, add_totals, "key string, n bigint, total bigint, top bigint"),
    GroupFunction("texts", "applyInPandas", texts, unite_texts, "key string, text string"),
    GroupFunction("rows", "applyInPandas", same_rows, as_they_are, ROWS),
    GroupFunction("latest", "applyInPandas", latest, latest_of_parts, "id bigint, u bigint, s string"),
    GroupFunction("runs", "applyInPandas", runs, join_runs, "start bigint, end bigint, rows bigint", order="u"),
    GroupFunction("arrow", "applyInArrow", arrow_totals, add_arrow_totals, "n bigint, total bigint, low bigint"),
)


def pair_sizes(key: tuple[Any, ...], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    sums = {name: [int(frame["u"].sum()) if len(frame) else 0] for name, frame in (("a", left), ("b", right))}
    return pd.DataFrame({"key": [shown(key)], "left": [len(left)], "right": [len(right)], **sums})


def pair_rows(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of both, joined; a side without rows may have no columns, either."""
    sides = [frame.reindex(columns=["id", "s"]).astype({"id": "int64"}) for frame in (left, right)]
    return sides[0].merge(sides[1], on="id", how="outer")


PAIRS = (
    (pair_sizes, "key string, left bigint, right bigint, a bigint, b bigint"),
    (pair_rows, "id bigint, s_x string, s_y string"),
)


def keys_of(draw: random.Random) -> list[str]:
    """Return the names of key columns of the awkward frame."""
    return draw.choice(KEYS)
