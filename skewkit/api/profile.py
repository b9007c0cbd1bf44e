"""`skew_profile`: which keys are hot, how hot, and how the rest is spread."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from skewkit.api.arguments import analysed, check_batch, check_partitions, settings_of
from skewkit.checks import real_number
from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, UnsupportedError, shown
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.sampling.profiling import Task, auto_fraction, profile
from skewkit.spark.session.compat import is_column, lateral_alias_reason


def skew_profile(
    df: DataFrame,
    *keys: str | Column | Sequence[str | Column],
    sample: str | float = "auto",
    weight: str | Column | None = None,
    partitions: int | None = None,
) -> KeyProfile:
    """Find the hot keys of a frame in one Spark query.

    * Every key with a share of at least theta = 1/(5n) of the rows is in `.heavy` (threshold of the D-Choices
      paper, Section III-A), n = `partitions`.
    * Counted exactly, `low == estimate == high`. From a sample of rows these are Chernoff's bounds: the
      rows of a given key are beyond each of the two in at most one sample of 25,000.
    * `.heavy`, `.tail` and `.nulls` add up to `.rows`, but for rows of composite keys that are partly null,
      which count as nulls.

    Args:
        df: the frame, classic or Connect.
        *keys: key columns, names or Columns, or one list of them. Several make a composite key.
        sample: `"auto"` reads all rows of small frames and a sample of about 10,000 rows per partition of large
            ones (setting `spark.skewkit.sampleRows`); `"exact"` reads all; a fraction in (0, 1] reads that share.
        weight: what a row weighs, a numeric column; counts rows if None. Nulls and negative numbers weigh nothing.
            Weighted profiles read all rows.
        partitions: n; the session's shuffle partitions if None.

    Raises:
        ColumnNotFoundError: a column is not in the frame.
        KeyTypeError: a key is or holds a map, variant, geometry or calendar interval, a user-defined type, or a text of
            another collation than UTF8_BINARY.
        ArgumentTypeError: the weight is no number.
        ArgumentError: `sample` or `partitions` makes no sense, or a fraction comes with a weight.
        UnsupportedError: the frame is a stream.

    >>> df = spark.range(1000).selectExpr("if(id < 700, 'hot', string(id)) AS k")
    >>> profile = skew_profile(df, "k", partitions=4)
    >>> profile.heavy[0].key, profile.heavy[0].estimate, profile.share("hot")
    (('hot',), 700, 0.7)
    """
    check_batch(df, "skew_profile")
    settings = settings_of(df)
    n = check_partitions(df, partitions)
    listed: list[str | Column] = []
    for each in keys:
        listed += each if isinstance(each, (list, tuple)) else [each]  # type: ignore[list-item]
    found = find_keys(df, listed)
    if found.native_because:
        raise KeyTypeError(
            f"{list(found.names)} cannot be profiled: {found.native_because}; profile an expression of it, such as "
            "collate(column, 'UTF8_BINARY') or cast(column as string)"
        )
    weight_column = weight_name = None
    if weight is not None:
        if not (isinstance(weight, str) or is_column(weight)):
            raise ArgumentTypeError(f"weight is a column name or a Column, not {shown(weight)}")
        weight_column = F.col(weight) if isinstance(weight, str) else weight
        field = analysed(lambda: df.select(weight_column)).schema.fields[0]
        if not isinstance(field.dataType, NumericType):
            raise ArgumentTypeError(
                f"the weight {field.name!r} is of type {field.dataType.simpleString()}; expected a number: cast it, "
                "or compute what a row weighs"
            )
        weight_name = field.name
    wanted: float = settings.sample_rows * n
    if isinstance(sample, str):
        if sample not in ("auto", "exact"):
            raise ArgumentError(
                f"sample is {shown(sample)}; expected 'auto', 'exact' or a fraction above 0 and at most 1"
            )
        exact = sample == "exact" or weight is not None
        fraction = 1.0 if exact else auto_fraction(PlanFacts(df).source_rows, wanted)
    else:
        fraction, wanted = real_number("sample", sample, high=1.0, above=True), 0.0
        if weight is not None and fraction < 1:
            raise ArgumentError(
                f"sample={shown(sample)} with a weight: a few heavy rows would decide, and no bounds would hold; "
                "leave sample out to read all rows"
            )
    try:
        return profile(Task(df, found, fraction, weight_column, weight_name), n, wanted)
    except PySparkException as error:
        lateral = lateral_alias_reason(error)
        if lateral is None:
            raise
        raise UnsupportedError(lateral) from error
