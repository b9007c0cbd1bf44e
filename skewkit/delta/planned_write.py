"""`delta.write`: files that are planned before they are written, and not by how many tasks the rows come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter

from skewkit.api.arguments import check_batch
from skewkit.api.repartition.by_file_size import FILE_BYTES, file_bytes, file_choice, file_plan, partition_keys
from skewkit.checks import one_of
from skewkit.delta.delta_table import TableDetail, TableName, check_free, last_row_bytes, table_detail, table_name
from skewkit.delta.generated import with_generated
from skewkit.errors import ArgumentError
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.write.file_plan import FilePlan
from skewkit.spark.expressions.keys import shared_names
from skewkit.spark.expressions.selecting import without
from skewkit.spark.session.jobs import counted, labelled
from skewkit.spark.session.remembered import remember
from skewkit.spark.write.write_route import routed

MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
_CLUSTERED = "the table is clustered by {}: the files are even, OPTIMIZE clusters them"


def write(
    df: DataFrame,
    path_or_table: str | os.PathLike[str],
    *,
    partition_by: str | Sequence[str] | None = None,
    target_file_bytes: int | str | None = None,
    mode: str = "errorifexists",
    profile: KeyProfile | None = None,
    **options: Any,
) -> FilePlan:
    """Write a frame to a Delta table in files of about a target size. Return the plan of files.

    * The rows are the frame's, nothing else, in one commit of Delta's own writer.
    * A partition value with more than 1.25 targets is cut into equal files, by different tasks.
    * Smaller values are one file each, packed into tasks by LPT (Graham 1969). A task has one writer open at a time,
      unless `spark.sql.maxConcurrentOutputFileWriters` is set.
    * Without partition columns the files are even, and as many as are needed.
    * One query over the frame counts rows per partition value and samples rows to see their bytes in Parquet.
    * A second one takes rows of the values that are cut, or of one of several files without partition columns.
      Only the first tells which values those are, and how far apart in the frame the rows of a file stand.
    * With a profile nothing is counted, and every value's rows are taken to be as long as the mean. Bytes per row are
      those of the largest of the table's last writes. For a table that has none one query samples rows, not keys.
    * `maxRecordsPerFile` is set to the rows of two targets, unless it is given.
    * Delta's optimized write is off for this write, so the rows are shuffled once.

    Args:
        df: the frame, classic or Connect.
        path_or_table: a path, which has a slash, or the name of a table as SQL writes it.
        partition_by: partition columns of a new table. Those of the table that is there if None, also where
            `overwriteSchema` gives it other columns; with that, `[]` takes them away.
        target_file_bytes: bytes of a file, or a text such as "64MB"; else the table's `delta.targetFileSize`, else
            128 MiB. Delta 4.4 takes that property only as an arbitrary one (docs/delta/writes.md).
        mode: `append`, `overwrite`, `errorifexists` (or `error`) or `ignore`, as `DataFrameWriter.mode`.
        profile: a profile by the partition columns (`skew_profile`, `ProfileHistory.profile`).
        **options: of Delta's writer, such as `replaceWhere`, `txnAppId`, `txnVersion`, `mergeSchema`,
            `overwriteSchema`, `partitionOverwriteMode`, `compression`.

    Raises:
        ColumnNotFoundError: a partition column is not in the frame.
        ArgumentError: a mode, a size or an option that makes no sense, or the table is none of Delta Lake, or a view.
        ProfileError: the profile is of other columns.
        UnsupportedError: the frame is a stream.
        AnalysisException: Delta's own errors stay Delta's; a write that fails leaves no new version.
    """
    check_batch(df, "delta.write")
    table = table_name(path_or_table)
    mode = one_of("mode", mode.lower() if isinstance(mode, str) else mode, MODES)
    own_target = file_bytes(target_file_bytes)
    _check_options(options)
    keys = partition_keys(df, [] if partition_by is None else partition_by)
    spark = df.sparkSession
    detail = table_detail(spark, table)
    refused = detail is not None and mode in ("error", "errorifexists")
    twice = bool(shared_names(df.columns))
    named = [partition_by] if isinstance(partition_by, str) else list(partition_by or ())
    if refused or twice or (detail is not None and mode == "ignore"):
        plan = _unplanned(named)
        _save(df, table, mode, named, options)  # Delta says what is wrong, or does nothing, before a job
        return plan
    if detail is None:
        check_free(spark, table)
    target = own_target or (detail.target_file_bytes if detail is not None else None) or FILE_BYTES
    wide, added = df, tuple[str, ...]()
    renewed = mode == "overwrite" and str(_option(options, "overwriteSchema")).lower() == "true"
    if detail is not None and detail.partition_columns and not named and not (renewed and partition_by is not None):
        wide, added = with_generated(df, table, detail.partition_columns)
        there = {name.lower() for name in wide.columns}
        keys = partition_keys(wide, [name for name in detail.partition_columns if name.lower() in there])
        own = {name.lower() for name in df.columns}
        if renewed and all(name.lower() in own for name in detail.partition_columns):
            named = list(detail.partition_columns)  # Delta would take them away with the old schema
    with counted() as used:
        row_size = last_row_bytes(spark, table) if profile is not None and detail is not None else None
        plan = file_plan(
            wide,
            keys,
            target,
            compression=_option(options, "compression"),
            profile=profile,
            row_size=row_size,
            notes=_notes(detail),
        )
        placed = routed(wide, keys, plan)
    placed = remember(without(placed, *added) if added else placed, file_choice(plan, "write"), used)
    if plan.rows_per_file and _option(options, "maxRecordsPerFile") is None:
        options = {**options, "maxRecordsPerFile": plan.rows_per_file}
    _save(placed, table, mode, named, options)
    return plan


def _save(df: DataFrame, table: TableName, mode: str, partition_by: Sequence[str], options: dict[str, Any]) -> None:
    mode = "error" if mode == "errorifexists" else mode  # Connect knows no other word for it
    writer: DataFrameWriter = df.write.format("delta").mode(mode).options(**{"optimizeWrite": False, **options})
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    with labelled(df.sparkSession, f"skewkit delta: write to {table.sql}"):
        if table.path is not None:
            writer.save(table.path)
        else:
            writer.saveAsTable(str(table.name))


def _check_options(options: dict[str, Any]) -> None:
    if _option(options, "optimizeWrite") is not None:
        raise ArgumentError("optimizeWrite would shuffle the planned files again; leave it out")
    if _option(options, "path") is not None:
        raise ArgumentError("the table's place is the second argument; leave the option path out")


def _option(options: dict[str, Any], name: str) -> Any:
    return next((value for key, value in options.items() if key.lower() == name.lower()), None)


def _notes(detail: TableDetail | None) -> tuple[str, ...]:
    if detail is None or not detail.clustering_columns:
        return ()
    return (_CLUSTERED.format(", ".join(detail.clustering_columns)),)


def _unplanned(keys: Sequence[str]) -> FilePlan:
    return FilePlan(tuple(keys), FILE_BYTES, 0, 0, None, 0, 0.0, 0.0, None, 0, "not counted", "nothing was written")
