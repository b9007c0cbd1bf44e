"""The checks of `skewkit.sketch.checks`, under the name that the partitioners and the planner use."""

from skewkit.sketch.checks import HEAVIEST, MOST, Floats, non_negative, one_of, real_number, switch, whole_number

__all__ = ["HEAVIEST", "MOST", "Floats", "non_negative", "one_of", "real_number", "switch", "whole_number"]
