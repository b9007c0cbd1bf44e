"""The split table of windows: how a function over a cut partition is put together from its blocks.

One function below for each kind of window function. What their texts say stands in `window_split`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from skewkit.plan.window.window_frame import Frame
from skewkit.plan.window.window_functions import (
    EXTREMES,
    FUNCTIONS,
    MOMENTS,
    OF_BOOLEANS,
    RANKING,
    SHIFTS,
    VALUES,
    WindowCall,
    plain_name,
)
from skewkit.plan.window.window_split import Carried, Local, WindowSplit

_MOMENTS = {
    "stddev_samp": "if({n} > 1, sqrt({q} / ({n} - 1)), null)",
    "stddev_pop": "if({n} > 0, sqrt({q} / {n}), null)",
    "var_samp": "if({n} > 1, {q} / ({n} - 1), null)",
    "var_pop": "if({n} > 0, {q} / {n}, null)",
}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_SAME_IF_EQUAL = re.compile(
    r"tinyint|smallint|int|bigint|decimal\(.*\)|boolean|string|varchar\(\d+\)|char\(\d+\)|binary|date|timestamp"
    r"|timestamp_ntz|interval .*|float|double"
)
"""Types of which equal values are the same, as those of collated strings need not be.

Of floats all are but 0.0 and -0.0. To tell them apart every row of a block would be sorted once more.
"""
_SMALL = f"{2.0**-600!r}D"
"""The square of any finite double times this is finite, and dividing by it twice is exact."""
_WIDEST_DECIMAL = 27
"""Sums of wider decimals may overflow in a part and not in the whole."""


def split_of(call: WindowCall, frame: Frame, *, ordered: bool = True) -> WindowSplit | str:
    """Return how a call splits over the blocks of a partition under a frame, or the reason why it does not.

    Frames with two finite bounds are not asked for here: a block that has the rows around it needs no correction.

    >>> split_of(WindowCall("row_number"), Frame("range", None, 0)).finish
    'coalesce({c0}, 0) + {l0}'
    >>> split_of(WindowCall("mode", ("int",)), Frame("range", None, 0))
    'mode is not in the split table'
    """
    name = plain_name(call.name)
    if name not in FUNCTIONS:
        return f"{name} is not in the split table"
    if name in RANKING:
        return _ranking(name, call.offset)
    if name in SHIFTS:
        return _shift(name, call)
    unfit = frame.cannot_split()
    if unfit is not None:
        return unfit
    if name in VALUES:
        return _value(name, call, frame) if ordered else f"{name} has no order to go by"
    type_ = call.types[0] if call.types else ""
    if call.name.lower() in OF_BOOLEANS and type_ != "boolean":
        return f"{call.name} of {type_} is of booleans that Spark makes of it"
    if name in ("avg", *MOMENTS) and type_ not in _NUMBERS:
        return f"{name} of {type_} has its own precision and overflow"
    if name in MOMENTS:
        return _moment(name, frame)
    if name in EXTREMES:
        return _extreme(name, frame) if ordered else f"{name} has no order to go by"
    if name in ("min", "max"):
        return _least_or_greatest(name, frame, ordered=ordered and _SAME_IF_EQUAL.fullmatch(type_) is None)
    return _aggregate(name, type_, frame)


def _ranking(name: str, buckets: int) -> WindowSplit:
    before, every = Carried("count(1)", "sum({t})", "before"), Carried("count(1)", "sum({t})", "all")
    whole = Local("count(1)", "whole")
    counted, total = "coalesce({c0}, 0) + {l0}", "if({hot}, {c1}, {l1})"
    if name in ("row_number", "rank"):
        return WindowSplit((Local(f"{name}()"),), (before,), counted)
    if name == "dense_rank":
        distinct = Carried("count(distinct named_struct({order}))", "sum({t})", "before")
        return WindowSplit((Local("dense_rank()"),), (distinct,), counted)
    if name == "percent_rank":
        finish = f"if({total} > 1, double({counted} - 1) / double({total} - 1), 0D)"
        return WindowSplit((Local("rank()"), whole), (before, every), finish)
    if name == "cume_dist":
        return WindowSplit((Local("count(1)", "peers"), whole), (before, every), f"double({counted}) / double({total})")
    # The first `total mod n` buckets have one row more than the others.
    at, least, more = f"({counted} - 1)", f"({total} div {buckets})", f"({total} % {buckets})"
    in_longer, longer = f"{more} * ({least} + 1)", f"{at} div ({least} + 1)"
    shorter = f"{more} + ({at} - {in_longer}) div greatest({least}, 1)"
    finish = f"if({at} < {in_longer}, {longer}, {shorter}) + 1"
    return WindowSplit((Local("row_number()"), whole), (before, every), finish)


def _shift(name: str, call: WindowCall) -> WindowSplit:
    """Return the split of lag and lead: near a block's border the value comes from the neighbours' list.

    Where nulls are ignored, rows with a null are not counted, and the lists have none of them.
    """
    k = call.offset if name == "lag" else -call.offset
    default = "null"
    if len(call.types) > 1:  # Spark makes it one of the column's type
        default = "{x1}" if call.types[0] == call.types[1] else f"cast({{x1}} as {call.types[0]})"
    local = Local(f"{name}({{x}}, {call.offset}, {default}){' IGNORE NULLS' if call.ignore_nulls else ''}")
    if k == 0:
        return WindowSplit((local,), (), "{l0}")
    among = "{x}" if call.ignore_nulls else None
    counted = Local("count({x})", "rows") if call.ignore_nulls else Local("row_number()")
    # How many of the k rows are in the block: `passed` are those up to this row, without it.
    passed = "({l1} - if({x} is null, 0, 1))" if call.ignore_nulls else "({l1} - 1)"
    if k > 0:
        carried: tuple[Carried, ...] = (neighbours("before", k, among=among),)
        # The list ends with the row before the block.
        inside, item = passed, f"element_at({{c0}}, int({passed}) - {k})"
    else:
        k = -k
        rows = f"count({among})" if among else "count(1)"
        carried = (neighbours("after", k, among=among), Carried(rows, "sum({t})", "own"))
        inside, item = "({c1} - {l1})", f"element_at({{c0}}, int({k} - {{c1}} + {{l1}}))"
    border = f"if(coalesce(size({{c0}}), 0) >= {k} - {inside}, {item}.v0, {default})"
    finish = f"if({{hot}} and {inside} < {k}, {border}, {{l0}})"
    return WindowSplit((local, counted), carried, finish)


def neighbours(side: str, k: int, row: str = "'v0', {x}", among: str | None = None) -> Carried:
    """Return the list of the k rows next to a block on one side, in order, as structs of `row`; for `all` the first k.

    With `among` only rows are counted and listed where that is not null.
    """
    edge = f"{{rn}} > {{size}} - {k}" if side == "before" else f"{{rn}} <= {k}"
    edge = f"{among} is not null and {edge}" if among else edge
    rows = f"collect_list(if({edge}, named_struct('rn', int({{rn}}), 'row', named_struct({row})), null))"
    total = f"transform(array_sort({rows}, (a, b) -> a.rn - b.rn), e -> e.row)"
    return Carried(total, "", side, "if(size({c}) > 0, {c}, null)", ordered=True, near=k, among=among)


def _value(name: str, call: WindowCall, frame: Frame) -> WindowSplit | str:
    if name == "nth_value":
        return _nth(call, frame)
    infinite = frame.start is None if name == "first" else frame.end is None
    flag = ", true" if call.ignore_nulls else ""
    local = Local(f"{name}({{x}}{flag})", "frame")
    inside = not infinite and not call.ignore_nulls
    if inside and frame.holds_current:
        return WindowSplit((local,), (), "{l0}")
    edge, among = "{rn} = 1" if name == "first" else "{rn} = {size}", None
    if call.ignore_nulls:
        edge, among = f"{{x}} is not null and {edge}", "{x}"
    total = f"first(if({edge}, named_struct('v', {{x}}), null), true)"
    carried = Carried(total, f"{name}({{t}}, true)", frame.sides, ordered=True, among=among)
    if inside:  # The row next to the current one, which may be in another block.
        return WindowSplit((local, Local("count(1)", "frame")), (carried,), "if({l1} > 0, {l0}, {c0}.v)")
    outer = "if({c0} is not null, {c0}.v, {l0})"
    return WindowSplit((local,), (carried,), outer if infinite else "if({l0} is not null, {l0}, {c0}.v)")


def _nth(call: WindowCall, frame: Frame) -> WindowSplit | str:
    """Return the split of nth_value, or a reason: all rows whose frame has n rows get the same n-th row."""
    n = call.offset
    if frame.start is not None:
        return f"nth_value under the frame {frame} counts on in later blocks"
    among, rows, flag = ("{x}", "count({x})", ", true") if call.ignore_nulls else (None, "count(1)", "")
    item = f"if(size({{c}}) >= {n}, element_at({{c}}, {n}), null)"
    first = replace(neighbours("all", n, among=among), fold=item)
    local, count = Local(f"nth_value({{x}}, {n}{flag})", "frame"), Local(rows, "frame")
    if frame.whole:
        return WindowSplit((local,), (first,), "if({hot}, {c0}.v0, {l0})")
    reached = f"coalesce({{c1}}, 0) + {{l1}} >= {n}"
    finish = f"if({{hot}}, if({reached}, {{c0}}.v0, null), {{l0}})"
    return WindowSplit((local, count), (first, Carried(rows, "sum({t})", "before")), finish)


def _extreme(name: str, frame: Frame) -> WindowSplit:
    """Return the split of max_by and min_by: of rows with the same extreme Spark takes the last, null or not."""
    number, beyond = ("{rn}", ">") if name == "max_by" else ("-{rn}", "<")
    by = f"if({{x1}} is null, null, named_struct('y', {{x1}}, 'rn', {number}))"
    total = f"{name}(named_struct('y', {{x1}}, 'v', {{x0}}), {by})"
    carried = Carried(total, f"{name}({{t}}, {{t}}.y)", frame.sides, ordered=True)
    locals_ = Local(f"{name}({{x}})", "frame"), Local(f"{name[:3]}({{x1}})", "frame")
    if frame.whole:
        return WindowSplit(locals_[:1], (carried,), "if({hot}, {c0}.v, {l0})")
    beyond = f"{beyond}=" if frame.sides == "after" else beyond
    finish = f"if({{c0}} is not null and ({{l1}} is null or {{c0}}.y {beyond} {{l1}}), {{c0}}.v, {{l0}})"
    return WindowSplit(locals_, (carried,), finish)


def _least_or_greatest(name: str, frame: Frame, *, ordered: bool) -> WindowSplit:
    """Return the split of min and max: of values that are equal but not the same Spark takes the first."""
    first, then = ("{l0}", "{c0}") if frame.sides == "after" else ("{c0}", "{l0}")
    finish = _either(0) if frame.whole else f"{'least' if name == 'min' else 'greatest'}({first}, {then})"
    total = f"{name}({{x}})"
    if ordered:
        number = "{rn}" if name == "min" else "-{rn}"
        total = f"{name}(if({{x}} is null, null, named_struct('y', {{x}}, 'rn', {number}))).y"
    carried = Carried(total, f"{name}({{t}})", frame.sides, ordered=ordered)
    return WindowSplit((Local(f"{name}({{x}})", "frame"),), (carried,), finish)


def _aggregate(name: str, type_: str, frame: Frame) -> WindowSplit | str:
    if name in ("count", "count_if"):
        finish = "if({hot}, {c0}, {l0})" if frame.whole else "coalesce({c0}, 0) + {l0}"
        return _carried([f"{name}({{x}})"], ["sum({t})"], frame, finish)
    merged = [_either(i) if frame.whole else f"coalesce({{c{i}}} + {{l{i}}}, {{c{i}}}, {{l{i}}})" for i in range(2)]
    if name == "avg":
        finish = f"if({merged[1]} > 0, {merged[0]} / {merged[1]}, null)"
        return _carried(["sum(double({x}))", "count({x})"], ["sum({t})", "sum({t})"], frame, finish)
    if type_ == "bigint":
        # In two halves, so that a part may exceed a bigint where the whole does not.
        high, low = f"({merged[0]} + shiftright({merged[1]}, 32))", f"({merged[1]} & 4294967295L)"
        # The lower half has a sign: that of small numbers is no larger than their sum.
        borrowed = "shiftright({x} & 4294967295L, 31)"
        halves = [
            f"sum(shiftright({{x}}, 32) + {borrowed})",
            f"sum(({{x}} & 4294967295L) - shiftleft({borrowed}, 32))",
        ]
        return _carried(halves, ["sum({t})", "sum({t})"], frame, f"{high} * 4294967296L + {low}")
    decimal = _DECIMAL.fullmatch(type_)
    if decimal is not None and int(decimal[1]) <= _WIDEST_DECIMAL:
        wide = f"decimal({int(decimal[1]) + 10},{decimal[2]})"
        both = _either(0) if frame.whole else f"coalesce({_wide('c', wide)} + {_wide('l', wide)}, {{c0}}, {{l0}})"
        return _carried(["sum({x})"], ["sum({t})"], frame, f"cast({both} as {wide})")
    if type_ in _NUMBERS:
        return _carried(["sum({x})"], ["sum({t})"], frame, merged[0])
    return f"sum of {type_} has its own precision and overflow"


def _carried(totals: list[str], carries: list[str], frame: Frame, finish: str) -> WindowSplit:
    locals_ = tuple(Local(total, "frame") for total in totals)
    carried = (Carried(total, carry, frame.sides) for total, carry in zip(totals, carries, strict=True))
    return WindowSplit(locals_, tuple(carried), finish)


def _wide(letter: str, type_: str) -> str:
    return f"cast({{{letter}0}} as {type_})"


def _either(i: int) -> str:
    return f"if({{hot}}, {{c{i}}}, {{l{i}}})"


def _moment(name: str, frame: Frame) -> WindowSplit:
    """Return the split of variances and deviations: blocks are merged by (n, mean, q), q the sum of squared distances.

    Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
    Sample Variances", 1979, Equation (2.1).

    If all values are equal the mean is that value, not a sum over a number, so q is 0. Where squares of the means
    overflow, merging gives NaN but Spark's window does not. So all is computed on scaled-down numbers.
    """
    x, small = "double({x})", f"(double({{x}}) * {_SMALL})"
    finite = "between double('-1.7976931348623157E308') and double('1.7976931348623157E308')"
    mean = f"CASE WHEN min({x}) = max({x}) THEN min({x}) WHEN avg({x}) {finite} THEN avg({x}) "
    mean += f"ELSE avg({small}) / {_SMALL} END"
    q = f"CASE WHEN min({x}) = max({x}) AND max({x}) {finite} THEN 0D "
    q += f"WHEN isnan(var_pop({x})) THEN var_pop({small}) * count({x}) / {_SMALL} / {_SMALL} "
    q += f"ELSE var_pop({x}) * count({x}) END"
    state = f"named_struct('n', double(count({x})), 'm', {mean}, 'q', {q})"
    merge = (
        "(a, b) -> named_struct('n', a.n + b.n, 'm', a.m + (b.m - a.m) * (b.n / (a.n + b.n)), "
        "'q', a.q + b.q + (b.m - a.m) * (b.n / (a.n + b.n)) * (b.m - a.m) * a.n)"
    )
    fold = f"if(size({{c}}) > 0, aggregate(slice({{c}}, 2, size({{c}})), element_at({{c}}, 1), {merge}), null)"
    carried = Carried(f"if(count({x}) > 0, {state}, null)", "collect_list({t})", frame.sides, fold)
    native = Local(f"{name}({{x}})", "frame")
    if frame.whole:
        result = _MOMENTS[name].format(n="coalesce({c0}.n, 0D)", q="{c0}.q")
        return WindowSplit((native,), (carried,), f"if({{hot}}, {result}, {{l0}})")
    n = "(coalesce({c0}.n, 0D) + {l1})"
    apart = "(if({l4} = {l5}, {l4}, {l2}) - {c0}.m)"
    both = f"{{c0}}.q + {{l3}} * {{l1}} + {apart} * ({{l1}} / {n}) * {apart} * {{c0}}.n"
    q = f"if({{c0}} is null, {{l3}} * {{l1}}, if({{l1}} = 0, {{c0}}.q, {both}))"
    parts = tuple(Local(f"{part}({x})", "frame") for part in ("count", "avg", "var_pop", "min", "max"))
    finish = f"if({{hot}} and {{c0}} is not null, {_MOMENTS[name].format(n=n, q=q)}, {{l0}})"
    return WindowSplit((native, *parts), (carried,), finish)
