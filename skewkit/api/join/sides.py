"""One side of a join: what the optimizer and the user say of it, each question asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from skewkit.plan.join.pair import Side
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import COMPUTED, PlanFacts
from skewkit.spark.explained.row_counts import has_fixed_width, row_bytes
from skewkit.spark.expressions.keys import Keys


@dataclass(frozen=True, eq=False)
class JoinSide:
    """One side of a join, with its keys in the common type, and the profile that the user gave, if any.

    Nobody sees what makes an RDD, what a database answers, or whether malformed texts are dropped. Frames of these are
    read twice only if they are `trusted`, as they are if the user asks for a strategy.
    """

    side: Side
    facts: PlanFacts
    keys: Keys
    given: KeyProfile | None = None
    trusted: bool = False

    @cached_property
    def unsafe(self) -> str | None:
        """Why the keys may have other values when the frame is read again, or None."""
        return self.facts.stability(self.keys.columns, trust_sources=self.trusted).reason

    @cached_property
    def unsafe_to_look_up(self) -> str | None:
        """Why the keys, read alone, may be others, or None."""
        return self.unsafe or (None if self.trusted else self.facts.rows_depend_on_columns)

    def may_have_null_keys(self, null_safe: Sequence[bool]) -> bool:
        """Return whether rows may match nothing because of a null in a key that null does not match."""
        fields = self.facts.frame.select(*self.keys.columns).schema
        return any(field.nullable and not safe for field, safe in zip(fields, null_safe, strict=True))

    @cached_property
    def pre_partitioned(self) -> bool:
        """Whether the user repartitioned the frame by the key just before."""
        return self.facts.pre_partitioned(self.keys.bare)

    @cached_property
    def unique(self) -> bool:
        """Whether the frame is grouped by the key, so that it has every key once."""
        return not self.facts.simple and self.facts.unique_by(self.keys.bare)

    @cached_property
    def costly(self) -> float | None:
        """How many joins or group-bys it takes to read the frame again, or None where it is only read."""
        return max(1.0, self.facts.shuffles / 2) if self.facts.cost_again else None

    @cached_property
    def width(self) -> float:
        """Bytes of a row, as its types suggest."""
        return row_bytes(self.facts.frame.schema)

    @cached_property
    def unmeasured(self) -> float:
        """Bytes more that a row may take, because texts, arrays or the like in it are computed."""
        return COMPUTED * self.facts.computed_widths

    @property
    def most_rows(self) -> float:
        """Rows of the sources at the most, as far as the optimizer knows. 0 where it does not."""
        return self.facts.most_source_rows

    def memory(self, profile: KeyProfile | None) -> float:
        """Return the bytes that a row may take in memory: more than its types suggest where its files are larger.

        Long texts make the bytes many. So does a filter, which nobody can tell from them: better to sort what a hash
        table could have held than to fail for want of memory.
        """
        rows = self.facts.source_rows_by_bytes
        if profile is None or profile.named or rows is None or has_fixed_width(self.facts.frame.schema):
            return self.width + self.unmeasured
        return self.width * max(1.0, rows / max(1.0, profile.rows)) + self.unmeasured

    def times_profile(self) -> float:
        """Return how many times the rows of the given profile the side may have. Infinity where nobody knows.

        A profile may be of a part of the frame, or of last year, decayed, or of weights and not of rows.
        """
        if self.given is None:
            return 1.0
        if self.facts.source_rows is None or not self.facts.simple:
            return inf
        return max(1.0, self.most_rows / max(1.0, self.given.rows))
