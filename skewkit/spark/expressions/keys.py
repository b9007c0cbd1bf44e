"""Key columns of a frame: found, typed, and fit to be hashed; helper names that cannot clash."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructType, UserDefinedType

from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, KeyTypeError, nearest, shown
from skewkit.spark.session.compat import is_column, is_on
from skewkit.spark.session.query_log import quiet_query_log

KeyLike = str | Column
_DOTTED = re.compile(r"[.`*]")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
_SESSION = re.compile(r"\bsession_window`?\s*(?:/\*.*?\*/\s*)?\(", re.IGNORECASE | re.DOTALL)
_TIMESTAMP = re.compile(r"\btimestamp\b(?!:)")
_MADE_ANEW = " now, because a view or table was replaced meanwhile; make the join anew with skew_join"
_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"


@dataclass(frozen=True)
class Keys:
    """Key columns of one frame, in order, with their names and Spark types (simple strings)."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    native_because: str | None = None
    """Why only plain Spark can treat these keys; None where skewkit can."""
    padded: tuple[str, ...] = ()
    """CHAR types among the keys, which Spark pads in comparisons."""
    computed: bool = False
    """Whether a key was given as a Column, and not by name."""
    given: tuple[str, ...] = ()
    """The types before a cast; empty where there was none."""
    uncast: tuple[Column, ...] = ()
    """The columns before a cast; empty where there was none."""
    pinned: bool = False
    """Whether the keys fail where they have other types when the frame runs."""
    bare: tuple[str, ...] = ()
    """The names of those keys that are columns of the frame as they are, without a cast."""
    computed_here: tuple[str, ...] = ()
    """The names of those keys that are computed, and no columns of the frame nor fields of one."""

    @property
    def hash(self) -> Column:
        """The 64-bit hash of a row's key, that every route starts from."""
        return F.xxhash64(*self.columns)

    @property
    def any_null(self) -> Column:
        """Whether any key column is null."""
        return self.null_in([True] * len(self.columns))

    def null_in(self, unsafe: Sequence[bool]) -> Column:
        """Whether any of the key columns that `unsafe` marks is null. There must be one.

        Before any is cast, which may fail, all are asked as they are.
        """
        own = self.uncast or self.columns
        tests = [column.isNull() for column, wanted in zip(own, unsafe, strict=True) if wanted]
        casts = zip(self.columns, own, unsafe, strict=True)
        tests += [column.isNull() for column, before, wanted in casts if wanted and column is not before]
        return reduce(lambda a, b: a | b, tests)

    def pin(self) -> Keys:
        """Return the keys such that a query fails where they have other types than now.

        A frame on Connect is resolved when it runs. By then a view that it reads may have been replaced. An int has
        another hash than an equal long, so rows would not meet. Where the types are the same the optimizer takes the
        question away.
        """
        columns = (_pinned(c, t) for c, t in zip(self.columns, self.types, strict=True))
        return replace(self, columns=tuple(columns), pinned=True)

    def cast(self, types: Sequence[str]) -> Keys:
        """Return the keys cast to other types, where they differ."""
        pairs = zip(self.columns, self.types, types, strict=True)
        stored = [name not in self.computed_here for name in self.names]
        columns = (
            c if old == new else _cast(c, old, new, stored=as_is)
            for (c, old, new), as_is in zip(pairs, stored, strict=True)
        )
        same = {name for name, old, new in zip(self.names, self.types, types, strict=True) if old == new}
        bare = tuple(name for name in self.bare if name in same)
        return replace(
            self,
            columns=tuple(columns),
            types=tuple(types),
            given=self.given or self.types,
            uncast=self.uncast or self.columns,
            bare=bare,
        )

    def selected(self, names: Sequence[str]) -> Keys:
        """Return the keys of a frame that has these, computed and cast, as its columns of the given names."""
        return Keys(tuple(F.col(quoted(n)) for n in names), tuple(names), self.types)

    def renamed(self, names: Sequence[str]) -> Keys:
        """Return keys of a frame that has these, as they were before a cast, under other names."""
        plain = replace(
            self,
            columns=tuple(F.col(quoted(n)) for n in names),
            names=tuple(names),
            types=self.given or self.types,
            computed=False,
            uncast=(),
            bare=tuple(names),
            computed_here=(),
        )
        plain = plain.pin() if self.pinned else plain
        return plain.cast(self.types) if self.given else plain


