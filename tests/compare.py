"""Compare a frame with plain Spark's: both are collected, and their rows counted with the types of all values."""

import datetime as dt
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from skewkit import explain


def canonical(value: Any) -> Any:
    """Return a value that equals another one's exactly if both are the same, of the same type.

    NaN is NaN, -0.0 is not 0.0, 1 is not True, and the fields of a struct have names.
    """
    if isinstance(value, Row):
        return "struct", tuple(value.__fields__), tuple(map(canonical, value))
    if isinstance(value, list | tuple):
        return "array", tuple(map(canonical, value))
    if isinstance(value, dict):
        return "map", tuple((canonical(key), canonical(each)) for key, each in value.items())
    if isinstance(value, bytes | bytearray | memoryview):
        return "binary", bytes(value)
    if isinstance(value, dt.datetime):
        return "datetime", value.isoformat(), value.fold
    return type(value).__name__, repr(value)


def collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a frame in which two columns may have one name.

    Intervals of months have no Python values; they come as texts.
    """
    names = [f"c{i}" for i in range(len(frame.columns))]
    months = [field.dataType.simpleString().endswith(("year", "month")) for field in frame.schema.fields]
    cells = [F.col(name).cast("string") if odd else F.col(name) for name, odd in zip(names, months, strict=True)]
    return [tuple(row) for row in frame.toDF(*names).select(*cells).collect()]


def assert_equal_rows(
    ours: Iterable[tuple[Any, ...]], plain: Iterable[tuple[Any, ...]], close: Collection[int] = ()
) -> int:
    """Check that two lists hold the same rows, however often each; return how many there are.

    Args:
        ours: rows.
        plain: rows of plain Spark.
        close: the columns whose floats may differ in their last bits, as sums of floats do.

    Raises:
        AssertionError: they differ; the message shows up to three rows of either.
    """
    if not close:
        found, expected = (Counter(tuple(map(canonical, row)) for row in rows) for rows in (ours, plain))
        only_ours, only_plain = found - expected, expected - found
        assert found == expected, (
            f"{only_ours.total()} rows too many, {only_plain.total()} missing\n"
            f"ours  {list(only_ours.items())[:3]}\nplain {list(only_plain.items())[:3]}"
        )
        return expected.total()
    groups: list[dict[Any, list[Any]]] = []
    for rows in (ours, plain):
        parts = defaultdict(list)
        for row in rows:
            exact = tuple(canonical(value) for i, value in enumerate(row) if i not in close)
            parts[exact].append([row[i] for i in sorted(close)])
        groups.append(parts)
    counts = [Counter({exact: len(parts) for exact, parts in group.items()}) for group in groups]
    assert counts[0] == counts[1], (
        f"ours  {list((counts[0] - counts[1]).items())[:3]}\nplain {list((counts[1] - counts[0]).items())[:3]}"
    )
    for exact, expected in groups[1].items():
        found = groups[0][exact]
        for a, b in zip(sorted(found, key=repr), sorted(expected, key=repr), strict=True):
            assert all(map(nearly, a, b)), f"ours {a!r}, plain {b!r} of {exact}"
    return counts[1].total()


def nearly(a: Any, b: Any) -> bool:
    """Return whether two values are the same but for the last bits of their floats."""
    if isinstance(a, float) and isinstance(b, float):
        return canonical(a) == canonical(b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-10)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(nearly, a, b))
    return bool(canonical(a) == canonical(b))


def assert_same_schema(ours: DataFrame, plain: DataFrame, by_name: DataFrame | None = None) -> None:
    """Check that two frames have the same names and types, and that the same columns may be null.

    Args:
        ours: a frame.
        plain: the frame of plain Spark.
        by_name: the right frame, if `ours` is a join by name. To hide a key it may let more columns be null: all if
            hot rows were broadcast, those of the right frame after a salted inner join.
    """
    said = f"ours {ours.schema}\nplain {plain.schema}"
    assert [(f.name, f.dataType) for f in ours.schema] == [(f.name, f.dataType) for f in plain.schema], said
    pairs = list(zip(ours.schema, plain.schema, strict=True))
    assert all(a.nullable or not b.nullable for a, b in pairs), said
    more = {a.name for a, b in pairs if a.nullable and not b.nullable}
    if not more:
        return
    assert by_name is not None, said
    ((how, strategy),) = _JOIN.findall(explain(ours))
    allowed = {"broadcast_head": ours.columns, "salt": by_name.columns if how == "inner" else []}
    assert more <= set(allowed.get(strategy, [])), said


_JOIN = re.compile(r"^(\w+) join on .*\n  strategy   (\w+)", re.MULTILINE)


def assert_same(
    ours: DataFrame, plain: DataFrame, close: Collection[int] = (), by_name: DataFrame | None = None
) -> int:
    """Check that two frames have the same columns, types and rows; return how many rows there are."""
    assert_same_schema(ours, plain, by_name)
    expected = collected(plain)  # first, so that a test of something that plain Spark refuses fails as such
    return assert_equal_rows(collected(ours), expected, close)
