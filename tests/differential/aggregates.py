"""Random aggregations of the awkward frame, as text."""

from __future__ import annotations

import random
from dataclasses import dataclass

KEYS = (["'k'"], ["'k'"], ["'k'"], ["'k'", "'kb'"], ["'kb'"], ["'kf'"], ["'ks'"], ["'kd'", "'kf'"], ["F.col('k') % 3"])
NUMBERS = ("i", "l", "d", "g", "n", "e", "w", "u", "nil")
VALUES = (*NUMBERS, "s", "a", "t", "b", "z", "y", "ox", "on")
SORTED = tuple(x for x in VALUES if x != "y")
FLAGS = ("b", "i > 0", "nil IS NOT NULL", "ol % 3 = 0", "s < 's2'")
TWICE = ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_r2", "regr_count", "regr_avgx")
LARGE = (
    "array_sort(collect_list({x}){f})",
    "array_sort(collect_set({x}){f})",
    "size(collect_set({x}){f})",
    "array_sort(collect_list(DISTINCT {x}){f})",
    "array_sort(array_agg({x}){f})",
    "mode({x}, true){f}",
    "median({n}){f}",
    "percentile({n}, array(0.1D, 0.5D, 0.99D)){f}",
    "percentile({n}, 0.25D){f}",
    "percentile({n}, 0.25D, abs(u) % 3){f}",
    "length(listagg(s, ','){f})",
    "array_sort(split(listagg(DISTINCT s, ','){f}, ','))",
)
SMALL = (
    "count(*){f}",
    "count({x}){f}",
    "count({x}, {n}){f}",
    "count(DISTINCT {x}){f}",
    "count(DISTINCT {x}, {n}){f}",
    "count_if({b}){f}",
    "sum({n}){f}",
    "sum(DISTINCT {n}){f}",
    "sum({n} + 1){f}",
    "try_sum({n}){f}",
    "avg({n}){f}",
    "try_avg({n}){f}",
    "min({o}){f}",
    "max({o}){f}",
    "max_by(u, u){f}",
    "min_by({x}, u){f}",
    "bool_and({b}){f}",
    "any({b}){f}",
    "bit_xor({w}){f}",
    "bit_or({w}){f}",
    "first(nil){f}",
    "any_value(nil){f}",
    "stddev({n}){f}",
    "var_pop({n}){f}",
    "skewness(i){f}",
    "{two}(i, u){f}",
    "approx_count_distinct({x}){f}",
    "percentile_approx(u, 0.5D, 100000){f}",
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY {n}){f}",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY {n} DESC){f}",
    "hll_sketch_estimate(hll_sketch_agg(u){f})",
    "bitmap_count(bitmap_construct_agg(abs(u) % 100){f})",
)
AROUND = (
    "{0}",
    "{0}",
    "{0}",
    "coalesce({0}, {0})",
    "{0} IS NULL",
    "named_struct('first', {0}, 'second', {1})",
    "CASE WHEN count(*) > 9 THEN {0} END",
)
COLUMNS = (
    "F.sum('i') / F.count('l') + 1",
    "F.mode('s', deterministic=True)",
    "F.sort_array(F.collect_set(F.struct('i', 's')))",
    "F.size(F.collect_list('i')) - F.count('i')",
    "F.median(F.col('i') * 2)",
    "F.percentile('u', [0.5, 0.75])",
    "F.percentile('e', 0.5, F.lit(2))",
    "F.when(F.max('i') > 3, F.mode(F.col('s'), True)).otherwise(F.min('s'))",
    "F.count_distinct('i', 's')",
    "F.sum('w').cast('string')",
    "F.sum_distinct('i')",
    "F.struct(F.max('t').alias('top'), F.median('d').alias('m'))['m']",
    "F.array_sort(F.collect_set('n'))",
    "F.transform(F.array_sort(F.collect_set('i')), lambda x: x + 1)",
)
NAMES = ("sum", "avg", "max", "min", "count", "median", "stddev")


@dataclass(frozen=True)
class RandomAggregation:
    """Keys and aggregates as Python source, and into how many parts; a dict where `agg` is to get one."""

    keys: list[str]
    aggregates: list[str]
    partitions: int
    by_dict: bool = False


def random_aggregation(r: random.Random) -> RandomAggregation:
    """Return a call with one right answer per key; one aggregate or more has a state that grows."""
    keys, partitions = r.choice(KEYS), r.choice([2, 3, 5, 8])
    if r.random() < 0.06:
        names = {x: r.choice(NAMES) for x in r.sample(("i", "l", "e", "u"), 2)}
        return RandomAggregation(keys, [repr(names)], partitions, by_dict=True)
    made = [_sql(r, LARGE if i == 0 else r.choice([LARGE, SMALL, SMALL])) for i in range(r.choice([1, 1, 2, 2, 3]))]
    made += r.sample(COLUMNS, r.choice([0, 0, 1]))
    return RandomAggregation(keys, [f"({text}).alias('c{i}')" for i, text in enumerate(made)], partitions)


def _sql(r: random.Random, calls: tuple[str, ...]) -> str:
    text = r.choice(AROUND).format(_call(r, calls), _call(r, SMALL))
    return f"F.expr({text!r})"


def _call(r: random.Random, calls: tuple[str, ...]) -> str:
    places = {
        "x": r.choice(SORTED),
        "o": r.choice(SORTED),
        "n": r.choice(NUMBERS),
        "w": r.choice(("i", "l", "u")),
        "b": r.choice(FLAGS),
        "two": r.choice(TWICE),
        "f": f" FILTER (WHERE {r.choice(FLAGS)})" if r.random() < 0.3 else "",
    }
    return r.choice(calls).format(**places)
