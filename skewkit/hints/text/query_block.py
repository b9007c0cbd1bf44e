"""One SELECT of a query and its clauses, found by its words and brackets. What cannot be found is not cut."""

from __future__ import annotations

from dataclasses import dataclass

from skewkit.hints.text.tokens import NotCut, Token, Tokens, closing, deeper, is_word, tokens_of

_SET_WORDS = ("union", "intersect", "except", "minus")
_CLAUSES = ("from", "where", "group", "having", "qualify", "window", "order", "sort", "distribute", "cluster", "limit",
            "offset")  # fmt: skip
_WITHIN = (
    *("select", "distinct", "as", "on", "using", "by", "join", "and", "or", "not", "in", "is", "between", "like"),
    *("ilike", "rlike", "regexp", "escape", "case", "when", "then", "else", "div"),
)  # fmt: skip
"""Words within expressions and lists, behind which there is more."""
_JOINS = ("left", "right", "full", "inner", "cross", "natural", "semi", "anti", "lateral", "pivot", "unpivot",
          "tablesample")  # fmt: skip
"""Words behind a relation."""
_MAY_NAME = ("limit", "offset", "qualify")
"""Words of clauses that may name columns."""
_BY = ("group", "order", "sort", "distribute", "cluster")


@dataclass(frozen=True)
class QueryBlock:
    """A SELECT: its text and tokens, where it begins and ends, and the tokens of each clause, by its first word.

    A clause is a range of tokens, its own words included. `select` begins after the hint.
    """

    source: str
    tokens: tuple[Token, ...]
    start: int
    end: int
    clauses: dict[str, range]

    def clause(self, name: str) -> tuple[Token, ...]:
        """Return the tokens of a clause, none where there is none."""
        found = self.clauses.get(name, range(0))
        return self.tokens[found.start : found.stop]

    @property
    def follows_from(self) -> bool:
        """Whether a FROM stands before its SELECT, as in `FROM a SELECT b`."""
        depth = 0
        for at in reversed(range(self.start)):
            depth -= deeper(self.tokens[at])
            if depth < 0 or (depth == 0 and (is_word(self.tokens, at, "select") or _ends(self.tokens, at))):
                return False
            if depth == 0 and is_word(self.tokens, at, "from"):
                return True
        return False

    @property
    def all(self) -> tuple[Token, ...]:
        """All tokens of the SELECT."""
        return self.tokens[self.start : self.end]


def block_at(source: str, hint: int) -> QueryBlock:
    """Return the SELECT that a hint token stands in.

    >>> from skewkit.hints.text.tokens import written
    >>> source = "SELECT /*+ SKEW('a') */ trim(both from y) FROM a JOIN b ON a.k IS DISTINCT FROM b.k WHERE x > 1"
    >>> block = block_at(source, 1)
    >>> [(name, written(source, block.clause(name))) for name in block.clauses]
    [('select', 'trim(both from y)'), ('from', 'FROM a JOIN b ON a.k IS DISTINCT FROM b.k'), ('where', 'WHERE x > 1')]
    """
    tokens = tokens_of(source)
    starts: list[tuple[str, int]] = [("select", hint + 1)]
    at, depth = hint + 1, 0
    while at < len(tokens):
        token = tokens[at]
        step = deeper(token)
        if depth == 0 and (step < 0 or _ends(tokens, at)):
            break
        depth += step
        behind_a_word = at == starts[-1][1] + (len(starts) > 1)  # a list begins behind its hint
        if depth == 0 and _begins(tokens, at, behind_a_word=behind_a_word):
            starts.append((token.name, at))
        elif depth == 0 and not (behind_a_word or token.name not in _MAY_NAME or _is_a_name(tokens, at)):
            raise NotCut(f"{token.name} stands where it may be a column or a clause")
        at += 1
    if depth:
        raise NotCut("a bracket is not closed")
    ends = [start for _, start in starts[1:]] + [at]
    clauses = {name: range(start, end) for (name, start), end in zip(starts, ends, strict=True)}
    if len(clauses) < len(starts):
        raise NotCut("a clause stands there twice")
    return QueryBlock(source, tokens, hint - 1, at, clauses)


def _ends(tokens: Tokens, at: int) -> bool:
    token = tokens[at]
    if token.kind == "sign":
        return token.name in (";", "|>")
    # `* EXCEPT (a)` is no set operation.
    star = is_word(tokens, at - 1, "*") and is_word(tokens, at + 1, "(")
    return token.kind == "word" and token.name in _SET_WORDS and not star and not is_word(tokens, at - 1, ".")


