"""Plans and profiles in words and numbers."""

from __future__ import annotations

from skewkit.plan.choice import Choice
from skewkit.plan.keyplan import KeyPlan
from skewkit.plan.profile import KeyProfile

_SHOWN = 8


def profile_text(profile: KeyProfile) -> str:
    """Return a profile as a short table, heaviest key first."""
    keys = ", ".join(profile.keys)
    unit = "rows" if profile.weight is None else f"of {profile.weight}"
    how = f"from a sample of {profile.fraction:.2%}, scaled up" if profile.sampled else "counted"
    lines = [f"{keys}: {profile.rows:,.0f} {unit} ({how})"]
    if profile.nulls:
        lines.append(f"  null  {_share(profile.nulls, profile.rows)}  {profile.nulls:,.0f}")
    for h in profile.heavy[:_SHOWN]:
        bounds = "" if h.low == h.high else f"  ({h.low:,.0f} to {h.high:,.0f})"
        lines.append(f"  {key_text(h.key)}  {_share(h.estimate, profile.rows)}  {h.estimate:,.0f}{bounds}")
    if len(profile.heavy) > _SHOWN:
        lines.append(f"  ... and {len(profile.heavy) - _SHOWN} more heavy keys")
    if not profile.heavy:
        lines.append("  no heavy key")
    tail = sum(profile.tail)
    lines.append(f"  all other keys  {_share(tail, profile.rows)}  {tail:,.0f}")
    return "\n".join(lines)


def choice_text(choice: Choice) -> str:
    """Return what was chosen, why, which keys are hot, where they go and what plain Spark would have done."""
    lines = [choice.operator, f"  strategy   {choice.strategy}: {choice.reason}"]
    if choice.plan is not None and choice.strategy != "native":
        lines += _plan_lines(choice)
    lines += [f"  note       {note}" for note in choice.notes]
    if choice.profile is not None and not choice.profile.named:
        lines += ["  profile    " + profile_text(choice.profile).replace("\n", "\n           ")]
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


def key_text(key: tuple[object, ...]) -> str:
    """Return a key as it is read by people: 'a', or ('a', 1) where it is composite."""
    return repr(key[0]) if len(key) == 1 else repr(tuple(key))


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


def _share(part: float, whole: float) -> str:
    return f"{part / whole:7.2%}" if whole else "   0 %"
