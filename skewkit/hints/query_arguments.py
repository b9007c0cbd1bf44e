"""What `{name}` and `?` in a query stand for, put into the text under names of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from string import Formatter
from typing import Any

from skewkit.hints.running import Runner
from skewkit.hints.text.tokens import NotCut, tokens_of
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import is_frame

_FIELD = re.compile(r"(\w+)(?:\.(\w+)|\[([^\]]+)\])?")


def text_literal(value: str) -> str:
    r"""Return a text as a SQL literal.

    >>> text_literal("it's \\ 'so'")
    "'it\\'s \\\\ \\'so\\''"
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def formatted(query: str, values: Mapping[str, Any], runner: Runner) -> str:
    """Return the query with a name for every `{frame}`, and a literal for every other value.

    Raises:
        NotCut: a placeholder that only PySpark can fill.
    """
    parts: list[str] = []
    words: dict[str, str] = {}
    for text, field, form, conversion in Formatter().parse(query):
        parts.append(text)
        if field is None:
            continue
        found = _FIELD.fullmatch(field)
        if form or conversion or found is None or found.group(1) not in values:
            raise NotCut(f"the placeholder {{{field}}} is left to plain Spark")
        name, column = found.group(1), found.group(2) or found.group(3)
        value = values[name]
        if is_frame(value) and column:
            parts.append(quoted(column))
        elif is_frame(value):
            if name not in words:  # a view of the very frame would take its cache along when it is dropped
                words[name] = runner.add(value.select("*"), name)
            parts.append(words[name])
        elif isinstance(value, str) and not column:
            parts.append(text_literal(value))
        elif isinstance(value, int | float | Decimal) and not column:
            parts.append(str(value))
        else:
            raise NotCut(f"the placeholder {{{field}}} is left to plain Spark")
    return "".join(parts)


def named_arguments(query: str, args: Any, runner: Runner) -> tuple[str, Any]:
    """Return the query with a name for every `?`, so that its parts can be run alone; and the arguments by name.

    >>> text, args = named_arguments("SELECT ? + ?, '?'", [1, 2], Runner(spark))
    >>> len(args), text.count("?")
    (2, 1)
    """
    if not isinstance(args, list):
        return query, args
    marks = [token.start for token in tokens_of(query) if token.kind == "sign" and token.name.startswith("?")]
    if len(marks) != len(args):
        raise NotCut("there are other numbers of markers and of arguments")
    names = [runner.fresh("p") for _ in marks]
    for start, name in reversed(list(zip(marks, names, strict=True))):
        query = f"{query[:start]}:{name}{query[start + 1 :]}"
    return query, dict(zip(names, args, strict=True))
