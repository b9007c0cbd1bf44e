"""What every strategy of a join answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pyspark.sql import DataFrame

from skewkit.api.join.join_decision import JoinDecision


class JoinStrategy(ABC):
    """One way to answer a join; it reads the decision and changes nothing."""

    name: ClassVar[str]

    def __init__(self, decision: JoinDecision) -> None:
        self.decision = decision

    @abstractmethod
    def impossible(self) -> str | None:
        """Return why this join cannot be answered in this way, or None."""

    @abstractmethod
    def price(self) -> float:
        """Return the seconds until the last row is there, for the slots of the session."""

    @abstractmethod
    def build(self) -> DataFrame:
        """Return the joined frame."""

    @abstractmethod
    def explain(self) -> tuple[str, ...]:
        """Return what there is to say of the plan, line by line."""

    def notes(self) -> tuple[str, ...]:
        """Return what the reader should know of this plan: first of all which hot keys stay whole in it."""
        return self.decision.kept_whole()