def find_keys(df: DataFrame, keys: Sequence[KeyLike], *, what: str = "key", literal: bool = False) -> Keys:
    """Return the key columns of a frame, checked before any job.

    With `literal`, names are names of columns to the letter, as in `DataFrame.join`, and not paths such as `a.b`.

    Raises:
        ArgumentError: no key is given.
        ArgumentTypeError: a key is neither a name nor a Column.
        ColumnNotFoundError: a column is not in the frame, or is there more than once.
        KeyTypeError: a key is, or holds, a map, a variant or a geometry.
    """
    if not keys:
        raise ArgumentError(
            f"no {what} column given; name at least one, as in skew_groupby(df, 'k'), or a constant, such as "
            "F.lit(0).alias('all'), for one group of all rows"
        )
    for key in keys:
        if not (isinstance(key, str) or is_column(key)):
            raise ArgumentTypeError(
                f"a {what} column is a name or a Column, not {type(key).__name__} {shown(key)}; "
                "for several pass several arguments"
            )
    known = {name.lower() for name in df.columns}
    for key in keys:
        if isinstance(key, str) and (literal or not _DOTTED.search(key)) and key.lower() not in known:
            raise ColumnNotFoundError(f"{what} column {key!r} is not in the frame: {nearest(key, df.columns)}")
    columns = tuple((F.col(quoted(key) if literal else key)) if isinstance(key, str) else key for key in keys)
    schema = _schema(df, keys, columns, what)
    if len(schema.fields) != len(keys):
        raise ArgumentError(f"{what} columns {list(map(str, keys))} hold a star; name the columns one by one")
    types = []
    for field in schema.fields:
        bad = _unhashable(field.dataType)
        if bad:
            raise KeyTypeError(
                f"{what} column {field.name!r} is {_article(field.dataType.simpleString())}, and a {bad} cannot be "
                f"compared or hashed by Spark; use a part of it, or to_json({field.name})"
            )
        types.append(field.dataType.simpleString())
    computed = not all(isinstance(key, str) for key in keys)
    native = _native_because(schema)
    if any(_SESSION.search(str(key)) for key in keys if not isinstance(key, str)):
        native = "Spark makes sessions of rows while it groups them"
    names = tuple(schema.names)
    bare = _bare(columns, names)
    calls = (n for n, c in zip(names, columns, strict=True) if n not in bare and re.search(r"\(|::", str(c)))
    return Keys(columns, names, tuple(types), native, padded(schema), computed, bare=bare, computed_here=tuple(calls))


