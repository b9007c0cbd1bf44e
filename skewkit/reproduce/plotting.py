"""Pictures of reproduced figures; matplotlib is asked for only here."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from skewkit.errors import EnvironmentProblem
from skewkit.reproduce.figure import Axis, Cell, Figure, Plot, Rows

# Names in the rows -> what the papers call them, and a colour that stays the same in every picture.
SCHEMES = {
    "key": ("KG", "#8c8c8c"),
    "modulo": ("modulo", "#5f5f5f"),
    "shuffle": ("SG", "#000000"),
    "two_choices": ("PKG", "#c8442d"),
    "round_robin": ("RR (head)", "#b07aa1"),
    "d_choices": ("D-C", "#3a6ea5"),
    "w_choices": ("W-C", "#2f9e6e"),
    "power_of_two": ("PoTC", "#d6a11e"),
    "random_choices": ("PoRC", "#7d5ba6"),
    "bounded_hash": ("CH", "#e07b39"),
    "bounded_hash, points": ("CH, points = 10", "#f2b58a"),
    "consistent": ("CG", "#8a5a44"),
    "dkg": ("DKG", "#3a6ea5"),
    "round-robin": ("Round-Robin", "#8c8c8c"),
    "posg": ("POSG", "#3a6ea5"),
    "posg, cured": ("POSG, early and pooled", "#2f9e6e"),
    "full knowledge": ("full knowledge", "#d6a11e"),
    "fish": ("FISH", "#7d5ba6"),
    "fish, margin": ("FISH, margin = 2", "#17a2b8"),
    "wrap": ("wrap", "#e6399b"),
    "wrap, default": ("wrap by default", "#7a0f4a"),
    "wrap, margin = 4": ("wrap, margin = 4", "#e6399b"),
    "wrap, margin = 2": ("wrap, margin = 2", "#f08fc3"),
    "wrap, margin = 1": ("wrap, margin = 1", "#f7c6df"),
}
COLOURS = ("#3a6ea5", "#c8442d", "#2f9e6e", "#d6a11e", "#7d5ba6", "#e07b39", "#8c8c8c", "#000000", "#17a2b8")
MARKERS = "osD^vPX*<>"
SYMBOLS = {"workers": "n", "keys": "K", "exponent": "z", "instances": "k", "virtual": "virtual workers"}


def canvas_class() -> Any:
    """Return matplotlib's class for pictures, which needs no screen.

    Raises:
        EnvironmentProblem: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise EnvironmentProblem("plots need matplotlib: pip install 'skewkit[plot]'; or use --no-plots") from error
    return Canvas


def draw(figure: Figure, rows: Rows, path: Path) -> None:
    """Draw a figure's rows into a PNG file.

    Raises:
        EnvironmentProblem: matplotlib is not installed.
    """
    canvas_of = canvas_class()
    plot = figure.plot
    columns = _distinct(rows, plot.across) if plot.across else [""]
    downs = _distinct(rows, plot.down) if plot.down else [""]
    panels = [(axis, down, column) for axis in plot.y for down in downs for column in columns]
    lines = len(plot.y) * len(downs)
    wide = len(columns) if lines > 1 else min(len(columns), 4)
    high = math.ceil(len(panels) / wide)
    canvas = canvas_of(figsize=(max(6.4, 3.3 * wide), 1.3 + 2.7 * high if high > 1 else 4.2), layout="constrained")
    grid = canvas.subplots(
        high,
        wide,
        squeeze=False,
        sharex="all" if plot.kind == "line" else "col",
        sharey="row" if len(plot.y) > 1 else "all",
    )
    shown: dict[str, Any] = {}
    for place, ax in enumerate(grid.flat):
        if place >= len(panels):
            ax.set_visible(False)
            continue
        axis, down, column = panels[place]
        mine = [row for row in rows if not plot.across or row[plot.across] == column]
        mine = [row for row in mine if not plot.down or row[plot.down] == down]
        _panel(ax, plot, axis, mine, _distinct(rows, plot.series))
        names = [_title(name, value) for name, value in ((plot.across, column), (plot.down, down)) if name]
        if names and (place < wide or len(plot.y) == 1):
            ax.set_title(", ".join(names), fontsize=10)
        ax.set_ylabel(axis.label if place % wide == 0 else "")
        ax.set_xlabel(plot.x.label if place + wide >= len(panels) else "")
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    for (axis, _, _), ax in zip(panels, grid.flat, strict=False):
        if axis.log:  # not before all panels are there: they share their limits
            _by_powers(ax, [float(row[axis.column]) for row in rows])
    canvas.suptitle(figure.title, fontsize=11)
    canvas.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=_columns(list(shown), canvas.get_figwidth()),
        frameon=False,
    )
    canvas.savefig(path)


