"""Choices and plans in words and numbers."""

from __future__ import annotations

from skewkit.plan.choice import Choice
from skewkit.plan.join.join_plan import JoinPlan
from skewkit.plan.join.kinds import opposite
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.placeholders import placeholder_note

_SHOWN = 8


def choice_text(choice: Choice) -> str:
    """Return what was chosen, why, which keys are hot, where they go and what plain Spark would have done."""
    lines = [choice.operator, f"  strategy   {choice.strategy}: {choice.reason}"]
    counted = choice.profile is None or not choice.profile.named
    if choice.plan is not None and choice.strategy != "native":
        lines += _plan_lines(choice, counted=counted)
        if choice.join is not None and choice.join.rules.residual:
            lines.append(
                "  residual   the rest of the condition is compared with each pair of rows, as plain Spark does"
            )
        lines += [f"  note       {note}" for note in _placeholders(choice)]
    lines += [f"  note       {note}" for note in choice.notes]
    labels = ("profile", "") if choice.other is None else ("left", "right")
    for label, profile in zip(labels, (choice.profile, choice.other), strict=True):
        if profile is not None and not profile.named:
            lines += [f"  {label:11}" + str(profile).replace("\n", "\n           ")]
    return "\n".join(lines)


def _placeholders(choice: Choice) -> tuple[str, ...]:
    keys = [heavy.key for heavy in choice.plan.heavy] if choice.plan is not None else []
    return placeholder_note(keys, join=choice.join is not None)


def plan_text(plan: KeyPlan, *, counted: bool = True) -> str:
    """Return a plan's partitions, pieces and loads in three lines; no loads where nobody `counted` the keys' rows."""
    pieces = sum(len(h.parts) for h in plan.heavy)
    mean = sum(plan.loads) / plan.partitions
    return "\n".join(
        [
            f"{plan.scheme}, {plan.partitions} partitions, {_many(len(plan.heavy), 'heavy key')} in "
            f"{_many(pieces, 'piece')}",
            f"expected load: mean {mean:,.0f}, greatest {plan.straggler:.2f} times the mean, "
            f"plain Spark {plan.native_straggler:.2f} times"
            if counted
            else "the keys' weights are not known, so they are taken as equal",
            *(f"  {key_text(h.key)}: {_parts_text(h.parts)}" for h in plan.heavy[:_SHOWN]),
        ]
    )


def _plan_lines(choice: Choice, *, counted: bool) -> list[str]:
    plan = choice.plan
    if plan is None:
        return []
    if choice.whole is not None and choice.join is not None:
        side, size = choice.whole
        rows = _many(choice.join.totals(side).rows, f"{side} row")
        return [
            f"  heavy      {_keys_text(plan)}",
            f"             no {opposite(side)} row is shuffled, hot or not: all are joined where they are read,",
            f"             to a broadcast of the whole {side} side, some {rows}",
            f"  cost       a hash table of some {size / (1 << 20):,.0f} MB in the driver and in every executor",
        ]
    if choice.head is not None:
        keys = _keys_text(choice.head.keys)
        side, other = choice.head.side, opposite(choice.head.side)
        share = f"{choice.head.share:.1%} of the" if counted else "their"
        rows = f"some {_many(choice.head.rows, f'{other} row')}" if counted else f"their {other} rows"
        return [
            f"  heavy      {keys}",
            f"             {share} {side} rows (kept nulls included) are not shuffled at all,",
            f"             but joined to a broadcast of {rows}",
            "  cost       both frames are read twice",
        ]
    lines = ["  plan       " + plan_text(plan, counted=counted).replace("\n", "\n             ")]
    if plan.spread and (choice.join is None or choice.join.left.free + choice.join.right.free):
        lines.append(f"  nulls      match nothing, so they are spread over {len(plan.spread)} partitions")
    if choice.join is not None and choice.strategy == "salt" and choice.join.grids:
        lines += _grid_lines(choice.join, counted=counted)
    return lines


def _keys_text(plan: KeyPlan) -> str:
    keys = ", ".join(key_text(h.key) for h in plan.heavy[:_SHOWN])
    return (keys + ", ..." if len(plan.heavy) > _SHOWN else keys) or "none"


def _many(number: float, noun: str) -> str:
    """Return a number with its noun.

    >>> _many(1, "key"), _many(1200.4, "row")
    ('1 key', '1,200 rows')
    """
    text = f"{number:,.0f}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def _parts_text(parts: tuple[tuple[int, float], ...]) -> str:
    shown = ", ".join(f"{p} ({s:.1%})" for p, s in parts[:4])
    more = f", ... {len(parts)} partitions" if len(parts) > 4 else ""
    return f"partition {shown}{more}"


def _grid_lines(join: JoinPlan, *, counted: bool) -> list[str]:
    """Return which sides are split, what that copies, and what is looked up for it."""
    shapes = [(grid.answered, *(stripes > 1 for stripes in grid.shape)) for grid in join.grids]
    kinds = {
        "whole": (False, False, False),
        "split left": (False, True, False),
        "split right": (False, False, True),
        "split on both sides": (False, True, True),
    }
    numbers = {name: sum(shape == kind for shape in shapes) for name, kind in kinds.items()}
    numbers["answered by a look-up"] = sum(shape[0] for shape in shapes)
    parts = [f"{count} {name}" for name, count in numbers.items() if count]
    copies = f"; about {join.copies:,.0f} rows are sent again" if counted else ""
    lines = [f"  heavy      {', '.join(parts)}{copies}"]
    if join.looked_up:
        sides = " and the ".join(join.looked_up)
        lines.append(f"  look-up    the query reads the {sides} side's keys once more, to see which hot keys are there")
    return lines
