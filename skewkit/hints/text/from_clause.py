"""A FROM clause, cut into its relations and joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from skewkit.hints.text.tokens import NotCut, Tokens, closing, deeper, is_word, items_of

_KINDS = {
    "": "inner",
    "inner": "inner",
    "cross": "cross",
    **dict.fromkeys(("left", "left outer"), "left"),
    **dict.fromkeys(("right", "right outer"), "right"),
    **dict.fromkeys(("full", "full outer"), "full"),
    **dict.fromkeys(("semi", "left semi"), "semi"),
    **dict.fromkeys(("anti", "left anti"), "anti"),
}
_JOIN_WORDS = frozenset(("natural", "inner", "cross", "left", "right", "full", "semi", "anti", "outer"))
_STOPS = ("lateral", "pivot", "unpivot", "tablesample")
_TAIL = ("lateral", "pivot", "unpivot")


@dataclass(frozen=True)
class Relation:
    """A relation: its tokens, the name that its columns are called by (None if there is none), and all its names."""

    tokens: Tokens
    alias: str | None
    names: tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """A join of what stands before with a relation: its kind, and ON's tokens or USING's names."""

    kind: str
    relation: Relation
    on: Tokens = ()
    using: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chain:
    """A relation and what is joined to it, one after another. Chains stand between the commas of a FROM."""

    first: Relation
    joins: tuple[Join, ...] = ()
    ends: tuple[int, ...] = field(default=())
    """Behind which token each join ends; `ends[0]` is that of the first relation."""

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations, in their order."""
        return (self.first, *(join.relation for join in self.joins))


