"""Choices and plans in words and numbers."""

from __future__ import annotations

from skewkit.plan.choice import Choice
from skewkit.plan.join.join_plan import JoinPlan
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.placeholders import placeholder_note

_SHOWN = 8


def choice_text(choice: Choice) -> str:
    """Return what was chosen, why, which keys are hot, where they go and what plain Spark would have done."""
    lines = [*filter(None, [choice.opening]), choice.operator, f"  strategy   {choice.strategy}: {choice.reason}"]
    if choice.lines:
        lines += choice.lines
    elif choice.plan is not None and choice.strategy != "native":
        named = choice.profile is not None and choice.profile.named
        lines += [*plan_lines(choice.plan, counted=not named), *placeholder_lines(choice.plan, join=False)]
    lines += [f"  note       {note}" for note in choice.notes]
    labels = ("profile", "") if choice.other is None else ("left", "right")
    for label, profile in zip(labels, (choice.profile, choice.other), strict=True):
        if profile is not None and not profile.named:
            lines += [f"  {label:11}" + str(profile).replace("\n", "\n           ")]
    return "\n".join(lines)


def placeholder_lines(plan: KeyPlan, *, join: bool = True) -> tuple[str, ...]:
    """Return a note on the hot keys of a plan that may stand for no value."""
    return tuple(f"  note       {note}" for note in placeholder_note([h.key for h in plan.heavy], join=join))


def plan_text(plan: KeyPlan, *, counted: bool = True) -> str:
    """Return a plan's partitions, parts and loads in three lines. No loads where nobody `counted` the keys' rows."""
    parts = sum(len(h.parts) for h in plan.heavy)
    mean = sum(plan.loads) / plan.partitions
    return "\n".join(
        [
            f"{plan.scheme}, {plan.partitions} partitions, {many(len(plan.heavy), 'heavy key')} in "
            f"{many(parts, 'part')}",
            f"expected load: mean {mean:,.0f}, greatest {plan.straggler:.2f} times the mean, "
            f"plain Spark {plan.native_straggler:.2f} times"
            if counted
            else "nobody has counted the keys that were named: their weights are taken as equal",
            *(f"  {key_text(h.key)}: {_parts_text(h.parts)}" for h in plan.heavy[:_SHOWN]),
        ]
    )


def plan_lines(plan: KeyPlan, *, counted: bool) -> list[str]:
    """Return the lines of a plan. No loads where nobody `counted` the keys' rows."""
    return ["  plan       " + plan_text(plan, counted=counted).replace("\n", "\n             ")]


def keys_text(plan: KeyPlan, nulls: float = 0.0) -> str:
    """Return the hot keys of a plan in one line, the null key first if its `nulls` rows are as many as those of one."""
    null = ["null"] if nulls and nulls >= min((h.weight for h in plan.heavy), default=0.0) else []
    keys = ", ".join([*null, *(key_text(h.key) for h in plan.heavy[:_SHOWN])])
    return (keys + ", ..." if len(plan.heavy) > _SHOWN else keys) or "none"


def many(number: float, noun: str) -> str:
    """Return a number with its noun.

    >>> many(1, "key"), many(1200.4, "row")
    ('1 key', '1,200 rows')
    """
    text = f"{number:,.0f}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def _parts_text(parts: tuple[tuple[int, float], ...]) -> str:
    shown = ", ".join(f"{p} ({s:.1%})" for p, s in parts[:4])
    more = f", ... {len(parts)} partitions" if len(parts) > 4 else ""
    return f"partition {shown}{more}"


def matrix_lines(join: JoinPlan, *, counted: bool) -> list[str]:
    """Return which sides are split, what that copies, and what is looked up for it."""
    shapes = [(matrix.answered, *(slices > 1 for slices in matrix.shape)) for matrix in join.matrices]
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
