"""Files of reproduced figures: a CSV table, a picture, and a page per paper with its claims beside ours."""

from __future__ import annotations

import csv
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from skewkit import compiled
from skewkit.reproduce.figure import Cell, Figure, Paper, Row, Size
from skewkit.reproduce.plotting import draw


@dataclass(frozen=True)
class Done:
    """A figure that was measured: its rows, and the seconds it took."""

    figure: Figure
    rows: list[Row]
    seconds: float


def reproduce(figure: Figure, size: Size, seed: int, folder: Path, plots: bool = True) -> Done:
    """Measure a figure and write `<name>.csv` and, with plots, `<name>.png` into a folder that exists."""
    begin = time.perf_counter()
    compiled.available()  # loads numba if it is there: many short replays are as worth it as one long one
    rows = figure.measure(size, seed)
    write_table(rows, folder / f"{figure.name}.csv")
    if plots:
        draw(figure, rows, folder / f"{figure.name}.png")
    return Done(figure, rows, time.perf_counter() - begin)


def write_table(rows: list[Row], path: Path) -> None:
    """Write rows as CSV, numbers with six digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def read_table(path: Path) -> list[Row]:
    """Return the rows of a CSV table that `write_table` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def page(
    paper: Paper,
    done: Mapping[str, Done],
    size: Size,
    seed: int,
    pictures: str = "",
    shown: Collection[str] | None = None,
    full: Collection[str] = (),
) -> str:
    """Return a page in Markdown: every figure that was measured, the paper's claims beside what was found.

    Args:
        paper: the paper.
        done: figures that were measured, by name; others are left out.
        size: how much was measured.
        seed: the seed of the run.
        pictures: folder of the pictures as seen from the page, with a slash at its end.
        shown: names of the figures whose pictures are there; None for all.
        full: names of the figures of which more was measured: all that the figure asks for.
    """
    mode = " --quick" if size is Size.QUICK else ""
    command = f"python -m skewkit reproduce {paper.name}{mode}" + (f" --seed {seed}" if seed else "")
    lines = [
        f"# {paper.citation}",
        "",
        paper.remarks,
        "",
        f"Measured by `{command}`. Logarithmic scales end at 0 where a value is zero.",
        "",
        *departures(paper),
    ]
    for figure in paper.figures:
        if figure.name not in done:
            continue
        rows = done[figure.name].rows
        lines += [f"## `{figure.name}`: {figure.title}", "", figure.setting, ""]
        if figure.name in full:
            lines += [f"Measured at full size, by `python -m skewkit reproduce {figure.name}`.", ""]
        streams = dict.fromkeys(str(row["stream"]) for row in rows if "stream" in row)
        if streams:
            lines += [f"Streams: {', '.join(streams)}.", ""]
        if shown is None or figure.name in shown:
            lines += [f"![{figure.title}]({pictures}{figure.name}.png)", ""]
        if figure.claims:
            lines += ["| The paper | Measured | The difference |", "| --- | --- | --- |"]
            lines += [f"| {claim.paper} | {claim.found(rows)} | {claim.note} |" for claim in figure.claims]
            lines.append("")
    return "\n".join(lines)


def departures(paper: Paper) -> list[str]:
    """Return the lines that say where the schemes do what the paper does not say; none where there is nothing."""
    if not paper.departures:
        return []
    return ["## Where the text is silent, or is not followed", "", *(f"- {text}" for text in paper.departures), ""]


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(text: str) -> Cell:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
