"""The split table: how every aggregate function of Spark splits into partials, their merges and a finish.

Two phases give what one phase gives: `finish(merge(partial(sub-groups)))`. Three kinds of functions need no split:

* those with small states, which Spark combines before the shuffle by itself (`COMBINED`);
* distinct aggregates, which Spark spreads by their values (`DISTINCT`);
* those that no sub-group can compute a part of (`WHOLE`).

In a call that is split for other aggregates, these are computed by Spark on the same rows, and their results are
joined in by the key. Functions that Spark combines have partials here, too, where that saves the second aggregation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType

from skewkit.spark.expressions.aggregate_calls import AggregateCall
from skewkit.spark.expressions.columns import read_literal
from skewkit.spark.expressions.keys import has_fixed_hash
from skewkit.spark.expressions.nodes import node_of


@dataclass(frozen=True)
class Split:
    """Partials over the arguments, one merge per partial, and the result from what was merged.

    `finish` gets the merged partials and then the arguments after the first that read no column.

    `pays`: the state grows with the group, so that a hot key hurts, and parts of it are less work for one task.
    `by_value`: right only if equal values meet in one sub-group, so the salt must be the hash of the inputs.
    `counted`: the partial is over (value, its number of rows), after equal values were counted.
    `each`: every such pair is a partial by itself, and the merge gets those arguments, too.
    `shares`: which shares of the rows stand before what is asked for; so the rows of few ranges of values are enough.
    `why`: what Spark does by itself where a split does not pay, or where there is none.
    """

    partials: tuple[Callable[..., Column], ...] = ()
    merges: tuple[Callable[..., Column], ...] = ()
    finish: Callable[..., Column] = lambda merged, *_: merged
    pays: bool = False
    by_value: bool = False
    counted: bool = False
    each: bool = False
    shares: Callable[..., Column] | None = None
    why: str = ""


COMBINED = Split(why="Spark combines {} before the shuffle")
DISTINCT = Split(why="Spark spreads {} by its values")
WHOLE = Split(why="no part of a group can compute {}")
IN_ONE_TASK = "Spark collects {} before the shuffle, and the whole result is in one task in any case"


def _same(function: Callable[[Column], Column]) -> Split:
    """Return the split of a function that merges its own results."""
    return Split((function,), (function,))


def _count(*columns: Column) -> Column:
    if not columns:
        return F.count(F.lit(1))
    test = columns[0].isNotNull()
    for column in columns[1:]:
        test = test & column.isNotNull()
    return F.count(F.when(test, 1))


def _zero(total: Column, *_: Column) -> Column:
    return F.coalesce(total, F.lit(0).cast("bigint"))


def _as_double(x: Column) -> Column:
    return F.sum(x.cast("double"))


def _mean(total: Column, rows: Column) -> Column:
    return total / F.nullif(rows, F.lit(0))


def _high(x: Column) -> Column:
    return F.sum(F.shiftright(x, 32) + _borrowed(x))


def _low(x: Column) -> Column:
    return F.sum(x.bitwiseAND(F.lit(_LOW)) - F.shiftleft(_borrowed(x), 32))


def _borrowed(x: Column) -> Column:
    """Return 1 where the lower half counts as negative: so a half of small numbers is no larger than their sum."""
    return F.shiftright(x.bitwiseAND(F.lit(_LOW)), 31)


def _of_halves(high: Column, low: Column, *_: Column) -> Column:
    return (high + F.shiftright(low, 32)) * F.lit(_LOW + 1) + low.bitwiseAND(F.lit(_LOW))


def _joined(lists: Column) -> Column:
    return F.flatten(F.collect_list(lists))


def _text(values: Column, separator: Column | None = None) -> Column:
    if separator is None:
        text = F.array_join(values, "")
    else:
        text = F.call_function("array_join", values, F.coalesce(separator, F.lit("")))
    return F.when(F.size(values) > 0, text)


def _most_frequent(value: Column, rows: Column) -> Column:
    """Return (-rows, value) of the value with most rows, of the least such value. Nulls count as no rows."""
    return F.min(F.struct((-rows).alias("n"), value.alias("x")))


def _pair(value: Column, rows: Column) -> Column:
    return F.struct(value.alias("x"), rows.alias("n"))


def _weighted(pair: Column, share: Column, frequency: Column | None = None) -> Column:
    """Return the percentile of values that stand for so many rows, and `frequency` times that if it is given."""
    rows = pair["n"] if frequency is None else pair["n"] * frequency
    return F.call_function("percentile", pair["x"], share, rows)


def _discrete(pairs: Column, share: Column) -> Column:
    """Return the first value, as a double, up to which so large a share of the rows lies. Null of no row."""
    known = F.array_sort(F.filter(pairs, lambda pair: pair["n"] > 0))
    rows = F.aggregate(known, F.lit(0).cast("bigint"), lambda total, pair: total + pair["n"]).cast("double")
    state = F.struct(
        F.lit(0).cast("bigint").alias("upto"),
        F.greatest(F.ceil(rows * share.cast("double")), F.lit(1)).alias("rank"),
        F.get(known, F.lit(0))["x"].alias("x"),
    )

    def passed(at: Column, pair: Column) -> Column:
        upto = (at["upto"] + pair["n"]).alias("upto")
        return F.when(at["upto"] >= at["rank"], at).otherwise(F.struct(upto, at["rank"], pair["x"].alias("x")))

    return F.aggregate(known, state, passed, lambda at: at["x"].cast("double"))


def _all_discrete(pairs: Column, shares: Column) -> Column:
    found = F.transform(shares, lambda share: _discrete(pairs, share))
    return F.when(F.size(F.filter(pairs, lambda pair: pair["n"] > 0)) > 0, found)


_MEAN = Split((_as_double, F.count), (F.sum, F.sum), _mean)
_LOW = (1 << 32) - 1
# In two halves, so that no part overflows where the whole does not.
_LONG_SUM = Split((_high, _low), (F.sum, F.sum), _of_halves)
_LIST = Split((lambda x, *_: F.collect_list(x),), (_joined,), lambda lists, *_: lists, why=IN_ONE_TASK)
_LISTAGG = replace(_LIST, finish=_text)
_PERCENTILE = Split((_pair,), (_weighted,), pays=True, by_value=True, counted=True, each=True)
_PERCENTILE_DISC = replace(_PERCENTILE, merges=(lambda pair, *_: F.collect_list(pair),), finish=_discrete)

SPLITS: dict[str, Split] = {
    "count": Split((_count,), (F.sum,), _zero),
    "count_if": Split((lambda x: _count(F.nullif(x, F.lit(False))),), (F.sum,), _zero),
    "regr_count": Split((_count,), (F.sum,), _zero),
    "sum": _same(F.sum),
    "avg": _MEAN,
    "mean": _MEAN,
    "min": _same(F.min),
    "max": _same(F.max),
    "bool_and": _same(F.bool_and),
    "every": _same(F.bool_and),
    "bool_or": _same(F.bool_or),
    "some": _same(F.bool_or),
    "any": _same(F.bool_or),
    "bit_and": _same(F.bit_and),
    "bit_or": _same(F.bit_or),
    "bit_xor": _same(F.bit_xor),
    # States that grow with the group, as do the results.
    "collect_list": _LIST,
    "array_agg": _LIST,
    "listagg": _LISTAGG,
    "string_agg": _LISTAGG,
    # States that grow with the group.
    "collect_set": Split((F.collect_set,), (_joined,), pays=True, by_value=True),
    "mode": Split(
        (lambda x, n, *_: _most_frequent(x, n),),
        (F.min,),
        lambda best, *_: best["x"],
        pays=True,
        by_value=True,
        counted=True,
    ),
    "median": replace(_PERCENTILE, merges=(lambda pair, *_: _weighted(pair, F.lit(0.5)),)),
    "percentile": _PERCENTILE,
    "percentile_cont": _PERCENTILE,
    "percentile_disc": _PERCENTILE_DISC,
    # Sums of decimals and moments: Spark's own partials keep their precision and overflow.
    "try_sum": COMBINED,
    "try_avg": COMBINED,
    "product": COMBINED,
    "std": COMBINED,
    "stddev": COMBINED,
    "stddev_samp": COMBINED,
    "stddev_pop": COMBINED,
    "variance": COMBINED,
    "var_samp": COMBINED,
    "var_pop": COMBINED,
    "skewness": COMBINED,
    "kurtosis": COMBINED,
    "corr": COMBINED,
    "covar_pop": COMBINED,
    "covar_samp": COMBINED,
    "regr_avgx": COMBINED,
    "regr_avgy": COMBINED,
    "regr_intercept": COMBINED,
    "regr_r2": COMBINED,
    "regr_slope": COMBINED,
    "regr_sxx": COMBINED,
    "regr_sxy": COMBINED,
    "regr_syy": COMBINED,
    # One row, or k rows, of the group; which one is Spark's choice where several tie or no order is given.
    "any_value": COMBINED,
    "first": COMBINED,
    "first_value": COMBINED,
    "last": COMBINED,
    "last_value": COMBINED,
    "max_by": COMBINED,
    "min_by": COMBINED,
    # Sketches and bitmaps, bounded in size by their arguments.
    "approx_count_distinct": COMBINED,
    "approx_percentile": COMBINED,
    "percentile_approx": COMBINED,
    "approx_top_k": COMBINED,
    "approx_top_k_accumulate": COMBINED,
    "approx_top_k_combine": COMBINED,
    "bitmap_and_agg": COMBINED,
    "bitmap_construct_agg": COMBINED,
    "bitmap_or_agg": COMBINED,
    "count_min_sketch": COMBINED,
    "histogram_numeric": COMBINED,
    "hll_sketch_agg": COMBINED,
    "hll_union_agg": COMBINED,
    "kll_merge_agg_bigint": COMBINED,
    "kll_merge_agg_double": COMBINED,
    "kll_merge_agg_float": COMBINED,
    "kll_sketch_agg_bigint": COMBINED,
    "kll_sketch_agg_double": COMBINED,
    "kll_sketch_agg_float": COMBINED,
    "schema_of_variant_agg": COMBINED,
    "theta_intersection_agg": COMBINED,
    "theta_sketch_agg": COMBINED,
    "theta_union_agg": COMBINED,
    "tuple_intersection_agg_double": COMBINED,
    "tuple_intersection_agg_integer": COMBINED,
    "tuple_sketch_agg_double": COMBINED,
    "tuple_sketch_agg_integer": COMBINED,
    "tuple_union_agg_double": COMBINED,
    "tuple_union_agg_integer": COMBINED,
    "vector_avg": COMBINED,
    "vector_sum": COMBINED,
    # Of grouping sets and of metric views, which skew_groupby has not.
    "grouping": WHOLE,
    "grouping_id": WHOLE,
    "measure": WHOLE,
}
_ANY_OR_ALL = frozenset(
    ["min", "max", "bool_and", "every", "bool_or", "some", "any", "bit_and", "bit_or", "collect_set"]
)
"""Functions that give the same with and without DISTINCT."""
# Spark adds up doubles for an avg of these; a sum or avg of decimals has its own precision and overflows to null.
_PLAIN_NUMBERS = frozenset(["tinyint", "smallint", "int", "bigint", "float", "double"])


def _is_number(type_: str) -> bool:
    return type_ in _PLAIN_NUMBERS or type_.startswith("decimal")


def split_of(call: AggregateCall, types: list[DataType], fixed: Sequence[DataType] = ()) -> Split:
    """Return the row of the table for a call whose inputs have these types. One without partials where it must be.

    `fixed` are the types of the arguments that read no column, which percentiles ask for.
    """
    split = SPLITS[call.name]
    if call.distinct and call.name not in _ANY_OR_ALL:
        return DISTINCT
    if not split.partials:
        return split
    if call.order or len(call.arguments) > _MOST_ARGUMENTS.get(call.name, 1):
        return WHOLE
    if call.name in _FIXED and not all(call.fixed[1:]):
        return WHOLE
    if split.by_value and any(call.fixed[:1]):  # there is one value
        return WHOLE
    names = [type_.simpleString() for type_ in types]
    if call.name == "regr_count" and (any(call.fixed) or not all(map(_is_number, names[:2]))):
        return COMBINED  # it casts its arguments, which may make null of texts
    if call.name in ("sum", "avg", "mean") and not _adds_plain_numbers(call, names):
        return COMBINED
    if call.name == "sum" and names[:1] == ["bigint"]:
        return _LONG_SUM
    if call.name in ("listagg", "string_agg") and names[:1] != ["string"]:
        return WHOLE
    if split.by_value and ("collate" in str(names) or not all(map(has_fixed_hash, types))):
        return WHOLE
    if split.each:
        return _percentile(call, split, names, fixed)
    if call.name == "mode" and any(part in str(names) for part in ("float", "double", "interval", "binary")):
        return WHOLE
    return split


def _percentile(call: AggregateCall, split: Split, types: Sequence[str], fixed: Sequence[DataType]) -> Split:
    """Return the split of a percentile, with its shares if values of its type can be cut into ranges."""
    listed = bool(fixed) and isinstance(fixed[0], ArrayType)
    if call.name == "percentile_disc":
        if not _is_number(types[0]):
            return WHOLE
        split = replace(split, finish=_all_discrete if listed else _discrete)
    if not _is_number(types[0]) or not all(map(_is_one, call.arguments[2:])):
        return split
    if call.name == "median":
        return replace(split, shares=lambda: F.array(F.lit(0.5)))
    return replace(split, shares=lambda share, *_: (share if listed else F.array(share)).cast("array<double>"))


def _is_one(frequency: Column) -> bool:
    return read_literal(frequency) == (1,) or node_of(frequency).name.strip() == "1"


def _adds_plain_numbers(call: AggregateCall, types: Sequence[str]) -> bool:
    """Return whether a call adds up whole numbers or floats. A constant has no type here, its value tells."""
    if types:
        return types[0] in _PLAIN_NUMBERS
    literal, node = read_literal(call.arguments[0]), node_of(call.arguments[0])
    if literal is not None:
        return isinstance(literal[0], int) and not isinstance(literal[0], bool) and abs(literal[0]) < 1 << 63
    return node.kind == "sql" and node.name.strip().isdigit() and int(node.name) < 1 << 63


_MOST_ARGUMENTS = {
    "count": 1 << 16,
    "regr_count": 2,
    "listagg": 2,
    "string_agg": 2,
    "mode": 2,
    "percentile": 3,
    "percentile_cont": 2,
    "percentile_disc": 2,
}
_FIXED = ("listagg", "string_agg", "mode", "percentile", "percentile_cont", "percentile_disc")
"""Functions whose arguments after the first belong to the merge, so they must not read a column."""
