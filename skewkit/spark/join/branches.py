"""The branches of a join as one frame, with the columns and the hidden keys of the join that they are parts of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.join.join_keys import JoinKeys, actual_name, no_keys
from skewkit.spark.session.compat import is_connect, is_on, resolves, tells_case

_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"


def lost_by_union(frames: Pair[DataFrame], keys: JoinKeys, how: str) -> str | None:
    """Return which references to the joined frame a union of branches cannot keep, or None.

    A union has no hidden columns, and a Connect server does not look below one for a frame's columns.
    """
    if is_connect(frames.left):
        return "on Connect the union of the two branches would hide the frames' columns from left['x'] and the like"
    if keys.using is None or not _hides_keys(how):
        return None
    if is_on(frames.left.sparkSession, _PATTERNS):
        return f"quoted names are patterns ({_PATTERNS}=true), so that a union would lose the key that does not show"
    if any(_has_a_name_twice(frame) for frame in frames):
        return "two columns of a frame share a name, so that a union would lose the key that does not show"
    if _shared(frames) or not _found_after(frames):
        return "both frames read the very same columns, so that a union would lose the key that does not show"
    return None


def united(parts: Sequence[Pair[DataFrame]], frames: Pair[DataFrame], keys: JoinKeys, how: str) -> DataFrame:
    """Return the joins of parts of both frames as one, with the hidden keys of a join by name, where that can be."""
    if keys.using is not None and _hides_keys(how) and lost_by_union(frames, keys, how) is None:
        return _united_with_hidden_keys(parts, frames, keys.using, how)
    return reduce(DataFrame.unionAll, (part.left.join(part.right, keys.on, how) for part in parts))  # type: ignore[arg-type]


def _united_with_hidden_keys(
    parts: Sequence[Pair[DataFrame]], frames: Pair[DataFrame], using: Sequence[str], how: str
) -> DataFrame:
    """Return the joins by condition, with the keys that a join by name hides hidden.

    A join by name takes the first column of a name for its key. So the keys to be hidden come first, before those that
    show. A full join with no row hides them, and puts keys of its own in their place, which are left out. By its
    schema each column may be null then.
    """
    shown, other = _shown_and_other(frames, how)
    hidden = _own_keys(other, using)
    pairs = zip(_own_keys(frames.left, using), _own_keys(frames.right, using), strict=True)
    same = reduce(lambda a, b: a & b, (a == b for a, b in pairs))
    named = {frame: {actual_name(frame, name) for name in using} for frame in frames}
    rest = [frame[quoted(name)] for frame in frames for name in frame.columns if name not in named[frame]]
    asked = [*_own_keys(shown, using), *rest]
    joined = [part.left.join(part.right, same, how).select(*hidden, *asked) for part in parts]
    return reduce(DataFrame.unionAll, joined).join(no_keys(other, using), list(using), "full").select(*asked)


def _hides_keys(how: str) -> bool:
    """Return whether a join by name hides the keys of one frame."""
    return KINDS[how].pairs and KINDS[how].hides is not None


def _shown_and_other(frames: Pair[DataFrame], how: str) -> tuple[DataFrame, DataFrame]:
    """Return the frame whose keys a join by name shows, and the one whose keys it hides."""
    return (frames.right, frames.left) if KINDS[how].hides == "left" else (frames.left, frames.right)


def _has_a_name_twice(frame: DataFrame) -> bool:
    names = frame.columns if tells_case(frame.sparkSession) else [name.lower() for name in frame.columns]
    return len(set(names)) < len(names)


def _shared(frames: Pair[DataFrame]) -> bool:
    """Return whether some column of the right frame is the left one's own, as in a frame and what was made of it."""
    own = {name.lower() for name in frames.left.columns}
    both = [name for name in frames.right.columns if name.lower() in own]
    return any(resolves(frames.left, frames.right[quoted(name)]) for name in both)


def _found_after(frames: Pair[DataFrame]) -> bool:
    """Return whether the right frame's columns can be asked for after a join, which gives what both read new ids."""
    columns = [frames.right[quoted(name)] for name in frames.right.columns]
    return resolves(frames.left.join(frames.right), F.struct(*columns))


def _own_keys(frame: DataFrame, using: Sequence[str]) -> list[Column]:
    return [frame[quoted(actual_name(frame, name))] for name in using]
