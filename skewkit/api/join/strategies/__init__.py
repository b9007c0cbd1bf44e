"""The strategies of a join: one file each, with `impossible`, `price`, `build` and `explain`."""

from skewkit.api.join.strategies.broadcast_head import BroadcastHead
from skewkit.api.join.strategies.broadcast_side import BroadcastSide
from skewkit.api.join.strategies.join_strategy import JoinStrategy
from skewkit.api.join.strategies.native import Native
from skewkit.api.join.strategies.salt import Salt

STRATEGIES: dict[str, type[JoinStrategy]] = {
    strategy.name: strategy for strategy in (Native, BroadcastSide, BroadcastHead, Salt)
}
"""Name of a strategy -> its class, the one registry."""

__all__ = ["STRATEGIES", "JoinStrategy"]
