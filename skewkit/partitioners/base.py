"""The base class of every partitioner: arguments, hashing, loads, and what all schemes promise."""

from __future__ import annotations

import copy
import inspect
import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit import compiled
from skewkit.checks import HEAVIEST, MOST, Floats, non_negative, real_number, whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.hashing import hash_key, hash_keys
from skewkit.hashing.key_hash import Key, Keys
from skewkit.hashing.mix import Hashes
from skewkit.hashing.plain_keys import plain_keys
from skewkit.partitioners.changing import Changing

Routes = npt.NDArray[np.int32]
P = TypeVar("P", bound="Partitioner")

_BLOCK = 1 << 15  # messages that are hashed and routed together: their arrays stay in the cache
_ONES = np.ones(_BLOCK)


class Partitioner(Changing, ABC):
    """Sends every message (a key and a weight) to one of `workers` workers.

    * The same arguments, seed and messages give the same routes, in any process. `route_many` gives the
      routes that `route` gives one by one, however the messages are cut into calls.
    * No load is lost: the loads sum to the weights sent (up to rounding).
    * Over any stretch of messages without a new plan or a change of workers, a key reaches at most as many
      workers as the greatest `choices(key)` after any message of that stretch.
    * Keys are told apart by their 64-bit hash (`skewkit.hashing.hash_key`): 1 and 1.0 are one key.
    * An instance can be pickled and copied, in the middle of a stream too.

    Attributes:
        workers: number of workers n; workers that were removed keep their numbers and count.
        seed: seed of every hash and draw.
        messages: number of messages sent so far.
        plans: number of plans made so far; in `wrap` that is not fitted, how often lists were forgotten. Else 0.
        exchanged: messages between workers and this source other than the stream and its acknowledgements.
    """

    name: ClassVar[str]
    planned: ClassVar[bool] = False  # `fit` makes a plan from known frequencies
    on_spark: ClassVar[str] = ""  # how it routes on Spark: "plan" (`skewkit.plan.placement`), or not at all
    learns: bool = False  # `observe` changes the routes; of some schemes it does by an option only

    def __init__(self, workers: int, seed: int = 0, **unknown: Any) -> None:
        if unknown:
            raise ArgumentError(_unknown_option(type(self), next(iter(unknown))))
        self.workers = whole_number("workers", workers, most=MOST)
        self.seed = whole_number("seed", seed, least=0)
        self.messages = 0
        self.plans = 0
        self.exchanged = 0
        self._loads = array("d", bytes(8 * self.workers))
        self._active = list(range(self.workers))

    def route(self, key: Key, weight: float = 1.0) -> int:
        """Send one message and return its worker (0..workers-1).

        Raises:
            ArgumentError: `weight` is negative, not finite, or above 1e300.
            KeyTypeError: the key has a type that cannot be hashed.
        """
        weight = real_number("weight", weight, high=HEAVIEST)
        return self._route_one(hash_key(key, self.seed), weight)

    def route_many(self, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> Routes:
        """Send messages in their order and return their workers: the same as `route` one by one.

        Args:
            keys: (m,) array, column (pandas, Arrow) or sequence of keys: integers, text, bytes, or of mixed kinds.
            weights: (m,) weights, 1 each by default.

        Returns:
            int32 array (m,).

        Raises:
            ArgumentError: a weight is negative, not finite, or above 1e300, or there are not as many as keys.
            KeyTypeError: a key has a type that cannot be hashed.
        """
        keys = plain_keys(keys)
        in_blocks = isinstance(keys, np.ndarray) and keys.dtype.kind in "biufSU"
        whole = None if in_blocks else hash_keys(keys, self.seed)
        size = len(keys) if whole is None else whole.size
        amounts = None if weights is None else weights_of(size, weights)
        fast = compiled.worth(size, self.messages)
        routes = np.empty(size, dtype=np.int32)
        for part in _blocks(size):
            # Where no key can be refused, hashes need no second array as long as the first.
            hashes = hash_keys(keys[part], self.seed) if whole is None else whole[part]
            own = _ONES[: hashes.size] if amounts is None else amounts[part]
            if not (fast and self._run_compiled(hashes, compiled.plain(own), routes[part])):
                routes[part] = self._route_all(hashes, own)
        return routes

    def choices(self, key: Key) -> int:
        """Return among how many workers at most the messages of this key are shared from now on.

        It is what the scheme would do with the next message of the key, by what it knows now. A scheme that
        watches the stream changes it when the key becomes hot or cold, or when it makes a new plan.

        Raises:
            KeyTypeError: the key has a type that cannot be hashed.
        """
        return self._choices(hash_key(key, self.seed))

    def __copy__(self: P) -> P:
        return copy.deepcopy(self)  # a copy that shared its loads would be none

    @property
    def loads(self) -> Floats:
        """Weight sent to every worker so far, as a new array (workers,)."""
        return np.array(self._loads)

    @property
    def options(self) -> dict[str, Any]:
        """The options of this instance by name, defaults filled in."""
        return {option: getattr(self, option) for option in option_names(type(self))}

    def fit(self: P, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> P:
        """Plan from known frequencies and return self (schemes with `planned` only).

        Raises:
            UnsupportedError: the scheme decides message by message and has no plan.
        """
        raise UnsupportedError(
            f"{self.name!r} has no plan to fit: it decides message by message; to plan from known "
            "frequencies use 'dkg' (keys stay whole) or 'wrap' (heavy keys are cut)"
        )

    def observe(self, worker: int, key: Key, service_time: float, now: float) -> None:
        """Take notice that `worker` finished a message at time `now`, after `service_time` of work.

        It is the acknowledgement of one message that this instance has sent. A worker takes its messages in
        the order in which they were sent, and the times of one worker do not fall. Schemes that do not learn
        from their workers (`learns` is False) check it and leave it at that.

        Raises:
            ArgumentError: there is no such worker, or a time is not finite, or `service_time` is negative.
            ArgumentTypeError: `worker` is not an integer, or a time is not a number.
            KeyTypeError: the key has a type that cannot be hashed.
        """
        if whole_number("worker", worker, least=0) >= self.workers:
            raise ArgumentError(f"worker is {worker!r}; expected 0..{self.workers - 1}")
        took, when = real_number("service_time", service_time), real_number("now", now, low=-math.inf)
        hashed = hash_key(key, self.seed)
        if self.learns:
            self._observe(int(worker), hashed, took, when)

    def tick(self, now: float) -> None:
        """Say what time it is when the next message is routed, in the unit of `observe`.

        Schemes that look at the clock take one message per unit of time as long as nobody tells them the
        time, here or by `observe`. The others ignore it.

        Raises:
            ArgumentError: `now` is not finite.
        """
        self._tick(real_number("now", now, low=-math.inf))

    def as_source(self: P, source: int, sources: int) -> P:
        """Make this instance source number `source` of `sources` and return it. Call it before routing.

        Sources share their hash functions, so a key keeps its choices. Their round-robin and random numbers begin
        elsewhere, else all would begin with the same worker. Most schemes have neither and do not change.

        Raises:
            ArgumentError: `source` is not in 0..sources-1.
        """
        count = whole_number("sources", sources)
        if whole_number("source", source, least=0) >= count:
            raise ArgumentError(f"source is {source}; expected 0..{count - 1}, as sources is {count}")
        self._seat(source, count)
        return self

    def share_workers(self, other: Partitioner) -> None:
        """Hear from the same workers as `other`, another source of the same scheme. Call it before routing.

        It matters to schemes whose workers send signals to all sources (`consistent`), and to those that make one
        plan of what all sources have seen (`dkg`). The others ignore it.

        Raises:
            ArgumentTypeError: `other` is a partitioner of another scheme.
            ArgumentError: it has another number of workers, another seed, or other options.
        """
        if type(other) is not type(self):
            raise ArgumentTypeError(f"other is a {type(other).__name__}; expected a {type(self).__name__}")
        if repr(other) != repr(self):
            raise ArgumentError(f"other is {other!r}; expected one like this source, {self!r}")
        self._share(other)

    @property
    def alone(self) -> float:
        """Messages that the sources of a stream can still send before one needs to hear of the others."""
        return math.inf

    def choices_beside(self, others: Sequence[Partitioner], key: Key) -> int:
        """Return how many workers at most this source and `others` together use for a key.

        Raises:
            KeyTypeError: the key has a type that cannot be hashed.
            ArgumentTypeError: `others` holds something that is no partitioner of this scheme.
        """
        if not isinstance(others, (list, tuple)) or not all(isinstance(other, type(self)) for other in others):
            raise ArgumentTypeError(f"others is {others!r}; expected a list of partitioners of {self.name!r}")
        return self._choices_beside(others, hash_key(key, self.seed))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"PARTITIONERS[{self.name!r}](workers={self.workers}, seed={self.seed}{options})"

    @abstractmethod
    def _route_one(self, hashed: int, weight: float) -> int:
        """Send one message: choose the worker, count load and message."""

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        """Send messages in bulk: the same routes and the same state as `_route_one` one by one."""
        one = self._route_one
        routes = [one(h, weight) for h, weight in zip(hashes.tolist(), weights.tolist(), strict=True)]
        return np.array(routes, dtype=np.int32)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        """Do what `_route_all` does in a compiled loop and return True. False where there is none."""
        return False

    @abstractmethod
    def _choices(self, hashed: int) -> int:
        """Return `choices` by the hash of the key."""

    def _choices_beside(self, others: Sequence[Any], hashed: int) -> int:
        """Return `choices_beside` by the hash: the most of any source, as their lists mostly contain one another."""
        return max(map(int, [self._choices(hashed), *(source._choices(hashed) for source in others)]))

    def _seat(self, source: int, sources: int) -> None:
        """Set where round-robin and random numbers begin; nothing to do for most schemes."""
        return None

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        """Learn from a message that is done; nothing to do for most schemes."""
        return None

    def _tick(self, now: float) -> None:
        """Set the clock; nothing to do for schemes without one."""
        return None

    def _share(self, other: Any) -> None:
        """Take over what the workers share among sources. Nothing to do for most schemes."""
        return None

    def _load_view(self) -> Floats:
        """Return the loads as an array that shares their memory."""
        return np.frombuffer(self._loads)

    def _count_one(self, worker: int, weight: float) -> int:
        """Count load and message, and return the worker."""
        self._loads[worker] += weight
        self.messages += 1
        return worker

    def _count_all(self, routes: npt.NDArray[Any], weights: Floats) -> Routes:
        """Count loads and messages in their order, and return the routes as int32."""
        np.add.at(self._load_view(), routes, weights)
        self.messages += routes.size
        return routes.astype(np.int32)


def weights_of(count: int, weights: Sequence[float] | npt.NDArray[Any] | None) -> Floats:
    """Return the checked weights of `count` messages, 1 each where none are given.

    >>> weights_of(2, None)
    array([1., 1.])
    """
    if weights is None:
        return np.ones(count)
    checked = non_negative("weights", weights, high=HEAVIEST)
    if checked.size != count:
        raise ArgumentError(f"found {count} keys and {checked.size} weights; expected one weight per key")
    return checked


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


def option_names(scheme: type[Partitioner]) -> list[str]:
    """Return the names of the options of a scheme: the keyword-only parameters of its constructor."""
    parameters = inspect.signature(scheme.__init__).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def _unknown_option(scheme: type[Partitioner], option: str) -> str:
    names = option_names(scheme)
    if not names:
        return f"{scheme.name!r} has no option {option!r}; it has no options, only workers and seed"
    return f"{scheme.name!r} has no option {option!r}; {nearest(option, names)}"
