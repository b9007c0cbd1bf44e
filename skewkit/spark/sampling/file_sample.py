"""Which files of a table a key sample reads: a part of them, evenly along their order; Spark skips the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.session.compat import resolves

_STRATA = 64
"""No more than a stretch of 1/64 of the files, in their order, is skipped in one piece."""
_SCAN = re.compile(r"\bFileScan (parquet|orc|csv|json|text|avro)\b")
_INDEX = re.compile(r"Location: InMemoryFileIndex\(\d+ paths?\)")
_NO_PARTITION_FILTER = re.compile(r"PartitionFilters: \[\]")
_SPARE = 16
"""Of the rows of the files taken so many times more are left than are wanted: filters may drop most of them."""


@dataclass(frozen=True, eq=False)
class FileSample:
    """A frame that reads `taken` of `of` files, and of their rows the share `thinned`.

    `size` and `file` are of a row's file: its bytes, and a hash of its name. `why` says why all files are read, where
    they are. Then `of` is 0. `read` is the number of files that are read, 0 if nobody knows it.
    """

    frame: DataFrame
    taken: int = 0
    of: int = 0
    thinned: float = 1.0
    size: Column | None = None
    file: Column | None = None
    why: str | None = None
    read: int = 0

    @property
    def part(self) -> float:
        """The share of the files that is read."""
        return self.taken / self.of if self.of else 1.0


def sample_files(facts: PlanFacts, wanted: float) -> FileSample:
    """Return a frame that reads a part of a table's files, those that hold the `wanted` rows at least.

    * Files are taken at even distances along the order of their names. A stretch of files that is skipped is at most
      1/64 of all. So a table that is sorted by its key shows each key of some 3 % of the rows.
    * Spark leaves the other files out when it plans: the filter is on `_metadata`, which is constant in a file.
    * Where that is not possible, or does not pay, all files are read.
    """
    frame, physical = facts.frame, facts.physical
    why = _why_all(facts, physical)
    if why is not None or not facts.source_rows:
        return FileSample(frame, why=why)
    try:
        paths = sorted(frame.inputFiles())
    except PySparkException:
        return FileSample(frame, why="its files cannot be listed")
    tails = _tails(paths)
    if tails is None:
        return FileSample(frame, why="its files' names cannot be told apart")
    enough = 2 * wanted / facts.source_rows  # a guess by bytes errs on the low side
    taken = max(-(-len(tails) // (1 + len(tails) // _STRATA)), round(enough * len(tails)))
    if taken >= len(tails) or 2 * taken > len(tails) + 1:
        few = f"it has {len(tails)} file{'s' * (len(tails) > 1)}" if len(tails) < _STRATA else None
        return FileSample(frame, why=few, read=len(tails))
    name, depth = "_metadata.file_name", tails[0].count("/")
    tail = F.col(name) if not depth else F.substring_index(F.col("_metadata.file_path"), "/", -1 - depth)
    chosen = tail.isin([tails[int((i + 0.5) * len(tails) / taken)] for i in range(taken)])
    thinned = min(1.0, _SPARE * wanted / (facts.source_rows * taken / len(tails)))
    size, file = F.col("_metadata.file_size"), F.xxhash64("_metadata.file_path")
    if thinned < 1 and "FileScan parquet" in physical and resolves(frame, "_metadata.row_index"):
        # To compare a name costs more than to read a row, so it is the second thing to ask of a row.
        bound = int((thinned - 0.5) * (1 << 64))
        few_rows = F.xxhash64(F.col("_metadata.row_index"), size) < F.lit(bound)
        return FileSample(frame.where(few_rows & chosen), taken, len(tails), thinned, size, file, read=taken)
    return FileSample(frame.where(chosen), taken, len(tails), 1.0, size, file, read=taken)


def _why_all(facts: PlanFacts, physical: str) -> str | None:
    """Return why files cannot be skipped, or None."""
    if not facts.simple or facts.cached or len(_SCAN.findall(physical)) != 1 or physical.count("Scan ") != 1:
        return "it is not one table of files that is only read, selected and filtered"
    if not _INDEX.search(physical):
        return "its source skips no files by name"
    if not _NO_PARTITION_FILTER.search(physical):
        return "it is filtered by partitions, whose files cannot be told beforehand"
    if "_metadata" in facts.frame.columns or not resolves(facts.frame, "_metadata.file_path"):
        return "its files' names are hidden"
    return None


def _tails(paths: Sequence[str]) -> list[str] | None:
    """Return the ends of paths that tell them apart, of as few steps as do. None where none do.

    >>> _tails(["file:/t/a=1/p0", "file:/t/a=2/p0"]), _tails(["file:/t/p0", "file:/t/p1"])
    (['a=1/p0', 'a=2/p0'], ['p0', 'p1'])
    """
    for steps in range(1, 9):
        tails = ["/".join(path.rsplit("/", steps)[-steps:]) for path in paths]
        if len(set(tails)) == len(tails):
            return tails if tails and not any("%" in tail or ":" in tail for tail in tails) else None
    return None
