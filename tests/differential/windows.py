"""Random windows over the awkward frame, as text."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pyspark.sql import Window

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


def random_window(r: random.Random) -> RandomWindow:
    """Return a window whose functions have one right answer per row, however ties are ordered."""
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
    functions = {f"r{i}": _function(r, frame, order, unique) for i in range(r.choice([1, 2, 3, 4]))}
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
