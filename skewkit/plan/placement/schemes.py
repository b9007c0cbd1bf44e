"""How each scheme places a load on n partitions: heavy keys as lists of (partition, weight), tail buckets whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skewkit.partitioners import PARTITIONERS
from skewkit.partitioners.rules.lpt import longest_first
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.partitioners.rules.wrap_around import common_load, wrap_around
from skewkit.plan.placement.load import HeavyLoad, KeyLoad

Floats = npt.NDArray[np.float64]
Parts = list[tuple[int, float]]


@dataclass
class Placement:
    """Where everything goes, and the load that follows; built up step by step by a scheme."""

    loads: Floats
    heavy: list[Parts]
    buckets: npt.NDArray[np.int32]
    choices: int = 1
    capacities: Floats | None = None

    @property
    def peak(self) -> float:
        """The greatest load, by capacity."""
        return float((self.loads if self.capacities is None else self.loads / self.capacities).max())

    def put(self, index: int, parts: Parts) -> None:
        """Place heavy key `index`."""
        self.heavy[index] = parts
        for partition, weight in parts:
            self.loads[partition] += weight


def _start(load: KeyLoad, partitions: int, whole: Collection[int] = (), capacities: Floats | None = None) -> Placement:
    """Nothing placed yet but the keys that are not cut: the longest first, each on the emptiest partition.

    Keys that come in equal pieces are placed before them, each piece on the emptiest partition without one.
    """
    place = Placement(np.zeros(partitions), [[] for _ in load.heavy], np.zeros(len(load.tail), dtype=np.int32))
    place.capacities = capacities
    for i in sorted((i for i, h in enumerate(load.heavy) if h.pieces), key=lambda i: -_piece(load.heavy[i])):
        piece = _piece(load.heavy[i])
        after = place.loads if capacities is None else (place.loads + piece) / capacities
        emptiest = np.argsort(after, kind="stable")[: load.heavy[i].pieces]
        place.put(i, [(int(p), _piece(load.heavy[i])) for p in emptiest])
    uncut = [i for i, h in enumerate(load.heavy) if not h.pieces and (not h.divisible or i in whole)]
    targets = longest_first([load.heavy[i].weight for i in uncut], place.loads, capacities)
    for i, target in zip(uncut, targets, strict=True):
        place.put(i, [(int(target), load.heavy[i].weight)])
    return place


def _tail(load: KeyLoad, place: Placement, *, on_top: bool = True) -> None:
    """Place the tail buckets by LPT, on top of the loads that are there already (DKG) or as if there were none."""
    weights = np.asarray(load.tail)
    place.buckets = longest_first(weights, place.loads if on_top else np.zeros_like(place.loads), place.capacities)
    place.loads += np.bincount(place.buckets, weights=weights, minlength=place.loads.size)


def _cut(load: KeyLoad) -> list[int]:
    return [i for i, h in enumerate(load.heavy) if h.divisible and not h.pieces]


def _piece(heavy: HeavyLoad) -> float:
    return heavy.weight / heavy.pieces


def wrap(load: KeyLoad, partitions: int, epsilon: float, capacities: Floats | None = None) -> Placement:
    """skewkit's own: small heavy keys whole, then the tail, then the large ones poured into the room that is left.

    * A key of at most half a mean load stays whole where the others can still be balanced around it.
    * Balanced (up to one tail bucket) wherever no key that may not be cut is larger than the mean.
    * At most len(heavy) + n - 1 pieces.
    * With capacities (mean 1) loads are balanced by capacity.
    """
    mean = load.total / partitions
    small = {i for i, h in enumerate(load.heavy) if h.weight <= mean / 2 and not h.pieces}
    place = _wrap(load, partitions, small, capacities)
    if small and place.peak > 1.005 * mean:
        place = min(place, _wrap(load, partitions, set(), capacities), key=lambda p: p.peak)
    return place


def _wrap(load: KeyLoad, partitions: int, whole: Collection[int], capacities: Floats | None) -> Placement:
    place = _start(load, partitions, whole, capacities)
    _tail(load, place)
    cut = [i for i in _cut(load) if i not in whole]
    poured = wrap_around([load.heavy[i].weight for i in cut], place.loads.copy(), capacities)
    for i, parts in zip(cut, poured, strict=True):
        place.put(i, parts)
    place.choices = max((len(p) for p in place.heavy), default=1)
    return place


def w_choices(load: KeyLoad, partitions: int, epsilon: float) -> Placement:
    """W-Choices: every heavy key over all partitions, more of it where the tail leaves more room."""
    place = _start(load, partitions)
    _tail(load, place)
    weights = [load.heavy[i].weight for i in _cut(load)]
    room = np.maximum(0.0, common_load(sum(weights), place.loads) - place.loads)
    shares = room / room.sum() if room.sum() else np.full(partitions, 1 / partitions)
    for i, weight in zip(_cut(load), weights, strict=True):
        place.put(i, [(p, float(weight * s)) for p, s in enumerate(shares) if s > 0])
    place.choices = partitions if weights else 1
    return place


def d_choices(load: KeyLoad, partitions: int, epsilon: float) -> Placement:
    """D-Choices: d by Eq. (3); each heavy key on its d hashed candidates, balanced; then the tail by LPT on top."""
    total = load.total or 1.0
    shares = [load.heavy[i].weight / total for i in _cut(load)]
    d = optimal_choices(shares, max(0.0, 1.0 - sum(shares)), partitions, epsilon) if shares else 1
    if d >= partitions and shares:
        return w_choices(load, partitions, epsilon)
    place = _start(load, partitions)
    for i in _cut(load):
        h = load.heavy[i]
        candidates = np.unique([_candidate(h.hash, c, partitions) for c in range(d)])
        ground = place.loads[candidates]
        poured = np.maximum(0.0, common_load(h.weight, ground) - ground)
        place.put(i, [(int(p), float(w)) for p, w in zip(candidates, poured, strict=True) if w > 0])
    _tail(load, place)
    place.choices = d
    return place


def round_robin(load: KeyLoad, partitions: int, epsilon: float) -> Placement:
    """Round-Robin head: heavy keys evenly over all partitions, blind to the load; the tail by LPT on its own."""
    place = _start(load, partitions)
    for i in _cut(load):
        place.put(i, [(p, load.heavy[i].weight / partitions) for p in range(partitions)])
    _tail(load, place, on_top=False)
    place.choices = partitions
    return place


def dkg(load: KeyLoad, partitions: int, epsilon: float, capacities: Floats | None = None) -> Placement:
    """DKG: no key is cut; heavy keys and tail buckets together, the longest first, by capacity where these differ."""
    place = _start(load, partitions, capacities=capacities)
    items = [load.heavy[i].weight for i in _cut(load)]
    placed = longest_first([*items, *load.tail], place.loads, capacities)
    for i, weight, target in zip(_cut(load), items, placed[: len(items)], strict=True):
        place.put(i, [(int(target), weight)])
    place.buckets = placed[len(items) :]
    place.loads += np.bincount(place.buckets, weights=np.asarray(load.tail), minlength=partitions)
    return place


def key(load: KeyLoad, partitions: int, epsilon: float) -> Placement:
    """Key grouping: hash only, as plain Spark places keys."""
    buckets = np.arange(len(load.tail), dtype=np.int32) % partitions
    place = Placement(np.zeros(partitions), [[] for _ in load.heavy], buckets.astype(np.int32))
    for i, h in enumerate(load.heavy):
        place.put(i, [(int(buckets[h.hash % len(buckets)]), h.weight)])
    place.loads += np.bincount(place.buckets, weights=np.asarray(load.tail), minlength=partitions)
    return place


def _candidate(key_hash: int, choice: int, partitions: int) -> int:
    """F_choice(key) of the paper: a 64-bit mixer of the key's hash, one stream per choice (SplitMix64's finaliser)."""
    mask = (1 << 64) - 1
    x = (key_hash + (choice + 1) * 0x9E3779B97F4A7C15) & mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return (x ^ (x >> 31)) % partitions


_PLACES: dict[str, Callable[..., Placement]] = {
    "wrap": wrap,
    "d_choices": d_choices,
    "w_choices": w_choices,
    "round_robin": round_robin,
    "dkg": dkg,
    "key": key,
}
SCHEMES = {name: _PLACES[name] for name, scheme in PARTITIONERS.items() if scheme.on_spark == "plan"}
"""Those that the registry of schemes says are placed on Spark by a plan."""
BY_CAPACITY = ("wrap", "dkg")
"""Those that can load partitions by capacity."""
