"""What a function over a cut partition is put together from: locals of its blocks, and what other blocks hold.

A hot partition is cut into blocks, consecutive ranges of its order. Every block is computed locally, and what the
blocks before it (or after it) hold is carried in. Everything here is SQL text with places to fill:

* `{x}` the arguments, `{x0}` the first one, `{x1}` the second one, `{order}` the order columns;
* in a total, `{rn}` and `{size}`: a row's number in its block and the block's rows, where the total is `ordered`;
* `{prior}`: a window function over the block that has to be there before;
* in a carry `{t}`: the totals of the other blocks, in order; in a fold `{c}`: what the carry made of them;
* in a finish `{l0}`, `{l1}` ...: the locals, `{c0}`, `{c1}` ...: the carried, null where no other block holds
  anything, `{hot}`: whether the row's partition was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MOST_LISTED = 64 << 20
"""Most bytes that the blocks of one partition may hand to one another."""
_ENTRY = 32.0
"""Bytes that a value in a list takes at least."""


@dataclass(frozen=True)
class Local:
    """A window function over a block, and which rows of the block it sees.

    `frame` is `frame` (the caller's), `whole`, `peers` (all up to those equal in the order), `rows` (all up to this
    row) or `own` (the function's own). `prior` is a window function, of its own frame, that `sql` reads as `{prior}`.
    """

    sql: str
    frame: str = "own"
    prior: Local | None = None


@dataclass(frozen=True)
class Carried:
    """A `total` per block. `carry`, then `fold`, combine the totals on `side`: `before`, `after`, `all` or `own`.

    * `prior` is a window function that the total needs as `{prior}`.
    * `near`: a total is a list of so many rows at most, and so is what is carried (the nearest ones).
    * `among` limits the rows that `{rn}` and `{size}` count to those where it is not null.
    """

    total: str
    carry: str
    side: str
    fold: str = "{c}"
    ordered: bool = False
    prior: Local | None = None
    near: int = 0
    among: str | None = None


@dataclass(frozen=True)
class WindowSplit:
    """A function's locals, what is carried in, and the result of both."""

    locals: tuple[Local, ...]
    carried: tuple[Carried, ...]
    finish: str


def fill(sql: str, places: Mapping[str, str]) -> str:
    """Return SQL with its places filled, all at once. Places that are not named stay.

    >>> fill("sum({x}) over {t}", {"x": "`{t}`"})
    'sum(`{t}`) over {t}'
    """
    return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), sql)


def listed(near: Iterable[int], blocks: int, width: float) -> float:
    """Return how many bytes the blocks of a partition hand to one another, at most.

    `near` are the numbers of rows of either side that a block gets, `width` the bytes of what it gets of a row. Every
    block sends a list and gets one.

    >>> listed([2], blocks=4, width=100.0)
    1600.0
    """
    return 2 * blocks * sum(near) * max(_ENTRY, width)
