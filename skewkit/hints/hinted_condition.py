"""Join conditions read for two scopes: pairs of key columns, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.hints.scope import Scope, WithClauses
from skewkit.hints.text.tokens import NotCut, tokens_of
from skewkit.spark.expressions.sql_condition import conjuncts_of, equality_of
from skewkit.spark.expressions.sql_names import names_in

Side = Literal["left", "right"]


@dataclass(frozen=True)
class ColumnPair:
    """Key columns, under our names, that a join asks to be equal."""

    left: str
    right: str
    null_safe: bool = False

    @property
    def condition(self) -> Column:
        """The equality as a Column; our names are of one frame each."""
        left, right = F.col(self.left), F.col(self.right)
        return left.eqNullSafe(right) if self.null_safe else left == right


@dataclass(frozen=True)
class Condition:
    """What a join asks: its key pairs, flags of one side each, and texts over both; and the sides with such columns."""

    left: Scope
    right: Scope
    pairs: tuple[ColumnPair, ...]
    flags: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def read_condition(left: Scope, right: Scope, text: str, context: WithClauses) -> Condition:
    """Return the condition of ON. Operands that are no plain columns become columns of their side."""
    columns: dict[Side, dict[str, str]] = {"left": {}, "right": {}}
    pairs, flags, rest = [], [], []
    for part in conjuncts_of(text, tells_case=left.cased):
        compared = equality_of(part, tells_case=left.cased)
        if compared and compared[2] == "in":  # it is an equality for some types only
            compared = None
        sides = [side_of(left, right, operand) for operand in compared[:2]] if compared else []
        if compared and sorted(map(str, sides)) == ["left", "right"]:
            named = {}
            for side, operand in zip(sides, compared[:2], strict=True):
                if side is not None:
                    named[side] = _column(left if side == "left" else right, operand, columns[side])
            pairs.append(ColumnPair(named["left"], named["right"], compared[2] == "<=>"))
            continue
        side = side_of(left, right, part)
        if side is None:
            rest.append(part)
        else:
            flags.append(_column(left if side == "left" else right, part, columns[side]))
    return Condition(
        left.with_texts(columns["left"], context),
        right.with_texts(columns["right"], context),
        tuple(pairs),
        tuple(flags),
        tuple(rest),
    )


def using(left: Scope, right: Scope, names: Sequence[str]) -> Condition:
    """Return the condition of USING.

    Raises:
        NotCut: a name means several columns of a side.
    """
    pairs = []
    for name in names:
        a, b = left.column((name,)), right.column((name,))
        if a is None or b is None:
            raise NotCut(f"USING ({name}) may mean several columns")
        pairs.append(ColumnPair(a, b))
    return Condition(left, right, tuple(pairs))


def pairs_of_where(left: Scope, right: Scope, parts: Sequence[str]) -> tuple[ColumnPair, ...]:
    """Return the pairs of plain columns that a WHERE asks to be equal, for a join that has no condition of its own.

    The WHERE stays where it is, so a null-safe equality and any other part of it needs nothing here.
    """
    found = []
    for part in parts:
        compared = equality_of(part, tells_case=left.cased)
        if compared is None or compared[2] != "=":
            continue
        for a, b in (compared[:2], compared[1::-1]):
            pair = plain(left, a), plain(right, b)
            if pair[0] is not None and pair[1] is not None and None in (plain(right, a), plain(left, b)):
                found.append(ColumnPair(pair[0], pair[1]))
                break
    return tuple(found)


def parts_of(text: str, cased: bool) -> tuple[str, ...]:
    """Return what ANDs join in a SQL condition, nothing for an empty one."""
    return tuple(conjuncts_of(text, tells_case=cased)) if text else ()


def plain(scope: Scope, text: str) -> str | None:
    """Return our name of what is written as a plain column of a scope, else None."""
    tokens = tokens_of(text)
    dots = all(token.name == "." and token.kind == "sign" for token in tokens[1::2])
    if not dots or len(tokens) % 2 == 0 or not all(token.is_name for token in tokens[::2]):
        return None
    return scope.column(tuple(token.name for token in tokens[::2]))


def side_of(left: Scope, right: Scope, text: str) -> Side | None:
    """Return the side whose columns a text reads, None where it reads both sides' or none.

    A guess by names. Spark resolves the text on that side, and refuses it where the guess is wrong.
    """
    names = names_in(text)
    if names is None or {token.name for token in tokens_of(text)} & {"select", "?", ":", "from"}:
        return None
    sides: set[Side] = set()
    for name in names:
        parts = tuple(token.name for token in tokens_of(name) if token.is_name)
        for side, scope in (("left", left), ("right", right)):
            of_alias = len(parts) > 1 and scope.alias(parts[0]) is not None
            if parts and (of_alias or scope.column(parts[:1]) is not None):
                sides.add(side)  # type: ignore[arg-type]
                if of_alias:
                    break
    return sides.pop() if len(sides) == 1 else None


def _column(scope: Scope, text: str, columns: dict[str, str]) -> str:
    known = plain(scope, text)
    if known is not None:
        return known
    name = scope.runner.fresh()
    columns[name] = text
    return name


def joined_scope(left: Scope, right: Scope, kind: str, using: Sequence[str] = ()) -> tuple[Scope, dict[str, Column]]:
    """Return what a join of two scopes shows, its frame still the left one's, and columns that USING computes.

    Raises:
        NotCut: two relations have one alias.
    """
    if any(left.alias(alias) is not None for alias in right.aliases):
        raise NotCut("two relations of its FROM have one alias")
    computed: dict[str, Column] = {}
    aliases = dict(left.aliases)
    if kind in ("semi", "anti"):
        return replace(left, aliases=aliases), computed
    aliases.update(right.aliases)
    star: list[tuple[str, str]] = []
    for name in using:
        mine, its = (next(pair for pair in s.star if s.same(pair[0], name)) for s in (left, right))
        ours = mine[1]
        if kind == "right":
            ours = its[1]
        elif kind == "full":
            ours = left.runner.fresh()
            computed[ours] = F.coalesce(F.col(mine[1]), F.col(its[1]))
        star.append((its[0] if kind == "right" else mine[0], ours))
    hidden = {name.lower() for name in using}
    star += [pair for scope in (left, right) for pair in scope.star if pair[0].lower() not in hidden]
    return replace(left, aliases=aliases, star=tuple(star)), computed
