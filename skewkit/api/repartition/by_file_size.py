"""`repartition_by_file_size`: a frame that any writer of Parquet turns into files of a target size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame

from skewkit.api.arguments import check_batch, given_profile, settings_of
from skewkit.checks import whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError, ProfileError, shown
from skewkit.options import byte_size
from skewkit.plan.choice import Choice
from skewkit.plan.placement.load import group_load
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.write.file_plan import ABOVE, FilePlan, ValueBytes, plan_files
from skewkit.plan.write.own_sample import file_rows_of_values, own_bytes, rows_of_files, values_to_sample
from skewkit.plan.write.row_bytes import sampled_rows, value_bytes
from skewkit.plan.write.value_profile import value_profile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.expressions.keys import Keys, find_keys, shared_names
from skewkit.spark.expressions.selecting import without
from skewkit.spark.sampling.file_sample import sample_files
from skewkit.spark.session.compat import conf_reader, default_partitions, tells_case
from skewkit.spark.session.jobs import counted
from skewkit.spark.session.remembered import remember
from skewkit.spark.session.slots import terms_of
from skewkit.spark.write.file_rows import file_rows
from skewkit.spark.write.partition_sizes import SAMPLED, PartitionSizes, partition_sizes
from skewkit.spark.write.write_route import routed, write_salting

FILE_BYTES = 128 << 20
"""Bytes of a file where nobody says another number, as of the files of a Delta table."""
_CODEC = "spark.sql.parquet.compression.codec"
_ALIKE = (
    "nothing that comes out the same again tells the rows of a value apart, so those of one input partition stay "
    "together, in as few files as maxRecordsPerFile allows; write what is stored, or cache it"
)


def repartition_by_file_size(
    df: DataFrame,
    *keys: str,
    target_file_bytes: int | str | None = None,
    compression: str | None = None,
    profile: KeyProfile | None = None,
) -> DataFrame:
    """Repartition a frame such that a Parquet writer, partitioned by `keys`, writes files of about a target size.

    Write what comes back at once, as in `frame.write.partitionBy(*keys).parquet(path)`: any sink will do that writes a
    file per task and partition value. The files do not depend on how many tasks the rows come from, but for the sample
    by which bytes are estimated.

    * A partition value of more than 1.25 targets is cut into equal files, by different tasks.
    * Smaller ones are one file each, packed into tasks by LPT (`skewkit.partitioners.rules.lpt`).
    * Sizes are those of Parquet files, found by encoding a sample. Files are then within a factor of 2 of the target,
      of values that have as much.
    * One query counts rows and lengths per partition value. With a profile it only samples rows.
    * A second one samples the values that are cut, or the rows of one of several files where there are no partition
      columns. Only the first tells which values those are, and how far apart in the frame the rows of a file stand.

    Args:
        df: the frame, classic or Connect.
        *keys: partition columns; none for a table without.
        target_file_bytes: bytes of a file, or a text such as "64MB". 128 MiB if None.
        compression: the writer's codec; the session's if None.
        profile: a profile by the same keys. Then nothing is counted, and every value's rows are of mean length.

    Raises:
        ColumnNotFoundError: a column is not in the frame.
        ArgumentError: a size of zero or less, or a text that is none; or two columns share a name.
        ProfileError: the profile is of other keys, or not of rows.
        UnsupportedError: the frame is a stream.

    >>> df = spark.range(4000).selectExpr("id", "if(id < 3600, 1, id % 8) AS day")
    >>> frame = repartition_by_file_size(df, "day", target_file_bytes=4096)
    >>> "files of 8 partition values" in explain(frame)
    True
    """
    check_batch(df, "repartition_by_file_size")
    _check_names(df)
    target = file_bytes(target_file_bytes) or FILE_BYTES
    found = partition_keys(df, keys)
    with counted() as used:
        plan = file_plan(df, found, target, compression=compression, profile=profile)
        planned = routed(df, found, plan)
    return remember(planned, file_choice(plan, "repartition"), used)


def file_choice(plan: FilePlan, kind: str) -> Choice:
    """Return what a plan of files decides, for `explain` and `decisions`. `kind` is the operator."""
    return Choice(plan.title, "files", plan.reason, plan.profile, notes=plan.notes, kind=kind, lines=plan.lines)


def file_bytes(target: int | str | None) -> int | None:
    """Return a size in bytes, None for None.

    >>> file_bytes("8MB"), file_bytes(100), file_bytes(None)
    (8388608, 100, None)
    """
    if target is None:
        return None
    if isinstance(target, str):
        size = byte_size(target)
        if not size:
            raise ArgumentError(f"target_file_bytes is {shown(target)}; expected bytes, or a text such as '128MB'")
        return size
    return whole_number("target_file_bytes", target)


def partition_keys(df: DataFrame, names: object) -> Keys | None:
    """Return the partition columns of a frame by their names, None where there are none."""
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, list | tuple):
        raise ArgumentTypeError(f"partition_by is a column name or a list of them, not {shown(names)}")
    wrong = next((name for name in listed if not isinstance(name, str)), None)
    if wrong is not None:
        raise ArgumentTypeError(
            f"a partition column is given by its name, not as {type(wrong).__name__} {shown(wrong)}"
        )
    return find_keys(df, list(listed), what="partition", literal=True) if listed else None


def file_plan(
    df: DataFrame,
    keys: Keys | None,
    target: int,
    *,
    compression: str | None = None,
    profile: KeyProfile | None = None,
    row_size: float | None = None,
    notes: tuple[str, ...] = (),
) -> FilePlan:
    """Plan the files of a frame by one query or two, or by a profile and none, or a sample of rows.

    `row_size` are the bytes of a row in the last files of the same table, for plans by a profile.
    """
    slots = terms_of(df.sparkSession, settings_of(df), default_partitions(df.sparkSession)).slots.number
    codec = compression or conf_reader(df.sparkSession)(_CODEC) or "snappy"
    if profile is not None:
        plan = _by_profile(df, keys, target, codec, profile, row_size, slots, notes)
    else:
        plan = _counted(df, keys, target, codec, slots, notes)
    if plan.cut and not write_salting(df, keys).tells_rows:
        plan = replace(plan, notes=(*plan.notes, _ALIKE))
    return plan


def _check_names(df: DataFrame) -> None:
    """Raise where two columns share a name: Parquet's writer takes no such frame."""
    shared = shared_names(df.columns, str if tells_case(df.sparkSession) else str.lower)
    if shared:
        raise ArgumentError(f"two columns are called {min(shared)!r}, and no file can have both; rename one of them")


