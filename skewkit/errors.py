"""The exceptions of skewkit: one root, and leaves that are also builtins.

Catch `SkewkitError` for everything that skewkit refuses, or the builtin that you would catch anyway:
an `ArgumentError` is a `ValueError`, a `ColumnNotFoundError` is a `LookupError`.

A message says what was found, what was expected and what to do. All are raised before a Spark job starts, but for
`SchemaError` and `MergeError`, which come out of a task.
"""

from __future__ import annotations

import datetime as dt
import decimal
import difflib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager


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


@contextmanager
def with_pyspark(name: str) -> Iterator[None]:
    """Import what needs PySpark for a public name.

    Raises:
        EnvironmentProblem: PySpark is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise EnvironmentProblem(f"{name} needs pyspark: pip install 'skewkit[spark]'") from error


_SHOWN = (str, bytes, bytearray, int, float, complex, range, type, dt.date, dt.time, dt.timedelta, decimal.Decimal)
_HOLDING = (list, tuple, set, frozenset)


def shown(value: object, most: int = 60) -> str:
    """Return a value as messages show it: its repr in one line, without the middle where it is long.

    A dict, a set, bytes, and frames and arrays of other libraries may hold data of a frame and are shown by type.

    >>> shown("a"), shown(list(range(1000)), most=20)
    ("'a'", '[0, 1, 2 ... 8, 999]')
    >>> import pandas as pd
    >>> shown([pd.Series(["a secret"])])
    '<list with a pandas Series>'
    >>> shown({"name": ["a secret"]}), shown({"a secret"}), shown(b"a secret")
    ('<dict of 1>', '<set of 1>', '<bytes of 8>')
    """
    if isinstance(value, (Mapping, Set, bytes, bytearray)):
        return f"<{type(value).__name__} of {len(value)}>"
    unknown = _not_to_show(value)
    if unknown is not None:
        held = f"{type(value).__name__} with a " if unknown is not value else ""
        library = type(unknown).__module__.partition(".")[0]
        return f"<{held}{'' if library == 'builtins' else f'{library} '}{type(unknown).__name__}>"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= most else f"{text[: (most - 5) // 2 + 1]} ... {text[-((most - 5) // 2) :]}"


def _not_to_show(value: object) -> object | None:
    """Return what of a value, or in it, is of no kind that is known to hold no data of a frame. None if nothing is."""
    kind = type(value)
    if kind.__module__.startswith(("pyspark.sql.", "skewkit.")):  # a frame may run a job to be shown, a Row is data
        named = kind.__name__ == "Column" or (kind.__module__ == "pyspark.sql.types" and kind.__name__ != "Row")
        return None if named else value
    if isinstance(value, Mapping):
        return value
    if isinstance(value, _HOLDING):
        return next((found for each in value if (found := _not_to_show(each)) is not None), None)
    known = value is None or isinstance(value, _SHOWN) or (callable(value) and hasattr(value, "__name__"))
    scalar = kind.__module__ == "numpy" and getattr(value, "shape", None) == ()
    return None if known or scalar else value


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
