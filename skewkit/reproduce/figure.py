"""What a reproduced figure is: a function that measures rows, how to draw them, and what the paper says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar

Cell: TypeAlias = str | int | float
Row: TypeAlias = dict[str, Cell]
Rows: TypeAlias = Sequence[Row]
T = TypeVar("T")


class Size(Enum):
    """How much of a figure is measured. FULL is as large as the paper wherever that can be waited for.

    >>> Size.QUICK.of(full=10_000_000, quick=200_000, tiny=2_000)
    200000
    """

    FULL = "full"
    QUICK = "quick"
    TINY = "tiny"  # for tests: seconds for everything

    def of(self, full: T, quick: T, tiny: T) -> T:
        """Return the value for this size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.TINY: tiny}[self]


@dataclass(frozen=True)
class Axis:
    """A column of the rows as an axis.

    Attributes:
        column: name of the column.
        label: what stands at the axis, with the unit.
        log: whether the scale is logarithmic (down to 0 where some of the values are zero).
        low: column with the lower end of a band around the line, or nothing.
        high: column with its upper end.
    """

    column: str
    label: str
    log: bool = False
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Plot:
    """How rows become a picture: lines or bars, one per value of `series`, in a grid of panels.

    Attributes:
        x: the horizontal axis.
        y: the vertical axes; more than one makes a line of panels for each.
        series: column that tells lines apart.
        across: column that tells the panels of a line apart, or nothing.
        down: column that tells lines of panels apart (with one vertical axis), or nothing.
        kind: "line", "bar" (side by side) or "stack" (bars on top of each other).
        bound: a horizontal line, for a bound that the paper names: its height and its label, or None.
    """

    x: Axis
    y: tuple[Axis, ...]
    series: str
    across: str = ""
    down: str = ""
    kind: str = "line"
    bound: tuple[float, str] | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper beside what the rows say.

    Attributes:
        paper: what the paper says, in our words.
        found: makes the measured counterpart out of the rows.
        note: a sentence on the difference, or nothing where there is none to speak of.
    """

    paper: str
    found: Callable[[Rows], str]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper that can be measured again.

    Attributes:
        name: as on the command line, for example "d-choices-7".
        title: what is shown.
        setting: what was run, with the numbers that the paper fixes.
        measure: makes the rows, by size and seed; all rows have the same columns.
        plot: how to draw the rows.
        claims: what the paper says of it.
    """

    name: str
    title: str
    setting: str
    measure: Callable[[Size, int], list[Row]]
    plot: Plot
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its figures.

    Attributes:
        name: the first part of the names of its figures.
        citation: authors, title, place.
        remarks: what holds for all of its figures.
        figures: in the order of the paper.
        departures: what the schemes do where the paper says nothing, or otherwise than it says, and why.
    """

    name: str
    citation: str
    remarks: str
    figures: tuple[Figure, ...]
    departures: tuple[str, ...] = ()


def pick(rows: Rows, column: str, **where: Any) -> list[float]:
    """Return a column of the rows in which other columns have given values (one, or one of a tuple).

    >>> pick([{"n": 5, "z": 1.0, "i": 0.5}, {"n": 9, "z": 1.0, "i": 0.25}], "i", n=9)
    [0.25]
    """
    wanted = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
    return [float(row[column]) for row in rows if all(row[name] in values for name, values in wanted.items())]
