"""The picture of a profile: shares of keys as bars; matplotlib is asked for only here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skewkit.errors import EnvironmentProblem

_HOT, _FAIR = "#c8442d", "#3a6ea5"
_MOST_BARS = 20


def plot_shares(shares: Sequence[tuple[str, float]], theta: float, title: str, whole: str, ax: Any = None) -> Any:
    """Draw the shares of the heaviest keys against the threshold `theta`. Returns the axes.

    Args:
        shares: name and share in 0..1 of each heavy key, falling.
        theta: from which share on a key is heavy.
        title: the title of the picture.
        whole: what the shares are shares of.
        ax: the axes to draw on; new ones if None.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise EnvironmentProblem("plots need matplotlib: pip install 'skewkit[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    bars = shares[:_MOST_BARS]
    ax.barh(range(len(bars)), [share for _, share in bars], color=_HOT)
    ax.set_yticks(range(len(bars)), [_short(name) for name, _ in bars])
    ax.axvline(theta, color=_FAIR, linestyle="--", label=f"heavy from {theta:.2%}")
    ax.invert_yaxis()
    ax.set_xlim(left=0.0)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel(f"share of {whole}")
    ax.set_title(as_label(title))
    ax.legend(loc="lower right", frameon=False)
    if not bars:
        ax.text(0.5, 0.5, "no heavy key", transform=ax.transAxes, ha="center", va="center")
    return ax


def as_label(text: str) -> str:
    r"""Return a text as matplotlib shows it as it is: what stands between two dollar signs is mathematics to it.

    >>> print(as_label("$a$"))
    \$a\$
    """
    return text.replace("$", r"\$")


def _short(name: str, width: int = 32) -> str:
    return as_label(name if len(name) <= width else name[: width - 1] + "…")