def _bare(columns: Sequence[Column], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of those keys that only name a column. Spark calls a cast, and a field of a struct, alike."""
    pairs = zip(columns, names, strict=True)
    return tuple(name for c, name in pairs if str(c) in (f"Column<'{name}'>", f"Column<'{quoted(name)}'>"))


def _cast(column: Column, old: str, new: str, *, stored: bool) -> Column:
    """Return a key in another type; `stored` keys are columns of the frame.

    The optimizer makes `cast(cast(long AS float) AS double)` one cast, which has digits that the float lost. A join of
    frames compares floats, so nothing may be left to simplify. Where the cast stands in the condition, plain Spark
    loses it, too. To add 0 changes no float but -0.0, which is equal to 0.0.
    """
    lost = stored and (old, new) == ("float", "double")
    return (column + F.lit(0.0).cast("float") if lost else column).cast(sql_type(new))


def sql_type(type_: str) -> str:
    """Return a type's name such that SQL reads it as it is: `timestamp` alone is what the session takes it for.

    >>> sql_type("timestamp"), sql_type("struct<timestamp:timestamp,b:timestamp_ntz>")
    ('timestamp_ltz', 'struct<timestamp:timestamp_ltz,b:timestamp_ntz>')
    """
    return _TIMESTAMP.sub("timestamp_ltz", type_)


def _pinned(column: Column, type_: str) -> Column:
    now = F.typeof(column)
    gone = [F.lit("a key that was "), F.lit(type_), F.lit(" when this join was made is "), now, F.lit(_MADE_ANEW)]
    return F.when(now == type_, column).otherwise(F.raise_error(F.concat(*gone)))


def _schema(df: DataFrame, keys: Sequence[KeyLike], columns: Sequence[Column], what: str) -> StructType:
    try:
        with quiet_query_log():
            return df.select(*columns).schema
    except AnalysisException as error:
        for key, column in zip(keys, columns, strict=True):
            try:
                with quiet_query_log():
                    df.select(column).schema  # noqa: B018 - on Connect the schema is what triggers the analysis
            except AnalysisException as inner:
                text = str(inner)
                name = key if isinstance(key, str) else str(key)
                if "AMBIGUOUS" in text.upper():
                    raise ColumnNotFoundError(
                        f"{what} column {name!r} is in the frame more than once; rename one of them or use an alias"
                    ) from error
                raise ColumnNotFoundError(
                    f"{what} column {name!r} is not in the frame: {nearest(name, df.columns)}"
                ) from error
        raise


def quoted(name: str) -> str:
    """Return a column name in backticks, so that dots and spaces in it are part of the name.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def shared_names(names: Iterable[str], fold: Callable[[str], str] = str.lower) -> set[str]:
    """Return the names that several columns have. Those that `fold` makes the same are one.

    >>> shared_names(["k", "v", "K"]), shared_names(["k", "v", "K"], str)
    ({'k'}, set())
    """
    return {name for name, times in Counter(map(fold, names)).items() if times > 1}


def is_plain(name: str) -> bool:
    """Return whether every session reads a name as it stands, in backticks and without.

    In others a session fills in `${...}`, and some take what is in backticks for a pattern (`reads_as_names`).

    >>> is_plain("user_id"), is_plain("user id"), is_plain("price ${usd}")
    (True, False, False)
    """
    return _PLAIN.fullmatch(name) is not None


def reads_as_names(spark: SparkSession, names: Sequence[str]) -> bool:
    """Return whether these are names of columns in SQL, in backticks."""
    odd = [name for name in names if not is_plain(name)]
    return not any("${" in name for name in odd) and not (odd and is_on(spark, _PATTERNS))


class Names:
    """Helper column names that no column of the given frames has, and which are not `others`, whatever the case."""

    def __init__(self, *frames: DataFrame, others: Sequence[str] = (), prefix: str = "_skew_") -> None:
        taken = " ".join(name.lower() for names in (*(frame.columns for frame in frames), others) for name in names)
        while prefix in taken:
            prefix += "_"
        self._prefix = prefix

    def of(self, side: str) -> Names:
        """Return the names for one side of a join."""
        return Names(prefix=f"{self._prefix}{side}_")

    def __call__(self, role: str) -> str:
        """Return the name of the helper column for a role."""
        return self._prefix + role


_NO_HASH = ("map", "variant", "geometry", "geography")


def _unhashable(type_: DataType) -> str | None:
    names = [str(part.typeName()) for part in _parts(type_)]
    return next((name for name in names if name in _NO_HASH), None)


def has_fixed_hash(type_: DataType) -> bool:
    """Return whether Spark's `xxhash64` takes a value of this type."""
    return _unhashable(type_) is None


def _native_because(type_: DataType) -> str | None:
    """Return why keys of this type are left to plain Spark, or None."""
    for part in _parts(type_):
        if isinstance(part, StringType) and getattr(part, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            return "a key has a collation, under which different strings are one key"
        if isinstance(part, UserDefinedType):
            return "a key is of a user-defined type"
        if part.simpleString() == "interval":
            return "keys of type interval have no order and no Python value"
    return None


def padded(schema: StructType) -> tuple[str, ...]:
    """Return the CHAR type of each field, '' of others, which Spark keeps in the metadata of string columns.

    Nothing where no field has one.
    """
    fields = [field for part in _parts(schema) if isinstance(part, StructType) for field in part.fields]
    types = [str((field.metadata or {}).get(_CHAR_TYPE, "")) for field in fields]
    chars = tuple(type_ if re.search(r"(?<!var)char\(", type_) else "" for type_ in types)
    return chars if any(chars) else ()


def _parts(type_: DataType) -> Iterator[DataType]:
    yield type_
    if isinstance(type_, ArrayType):
        yield from _parts(type_.elementType)
    if isinstance(type_, StructType):
        for field in type_.fields:
            yield from _parts(field.dataType)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


def plain(value: Any) -> Any:
    """Return a collected value with Rows and lists as tuples, bytearrays as bytes, and -0.0 as 0.0."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, float) and math.isnan(value):
        return math.nan  # one object, so that profiles with a NaN among their keys can be equal
    if isinstance(value, float) and not value:
        return 0.0  # one key for Spark, too
    return value
