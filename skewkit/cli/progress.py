"""A progress bar on standard error, or a line per step where that is no terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Counts steps that are done.

    Args:
        total: number of steps.
        stream: where to write; standard error by default.

    >>> import io
    >>> shown = io.StringIO()
    >>> Progress(2, shown).step("d-choices-3")
    >>> shown.getvalue().startswith("[1/2] d-choices-3")
    True
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._done = 0
        self._began = time.monotonic()
        self._live = self._stream.isatty()

    def begin(self) -> None:
        """Show an empty bar."""
        if self._live:
            self._bar("")

    def step(self, name: str) -> None:
        """One more step is done: say its name."""
        self._done += 1
        if self._live:
            self._bar(name)
        else:
            self._stream.write(f"[{self._done}/{self._total}] {name}, {self._seconds():.0f} s\n")
        self._stream.flush()

    def _bar(self, name: str) -> None:
        width = 30
        filled = width * self._done // max(self._total, 1)
        bar = "█" * filled + "·" * (width - filled)
        end = "\n" if self._done == self._total else ""
        self._stream.write(f"\r\x1b[K[{bar}] {self._done}/{self._total} {self._seconds():.0f} s {name}{end}")
        self._stream.flush()

    def _seconds(self) -> float:
        return time.monotonic() - self._began
