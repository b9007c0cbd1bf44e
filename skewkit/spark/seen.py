"""What the optimizer says of a frame, asked once per call: its sources' rows and its physical plan; no job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from skewkit.spark.compat import explained
from skewkit.spark.physical import against_reading_twice, grouped_by, placed_by, unsafe_to_read_twice
from skewkit.spark.size import guess_rows


@dataclass(frozen=True)
class Seen:
    """A frame as EXPLAIN shows it; every question is asked of the same text.

    >>> Seen(spark.range(1000)).rows
    1000
    """

    frame: DataFrame

    @cached_property
    def _text(self) -> str:
        return explained(self.frame)

    @property
    def rows(self) -> int | None:
        """Rows that the frame's sources hold, as far as the optimizer knows."""
        return guess_rows(self._text)

    @property
    def physical(self) -> str:
        """The physical plan, '' where it cannot be seen."""
        return self._text.rpartition("== Physical Plan ==")[2]

    @property
    def unsafe_again(self) -> str | None:
        """Why the frame may have other rows when it is read again, or None."""
        return unsafe_to_read_twice(self.physical)

    @property
    def costly_again(self) -> str | None:
        """Why the frame should not be read again, because it is unsafe or costly, or None."""
        return against_reading_twice(self.physical)

    @property
    def simple(self) -> bool:
        """Whether the frame only reads, selects and filters, so that its sources' rows bound its own."""
        return self.costly_again is None and "Generate" not in self.physical

    def gathered(self, keys: Sequence[str]) -> bool:
        """Return whether the user repartitioned the frame by some of these columns just before.

        >>> Seen(spark.range(9).repartition(3, "id")).gathered(["id"]), Seen(spark.range(9)).gathered(["id"])
        (True, False)
        """
        placed = placed_by(self.physical)
        return placed is not None and placed <= {key.lower() for key in keys}

    def once(self, keys: Sequence[str]) -> bool:
        """Return whether the frame is grouped by some of these columns, so that it has every key once.

        >>> Seen(spark.range(9).groupBy("id").count()).once(["id"])
        True
        """
        grouped = grouped_by(self._text)
        return grouped is not None and grouped <= {key.lower() for key in keys}

    @property
    def stored(self) -> bool:
        """Whether the frame is read from storage row by row, so that a row's position in its split is fixed."""
        return self.costly_again is None and "InMemoryTableScan" not in self.physical
