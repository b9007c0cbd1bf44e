"""Pictures of profiles and plans; matplotlib is asked for only here."""

from __future__ import annotations

from typing import Any

from skewkit.errors import EnvironmentProblem
from skewkit.plan.profile import KeyProfile, key_text

_HOT, _FAIR = "#c8442d", "#3a6ea5"


def plot_profile(profile: KeyProfile, ax: Any = None, *, keys: int = 20) -> Any:
    """Draw the shares of the heaviest keys (and of nulls) against the threshold theta; returns the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise EnvironmentProblem("plots need matplotlib: pip install 'skewkit[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    bars = [(key_text(h.key), h.estimate / profile.rows) for h in profile.heavy[:keys]]
    if profile.nulls:
        bars = sorted([*bars, ("null", profile.nulls / profile.rows)], key=lambda bar: -bar[1])
    ax.barh([_short(name) for name, _ in bars], [share for _, share in bars], color=_HOT)
    ax.axvline(profile.theta, color=_FAIR, linestyle="--", label=f"heavy from {profile.theta:.2%}")
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel("share of all rows" if profile.weight is None else f"share of {profile.weight}")
    ax.set_title(f"{', '.join(profile.keys)}: {len(profile.heavy)} heavy keys in {profile.rows:,.0f} rows")
    ax.legend(loc="lower right", frameon=False)
    return ax


def _short(name: str, width: int = 32) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"
