"""The plan of a classic frame as an object of the JVM, for what its text does not say, or only once it was optimized.

A session may refuse to show it, and it is not public. So whoever asks must do without.
"""

from __future__ import annotations

from typing import Any


def written_plan(frame: Any) -> Any:
    """Return the plan of a classic frame as it was written, with its hints."""
    return frame._jdf.queryExecution().logical()


def resolved_plan(frame: Any) -> Any:
    """Return the plan of a classic frame as it was resolved: columns have numbers, which they keep in other frames."""
    return frame._jdf.queryExecution().analyzed()
