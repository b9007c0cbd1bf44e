"""The salt of a row: a hash that spreads the rows of a hot key, and is the same when a task runs again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from skewkit.spark.explained.expression_stability import SALT
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import has_fixed_hash, is_plain, quoted, shared_names
from skewkit.spark.session.compat import is_connect, resolves

_FEW = 3
"""With no more columns than this rows of a key are often alike, so their position joins the salt."""
_MOST_HASHED = 8
"""Each column takes time per row to read and to hash."""
_MOST_ASKED = 24
"""Columns whose stability is asked, which takes time on a wide frame: three for every one that is hashed."""
_KINDS = ("timestamp", "timestamp_ntz", "double", "decimal", "long", "string", "integer", "float", "binary")
_IN_FILE = tuple(f"_metadata.{name}" for name in ("row_index", "file_size", "file_modification_time"))


@dataclass(frozen=True)
class Salting:
    """What a row's salt is made of: stored columns by name, or the row's position, as far as a task finds it again.

    >>> Salting.of(PlanFacts(spark.range(9).selectExpr("id % 2 AS k", "id AS v")), ["k"])
    Salting(columns=('v',), stored=True, parquet=False, cached=False)
    """

    columns: tuple[str, ...]
    stored: bool
    parquet: bool
    cached: bool = False

    @classmethod
    def of(cls, facts: PlanFacts, keys: Sequence[str], *, all_computed: bool = False) -> Salting:
        """Choose up to eight columns beside the keys, likely distinct ones first, of as many types as there are.

        * Maps and variants have no hash in Spark and are left out; columns whose name is there twice as well.
        * Only values that are stored: what is computed may fail or be dear, and perhaps nobody asks for it. Texts
          of CSV, JSON and XML files are parsed when they are asked for, and may be malformed where nobody does.
        * Only values that come out the same when they are computed again. What an RDD holds is taken to be so, as Spark
          takes it where a task runs again. The rows may be others then if they are whole rows of what is stored, as
          those of a limit: a shuffle by the key alone would have others, too.
        * A write computes all columns in any case (`all_computed`). So what is computed counts, too, but for what
          Python computes.
        """
        fields = facts.frame.schema.fields
        names = [field.name.lower() for field in fields]
        out = {*shared_names(names), *map(str.lower, keys)}
        others = [field for field, name in zip(fields, names, strict=True) if name not in out]
        usable = likely_few_last([f for f in others if has_fixed_hash(f.dataType)])
        parquet = facts.parquet and "_metadata" not in names
        if not usable or (facts.rows_depend_on_columns is not None and not all_computed):
            return cls((), facts.positioned, parquet, facts.cached)
        found = facts.repeatable_columns(
            [field.name for field in usable[:_MOST_ASKED]], _MOST_HASHED, all_computed=all_computed
        )
        return cls(tuple(found), facts.positioned, parquet, facts.cached)

    @property
    def tells_rows(self) -> bool:
        """Whether rows of a key have anything of their own, or all of one input partition go the same way."""
        return bool(self.columns) or self.stored

    def hash(self, first: Sequence[Column] = (), *, nulls: bool = False, frame: DataFrame | None = None) -> Column:
        """Return the 64-bit hash of `first` and of what the salt is made of.

        Rows of a hot key may be alike in the columns, and content would leave them together. So their position is
        taken, where it costs no filter that the files would be asked:

        * The number of the row in its Parquet file, if it is one of `frame`. Spark takes this for a value like any
          other, so that what a later filter asks is still pushed to the files.
        * Its number in its input split, where the rows are `stored`. That needs rows that are `cached`, few columns, or
          a null key (`nulls`), as rows have that found nothing in an outer join.
        * Else, for few columns and for nulls, their content and the number of the input partition. A task finds its
          rows again, in whatever order.
        """
        if self.parquet and frame is not None and not is_connect(frame) and resolves(frame, _IN_FILE[0]):
            return _hash_of(first, _IN_FILE)
        content = [quoted(name) if is_plain(name) else F.col(quoted(name)) for name in self.columns]
        few = nulls or len(content) <= _FEW
        if self.stored and (few or self.cached):
            return _hash_of(first, (f"'{SALT}'", "monotonically_increasing_id()"))
        position = (f"'{SALT}'", "spark_partition_id()") if few else ()
        return _hash_of(first, (*content, *position))


def _hash_of(first: Sequence[Column], more: Sequence[str | Column]) -> Column:
    """Return the hash of Columns and of SQL. As one text it is one call to Java, and each Column is some ten."""
    texts = [each for each in more if isinstance(each, str)]
    if not first and len(texts) == len(more):
        return F.expr(f"xxhash64({', '.join(texts)})")
    return F.xxhash64(*first, *(F.expr(each) if isinstance(each, str) else each for each in more))


def likely_few_last(fields: Sequence[StructField]) -> list[StructField]:
    """Sort columns by how many values one of their type tends to have, the first of each type before all seconds."""
    seen: Counter[str] = Counter()
    ranks: list[tuple[int, int]] = []
    for field in fields:
        name = field.dataType.typeName()
        kind = name if name in _KINDS else "other"
        ranks.append((seen[kind], (*_KINDS, "other").index(kind)))
        seen[kind] += 1
    return [fields[i] for i in sorted(range(len(fields)), key=ranks.__getitem__)]
