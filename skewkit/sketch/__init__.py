"""Sketches: weights of keys in bounded memory, with bounds; merging two is the sketch of both streams."""

from skewkit.sketch.countmin import CountMin
from skewkit.sketch.decayed import Decayed
from skewkit.sketch.spacesaving import Counter, SpaceSaving

__all__ = ["CountMin", "Counter", "Decayed", "SpaceSaving"]