@dataclass(frozen=True)
class FromClause:
    """The chains of a FROM and where what is not cut begins: a LATERAL VIEW, a PIVOT; `end` where there is nothing."""

    chains: tuple[Chain, ...]
    behind: int
    end: int

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations, in their order."""
        return tuple(relation for chain in self.chains for relation in chain.relations)


def read_from(tokens: Tokens, clause: range) -> FromClause:
    """Return the relations and joins of a FROM clause, which begins with its FROM.

    Raises:
        NotCut: it has a NATURAL join, or something that is not known.

    >>> from skewkit.hints.text.tokens import tokens_of
    >>> tokens = tokens_of("FROM db.a AS x LEFT JOIN (SELECT 1) b ON x.k = b.k JOIN c USING (k, j), d")
    >>> found = read_from(tokens, range(len(tokens)))
    >>> [(relation.alias, relation.names) for relation in found.relations]
    [('x', ('x', 'a', 'db.a')), ('b', ('b',)), ('c', ('c',)), ('d', ('d',))]
    >>> [(join.kind, len(join.on), join.using) for join in found.chains[0].joins]
    [('left', 7, ()), ('inner', 0, ('k', 'j'))]
    """
    chains: list[Chain] = []
    at, stop = clause.start + 1, clause.stop
    while True:
        chain, at = _chain(tokens, at, stop)
        chains.append(chain)
        if not (at < stop and is_word(tokens, at, ",")):
            break
        at += 1
    if at < stop and tokens[at].name not in _TAIL:
        raise NotCut(f"{tokens[at].name} in its FROM is not known here")
    if at < stop and tokens[at].name != "lateral":  # it groups by all columns that it does not name
        raise NotCut(f"{tokens[at].name.upper()} is left to plain Spark")
    rest = tokens[at:stop]
    if any(is_word(rest, i, "natural") for i in range(len(rest))):
        raise NotCut("a NATURAL join is left to plain Spark")
    return FromClause(tuple(chains), at, stop)


def _chain(tokens: Tokens, at: int, stop: int) -> tuple[Chain, int]:
    end = _relation_end(tokens, at, stop)
    first = _relation(tokens[at:end])
    joins, ends, at = [], [end], end
    while True:
        start = _join_at(tokens, at, stop)
        if start is None:
            break
        words, at = start
        if "natural" in words:
            raise NotCut("a NATURAL join is left to plain Spark")
        kind = _KINDS.get(" ".join(words))
        if kind is None:
            raise NotCut(f"{' '.join(words)} join is not known here")
        end = _relation_end(tokens, at, stop)
        relation = _relation(tokens[at:end])
        on: Tokens = ()
        using: tuple[str, ...] = ()
        if is_word(tokens, end, "using", "(") and end < stop:
            close = closing(tokens, end + 1)
            using = tuple(item[0].name for item in items_of(tokens[end + 2 : close]))
            end = close + 1
        elif is_word(tokens, end, "on") and end < stop:
            close = next(i for i in _outside(tokens, end + 1, stop) if _condition_ends(tokens, i, stop))
            on, end = tokens[end + 1 : close], close
        joins.append(Join(kind, relation, on, using))
        ends.append(end)
        at = end
    return Chain(first, tuple(joins), tuple(ends)), at


def _outside(tokens: Tokens, at: int, stop: int) -> Iterator[int]:
    """Return the places of the tokens outside of brackets, and the end."""
    depth = 0
    for i in range(at, stop):
        if depth == 0:
            yield i
        depth += deeper(tokens[i])
    yield stop


def _condition_ends(tokens: Tokens, at: int, stop: int) -> bool:
    return (
        at == stop
        or is_word(tokens, at, ",")
        or _join_at(tokens, at, stop) is not None
        or is_word(tokens, at, "lateral", "view")
        or (tokens[at].name in ("pivot", "unpivot") and is_word(tokens, at + 1, "("))
    )


def _join_at(tokens: Tokens, at: int, stop: int) -> tuple[tuple[str, ...], int] | None:
    """Return the words of a join that begins at a token, and what follows its JOIN."""
    words: list[str] = []
    for i in range(at, min(at + 4, stop)):
        token = tokens[i]
        if token.kind == "word" and token.name == "join":
            return tuple(words), i + 1
        if token.kind != "word" or token.name not in _JOIN_WORDS:
            return None
        words.append(token.name)
    return None


def _relation_end(tokens: Tokens, at: int, stop: int) -> int:
    for i in _outside(tokens, _rows_end(tokens, at), stop):
        if i > at and (
            _condition_ends(tokens, i, stop) or is_word(tokens, i, "on") or is_word(tokens, i, "using", "(")
        ):
            return i
    return stop


def _rows_end(tokens: Tokens, at: int) -> int:
    """Return what follows the rows of VALUES, which have commas between them; `at` where there are none."""
    if not is_word(tokens, at, "values"):
        return at
    while True:
        if not is_word(tokens, at + 1, "("):
            raise NotCut("VALUES without brackets around its rows are left to plain Spark")
        at = closing(tokens, at + 1)
        if not is_word(tokens, at + 1, ","):
            return at + 1
        at += 1


def _relation(tokens: Tokens) -> Relation:
    """Return a relation: a table, a function or brackets, a sample of it, then perhaps an alias with columns."""
    if not tokens or tokens[0].name in _STOPS or is_word(tokens, 0, "stream"):
        raise NotCut(f"{tokens[0].name if tokens else 'nothing'} in its FROM is left to plain Spark")
    names: tuple[str, ...] = ()
    at = 0
    if is_word(tokens, 0, "("):
        at = closing(tokens, 0) + 1
        if tokens[1].name not in ("select", "with", "values", "from", "table"):
            raise NotCut("a join in brackets is left to plain Spark")
    elif is_word(tokens, 0, "values"):
        at = _rows_end(tokens, 0)
    elif tokens[0].is_name:
        parts = [tokens[0]]
        at = 1
        while is_word(tokens, at, ".") and at + 1 < len(tokens) and tokens[at + 1].is_name:
            parts.append(tokens[at + 1])
            at += 2
        if is_word(tokens, at, "("):
            at = closing(tokens, at) + 1
        else:
            spelled = [part.name.lower() for part in parts]
            names = tuple(".".join(spelled[i:]) for i in reversed(range(len(spelled))))
    else:
        raise NotCut(f"{tokens[0].name} in its FROM is not known here")
    if is_word(tokens, at, "tablesample", "("):
        at = closing(tokens, at + 1) + 1
        if is_word(tokens, at, "repeatable", "("):
            at = closing(tokens, at + 1) + 1
    at += is_word(tokens, at, "as")
    alias = None
    if at < len(tokens) and tokens[at].is_name:
        alias = tokens[at]
        at += 1
        if is_word(tokens, at, "("):
            at = closing(tokens, at) + 1
    if at < len(tokens):
        raise NotCut(f"{tokens[at].name} after a relation is not known here")
    if alias is None:
        return Relation(tokens, names[0] if names else None, names)
    lower = alias.name.lower()
    return Relation(tokens, alias.name, (lower, *(name for name in names if name != lower)))
