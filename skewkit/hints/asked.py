"""What hints ask of a key: which of its columns they name, and which values are hot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from skewkit.api.arguments import first_line, insisted
from skewkit.api.explain import explain
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError
from skewkit.hints.scope import Scope
from skewkit.hints.text.hint_grammar import Hint
from skewkit.hints.text.tokens import NotCut
from skewkit.spark.expressions.hint_values import fitted
from skewkit.spark.session.remembered import choice_of

_UNNAMED = "\n  note       the hint has no values: the hot keys that a query finds are treated, whatever that costs"
_UNUSED = "\n  note       values are not used, as they are not of the whole key"


@dataclass(frozen=True)
class Ask:
    """A hint for a key: the key's columns, the hot keys that it names, and whether it says that there are hot keys."""

    hint: Hint
    keys: tuple[str, ...]
    heavy: tuple[tuple[Any, ...], ...] = ()
    unnamed: bool = False
    note: str = ""

    @property
    def hot(self) -> list[Any] | None:
        """The keys that are named, None where an operator has to find them."""
        return list(self.heavy) or None


@dataclass(frozen=True)
class FollowedHint:
    """What became of the hints about one operator: its strategy and reason, and all of it in words."""

    hints: tuple[Hint, ...]
    operator: str
    strategy: str
    reason: str
    text: str


@contextmanager
def followed(ask: Ask) -> Iterator[None]:
    """Run an operator as a hint asks. What it refuses is left to plain Spark: the hint itself was checked before.

    Raises:
        NotCut: an operator refuses its arguments.
    """
    try:
        with insisted() if ask.heavy or ask.unnamed else nullcontext():
            yield
    except (ArgumentError, ArgumentTypeError, ColumnNotFoundError) as error:
        raise NotCut(first_line(error)) from error


def done(asked: Sequence[Ask], operator: str, frame: DataFrame, scope: Scope) -> FollowedHint:
    """Return what an operator did with its frame, in the user's names."""
    choice, said = choice_of(frame), scope.runner.said
    hints = tuple(dict.fromkeys(ask.hint for ask in asked))
    notes = "".join(dict.fromkeys(ask.note for ask in asked))
    return FollowedHint(hints, operator, choice.strategy, said(choice.reason), said(explain(frame)) + notes)


def ask_of(
    hint: Hint, own: Mapping[str, str], keys: Sequence[str], null_safe: Sequence[bool], scope: Scope
) -> Ask | None:
    """Return what a hint asks of a key, None where the key has none of its columns.

    `own` has the user's names of the relation's columns by ours. `null_safe` says where a null is a key.

    Raises:
        ArgumentError: a value does not fit the type of its column.
    """
    named = [own.get(key) for key in keys]
    lower = [name.lower() if name is not None else None for name in named]
    columns = [column.lower() for column in hint.columns]
    computed = bool(own) and not hint.columns and len(scope.aliases) == 1  # the key is an expression over the relation
    if not (any(named) or computed) or not set(columns) <= set(lower):
        return None
    whole = bool(columns) and len(columns) == len(keys)
    if not whole or hint.values is None:
        note = _UNNAMED if whole else "" if hint.values is None else _UNUSED
        return Ask(hint, tuple(keys), unnamed=whole, note=note)
    order = [columns.index(name) for name in lower if name is not None]
    types = [scope.frame.schema[key].dataType for key in keys]
    values = (tuple(fitted(v[i], type_, hint) for i, type_ in zip(order, types, strict=True)) for v in hint.values)
    heavy = [v for v in values if all(x is not None or safe for x, safe in zip(v, null_safe, strict=True))]
    return Ask(hint, tuple(keys), tuple(heavy))


def strongest(asked: Sequence[Ask]) -> Ask:
    """Return what several hints ask of one key: the values of all together, else that some are hot, else `auto`."""
    first = next((ask for ask in asked if ask.heavy), None)
    if first is None:
        return next((ask for ask in asked if ask.unnamed), asked[0])
    heavy = [key for ask in asked if ask.keys == first.keys for key in ask.heavy]
    return replace(first, heavy=tuple(dict.fromkeys(heavy)))
