"""Tokens of a SQL text and where they stand. Sqlglot finds them, and never writes a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from skewkit.errors import EnvironmentProblem, SkewkitError

_QUOTES = ("'", '"')
BETWEEN_HINTS = r"(?:\s|--[^\n]*\n|/\*(?!\+)(?:[^*]|\*(?!/))*\*/)*/\*\+"
"""What stands between one hint and the text of the next: spaces, comments and the sign of a hint."""
_MORE_HINTS = re.compile(rf"(?:{BETWEEN_HINTS}(?:[^*]|\*(?!/))*\*/)*")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(bd|[dflsy])?", re.IGNORECASE)


class NotCut(SkewkitError):
    """A query that is not cut, with the reason in words. Plain Spark answers it."""


@dataclass(frozen=True)
class Token:
    """A word, quoted name, text, number, hint or sign of a SQL text. `text[start:end]` is what the user wrote.

    `name` is the word in lower case, a quoted name or a text without its quotes, else what was written.
    """

    kind: str
    name: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether the token may name something."""
        return self.kind in ("word", "quoted")


Tokens = Sequence[Token]


@lru_cache(maxsize=64)
def tokens_of(source: str) -> tuple[Token, ...]:
    r"""Return the tokens of a SQL text, without spaces and comments. A hint is one token, and so are several in a row.

    Raises:
        EnvironmentProblem: sqlglot is not installed.
        NotCut: the text cannot be cut into tokens.

    >>> [token.name for token in tokens_of("SELECT /*+ SKEW('t') */ A.`k ` -- why")]
    ['select', "/*+ SKEW('t') */", 'a', '.', 'k ']
    >>> [token.name for token in tokens_of("SELECT /*+ A(b) */ -- and\n /*+ SKEW('t') */ 1")][1]
    "/*+ A(b) */ -- and\n /*+ SKEW('t') */"
    """
    try:
        from sqlglot.dialects.spark import Spark
        from sqlglot.errors import SqlglotError
    except ImportError as error:
        raise EnvironmentProblem(
            "the SKEW hint needs sqlglot, which finds where a query's words begin; pip install 'skewkit[sql]'"
        ) from error
    try:
        found = Spark().tokenize(source)
    except SqlglotError as error:
        raise NotCut("the text cannot be cut into tokens") from error
    tokens: list[Token] = []
    for each in found:
        start, end = each.start, each.end + 1
        if source.startswith("/*+", start):
            more = _MORE_HINTS.match(source, end)
            end = more.end() if more else end
        if tokens and start < tokens[-1].end:  # `12L` is told as a number, a cast and a type
            continue
        if source[start].isalpha() and any(c.isspace() for c in source[start:end]):  # `ORDER BY` is told as one
            words = re.finditer(r"\S+", source[start:end])
            tokens += [_token(w.group(), w.group(), start + w.start(), start + w.end()) for w in words]
        else:
            tokens.append(_token(source[start:end], each.text, start, end))
    return tuple(tokens)


def _token(written: str, text: str, start: int, end: int) -> Token:
    first = written[0]
    if written.startswith("/*+"):
        return Token("hint", written, start, end)
    if first == "`":
        return Token("quoted", text, start, end)
    if first in _QUOTES or (len(written) > 1 and first in "rRxXbB" and written[1] in _QUOTES):
        return Token("text", text, start, end)
    if first.isdigit() or (first == "." and len(written) > 1):
        kind = "number" if _NUMBER.fullmatch(written) else "word"
        return Token(kind, written.lower(), start, end)
    if first.isalpha() or first == "_":
        return Token("word", written.lower(), start, end)
    return Token("sign", written, start, end)


def closing(tokens: Tokens, at: int) -> int:
    """Return where the bracket that opens at `at` is closed.

    >>> closing(tokens_of("f(a, (b)) + 1"), 1)
    7
    """
    depth = 0
    for i in range(at, len(tokens)):
        depth += deeper(tokens[i])
        if depth == 0:
            return i
    raise NotCut("a bracket is not closed")


def deeper(token: Token) -> int:
    """Return 1 for a bracket that opens, -1 for one that closes, else 0."""
    if token.kind != "sign":
        return 0
    return (token.name in ("(", "[")) - (token.name in (")", "]"))


def items_of(tokens: Tokens) -> list[Tokens]:
    """Return the items of a list, cut at the commas outside of brackets.

    >>> [len(item) for item in items_of(tokens_of("a, f(b, c), d"))]
    [1, 6, 1]
    """
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += deeper(token)
        if token.name == "," and token.kind == "sign" and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]


def written(source: str, tokens: Tokens) -> str:
    """Return the tokens as the user wrote them, without comments.

    >>> written("a /* why */ = b", tokens_of("a /* why */ = b"))
    'a = b'
    """
    parts: list[str] = []
    for i, token in enumerate(tokens):
        if i and token.start > tokens[i - 1].end:
            parts.append(" ")
        parts.append(source[token.start : token.end])
    return "".join(parts)


def is_word(tokens: Tokens, at: int, *words: str) -> bool:
    """Return whether these bare words, or signs, begin at a token."""
    found = tokens[at : at + len(words)] if at >= 0 else ()
    return len(found) == len(words) and all(
        token.kind in ("word", "sign") and token.name == word for token, word in zip(found, words, strict=True)
    )
