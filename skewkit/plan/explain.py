"""Choices and plans in words and numbers."""

from __future__ import annotations

from skewkit.plan.choice import Choice
from skewkit.plan.keyplan import KeyPlan
from skewkit.plan.profile import key_text

_SHOWN = 8


def choice_text(choice: Choice) -> str:
    """Return what was chosen, why, which keys are hot, where they go and what plain Spark would have done."""
    lines = [choice.operator, f"  strategy   {choice.strategy}: {choice.reason}"]
    if choice.plan is not None and choice.strategy != "native":
        lines += _plan_lines(choice)
    lines += [f"  note       {note}" for note in choice.notes]
    if choice.profile is not None and not choice.profile.named:
        lines += ["  profile    " + str(choice.profile).replace("\n", "\n           ")]
    return "\n".join(lines)


def plan_text(plan: KeyPlan) -> str:
    """Return a plan's partitions, pieces and loads in three lines."""
    pieces = sum(len(h.parts) for h in plan.heavy)
    mean = sum(plan.loads) / plan.partitions
    return "\n".join(
        [
            f"{plan.scheme}, {plan.partitions} partitions, {len(plan.heavy)} heavy keys in {pieces} pieces",
            f"expected load: mean {mean:,.0f}, greatest {plan.straggler:.2f} times the mean, "
            f"plain Spark {plan.native_straggler:.2f} times"
            if mean > 1
            else "the keys' weights are not known, so they are taken as equal",
            *(f"  {key_text(h.key)}: {_parts_text(h.parts)}" for h in plan.heavy[:_SHOWN]),
        ]
    )


def _plan_lines(choice: Choice) -> list[str]:
    plan = choice.plan
    if plan is None:
        return []
    join = choice.join
    if choice.head is not None:
        hot = choice.head.keys.heavy
        keys = ", ".join(key_text(h.key) for h in hot[:_SHOWN]) + (", ..." if len(hot) > _SHOWN else "")
        return [
            f"  heavy      {keys or 'none'}",
            f"             {choice.head.share:.1%} of the left rows (kept nulls included) are not shuffled at all,",
            f"             but joined to a broadcast of about {choice.head.right_rows:,.0f} right rows",
            "  cost       both frames are read twice",
        ]
    lines = ["  plan       " + plan_text(plan).replace("\n", "\n             ")]
    if plan.spread:
        lines.append(f"  nulls      match nothing, so they are spread over {len(plan.spread)} partitions")
    if join is not None and choice.strategy == "salt" and join.split:
        right = sum(side == "right" for side in join.split)
        sides = "left side split" if not right else f"{len(join.split) - right} split left, {right} split right"
        lines.append(f"  heavy      {sides}; about {join.replicated:,.0f} rows of the other side are sent again")
    return lines


def _parts_text(parts: tuple[tuple[int, float], ...]) -> str:
    shown = ", ".join(f"{p} ({s:.1%})" for p, s in parts[:4])
    more = f", ... {len(parts)} partitions" if len(parts) > 4 else ""
    return f"partition {shown}{more}"
