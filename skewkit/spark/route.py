"""A plan as Spark columns: key hash, heavy index, partition; the same arithmetic as `KeyPlan.partition`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from skewkit.plan.alias import SCALE
from skewkit.plan.keyplan import KeyPlan
from skewkit.spark.keys import Keys, Names, has_fixed_hash, quoted

_LOW32 = (1 << 32) - 1
_FEW = 3


def with_heavy_index(df: DataFrame, keys: Keys, plan: KeyPlan, names: Names) -> DataFrame:
    """Return the frame with columns `hash` (64-bit hash of the key) and `heavy` (index in the plan, or -1)."""
    hashed = df.select("*", keys.hash.alias(names("hash")))
    if not plan.heavy:
        return hashed.select("*", F.lit(-1).alias(names("heavy")))
    size = len(plan.slots)
    rows = [{"h": h, "i": i} for h, i in plan.slots]
    key_hash = F.col(names("hash"))
    index = F.lit(-1)
    for number, part in enumerate((key_hash, F.shiftright(key_hash, 32))):
        slot = names(f"slot{number}")
        hashed = hashed.select("*", element(rows, "struct<h:bigint,i:int>", F.pmod(part, F.lit(size))).alias(slot))
        found = (F.col(slot)["h"] == key_hash) & (F.col(slot)["i"] >= 0)
        index = F.when(found, F.col(slot)["i"]).otherwise(index)
    return hashed.select("*", index.alias(names("heavy"))).drop(names("slot0"), names("slot1"))


def with_partition(
    df: DataFrame, plan: KeyPlan, names: Names, row_hash: Column | None, *, free: Column | None = None
) -> DataFrame:
    """Return the frame with an int column `partition`; it needs the columns of `with_heavy_index`.

    `row_hash` salts the heavy keys: the same row always goes the same way. Without one, a heavy key goes whole to
    the first of its parts. Rows for which `free` is true may go anywhere and are spread as the plan's `spread` says.
    """
    tail = element(plan.buckets, "int", F.pmod(F.col(names("hash")), F.lit(len(plan.buckets))))
    spans, table = plan.draws
    if not table:
        return df.select("*", tail.alias(names("partition")))
    if row_hash is None:
        heavy = F.col(names("heavy"))
        first = element([h.parts[0][0] for h in plan.heavy], "int", heavy)
        return df.select(
            "*", (F.when(heavy >= 0, first).otherwise(tail) if plan.heavy else tail).alias(names("partition"))
        )
    # One column per step, so that Spark computes each once instead of repeating it wherever it is used.
    index = F.col(names("heavy"))
    if free is not None and plan.spread:
        index = F.when(free, len(plan.heavy)).otherwise(index)
    df = df.select("*", index.alias(names("draw")))
    index = F.col(names("draw"))
    # Most rows are of the tail, and nobody asks for their salt.
    df = df.select("*", F.when(index >= 0, row_hash).alias(names("row")))
    row = F.col(names("row"))
    packed_span = element([start << 32 | length for start, length in spans], "bigint", index)
    df = df.select("*", F.when(index >= 0, packed_span).alias(names("span")))
    start, length = F.shiftright(names("span"), 32), F.col(names("span")).bitwiseAND(F.lit(_LOW32))
    entries = [{"t": t, "p": p, "a": a} for t, p, a in table]
    entry = element(entries, "struct<t:bigint,p:int,a:int>", start + F.pmod(row.bitwiseAND(F.lit(SCALE - 1)), length))
    df = df.select("*", F.when(index >= 0, entry).alias(names("entry")))
    entry = F.col(names("entry"))
    drawn = F.when(F.shiftright(row, 33) + F.lit(SCALE >> 1) < entry["t"], entry["p"]).otherwise(entry["a"])
    df = df.select("*", F.when(index >= 0, drawn).otherwise(tail).alias(names("partition")))
    return df.drop(names("draw"), names("span"), names("entry"))


def listed(flags: Sequence[bool], index: Column) -> Column:
    """Return whether a row's heavy index is one that `flags` marks; false for rows of the tail."""
    if all(flags):
        return index >= 0
    return F.when(index >= 0, element([int(flag) for flag in flags], "int", index) == 1).otherwise(F.lit(False))


def copies(df: DataFrame, lists: Sequence[Sequence[int]], names: Names) -> DataFrame:
    """Return the frame with a row for every partition in `lists[partition]`, and that as its `partition`.

    The lists are one literal, so that a row with a single partition costs a look-up, too, and makes no array.
    """
    targets = element([list(each) for each in lists], "array<int>", F.col(names("partition")))
    copied = df.select("*", F.explode(targets).alias(names("copy"))).drop(names("partition"))
    return copied.withColumnRenamed(names("copy"), names("partition"))


def salt(df: DataFrame, keys: Keys, *, stored: bool, first: Sequence[Column] = (), most: int = 8) -> Column:
    """Return the 64-bit hash of a row's content: of `first`, then of up to `most` columns, likely distinct ones first.

    * Maps and variants have no hash in Spark and are left out; columns whose name is there twice as well.
    * Where the frame has next to nothing but the keys, rows of a hot key are alike, and content would leave them
      together. Then the row's position is hashed too: in its input split, where the frame is `stored`, so
      that a task that runs again finds it again; else the number of the input partition, whose rows a re-run task
      finds again, in whatever order.
    """
    fields = df.schema.fields
    named = Counter(field.name.lower() for field in fields)
    others = [f for f in fields if f.name.lower() not in {name.lower() for name in keys.names}]
    usable = sorted((f for f in others if named[f.name.lower()] == 1 and has_fixed_hash(f.dataType)), key=_likely_few)
    hashed = [c for c in first if has_fixed_hash(df.select(c).schema[0].dataType)]
    content = [*hashed, *(F.col(quoted(f.name)) for f in usable[:most])]
    if len(others) <= _FEW:
        content.append(F.monotonically_increasing_id() if stored else F.spark_partition_id())
    return F.xxhash64(*content)


def _likely_few(field: StructField) -> int:
    """Rank types by how few values a column of them tends to have."""
    kinds = ("timestamp", "timestamp_ntz", "double", "decimal", "long", "string", "integer", "float", "binary")
    name = field.dataType.typeName()
    return kinds.index(name) if name in kinds else len(kinds)


def element(items: Sequence[object], type_: str, index: Column) -> Column:
    """Return `items[index]`; the optimizer folds the JSON to a literal array once, so a look-up is constant time."""
    return F.from_json(F.lit(json.dumps(items)), f"array<{type_}>")[index.cast("int")]
