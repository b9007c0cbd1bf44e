"""Which names a SQL text mentions, and how: what nobody mentions need not be kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skewkit.hints.text.tokens import Token, Tokens, is_word, tokens_of


@dataclass(frozen=True)
class Mentions:
    """The names in a text, in lower case: all; those before a dot; those not after one; those with no dot at all."""

    names: frozenset[str]
    heads: frozenset[str]
    firsts: frozenset[str]
    alones: frozenset[str]

    @staticmethod
    def of(text: str) -> Mentions:
        """Return the mentions of a text.

        >>> found = Mentions.of("a.k = `K2` AND s.f > 1")
        >>> sorted(found.names - {"and"}), sorted(found.heads), found.alone("k2"), found.alone("k")
        (['a', 'f', 'k', 'k2', 's'], ['a', 's'], True, False)
        """
        return mentions_in(tokens_of(text))

    def any(self, name: str) -> bool:
        """Return whether a name is mentioned at all."""
        return name.lower() in self.names

    def dotted(self, name: str) -> bool:
        """Return whether something of that name is asked for a part, as in `name.part`."""
        return name.lower() in self.heads

    def alone(self, name: str) -> bool:
        """Return whether a name is mentioned other than as a part of something."""
        return name.lower() in self.firsts

    def bare(self, name: str) -> bool:
        """Return whether a name stands with no dot before or after it, other than as a table or a new name."""
        return name.lower() in self.alones

    def __add__(self, other: Mentions) -> Mentions:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Mentions(*(mine | its for mine, its in pairs))


def mentions_in(tokens: Tokens, without: Iterable[Token] = ()) -> Mentions:
    """Return the mentions of tokens but some."""
    left_out = set(without)
    names, heads, firsts, alones = set(), set(), set(), set()
    for at, token in enumerate(tokens):
        if token in left_out or not (token.is_name or token.kind == "text"):
            continue
        name = token.name.lower()
        names.add(name)
        dot, before = is_word(tokens, at + 1, "."), is_word(tokens, at - 1, ".")
        if dot:
            heads.add(name)
        if not before:
            firsts.add(name)
        declared = any(is_word(tokens, at - 1, word) for word in ("as", "from", "join"))
        if token.is_name and not (dot or before or declared):
            alones.add(name)
    return Mentions(frozenset(names), frozenset(heads), frozenset(firsts), frozenset(alones))
