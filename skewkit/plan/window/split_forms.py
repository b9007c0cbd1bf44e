"""The split table of windows: how a function over a cut partition is put together from its blocks.

A hot partition is cut into blocks, consecutive ranges of its order. Every block is computed locally, and what the
blocks before it (or after it) hold is carried in. Everything here is SQL text with places to fill:

* `{x}` the arguments, `{x1}` the second one, `{order}` the order columns;
* in a total, `{rn}` and `{size}`: a row's number in its block and the block's rows, where the total is `ordered`;
* in a carry `{t}`: the totals of the other blocks, in order; in a fold `{c}`: what the carry made of them;
* in a finish `{l0}`, `{l1}` ...: the locals, `{c0}`, `{c1}` ...: the carried, null where no other block holds
  anything, `{hot}`: whether the row's partition was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from skewkit.plan.window.window_frame import Frame

MOST_LISTED = 64 << 20
"""Most bytes that the blocks of one partition may hand to one another."""
_ENTRY = 32.0
"""Bytes that a value in a list takes at least."""


@dataclass(frozen=True)
class Local:
    """A window function over a block; `frame` is `frame` (the caller's), `whole`, `peers` or `own` (its own)."""

    sql: str
    frame: str = "own"


@dataclass(frozen=True)
class Carried:
    """A total per block, and what comes of the totals of the blocks `before`, `after`, `all`, or of its `own`.

    `prior` is a window function over the whole block that the total needs as `{prior}`; `near` limits the other
    blocks to the nearest so many, whose lists hold so many values.
    """

    total: str
    carry: str
    side: str
    fold: str = "{c}"
    ordered: bool = False
    prior: str | None = None
    near: int = 0


@dataclass(frozen=True)
class WindowSplit:
    """A function's locals, what is carried in, and the result of both."""

    locals: tuple[Local, ...]
    carried: tuple[Carried, ...]
    finish: str


@dataclass(frozen=True)
class WindowCall:
    """A function as it was called: its SQL name, the types of its arguments, and what its literals say."""

    name: str
    types: tuple[str, ...] = ()
    offset: int = 1
    ignore_nulls: bool = False


ALIASES = {
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "first_value": "first",
    "last_value": "last",
}
LIMITED = ("row_number", "rank", "dense_rank")
"""What plain Spark cuts before the shuffle where a filter keeps the first rows of each partition only."""
RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
SHIFTS = ("lag", "lead")
VALUES = ("first", "last", "nth_value")
MOMENTS = {
    "stddev_samp": "if({n} > 1, sqrt({q} / ({n} - 1)), null)",
    "stddev_pop": "if({n} > 0, sqrt({q} / {n}), null)",
    "var_samp": "if({n} > 1, {q} / ({n} - 1), null)",
    "var_pop": "if({n} > 0, {q} / {n}, null)",
}
FUNCTIONS = (*RANKING, *SHIFTS, *VALUES, *MOMENTS, "count", "sum", "avg", "min", "max")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_WIDEST_DECIMAL = 27
"""Sums of wider decimals may overflow in a part and not in the whole."""


def fill(sql: str, places: Mapping[str, str]) -> str:
    """Return SQL with its places filled, all at once; places that are not named stay.

    >>> fill("sum({x}) over {t}", {"x": "`{t}`"})
    'sum(`{t}`) over {t}'
    """
    return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), sql)


def plain_name(name: str) -> str:
    """Return the name under which a function is in the table.

    >>> plain_name("STD")
    'stddev_samp'
    """
    return ALIASES.get(name.lower(), name.lower())


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
    if name in ("avg", *MOMENTS) and type_ not in _NUMBERS:
        return f"{name} of {type_} has its own precision and overflow"
    if name in MOMENTS:
        return _moment(name, frame)
    return _aggregate(name, type_, frame)


