"""Group functions that the tests share, with their merges."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

HERE, TWICE, ONCE = "not shuffled", "read twice", "computed once"
Frames = Iterator[pd.DataFrame]
TOTALS = "k string, n bigint, total bigint, top bigint"


def totals(key, frame):
    return pd.DataFrame({"k": [repr(key)], "n": [len(frame)], "total": [frame["v"].sum()], "top": [frame["v"].max()]})


def add_up(key, parts):
    assert set(parts["k"]) == {repr(key)}
    return parts.groupby("k", as_index=False).agg({"n": "sum", "total": "sum", "top": "max"})


def arrow_totals(key, table):
    v = table.column("v")
    row = {"k": [str(key[0].as_py())], "n": [len(table)], "total": [pc.sum(v).as_py()], "top": [pc.max(v).as_py()]}
    return pa.table(row)


def arrow_add_up(table):
    grouped = table.group_by("k").aggregate([("n", "sum"), ("total", "sum"), ("top", "max")])
    return grouped.rename_columns({"n_sum": "n", "total_sum": "total", "top_max": "top"})


KINDS = {"pandas": ("applyInPandas", totals, add_up), "arrow": ("applyInArrow", arrow_totals, arrow_add_up)}


def sessions(frame):
    """Return the sessions of a key: rows whose times are at most 40 apart."""
    return sessions_of(frame, 40)


def join_sessions(parts):
    return joined_sessions(parts, 40)


def sessions_of(frame, gap):
    frame = frame.sort_values("v")
    number = (frame["v"].diff() > gap).cumsum()
    grouped = frame.groupby(number)["v"]
    return pd.DataFrame(
        {"k": frame["k"].iloc[0], "start": grouped.min(), "end": grouped.max(), "events": grouped.count()}
    )


def joined_sessions(parts, gap):
    """Join sessions that a cut went through; the parts come in order."""
    assert parts["start"].is_monotonic_increasing
    number = (parts["start"] - parts["end"].shift() > gap).cumsum()
    how = {"k": "first", "start": "min", "end": "max", "events": "sum"}
    return parts.groupby(number.to_numpy()).agg(how)


SESSIONS = "k bigint, start bigint, end bigint, events bigint"
