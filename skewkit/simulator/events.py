"""What may happen to the workers during a replay: other capacities, workers that leave, workers that join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from skewkit.checks import real_number, whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError


@dataclass(frozen=True)
class ChangeCapacity:
    """From `time` on a worker has another capacity, for the message that it is at work on, too.

    Nobody tells the partitioner; schemes that learn find out by the service times.

    Attributes:
        time: in the unit of the arrivals.
        worker: number of the worker.
        capacity: the new capacity, above zero.

    Raises:
        ArgumentError: a number is out of range.
    """

    time: float
    worker: int
    capacity: float

    def __post_init__(self) -> None:
        real_number("time", self.time)
        whole_number("worker", self.worker, least=0)
        real_number("capacity", self.capacity, above=True)


@dataclass(frozen=True)
class RemoveWorker:
    """From `time` on a worker gets no more messages. It finishes those that it has, so none is lost.

    All sources are told at once (`Partitioner.remove_worker`).

    Attributes:
        time: in the unit of the arrivals.
        worker: number of the worker.

    Raises:
        ArgumentError: a number is out of range.
    """

    time: float
    worker: int

    def __post_init__(self) -> None:
        real_number("time", self.time)
        whole_number("worker", self.worker, least=0)


@dataclass(frozen=True)
class AddWorker:
    """From `time` on there is one more worker.

    All sources are told at once (`Partitioner.add_worker`).

    Attributes:
        time: in the unit of the arrivals.
        capacity: its capacity, above zero.
        worker: None for a new worker, with the next number; or the number of one that was removed.

    Raises:
        ArgumentError: a number is out of range.
    """

    time: float
    capacity: float = 1.0
    worker: int | None = None

    def __post_init__(self) -> None:
        real_number("time", self.time)
        real_number("capacity", self.capacity, above=True)
        if self.worker is not None:
            whole_number("worker", self.worker, least=0)


Event: TypeAlias = ChangeCapacity | RemoveWorker | AddWorker


def in_order(events: Iterable[Event], workers: int, active: Sequence[int]) -> list[Event]:
    """Return the events by time, those of the same time as given, each new worker with its number.

    Args:
        events: what happens.
        workers: number of workers at the beginning, removed ones included.
        active: numbers of those that may get messages.

    Raises:
        ArgumentTypeError: something is no event, or `events` is no list.
        ArgumentError: a worker is named that is not there at that time, or the last one is removed.

    >>> in_order([AddWorker(9.0), RemoveWorker(3.0, 0)], 2, [0, 1])
    [RemoveWorker(time=3.0, worker=0), AddWorker(time=9.0, capacity=1.0, worker=2)]
    """
    try:
        listed = list(events)
    except TypeError as error:
        expected = "a list of ChangeCapacity, RemoveWorker or AddWorker"
        raise ArgumentTypeError(f"events is {events!r}; expected {expected}") from error
    for event in listed:
        if not isinstance(event, (ChangeCapacity, RemoveWorker, AddWorker)):
            raise ArgumentTypeError(
                f"found {event!r} among the events; expected ChangeCapacity, RemoveWorker or AddWorker"
            )
    present, known = set(active), workers
    found: list[Event] = []
    for event in sorted(listed, key=lambda event: event.time):
        if isinstance(event, AddWorker):
            event = replace(event, worker=known) if event.worker is None else event
            number = whole_number("worker", event.worker, least=0)
            if number in present or number > known:
                raise ArgumentError(f"{event}: expected no worker, or one that was removed before")
            known = max(known, number + 1)
            present.add(number)
        elif event.worker not in present:
            raise ArgumentError(f"{event}: there is no worker {event.worker} then; there are {sorted(present)}")
        elif isinstance(event, RemoveWorker):
            present.remove(event.worker)
            if not present:
                raise ArgumentError(f"{event}: no worker is left; add another one first")
        found.append(event)
    return found
