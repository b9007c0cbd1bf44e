"""`native`: plain Spark's join."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame

from skewkit.api.join.strategies.join_strategy import JoinStrategy


class Native(JoinStrategy):
    """The join that the user would have written without skewkit."""

    name: ClassVar[str] = "native"

    def impossible(self) -> str | None:
        """Return None: plain Spark always answers."""
        return None

    def price(self) -> float:
        """Return the seconds of a shuffle by the key and a sort-merge join."""
        return self.decision.terms.seconds(self.decision.native_stages)

    def build(self) -> DataFrame:
        """Return plain Spark's join."""
        return self.decision.request.native

    def explain(self) -> tuple[str, ...]:
        """Return no line: plain Spark's plan needs none."""
        return ()
