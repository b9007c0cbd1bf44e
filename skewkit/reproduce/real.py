"""The streams that stand for the papers' data sets: real ones where they are at hand, else made-up ones.

The real ones are the words of 93 novels in reading order (public domain) and the directories that the changes of
twelve public git histories touched, in the order of time (MIT, Apache-2.0 and BSD-3). Set SKEWKIT_DATA to a folder
with `novels_words.parquet` and `git_changes.parquet`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from skewkit.errors import EnvironmentProblem
from skewkit.simulator import streams
from skewkit.simulator.streams import Stream

DEFAULT_FOLDER = Path(__file__).parents[3] / "shared" / "data"


class RealStream(NamedTuple):
    """A stream of key numbers and where it comes from."""

    name: str
    keys: Stream


def words(messages: int) -> RealStream:
    """Return words of novels, for the Twitter and Wikipedia streams. Fewer messages if there are not so many."""
    found = _read("novels_words", "word", messages)
    if found is None:
        return RealStream("generated words", streams.zipf(messages, keys=84_000, exponent=0.95, seed=7))
    return RealStream("words of novels", found)


def changes(messages: int) -> RealStream:
    """Return directories of git changes, for the streams with drift. Fewer messages if there are not so many.

    Fewer than all are taken as even cuts out of the whole history, so that the drift stays in.
    """
    return _history("dir", "changes", messages)


def authors(messages: int) -> RealStream:
    """Return authors of git changes, who come in bursts. Fewer messages are even cuts, too."""
    return _history("author", "authors", messages)


def _history(column: str, name: str, messages: int) -> RealStream:
    found = _read("git_changes", column)
    if found is None:
        made = streams.drifting_zipf(messages, keys=1400, exponent=1.0, periods=12, seed=7)
        return RealStream(f"generated {name}", made)
    if messages >= found.size:
        return RealStream(f"git {name}", found)
    cuts = 20
    starts = np.linspace(0, found.size - messages // cuts, cuts).astype(int)
    parts = [found[start : start + messages // cuts] for start in starts.tolist()]
    return RealStream(f"git {name}", np.concatenate(parts))


@cache
def _read(name: str, column: str, messages: int | None = None) -> Stream | None:
    path = Path(os.environ.get("SKEWKIT_DATA", DEFAULT_FOLDER)) / f"{name}.parquet"
    if not path.is_file():
        return None
    try:
        return streams.from_parquet(path, column, messages)
    except EnvironmentProblem:  # no pyarrow
        return None