def _counted(df: DataFrame, keys: Keys | None, target: int, codec: str, slots: int, notes: tuple[str, ...]) -> FilePlan:
    sizes = partition_sizes(df, keys)
    names = keys.names if keys is not None else ()
    if not sizes.rows.size:
        return plan_files(names, (), target, notes=notes)
    shape = sizes.rows, sizes.lengths, sizes.varying
    rest = sizes.rows * _unsampled(sizes)
    found, sized = _sampled_bytes(df, sizes, sizes.rows, sizes.lengths, target, codec)

    def planned(found: npt.NDArray[Any], sized: str) -> tuple[list[ValueBytes], FilePlan]:
        each = zip(sizes.values, sizes.hashes.tolist(), sizes.rows.tolist(), found.tolist(), strict=True)
        values = [ValueBytes(*value) for value in each]
        return values, plan_files(names, values, target, slots=slots, sized_by=sized, counted_by="counted", notes=notes)

    values, plan = planned(found, sized)
    own = values_to_sample(plan, values) if sizes.has_sample else {}
    if own:
        value_of, table = file_rows(df, keys, plan, tuple(own), rows_of_files(plan, values, own))
        known = own_bytes(found - rest, file_rows_of_values(own, value_of, table), *shape, target, codec)
        files = f"of the files of {len(own):,} value{'s' * (len(own) > 1)}" if names else "of one file"
        own_sized = f"{sized}, and {table.num_rows:,} {files}"
        values, plan = planned(known + rest, own_sized)
    return plan if keys is None else replace(plan, profile=value_profile(keys.names, keys.types, values))


def _sampled_bytes(
    df: DataFrame,
    sizes: PartitionSizes,
    rows: npt.NDArray[Any],
    lengths: npt.NDArray[np.float64],
    target: int,
    codec: str,
) -> tuple[npt.NDArray[np.float64], str]:
    """Return the bytes (values,) of so many rows (values,) each, by the sample of all rows, and how they were found.

    `lengths` (values, varying) are sums over these rows (`PartitionSizes`).
    """
    if not sizes.has_sample:
        return rows * row_bytes(df.schema), "by the types of the columns"
    sample = sampled_rows(sizes.sample, sizes.varying, sizes.sample_lengths, codec)
    found = value_bytes(sample, rows, lengths, target) + rows * _unsampled(sizes)
    return found, f"from {sizes.sample.num_rows:,} sampled rows, encoded with {codec}"


def _unsampled(sizes: PartitionSizes) -> float:
    """Return the bytes that a row may take in the columns that no sample is taken of."""
    return float(sum(map(row_bytes, sizes.unsampled)))


def _by_profile(
    df: DataFrame,
    keys: Keys | None,
    target: int,
    codec: str,
    profile: KeyProfile,
    row_size: float | None,
    slots: int,
    notes: tuple[str, ...],
) -> FilePlan:
    if keys is None:
        raise ProfileError("a profile is of partition columns, and this write has none; leave profile out")
    given_profile(profile, None, keys)
    if profile.weight is not None:
        raise ProfileError(f"this profile weighs rows by {profile.weight!r}; a write needs one that counts rows")
    load = group_load(profile)
    rows = np.array([h.weight for h in load.heavy] + list(load.tail))
    if row_size is not None:
        found, sized = rows * row_size, "as in the last files of this table"
    else:
        # A directory's files have no partition columns.
        sizes = partition_sizes(without(sample_files(PlanFacts(df), SAMPLED).frame, *keys.names), None)
        means = sizes.lengths.sum(axis=0) / max(1, sizes.rows.sum())
        found, sized = _sampled_bytes(df, sizes, rows, rows[:, None] * means, target, codec)
    size = float(found.sum() / max(1.0, rows.sum()))
    if profile.unlisted * size > ABOVE * target:
        notes = (*notes, f"a value of up to {profile.unlisted:,.0f} rows may be missing in the profile, and is not cut")
    each = zip(load.heavy, found.tolist(), strict=False)
    values = [ValueBytes(", ".join(map(str, h.key)), h.hash, h.weight, size) for h, size in each]
    return plan_files(
        keys.names,
        values,
        target,
        slots=slots,
        tail=found[len(values) :].tolist(),
        rows=profile.rows,
        counted_by="by the profile",
        sized_by=f"{sized}, every value's rows as the mean",
        notes=notes,
    )
