"""The window functions that split over blocks, by name and kind, and a call of one."""

from __future__ import annotations

from dataclasses import dataclass

ALIASES = {
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "first_value": "first",
    "last_value": "last",
    "any_value": "first",
    "bool_or": "max",
    "some": "max",
    "any": "max",
    "bool_and": "min",
    "every": "min",
}
OF_BOOLEANS = ("bool_or", "some", "any", "bool_and", "every")
LIMITED = ("row_number", "rank", "dense_rank")
"""What plain Spark cuts before the shuffle where a filter keeps the first rows of each partition only."""
RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
SHIFTS = ("lag", "lead")
VALUES = ("first", "last", "nth_value")
MOMENTS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
EXTREMES = ("max_by", "min_by")
FUNCTIONS = (*RANKING, *SHIFTS, *VALUES, *MOMENTS, *EXTREMES, "count", "count_if", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class WindowCall:
    """A function as it was called: its SQL name, the types of its arguments, and what its literals say."""

    name: str
    types: tuple[str, ...] = ()
    offset: int = 1
    ignore_nulls: bool = False


def plain_name(name: str) -> str:
    """Return the name under which a function is in the table.

    >>> plain_name("STD")
    'stddev_samp'
    """
    return ALIASES.get(name.lower(), name.lower())