def _panel(ax: Any, plot: Plot, axis: Axis, rows: Rows, series: list[Cell]) -> None:
    """Draw one panel: a line or a set of bars per series."""
    ticks = _distinct(rows, plot.x.column)
    base = [0.0] * len(ticks)
    for number, name in enumerate(series):
        mine = [row for row in rows if row[plot.series] == name]
        if not mine:
            continue
        label, colour = _style(plot.series, name, number)
        heights = [float(row[axis.column]) for row in mine]
        if plot.kind == "line":
            # Later lines are thinner, so that one below another can be seen.
            width = 1.2 + 2.0 * (len(series) - 1 - number) / len(series)
            _line(ax, plot, axis, mine, label, colour, MARKERS[number % len(MARKERS)], width)
        elif plot.kind == "stack":
            ax.bar(range(len(mine)), heights, bottom=base, label=label, color=colour)
            base = [low + height for low, height in zip(base, heights, strict=True)]
        else:
            places = [ticks.index(row[plot.x.column]) for row in mine]
            width = 0.8 / len(series)
            shift = (number - (len(series) - 1) / 2) * width
            centres = [place + shift for place in places]
            ax.bar(centres, heights, width, label=label, color=colour)
            for centre, height in zip(centres, heights, strict=True):
                if height == 0.0:  # no bar: not to be taken for one that was not measured
                    ax.annotate("0", (centre, 0.0), ha="center", va="bottom", fontsize=6, color=colour)
            if axis.low:
                ends = [[float(row[column]) for row in mine] for column in (axis.low, axis.high)]
                ax.vlines(centres, *ends, color="#333333", linewidth=1.0)
    if plot.kind != "line":
        names = [_tick(plot.x.column, tick) for tick in ticks]
        steep = 30 if len(names) <= 6 else 50
        slanted = {"rotation": steep, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 6 else {}
        ax.set_xticks(range(len(ticks)), names, **slanted)
    if plot.x.log and plot.kind == "line":
        ax.set_xscale("log")
        values = [float(tick) for tick in ticks]
        if len(ticks) <= 7:
            ax.set_xticks(values, [f"{value:g}" for value in values])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    if plot.bound is not None:
        ax.axhline(plot.bound[0], color="#555555", linestyle=":", linewidth=1.2, label=plot.bound[1])
    ax.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _line(ax: Any, plot: Plot, axis: Axis, rows: Rows, label: str, colour: str, marker: str, width: float) -> None:
    x = [float(row[plot.x.column]) for row in rows]
    y = [float(row[axis.column]) for row in rows]
    few = len(x) <= 40
    ax.plot(x, y, label=label, color=colour, marker=marker if few else None, markersize=2.5 + width, linewidth=width)
    if axis.low:
        low, high = ([float(row[column]) for row in rows] for column in (axis.low, axis.high))
        ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _by_powers(ax: Any, values: list[float]) -> None:
    """Let the y axis go by powers of ten; where some of the values of the figure are zero, down to 0."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    least = min((value for value in values if value > 0.0), default=1.0)
    if min(values, default=1.0) > 0.0:
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2.0, 0.4)))
    else:
        least_power = 10.0 ** math.floor(math.log10(least))
        ax.set_yscale("symlog", linthresh=least_power, linscale=0.5)
        ax.set_ylim(bottom=-0.2 * least_power)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))


def _power(value: float) -> str:
    """Return a power of ten (or 0) as the axes have it.

    >>> _power(0.0), _power(100.0), _power(1e-5)
    ('0', '100', '$10^{-5}$')
    """
    return f"{value:g}" if value == 0.0 or 0.01 <= value <= 1e4 else f"$10^{{{round(math.log10(value))}}}$"


def _columns(labels: list[str], width: float) -> int:
    """Return how many columns of a legend fit into a width in inches.

    >>> _columns(["KG", "SG"], 6.4), _columns(["greatest load of a worker"] * 3, 6.4)
    (2, 2)
    """
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), 8, int(width / (0.65 + 0.085 * longest))))


def _distinct(rows: Rows, column: str) -> list[Cell]:
    return list(dict.fromkeys(row[column] for row in rows))


def _style(column: str, name: Cell, number: int) -> tuple[str, str]:
    """Return label and colour of a series."""
    if column == "scheme" and str(name) in SCHEMES:
        return SCHEMES[str(name)]
    return _title(column, name), COLOURS[number % len(COLOURS)]


def _title(column: str, value: Cell) -> str:
    if column == "scheme":
        return SCHEMES.get(str(value), (str(value), ""))[0]
    if isinstance(value, str):
        return value
    return (
        f"{SYMBOLS.get(column, column)} = {value:,}"
        if isinstance(value, int)
        else f"{SYMBOLS.get(column, column)} = {value:g}"
    )


def _tick(column: str, value: Cell) -> str:
    return _title(column, value) if isinstance(value, str) else f"{value:g}"