def listed(near: Iterable[int], blocks: int, width: float) -> float:
    """Return how many bytes the blocks of a partition hand to one another, at most.

    `near` are the numbers of rows of either side that a block gets, `width` the bytes of what it gets of a row.

    >>> listed([2], blocks=4, width=100.0)
    1600.0
    """
    return sum(blocks * min(blocks, rows) * rows for rows in near) * max(_ENTRY, width)


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


def _shift(name: str, call: WindowCall) -> WindowSplit | str:
    """Near the border of a block the value comes from the list of the neighbours' values."""
    if call.ignore_nulls:
        return f"{name} that ignores nulls may look past any number of blocks"
    k = call.offset if name == "lag" else -call.offset
    default = "null"
    if len(call.types) > 1:  # Spark makes it one of the column's type
        default = "{x1}" if call.types[0] == call.types[1] else f"cast({{x1}} as {call.types[0]})"
    local = Local(f"{name}({{x}}, {call.offset}, {default})")
    if k == 0:
        return WindowSplit((local,), (), "{l0}")
    if k > 0:
        # Of the k rows before the block, {l1} - 1 are replaced by rows of the block.
        carried: tuple[Carried, ...] = (neighbours("before", k),)
        inside, item = "({l1} - 1)", f"element_at({{c0}}, int({{l1}} - {k + 1}))"
    else:
        k = -k
        carried = (neighbours("after", k), Carried("count(1)", "sum({t})", "own"))
        inside, item = "({c1} - {l1})", f"element_at({{c0}}, int({k} - {{c1}} + {{l1}}))"
    border = f"if(coalesce(size({{c0}}), 0) >= {k} - {inside}, {item}.v0, {default})"
    finish = f"if({{hot}} and {inside} < {k}, {border}, {{l0}})"
    return WindowSplit((local, Local("row_number()")), carried, finish)


def neighbours(side: str, k: int, row: str = "'v0', {x}") -> Carried:
    """Return the list of the k rows next to a block on one side, in order, as structs of `row`."""
    edge = f"{{rn}} > {{size}} - {k}" if side == "before" else f"{{rn}} <= {k}"
    rows = f"collect_list(if({edge}, named_struct('rn', {{rn}}, 'row', named_struct({row})), null))"
    total = f"transform(array_sort({rows}, (a, b) -> a.rn - b.rn), e -> e.row)"
    rows = "flatten({c})"
    cut = f"slice({rows}, -least({k}, size({rows})), {k})" if side == "before" else f"slice({rows}, 1, {k})"
    return Carried(total, "collect_list({t})", side, f"if(size({rows}) > 0, {cut}, null)", ordered=True, near=k)


def _value(name: str, call: WindowCall, frame: Frame) -> WindowSplit | str:
    if name == "nth_value":
        return _nth(call, frame)
    infinite = frame.start is None if name == "first" else frame.end is None
    flag = ", true" if call.ignore_nulls else ""
    local = Local(f"{name}({{x}}{flag})", "frame")
    inside = not infinite and not call.ignore_nulls
    if inside and frame.holds_current:
        return WindowSplit((local,), (), "{l0}")
    edge = "{rn} = 1" if name == "first" else "{rn} = {size}"
    item, prior = "named_struct('v', {x})", None
    if call.ignore_nulls:
        item, prior = "{prior}", f"{name}(if({{x}} is null, null, named_struct('v', {{x}})), true)"
    total = f"first(if({edge}, {item}, null), true)"
    carried = Carried(total, f"{name}({{t}}, true)", frame.sides, ordered=True, prior=prior)
    if inside:  # The row next to the current one, which may be in another block.
        return WindowSplit((local, Local("count(1)", "frame")), (carried,), "if({l1} > 0, {l0}, {c0}.v)")
    outer = "if({c0} is not null, {c0}.v, {l0})"
    return WindowSplit((local,), (carried,), outer if infinite else "if({l0} is not null, {l0}, {c0}.v)")


