"""Whether the numbers of a profile can be true: a profile may come from a file that somebody edited."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_HASHES = range(-(1 << 63), 1 << 63)


def check_numbers(profile: Mapping[str, Any]) -> None:
    """Check the numbers of a profile, given as its fields by name.

    Raises:
        ValueError: one is no number, infinite, negative or too large for what it is.
    """
    for name in ("rows", "nulls", "theta", "unlisted", "fraction"):
        _check(name, [profile[name]])
    _check("unit", [] if profile["unit"] is None else [profile["unit"]])
    if profile["sampled"] and not profile["fraction"]:
        raise ValueError("fraction is 0, but the profile is of a sample; expected which part of the rows was sampled")
    files = profile["files"]
    if files is not None and not _are_counts(files):
        raise ValueError(f"files is {files!r}; expected how many files were sampled, and of how many")
    tail, tail_keys = profile["tail"], profile["tail_keys"]
    _check("tail", tail)
    _check("tail_keys", tail_keys)
    if not tail or len(tail) != len(tail_keys):
        raise ValueError(f"tail has {len(tail)} buckets and tail_keys {len(tail_keys)}")
    for heavy in (*profile["heavy"], *profile["null_heavy"]):
        _check(f"the weight of {heavy.key!r}", [heavy.low, heavy.estimate, heavy.high])
        check_hash(heavy.key, heavy.hash)
        if len(heavy.key) != len(profile["keys"]):
            raise ValueError(f"{heavy.key!r} has not one value for each of {list(profile['keys'])}")


def _are_counts(files: Any) -> bool:
    return len(files) == 2 and all(type(n) is int for n in files) and 0 < files[0] <= files[1]


def check_hash(key: Any, key_hash: Any) -> None:
    """Check that a key's hash is a 64-bit number.

    Raises:
        ValueError: it is none.
    """
    if type(key_hash) is not int or key_hash not in _HASHES:
        raise ValueError(f"the hash of {key!r} is {key_hash!r}, no 64-bit number")


def _check(what: str, numbers: Iterable[Any]) -> None:
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise ValueError(f"{what} is {number!r}; expected a number that is not negative")