def _begins(tokens: Tokens, at: int, *, behind_a_word: bool) -> bool:
    """Return whether a clause begins at a token. Its word may also name a column or stand inside an operator.

    `behind_a_word` says that the token before is the word of a clause.
    """
    token = tokens[at]
    if token.kind != "word" or token.name not in _CLAUSES or is_word(tokens, at - 1, "."):
        return False
    if token.name == "from":
        return not is_word(tokens, at - 2, "is", "distinct") and not is_word(tokens, at - 2, "not", "distinct")
    if token.name in _BY:
        return is_word(tokens, at + 1, "by")
    if token.name == "window":
        return at + 2 < len(tokens) and tokens[at + 1].is_name and is_word(tokens, at + 2, "as")
    if token.name in _MAY_NAME:  # a column has an operator beside it
        ends = not behind_a_word and _may_end(tokens[at - 1])
        return ends and at + 1 < len(tokens) and _may_begin(tokens[at + 1])
    return True


def _is_a_name(tokens: Tokens, at: int) -> bool:
    """Return whether a word is surely a column, behind what needs an operand, or an alias in a list."""
    before = tokens[at - 1]
    if tokens[at].kind != "word" or (before.kind == "sign" and before.name not in (")", "]", "?")):
        return True
    if before.kind == "word" and before.name in _WITHIN:
        return True
    named = before.kind != "word" or before.name not in _CLAUSES
    return named and (at + 1 == len(tokens) or tokens[at + 1].name in (",", ".", "from", ")"))


def _may_end(token: Token) -> bool:
    """Return whether an expression or a list may end with a token, which begins no clause."""
    if token.kind == "sign":
        return token.name in (")", "]", "?")
    return token.kind != "word" or token.name in _MAY_NAME or token.name not in (*_CLAUSES, *_WITHIN)


def _may_begin(token: Token) -> bool:
    """Return whether an expression may begin with a token."""
    if token.kind == "sign":
        return token.name in ("(", "-", "+", ":", "?", "~", "!", "$")
    words = (*_CLAUSES, *_SET_WORDS, *_WITHIN, *_JOINS)
    return token.kind != "word" or token.name in ("not", "case") or token.name not in words


@dataclass(frozen=True)
class CommonTables:
    """A WITH: its definitions as (name, first token, past the last token), its body, whether it is recursive."""

    start: int
    definitions: tuple[tuple[str, int, int], ...]
    body: int
    end: int
    recursive: bool


def common_tables(tokens: Tokens) -> list[CommonTables]:
    """Return every WITH of a query, outer ones first.

    >>> found = common_tables(tokens_of("WITH a AS (SELECT 1), b(x) AS (SELECT 2) SELECT * FROM a, b"))
    >>> [(name, end - start) for name, start, end in found[0].definitions], found[0].recursive
    ([('a', 6), ('b', 9)], False)
    """
    found = []
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.name != "with" or is_word(tokens, at - 1, "."):
            continue
        recursive = is_word(tokens, at + 1, "recursive") and not is_word(tokens, at + 2, "as")
        definitions, behind = _definitions(tokens, at + 1 + recursive)
        if definitions:
            found.append(CommonTables(at, tuple(definitions), behind, _end_of_bracket(tokens, at), recursive))
    return found


def _definitions(tokens: Tokens, at: int) -> tuple[list[tuple[str, int, int]], int]:
    definitions = []
    while at < len(tokens) and tokens[at].is_name:
        start = at
        at += 1
        for _ in range(3):  # columns, and MAX RECURSION LEVEL n
            if is_word(tokens, at, "("):
                at = closing(tokens, at) + 1
            elif is_word(tokens, at, "max", "recursion", "level"):
                at += 4
        if not is_word(tokens, at, "as", "("):
            return [], at
        at = closing(tokens, at + 1) + 1
        definitions.append((tokens[start].name, start, at))
        if not is_word(tokens, at, ","):
            break
        at += 1
    return definitions, at


def _end_of_bracket(tokens: Tokens, at: int) -> int:
    """Return where the bracket that a token stands in is closed, or the end."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += deeper(tokens[i])
        if depth < 0:
            return i
    return len(tokens)


def in_context(source: str, tokens: Tokens, at: int, query: str) -> str:
    """Return a query with the WITHs that a query at token `at` would see, where it names a table of theirs.

    Raises:
        NotCut: a table of a recursive WITH may be named.

    >>> source = "WITH a AS (SELECT 1 x), b AS (SELECT 2) SELECT /*+ SKEW('a') */ * FROM a"
    >>> [in_context(source, tokens_of(source), 16, query) for query in ("SELECT * FROM a", "SELECT 1")]
    ['WITH a AS (SELECT 1 x), b AS (SELECT 2) SELECT * FROM a', 'SELECT 1']
    """
    inner = True
    for each in reversed([tables for tables in common_tables(tokens) if tables.start < at < tables.end]):
        seen = [(start, end) for _, start, end in each.definitions if end <= at]
        if each.recursive:
            raise NotCut("recursive common tables are left to plain Spark")
        names = {name.lower() for name, _, end in each.definitions if end <= at}
        if not seen or names.isdisjoint(token.name.lower() for token in tokens_of(query) if token.is_name):
            continue
        definitions = source[tokens[seen[0][0]].start : tokens[seen[-1][1] - 1].end]
        query = f"WITH {definitions} " + (query if inner else f"SELECT * FROM ({query})")
        inner = False
    return query
