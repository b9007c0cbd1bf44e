"""Sessions over blocks: the numbers of rows that follow one another with no long gap in between, in one pass."""

from __future__ import annotations

from skewkit.plan.window.window_split import Carried, Local, WindowSplit

NEW = "if({x} is null, 0, if(coalesce(try_subtract({x}, {prior}) > {gap}, true), 1, 0))"
"""1 where a row begins a session: the first one, and every one that is more than the gap after the row before.

A difference that is no number of their type is more than any gap."""


def session_split(gap: str) -> WindowSplit:
    """Return how the number of a row's session, from 1 on, is put together from blocks. `gap` is a SQL literal.

    A block counts its sessions as if it stood alone. What is carried in is the number of sessions before it, and when
    the last one of them ended. It may go on in the block.

    >>> session_split("30").locals[0].frame
    'rows'
    """
    before = Local("lag({x})")
    new = NEW.replace("{gap}", gap)
    total = f"named_struct('n', sum({new}), 'first', min({{x}}), 'last', max({{x}}))"
    apart = f"if(try_subtract(b.first, a.last) <= {gap}, 1, 0)"
    merge = f"(a, b) -> named_struct('n', a.n + b.n - {apart}, 'first', a.first, 'last', b.last)"
    fold = f"if(size({{c}}) > 0, aggregate(slice({{c}}, 2, size({{c}})), element_at({{c}}, 1), {merge}), null)"
    carried = Carried(f"if(count({{x}}) > 0, {total}, null)", "collect_list({t})", "before", fold, prior=before)
    first = Carried("min({x})", "", "own")
    so_far = f"coalesce({{c0}}.n - if({{c1}} is null or try_subtract({{c1}}, {{c0}}.last) <= {gap}, 1, 0), 0)"
    return WindowSplit((Local(f"sum({new})", "rows", before),), (carried, first), f"{so_far} + {{l0}}")
