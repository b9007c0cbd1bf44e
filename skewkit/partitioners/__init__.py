"""Partitioners: every scheme that skewkit knows, in pure Python, under one registry.

The registry also says which of them place keys on Spark, and how (`on_spark`).

>>> from skewkit.partitioners import PARTITIONERS
>>> p = PARTITIONERS["w_choices"](workers=10, seed=0)
>>> p.route("hot") in range(10)
True
>>> [name for name, scheme in PARTITIONERS.items() if scheme.on_spark]
['key', 'round_robin', 'd_choices', 'w_choices', 'dkg', 'wrap']
"""

from skewkit.partitioners.base import Partitioner
from skewkit.partitioners.bounded_hash import BoundedHash
from skewkit.partitioners.consistent.consistent import ConsistentGrouping
from skewkit.partitioners.d_choices import DChoices
from skewkit.partitioners.dkg import DistributionAware
from skewkit.partitioners.fish.fish import Fish
from skewkit.partitioners.key import KeyGrouping
from skewkit.partitioners.posg.posg import ProactiveOnline
from skewkit.partitioners.power_of_two import PowerOfTwo
from skewkit.partitioners.random_choices import RandomChoices
from skewkit.partitioners.round_robin import RoundRobin
from skewkit.partitioners.shuffle import ShuffleGrouping
from skewkit.partitioners.two_choices import TwoChoices
from skewkit.partitioners.w_choices import WChoices
from skewkit.partitioners.wrap.wrap import WrapAround

_SCHEMES: tuple[type[Partitioner], ...] = (
    KeyGrouping,
    ShuffleGrouping,
    TwoChoices,
    RoundRobin,
    DChoices,
    WChoices,
    PowerOfTwo,
    RandomChoices,
    BoundedHash,
    ConsistentGrouping,
    DistributionAware,
    ProactiveOnline,
    Fish,
    WrapAround,
)

PARTITIONERS: dict[str, type[Partitioner]] = {scheme.name: scheme for scheme in _SCHEMES}

__all__ = ["PARTITIONERS", "Partitioner"]
