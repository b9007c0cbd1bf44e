"""Timed runs, and the table that compares them: wall time, CPU seconds, makespan and the longest task."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.session import session
from benchmarks.tasks import Task, longest_over_mean, makespan, read_tasks, stages, total_makespan

SLOTS = 32
_LEAST_CPU = 0.05
"""CPU seconds of the smallest stage that is printed."""


@dataclass(frozen=True)
class Run:
    """One run: what of, in which way, its wall time in seconds, and when it ran (epoch ms)."""

    case: str
    way: str
    wall: float
    began: int
    ended: int


def timed(
    spark: SparkSession, case: str, way: str, job: Callable[[], object], confs: Mapping[str, str] | None = None
) -> Run:
    """Run a job, planning included, under some confs that do not outlive it."""
    for name, value in (confs or {}).items():
        spark.conf.set(name, value)
    try:
        start, began = time.perf_counter(), int(time.time() * 1000)
        job()
        return Run(case, way, time.perf_counter() - start, began, int(time.time() * 1000))
    finally:
        for name in confs or {}:
            spark.conf.unset(name)


@contextmanager
def compared(base: str, *, by_stage: bool = False) -> Iterator[tuple[SparkSession, Path, list[Run]]]:
    """Open a session, an empty folder and a list for runs; once the session has ended, print a report of them."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        log = folder / "log"
        log.mkdir()
        runs: list[Run] = []
        with session(log) as spark:
            yield spark, folder, runs
        print_report(runs, log, base=base, by_stage=by_stage)


def print_report(runs: list[Run], log: Path, *, base: str, python: bool = False, by_stage: bool = False) -> None:
    """Print one line per case and way, with ratios to the way `base`; every figure is a median over the runs.

    `longest` is the longest task of the stage with the most CPU, over that stage's mean. With `by_stage`, the stages of
    the last run of each come after it.
    """
    tasks = read_tasks(log)
    found: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for run in runs:
        mine: list[Task] = [task for task in tasks if run.began <= task.launched <= run.ended]
        span = total_makespan(mine, SLOTS, python=python)
        figures = run.wall, sum(t.cpu for t in mine), span, longest_over_mean(mine)
        found.setdefault((run.case, run.way), []).append(figures)
    medians = {key: [statistics.median(column) for column in zip(*rows, strict=True)] for key, rows in found.items()}
    width = max(len(case) for case, _ in medians)
    print(f"{'case':<{width}}  way              wall s   wall   CPU s    CPU  makespan s  makespan  longest")
    for (case, way), (wall, cpu, span, longest) in medians.items():
        plain = medians[case, base]
        print(
            f"{case:<{width}}  {way:<15} {wall:7.2f} {wall / plain[0]:6.2f} {cpu:7.2f} {cpu / plain[1]:6.2f} "
            f"{span:11.2f} {span / plain[2]:9.2f} {longest:8.2f}"
        )
    for run in {(run.case, run.way): run for run in runs}.values() if by_stage else ():
        _print_stages(run, [task for task in tasks if run.began <= task.launched <= run.ended])


def _print_stages(run: Run, tasks: list[Task]) -> None:
    """Print one line per stage of a run: which rows came in and went out, the CPU, and the longest task."""
    print(
        f"\n{run.case}, {run.way}: {run.wall:.2f} s\n   tasks    read  fetched  written   CPU s  makespan s  longest s"
    )
    for stage in stages(tasks).values():
        cpu = [task.cpu for task in stage]
        if sum(cpu) >= _LEAST_CPU:
            rows = (sum(column) / 1e6 for column in zip(*((t.read, t.fetched, t.written) for t in stage), strict=True))
            print(
                f"{len(stage):8}" + "".join(f"{number:7.2f}M " for number in rows) + f"{sum(cpu):7.2f} "
                f"{makespan(cpu, SLOTS):11.2f} {max(cpu):10.2f}"
            )
