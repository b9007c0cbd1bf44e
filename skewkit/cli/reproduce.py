"""`python -m skewkit reproduce`: measure figures of the papers again and write tables, pictures and pages."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from skewkit.cli.progress import Progress
from skewkit.errors import ArgumentError
from skewkit.reproduce import FIGURES, PAPERS, Figure, Size, chosen
from skewkit.reproduce.output import Done, page, reproduce
from skewkit.reproduce.plotting import canvas_class

HELP = "measure figures and tables of the papers again: a CSV and a PNG each, a page per paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("figure", nargs="*", metavar="FIGURE", help="a figure, a paper for all of its figures, or all")
    parser.add_argument("--list", action="store_true", help="list the figures and stop")
    parser.add_argument("--quick", action="store_true", help="shorter streams and coarser grids")
    parser.add_argument("--seed", type=int, default=0, help="seed of the streams (default 0)")
    parser.add_argument("--out", type=Path, default=Path("reproduced"), help="folder to write to (default reproduced)")
    parser.add_argument("--no-plots", action="store_true", help="no pictures, so matplotlib is not needed")
    parser.add_argument("--jobs", type=int, default=_cores(), help="processes side by side (default: one per core)")


def run(given: argparse.Namespace) -> None:
    """Run the command.

    Raises:
        SkewkitError: an unknown figure, a number out of range, or matplotlib is missing.
    """
    if given.list:
        sys.stdout.write(listing())
        return
    if not given.figure:
        raise ArgumentError("which figure? Name one, a paper or 'all'; --list says what there is")
    if given.jobs < 1 or given.seed < 0:
        raise ArgumentError(f"found --jobs {given.jobs} --seed {given.seed}; expected jobs from 1 and a seed from 0 on")
    figures = chosen(given.figure)
    if not given.no_plots:
        canvas_class()  # better to hear of matplotlib now than after the first figure
    size = Size.QUICK if given.quick else Size.FULL
    try:
        given.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--out {given.out}: {error.strerror}; expected a folder that can be written") from error
    progress = Progress(len(figures))
    progress.begin()
    done: dict[str, Done] = {}
    for one in _measured(figures, size, given.seed, given.out, not given.no_plots, given.jobs):
        done[one.figure.name] = one
        progress.step(one.figure.name)
    for paper in PAPERS.values():
        if any(figure.name in done for figure in paper.figures):
            text = page(paper, done, size, given.seed)
            (given.out / f"{paper.name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(summary([done[figure.name] for figure in figures], given.out))


def listing() -> str:
    """Return the papers and their figures, a line each.

    >>> "  d-choices-3" in listing()
    True
    """
    lines = []
    for paper in PAPERS.values():
        lines.append(f"{paper.name}: {paper.citation}")
        lines += [f"  {figure.name:<20} {figure.title}" for figure in paper.figures]
    return "\n".join([*lines, ""])


def summary(done: list[Done], folder: Path) -> str:
    """Return what was measured, with the claims of the papers beside ours."""
    lines = []
    for one in done:
        lines.append(f"{one.figure.name}: {one.figure.title} ({len(one.rows)} rows, {one.seconds:.1f} s)")
        streams = dict.fromkeys(str(row["stream"]) for row in one.rows if "stream" in row)
        lines += [f"  streams: {', '.join(streams)}"] if streams else []
        for claim in one.figure.claims:
            lines += [f"  paper:    {claim.paper}", f"  measured: {claim.found(one.rows)}"]
    return "\n".join([*lines, f"Tables, pictures and pages are in {folder}", ""])


def _measured(figures: list[Figure], size: Size, seed: int, folder: Path, plots: bool, jobs: int) -> Iterator[Done]:
    """Yield the figures as they get done."""
    if jobs == 1 or len(figures) == 1:
        for figure in figures:
            yield reproduce(figure, size, seed, folder, plots)
        return
    with ProcessPoolExecutor(min(jobs, len(figures)), mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_one, figure.name, size, seed, folder, plots) for figure in figures]
        for future in as_completed(waiting):
            name, rows, seconds = future.result()
            yield Done(FIGURES[name], rows, seconds)


def _one(
    name: str, size: Size, seed: int, folder: Path, plots: bool
) -> tuple[str, list[dict[str, str | int | float]], float]:
    """Measure a figure in another process; figures hold functions, so their names travel."""
    done = reproduce(FIGURES[name], size, seed, folder, plots)
    return name, done.rows, done.seconds


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
