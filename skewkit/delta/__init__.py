"""Delta Lake without skew: planned writes, MERGE whose null keys are spread, profiles with a history.

Importing this needs no jar of Delta. Calling it needs a session that has them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skewkit.errors import with_pyspark

if TYPE_CHECKING:
    from skewkit.delta.merge_builder import MergeBuilder, merge
    from skewkit.delta.planned_write import write
    from skewkit.delta.profile_history import ProfileHistory

_MODULES = {
    "MergeBuilder": "skewkit.delta.merge_builder",
    "ProfileHistory": "skewkit.delta.profile_history",
    "merge": "skewkit.delta.merge_builder",
    "write": "skewkit.delta.planned_write",
}

__all__ = ["MergeBuilder", "ProfileHistory", "merge", "write"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        with with_pyspark(f"skewkit.delta.{name}"):
            return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'skewkit.delta' has no attribute {name!r}")
