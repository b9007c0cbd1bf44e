"""The exceptions of skewkit: one root, and leaves that are also builtins.

Catch `SkewkitError` for everything that skewkit refuses, or the builtin that you would catch anyway:
an `ArgumentError` is a `ValueError`, a `ColumnNotFoundError` is a `LookupError`.

A message says what was found, what was expected and what to do, and it is raised before a Spark job starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SkewkitError(Exception):
    """Root of every exception that skewkit raises on purpose."""


class ArgumentError(SkewkitError, ValueError):
    """An argument or a setting has a value that makes no sense here."""


class ArgumentTypeError(SkewkitError, TypeError):
    """An argument has the wrong type."""


class ColumnNotFoundError(SkewkitError, LookupError):
    """A column that was named is not in the frame, or is there more than once."""


class KeyTypeError(SkewkitError, TypeError):
    """A key column has a type that Spark cannot group, join or hash by."""


class ProfileError(SkewkitError, ValueError):
    """A profile does not belong to these keys, or its JSON cannot be read."""


class SchemaError(SkewkitError, ValueError):
    """A group function returns something else than its schema says."""


class MergeError(SkewkitError, ValueError):
    """The merge of a group function returns no row for a key that has partial results, or rows of another key."""


class UnsupportedError(SkewkitError, NotImplementedError):
    """A request that skewkit refuses, with the reason and what to use instead."""


class AttachError(SkewkitError, RuntimeError):
    """`skewkit.install()` found a method name that is already taken."""


class EnvironmentProblem(SkewkitError, RuntimeError):
    """Java, Spark or a jar that the call needs is missing or has the wrong version."""


def shown(value: object, most: int = 60) -> str:
    """Return a value as messages show it: its repr in one line, without the middle where it is long.

    >>> shown("a"), shown(list(range(1000)), most=20)
    ("'a'", '[0, 1, 2 ... 8, 999]')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= most else f"{text[: (most - 5) // 2 + 1]} ... {text[-((most - 5) // 2) :]}"


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a clause that names the nearest valid name, or lists the valid ones.

    >>> nearest("w_choice", ["d_choices", "w_choices"])
    "did you mean 'w_choices'? Valid: 'd_choices', 'w_choices'"
    >>> nearest("SALT", ["salt"])
    "did you mean 'salt'? Valid: 'salt'"
    """
    names = list(valid)
    listing = "Valid: " + ", ".join(repr(n) for n in names[:30]) + (", ..." if len(names) > 30 else "")
    by_lower = {valid_name.lower(): valid_name for valid_name in names}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]!r}? {listing}" if close else listing
