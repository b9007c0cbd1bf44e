"""Simulator: replay a stream of keys through any partitioner and measure loads, state and queues."""

from skewkit.simulator import streams
from skewkit.simulator.events import AddWorker, ChangeCapacity, RemoveWorker
from skewkit.simulator.replay import replay
from skewkit.simulator.trace import Trace

__all__ = ["AddWorker", "ChangeCapacity", "RemoveWorker", "Trace", "replay", "streams"]
