"""One decision of an operator, as `skewkit.decisions()` lists it."""

from __future__ import annotations

from dataclasses import dataclass, field

from skewkit.plan.choice import Choice
from skewkit.plan.explanation import choice_text


@dataclass(frozen=True)
class Decision:
    """What an operator decided.

    `seconds` are the wall seconds that the decision took, `jobs` the queries that were run for it.
    """

    choice: Choice = field(repr=False)
    seconds: float = 0.0
    jobs: int = 0

    @property
    def operator(self) -> str:
        """The operator.

        One of `join`, `groupby`, `window`, `repartition`, `write` and `merge`; `sql` for a query with hints. An as-of
        join is a `window`, after those that it takes.
        """
        return self.choice.kind

    @property
    def strategy(self) -> str:
        """What was chosen."""
        return self.choice.strategy

    @property
    def reason(self) -> str:
        """Why it was chosen, also where nothing was done."""
        return self.choice.reason

    @property
    def text(self) -> str:
        """All that `explain` says of it."""
        return choice_text(self.choice)
