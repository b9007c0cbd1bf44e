"""References and changes that work after the plain join, and have to work after ours."""

import random
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit import explain
from tests.differential.frames import quoted
from tests.differential.joins import Case


def on_connect(frame: DataFrame) -> bool:
    """Return whether a frame is of a Connect session."""
    return ".connect." in type(frame).__module__


def assert_same_changes(case: Case, joined: DataFrame, plain: DataFrame, given_up: set[str]) -> None:
    """Check that what is selected or dropped by reference leaves the columns that it leaves of the plain join."""
    changes: list[Callable[[DataFrame], DataFrame]] = []
    if not given_up:
        changes += [lambda f: f.select("a.*"), lambda f: f.select("b.*")]
    for frame in (case.left, case.right):
        for name in frame.columns[:2]:
            if on_connect(joined) and name.lower() in given_up:
                continue
            changes.append(lambda f, frame=frame, name=name: f.drop(frame[quoted(name)]))
            changes.append(lambda f, name=name: f.drop(name))
    for change in changes:
        try:
            expected = change(plain).columns
        except PySparkException:
            continue
        assert change(joined).columns == expected, "columns after a change"


def hidden_keys(case: Case, joined: DataFrame, plain: DataFrame) -> set[str]:
    """Return the columns that skewkit's join hides, as its docstring says.

    On Connect all columns after a broadcast of hot rows; elsewhere the keys by name, where both frames have them. So do
    the keys by name of a treated join of a frame with itself.
    """
    text = explain(joined)
    broadcast = "strategy   broadcast_head" in text
    if broadcast and on_connect(joined):
        return {name.lower() for frame in (case.left, case.right) for name in frame.columns}
    itself = case.left.columns == case.right.columns and "v" in case.right.columns
    lost = broadcast and "not every reference is found after it" in text
    return set(_names(case)) if lost or (itself and "strategy   native" not in text) else set()


def _names(case: Case) -> list[str]:
    """Return the keys of a join by name."""
    names = [case.on] if isinstance(case.on, str) else case.on if isinstance(case.on, list | tuple) else []
    return [name.lower() for name in names if isinstance(name, str)]


def references(case: Case, plain: DataFrame, given_up: set[str], draw: random.Random, asked: int) -> dict[str, Column]:
    """Return some of the references to columns that work on the plain join."""
    ways: dict[str, Callable[[], Column]] = {}
    for side, frame, alias in (("left", case.left, "a"), ("right", case.right, "b")):
        for name in dict.fromkeys(frame.columns):
            ways[name] = lambda name=name: F.col(quoted(name))
            if name.lower() in given_up:
                continue
            ways[f"{side}[{name!r}]"] = lambda frame=frame, name=name: frame[quoted(name)]
            ways[f"{alias}.{name}"] = lambda alias=alias, name=name: F.col(f"{alias}.{quoted(name)}")
    found = {}
    for name, way in draw.sample(list(ways.items()), min(asked, len(ways))):
        try:
            column = way()
            plain.select(column).schema  # noqa: B018
        except PySparkException:
            continue
        found[name] = column
    return found
