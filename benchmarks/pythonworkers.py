"""Peak memory and CPU seconds of Spark's Python workers, as the operating system counts them (Linux)."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")
_EVERY = 0.05


@dataclass
class PythonWorkers:
    """What the Python workers of the Spark session in this process took while they were watched.

    `peak` is the greatest VmHWM of a worker, in bytes, with the pages of the libraries' files that it maps; `own` the
    greatest RssAnon seen, without them; `cpu` the CPU seconds of all workers.
    """

    peak: int = 0
    own: int = 0
    cpu: float = 0.0
    _seen: dict[int, tuple[float, float]] = field(default_factory=dict)

    def count(self) -> None:
        """Read memory and CPU of every worker that lives now; a worker that comes later starts at nothing."""
        for worker in _workers():
            try:
                status = (worker / "status").read_text()
                counted = (worker / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            used = (int(counted[11]) + int(counted[12])) / os.sysconf("SC_CLK_TCK")
            self.peak = max(self.peak, _bytes(status, "VmHWM"))
            self.own = max(self.own, _bytes(status, "RssAnon"))
            first = self._seen[int(worker.name)][0] if int(worker.name) in self._seen else 0.0
            self._seen[int(worker.name)] = (first, used)
        self.cpu = sum(last - first for first, last in self._seen.values())

    def start(self) -> None:
        """Count from here on: the workers that live now have their peaks reset."""
        for worker in _workers():
            try:
                (worker / "clear_refs").write_text("5")
            except OSError:
                continue
        self.count()
        self._seen = {worker: (last, last) for worker, (_, last) in self._seen.items()}
        self.peak, self.own, self.cpu = 0, 0, 0.0


@contextmanager
def watched() -> Iterator[PythonWorkers]:
    """Watch the workers in a thread of its own until the block ends."""
    workers, over = PythonWorkers(), threading.Event()
    workers.start()

    def watch() -> None:
        while not over.is_set():
            workers.count()
            time.sleep(_EVERY)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield workers
    finally:
        over.set()
        thread.join()
        workers.count()


def _bytes(status: str, name: str) -> int:
    found = next((line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:")), "0")
    return int(found) * 1024


def _workers() -> list[Path]:
    """Return the /proc folders of this session's workers: children of a `pyspark.daemon` that this process began."""
    parents, daemons = {}, set()
    for folder in _PROC.glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in (folder / "cmdline").read_bytes():
                daemons.add(int(folder.name))
        except OSError:
            continue
    ours = {pid for pid in daemons if os.getpid() in _above(pid, parents)}
    return [_PROC / str(pid) for pid in ours if parents[pid] in ours]


def _above(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found
