"""Sketches: weights of keys in bounded memory, with bounds; and the ring that keys and workers stand on."""

from skewkit.sketch.countmin import CountMin
from skewkit.sketch.decayed import Decayed
from skewkit.sketch.ring import HashRing
from skewkit.sketch.spacesaving import Counter, SpaceSaving

__all__ = ["CountMin", "Counter", "Decayed", "HashRing", "SpaceSaving"]
