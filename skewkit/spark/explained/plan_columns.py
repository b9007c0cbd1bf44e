"""Lists of columns in a plan's text: which columns an operator makes, and what an expression reads and calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_ENDS = re.compile(r"#(\d+)L?$")
_BARE = re.compile(r"(?!NOT |-|~)[^,()\[\]#]*#(\d+)L?")
_WORDS = re.compile(r" (?:I?LIKE|THEN|ELSE|AND|OR) ")
_BEGUN = re.compile(rf"^(?:CASE|if|NOT) |{_WORDS.pattern}")
_IDS = re.compile(r"#(\d+)")
_LAMBDA_IDS = re.compile(r"\blambda [^#,()]+#(\d+)")
_CALLS = re.compile(r"([A-Za-z_][\w.$]*)\(")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_BRACKETS = re.compile(r"[()\[\]{}]")
_BRACKETS_COMMAS = re.compile(r"[()\[\]{},]")
_BRACKETS_AS = re.compile(r"[()\[\]{}]| AS ")


@dataclass(frozen=True)
class Made:
    """A column that an operator makes: what of, its name, and the number that tells it from all others.

    `source` is the number of the column that it is another name of, if it is no more than that.
    """

    text: str
    name: str
    id: int
    source: int | None = None
    long: bool = False
    """Whether it is a long: its number is followed by an L."""


def groups(text: str) -> list[str]:
    """Return what is inside the brackets that stand outside of all others. [] where brackets do not pair up.

    >>> groups("[k#1], [k#1, (v#2[0] + 1) AS w#3]")
    ['k#1', 'k#1, (v#2[0] + 1) AS w#3']
    >>> groups("Generate explode(a#1[0]), [0], false, [e#2]")
    ['0', 'e#2']
    """
    found, depth, start = list[str](), 0, 0
    for sign in _BRACKETS.finditer(text):
        if sign[0] in _OPEN:
            depth += 1
            if depth == 1:
                start = sign.end() if sign[0] == "[" else 0
            continue
        depth -= 1
        if depth < 0:
            return []
        if depth == 0 and start:
            found.append(text[start : sign.start()])
    return found if depth == 0 else []


def columns_made(listed: str) -> list[Made] | None:
    """Return the columns of a list. None where one is no column, as of what a reader of texts gets wrong.

    EXPLAIN writes texts without quotes. So one such as `Rank #1, best` may end an item, within a CASE or an `if`.

    >>> [(made.name, made.id, made.source) for made in columns_made("k#1, v#2L AS a b#3L, concat(x#4, y) AS c#5")]
    [('k', 1, 1), ('a b', 3, 2), ('c', 5, None)]
    >>> columns_made("k#1, 7"), columns_made("CASE WHEN (rn#2 = 1) THEN Rank #1, best ELSE other END AS g#3")
    (None, None)
    """
    found, parts = list[Made](), list[str]()
    for part in _parts(listed):
        parts.append(part)
        text = ",".join(parts).strip()
        if _ENDS.search(text):
            found.append(_made(text))
            parts = []
            if found[-1].source == found[-1].id and (_BEGUN.search(text) or len(_IDS.findall(text)) > 1):
                return None
    return None if any(part.strip() for part in parts) else found


def _parts(listed: str) -> Iterator[str]:
    """Yield the text between commas outside of brackets."""
    depth, start = 0, 0
    for sign in _BRACKETS_COMMAS.finditer(listed):
        depth += (sign[0] in _OPEN) - (sign[0] in _CLOSE)
        if sign[0] == "," and depth == 0:
            yield listed[start : sign.start()]
            start = sign.end()
    yield listed[start:]


def _made(text: str) -> Made:
    text, as_, named = _cut_at_as(text)
    end = _ENDS.search(named if as_ else text)
    number = int(end[1]) if end else -1
    bare = _BARE.fullmatch(text)
    long = (named if as_ else text).endswith("L")
    if not as_:
        return Made(text, text.rpartition("#")[0], number, number, long)
    source = None if bare is None or _WORDS.search(text) else int(bare[1])
    return Made(text, named.rpartition("#")[0], number, source, long)


def _cut_at_as(text: str) -> tuple[str, bool, str]:
    """Cut an item at its first AS outside of brackets."""
    depth = 0
    for sign in _BRACKETS_AS.finditer(text):
        depth += (sign[0] in _OPEN) - (sign[0] in _CLOSE)
        if depth == 0 and sign[0] == " AS ":
            return text[: sign.start()], True, text[sign.end() :]
    return text, False, ""


def ids_read(text: str) -> set[int]:
    """Return the numbers of the columns that an expression reads. Variables of lambdas are none.

    >>> ids_read("transform(a#1, lambdafunction((lambda x#2 + v#3L), lambda x#2, false))")
    {1, 3}
    """
    return set(map(int, _IDS.findall(text))) - set(map(int, _LAMBDA_IDS.findall(text)))


def calls_in(text: str) -> set[str]:
    """Return the names before brackets, in lower case.

    >>> sorted(calls_in("if ((a#1 IN (1,2))) Concat(b#2, c#3) else cast(d#4 as string)"))
    ['cast', 'concat']
    """
    return {name.lower() for name in _CALLS.findall(text)}


def without_names(text: str, names: Collection[tuple[str, int]]) -> str:
    """Return an expression in which these columns stand by their numbers: `sum(v)#3L` is a column, and calls nothing.

    >>> without_names("(sum(v)#3L + 1)", [("sum(v)", 3)])
    '(#3L + 1)'
    """
    for name, number in names:
        text = text.replace(f"{name}#{number}", f"#{number}")
    return text


def calls_with(prefix: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the calls of functions whose name begins so, without what it begins with, and what is in their brackets.

    >>> list(calls_with("partial_", "partial_sum((a#1 + 1)), partial_count(1)"))
    [('sum', '(a#1 + 1)'), ('count', '1')]
    """
    for found in re.finditer(rf"(?<![\w.]){prefix}(\w+)\(", text):
        depth = 1
        for at in range(found.end(), len(text)):
            depth += (text[at] == "(") - (text[at] == ")")
            if depth == 0:
                yield found[1], text[found.end() : at]
                break
