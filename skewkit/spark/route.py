"""A plan as Spark columns: key hash, heavy index, partition; the same arithmetic as `KeyPlan.partition`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.alias import SCALE
from skewkit.plan.keyplan import KeyPlan
from skewkit.spark.keys import Keys, Names, has_fixed_hash, quoted

_LOW32 = (1 << 32) - 1


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
        hashed = hashed.select("*", _element(rows, "struct<h:bigint,i:int>", F.pmod(part, F.lit(size))).alias(slot))
        found = (F.col(slot)["h"] == key_hash) & (F.col(slot)["i"] >= 0)
        index = F.when(found, F.col(slot)["i"]).otherwise(index)
    return hashed.select("*", index.alias(names("heavy"))).drop(names("slot0"), names("slot1"))


def with_partition(
    df: DataFrame, plan: KeyPlan, names: Names, row_hash: Column | None, *, free: Column | None = None
) -> DataFrame:
    """Return the frame with an int column `partition`; it needs the columns of `with_heavy_index`.

    `row_hash` salts the heavy keys: the same row always goes the same way. Without one, heavy keys go where their
    tail bucket goes. Rows for which `free` is true may go anywhere and are spread as the plan's `spread` says.
    """
    tail = _element(plan.buckets, "int", F.pmod(F.col(names("hash")), F.lit(len(plan.buckets))))
    spans, table = plan.draws
    if row_hash is None or not table:
        return df.select("*", tail.alias(names("partition")))
    # One column per step, so that Spark computes each once instead of repeating it wherever it is used.
    index = F.col(names("heavy"))
    if free is not None and plan.spread:
        index = F.when(free, len(plan.heavy)).otherwise(index)
    df = df.select("*", row_hash.alias(names("row")), index.alias(names("draw")))
    row, index = F.col(names("row")), F.col(names("draw"))
    packed_span = _element([start << 32 | length for start, length in spans], "bigint", index)
    df = df.select("*", F.when(index >= 0, packed_span).alias(names("span")))
    start, length = F.shiftright(names("span"), 32), F.col(names("span")).bitwiseAND(F.lit(_LOW32))
    entries = [{"t": t, "p": p, "a": a} for t, p, a in table]
    entry = _element(entries, "struct<t:bigint,p:int,a:int>", start + F.pmod(row.bitwiseAND(F.lit(SCALE - 1)), length))
    df = df.select("*", F.when(index >= 0, entry).alias(names("entry")))
    entry = F.col(names("entry"))
    drawn = F.when(F.shiftright(row, 33) + F.lit(SCALE >> 1) < entry["t"], entry["p"]).otherwise(entry["a"])
    df = df.select("*", F.when(index >= 0, drawn).otherwise(tail).alias(names("partition")))
    return df.drop(names("draw"), names("span"), names("entry"))


def copies(plan: KeyPlan, names: Names, split_here: Sequence[bool]) -> Column:
    """Return an array column with every partition that a row has to be in.

    That is its own `partition`, but all of the key's partitions for a heavy key that the other side splits.
    """
    heavy, one = F.col(names("heavy")), F.array(F.col(names("partition")))
    lists = [[] if here else [p for p, _ in h.parts] for h, here in zip(plan.heavy, split_here, strict=True)]
    copied = _element([not here for here in split_here], "boolean", heavy)
    return F.when((heavy >= 0) & F.when(heavy >= 0, copied), _element(lists, "array<int>", heavy)).otherwise(one)


def salt(df: DataFrame, keys: Keys, *, first: Sequence[Column] = (), most: int = 64) -> Column:
    """Return the 64-bit hash of a row's content, over `first` and then the frame's columns, `most` in all.

    * Maps and variants have no hash in Spark and are left out; columns whose name is there twice as well.
    * Where the frame holds nothing but the keys, all rows of a hot key are alike. Then the number of the input
      partition is hashed too: a re-run task reads the same rows, so the rows go the same ways.
    """
    fields = df.schema.fields
    named = Counter(field.name.lower() for field in fields)
    columns = [F.col(quoted(f.name)) for f in fields if named[f.name.lower()] == 1 and has_fixed_hash(f.dataType)]
    hashed = [c for c in first if has_fixed_hash(df.select(c).schema[0].dataType)]
    content = [*hashed, *columns][:most]
    if {f.name.lower() for f in fields} <= {name.lower() for name in keys.names}:
        content.append(F.spark_partition_id())
    return F.xxhash64(*content) if content else F.lit(0).cast("bigint")


def _element(items: Sequence[object], type_: str, index: Column) -> Column:
    """Return `items[index]`; the optimizer folds the JSON to a literal array once, so a look-up is constant time."""
    return F.from_json(F.lit(json.dumps(items)), f"array<{type_}>")[index.cast("int")]