def _nth(call: WindowCall, frame: Frame) -> WindowSplit | str:
    """The n-th row of a frame that starts with the partition is the same for all rows whose frame has n rows."""
    n = call.offset
    if call.ignore_nulls:
        return "nth_value that ignores nulls may look past any number of blocks"
    if frame.start is not None:
        return f"nth_value under the frame {frame} counts on in later blocks"
    rows = neighbours("after", n)
    first = replace(rows, side="all", fold=f"if(size(flatten({{c}})) >= {n}, element_at(flatten({{c}}), {n}), null)")
    local, count = Local(f"nth_value({{x}}, {n})", "frame"), Local("count(1)", "frame")
    if frame.whole:
        return WindowSplit((local,), (first,), "if({hot}, {c0}.v0, {l0})")
    reached = f"coalesce({{c1}}, 0) + {{l1}} >= {n}"
    finish = f"if({{hot}}, if({reached}, {{c0}}.v0, null), {{l0}})"
    return WindowSplit((local, count), (first, Carried("count(1)", "sum({t})", "before")), finish)


def _aggregate(name: str, type_: str, frame: Frame) -> WindowSplit | str:
    if name == "count":
        finish = "if({hot}, {c0}, {l0})" if frame.whole else "coalesce({c0}, 0) + {l0}"
        return _carried(["count({x})"], ["sum({t})"], frame, finish)
    if name in ("min", "max"):
        # Of values that are equal but not the same, such as 0.0 and -0.0, Spark takes the first.
        first, then = ("{l0}", "{c0}") if frame.sides == "after" else ("{c0}", "{l0}")
        outer = f"{'least' if name == 'min' else 'greatest'}({first}, {then})"
        return _carried([f"{name}({{x}})"], [f"{name}({{t}})"], frame, _either(0) if frame.whole else outer)
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
    """Merge (n, mean, q), q the sum of the squared distances from the mean.

    Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
    Sample Variances", 1979, Equation (2.1).

    The mean of values that are all the same is that value, and no sum over a number: a constant has no deviation.
    """
    x = "double({x})"
    mean = f"if(min({x}) = max({x}), min({x}), avg({x}))"
    # Spark's merge of the partials of a group makes NaN of squares that overflow, which a window of its own does not.
    overflows = f"isnan(var_pop({x})) and abs({mean}) < double('Infinity')"
    q = f"if({overflows}, double('Infinity'), var_pop({x}) * count({x}))"
    state = f"named_struct('n', double(count({x})), 'm', {mean}, 'q', {q})"
    merge = (
        "(a, b) -> named_struct('n', a.n + b.n, 'm', a.m + (b.m - a.m) * b.n / (a.n + b.n), "
        "'q', a.q + b.q + (b.m - a.m) * (b.m - a.m) * a.n * b.n / (a.n + b.n))"
    )
    fold = f"if(size({{c}}) > 0, aggregate(slice({{c}}, 2, size({{c}})), element_at({{c}}, 1), {merge}), null)"
    carried = Carried(f"if(count({x}) > 0, {state}, null)", "collect_list({t})", frame.sides, fold)
    native = Local(f"{name}({{x}})", "frame")
    if frame.whole:
        result = MOMENTS[name].format(n="coalesce({c0}.n, 0D)", q="{c0}.q")
        return WindowSplit((native,), (carried,), f"if({{hot}}, {result}, {{l0}})")
    n = "(coalesce({c0}.n, 0D) + {l1})"
    apart = "(if({l4} = {l5}, {l4}, {l2}) - {c0}.m)"
    both = f"{{c0}}.q + {{l3}} * {{l1}} + {apart} * {apart} * {{c0}}.n * {{l1}} / {n}"
    q = f"if({{c0}} is null, {{l3}} * {{l1}}, if({{l1}} = 0, {{c0}}.q, {both}))"
    parts = tuple(Local(f"{part}({x})", "frame") for part in ("count", "avg", "var_pop", "min", "max"))
    finish = f"if({{hot}} and {{c0}} is not null, {MOMENTS[name].format(n=n, q=q)}, {{l0}})"
    return WindowSplit((native, *parts), (carried,), finish)
