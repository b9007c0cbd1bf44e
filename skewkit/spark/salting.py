"""The salt of a row: a hash that spreads the rows of a hot key, and is the same when a task runs again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from skewkit.spark.keys import has_fixed_hash, quoted
from skewkit.spark.seen import Seen

_FEW = 3
_MOST_HASHED = 8
_MOST_ASKED = 24
_KINDS = ("timestamp", "timestamp_ntz", "double", "decimal", "long", "string", "integer", "float", "binary")


@dataclass(frozen=True)
class Salting:
    """What a row's salt is made of: stored columns by name, and the row's position where these are few.

    >>> Salting.of(Seen(spark.range(9).selectExpr("id % 2 AS k", "id AS v")), ["k"])
    Salting(columns=('v',), stored=True)
    """

    columns: tuple[str, ...]
    stored: bool

    @classmethod
    def of(cls, seen: Seen, keys: Sequence[str]) -> Salting:
        """Choose up to eight columns beside the keys, likely distinct ones first.

        * Maps and variants have no hash in Spark and are left out; columns whose name is there twice as well.
        * Only values that are stored: what is computed may fail or be dear, and perhaps nobody asks for it. Texts
          of CSV, JSON and XML files are parsed for whom asks.
        * Only values that come out the same when they are computed again.
        """
        fields = seen.frame.schema.fields
        named = Counter(field.name.lower() for field in fields)
        own = {name.lower() for name in keys}
        others = [f for f in fields if f.name.lower() not in own and named[f.name.lower()] == 1]
        usable = sorted((f for f in others if has_fixed_hash(f.dataType)), key=_likely_few)
        if not usable or (seen.stored and seen.parsed):
            return cls((), seen.stored)
        found = seen.steady([field.name for field in usable[:_MOST_ASKED]], _MOST_HASHED)
        return cls(tuple(found), seen.stored)

    def hash(self, first: Sequence[Column] = ()) -> Column:
        """Return the 64-bit hash of `first` and of the columns.

        Where the columns are few, rows of a hot key may be alike, and content would leave them together. Then the
        row's position is hashed too: in its input split, where the frame is `stored`, so that a task that runs again
        finds it again; else the number of the input partition, whose rows a re-run task finds again, in whatever
        order.
        """
        content = [*first, *(F.col(quoted(name)) for name in self.columns)]
        if len(self.columns) <= _FEW:
            content.append(F.monotonically_increasing_id() if self.stored else F.spark_partition_id())
        return F.xxhash64(*content)


def _likely_few(field: StructField) -> int:
    """Rank types by how few values a column of them tends to have."""
    name = field.dataType.typeName()
    return _KINDS.index(name) if name in _KINDS else len(_KINDS)
