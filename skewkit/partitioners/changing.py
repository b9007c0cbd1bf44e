"""Workers that come and go."""

from __future__ import annotations

from array import array
from typing import ClassVar

from skewkit.checks import whole_number
from skewkit.errors import ArgumentError, UnsupportedError


class Changing:
    """The part of a partitioner that lets workers join and leave. See `Partitioner`, which sets the attributes."""

    name: ClassVar[str]
    elastic: ClassVar[bool] = False  # workers can be added and removed
    workers: int
    _loads: array[float]
    _active: list[int]

    @property
    def active(self) -> tuple[int, ...]:
        """The numbers of the workers that may get messages, rising."""
        return tuple(self._active)

    def add_worker(self, worker: int | None = None) -> int:
        """Let a worker join and return its number: the next new one, or that of a worker that was removed.

        Raises:
            UnsupportedError: the scheme has a fixed number of workers (`elastic` is False).
            ArgumentError: `worker` is no worker that was removed, or there is nothing to give to one more worker.
            ArgumentTypeError: `worker` is not an integer.
        """
        self._only_elastic()
        self._check_room()
        if worker is None:
            worker = self.workers
            self.workers += 1
            self._loads.append(0.0)
        elif whole_number("worker", worker, least=0) in self._active or worker >= self.workers:
            removed = sorted(set(range(self.workers)) - set(self._active))
            raise ArgumentError(
                f"worker is {worker!r}; expected None for a new one, or one of those removed: {removed}"
            )
        self._active = sorted([*self._active, int(worker)])
        self._admit(int(worker))
        return int(worker)

    def remove_worker(self, worker: int) -> None:
        """Send no more messages to a worker. Its number is not given to another one; its load stays counted.

        Raises:
            UnsupportedError: the scheme has a fixed number of workers (`elastic` is False).
            ArgumentError: there is no such worker, or it is the last one.
            ArgumentTypeError: `worker` is not an integer.
        """
        self._only_elastic()
        if whole_number("worker", worker, least=0) not in self._active:
            raise ArgumentError(f"worker is {worker!r}; expected one of {self._active}")
        if len(self._active) == 1:
            raise ArgumentError(f"worker {worker} is the last one; add another one first")
        self._active = [other for other in self._active if other != worker]
        self._dismiss(int(worker))

    def _only_elastic(self) -> None:
        if not self.elastic:
            raise UnsupportedError(
                f"{self.name!r} has a fixed number of workers; for workers that come and go use "
                "'fish', 'consistent' or 'shuffle'"
            )

    def _check_room(self) -> None:
        """Refuse one more worker where it could get nothing. Most schemes have room for any number."""
        return None

    def _admit(self, worker: int) -> None:
        """Begin to use a worker that is in `_active` now."""
        return None

    def _dismiss(self, worker: int) -> None:
        """Use a worker no longer; it is not in `_active` any more."""
        return None
