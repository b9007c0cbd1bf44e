"""Simulator: replay a stream of keys through any partitioner and look at loads, state and queues."""

from skewkit.simulator import streams
from skewkit.simulator.replay import replay
from skewkit.simulator.trace import Trace

__all__ = ["Trace", "replay", "streams"]
