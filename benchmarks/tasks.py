"""CPU seconds and makespan over tasks, read from Spark's event log.

On two cores only total work shows in wall time. How even a plan is shows when the measured CPU times of its tasks
are replayed on more slots: tasks in launch order, each to the slot that is free first (list scheduling).
"""

import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One finished task: its stage, when it was launched (epoch ms), and what it took in seconds.

    `read` are the records it read from files or a cache, `fetched` those from shuffles, `written` those to one,
    `stored` those that it wrote to files.
    """

    stage: int
    launched: int
    cpu: float
    run: float
    read: int = 0
    fetched: int = 0
    written: int = 0
    stored: int = 0


def read_tasks(folder: Path, since: int = 0) -> list[Task]:
    """Return the finished tasks of all event logs in a folder that were launched at `since` (epoch ms) or later."""
    tasks = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if '"SparkListenerTaskEnd"' not in line:
                continue
            event = json.loads(line)
            info, metrics = event["Task Info"], event.get("Task Metrics") or {}
            if info["Launch Time"] >= since and not info["Failed"]:
                cpu, run = metrics.get("Executor CPU Time", 0) / 1e9, metrics.get("Executor Run Time", 0) / 1e3
                records = (
                    metrics.get(group, {}).get(name, 0)
                    for group, name in (
                        ("Input Metrics", "Records Read"),
                        ("Shuffle Read Metrics", "Total Records Read"),
                        ("Shuffle Write Metrics", "Shuffle Records Written"),
                        ("Output Metrics", "Records Written"),
                    )
                )
                tasks.append(Task(event["Stage ID"], info["Launch Time"], cpu, run, *records))
    return tasks


def stages(tasks: Iterable[Task]) -> dict[int, list[Task]]:
    """Return tasks by stage, in launch order."""
    found: dict[int, list[Task]] = {}
    for task in sorted(tasks, key=lambda t: (t.stage, t.launched)):
        found.setdefault(task.stage, []).append(task)
    return found


def makespan(seconds: Iterable[float], slots: int) -> float:
    """Return when the last of the tasks ends on so many slots (list scheduling in the given order).

    >>> makespan([4, 1, 1, 1, 1], 2)
    4
    """
    free: list[float] = [0] * slots
    for task in seconds:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def total_makespan(tasks: Iterable[Task], slots: int, *, python: bool = False) -> float:
    """Return the makespan of all stages one after another; with `python` by run time, which has the workers' time."""
    return sum(
        makespan([task.run if python else task.cpu for task in stage], slots) for stage in stages(tasks).values()
    )


def longest_over_mean(tasks: Iterable[Task]) -> float:
    """Return the longest task's CPU over the mean, in the stage that took the most CPU; 1.0 where there is none."""
    found = [[task.cpu for task in stage] for stage in stages(tasks).values()]
    busiest = max(found, key=sum, default=[])
    return max(busiest) * len(busiest) / sum(busiest) if sum(busiest) else 1.0
