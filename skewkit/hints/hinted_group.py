"""A hinted GROUP BY: keys and aggregates become a frame of `skew_groupby`, and the list reads its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import functions as F

from skewkit.api.group.skew_groupby import skew_groupby
from skewkit.hints.asked import FollowedHint, ask_of, done, followed, strongest
from skewkit.hints.hinted_condition import plain
from skewkit.hints.hinted_join import Joins
from skewkit.hints.scope import Scope
from skewkit.hints.text.edits import Edit
from skewkit.hints.text.mentions import mentions_in
from skewkit.hints.text.query_block import QueryBlock
from skewkit.hints.text.star import stars_of
from skewkit.hints.text.tokens import NotCut, Token, Tokens, is_word, items_of, written
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.sql_text import NotUnderstood, SqlReading, read_sql
from skewkit.spark.group.split_table import SPLITS

_NOT_HERE = ("window", "qualify", "sort", "distribute", "cluster")


@dataclass(frozen=True)
class _Item:
    """A part of a clause that has aggregates: where it stands, and how it was read."""

    start: int
    end: int
    reading: SqlReading


def group(block: QueryBlock, scope: Scope, joins: Joins) -> tuple[list[Edit], FollowedHint] | None:
    """Return the edits for a hinted GROUP BY, with what became of the hint. None where no hint is about its keys.

    Raises:
        NotCut: it is left to plain Spark, as the reason says.
    """
    keys = _keys(block, scope)
    safe = [True] * len(keys)
    asked = [ask_of(hint, joins.own(scope, index), keys, safe, scope) for hint, index in joins.hinted]
    found = [ask for ask in asked if ask is not None]
    if not keys or not found:
        return None
    if any(name in block.clauses for name in _NOT_HERE) or any(is_word([t], 0, "over") for t in block.all):
        raise NotCut("a GROUP BY beside windows or a sort within partitions is left to plain Spark")
    if stars_of(block):
        raise NotCut("a GROUP BY beside a star is left to plain Spark")
    if sum(is_word([token], 0, "select") for token in block.all) > 1:
        raise NotCut("a GROUP BY beside sub-queries is left to plain Spark")
    _check_having(block)
    items = _items(block)
    if not items or items[0].start > block.tokens[block.clauses["from"].start].start:
        raise NotCut("a GROUP BY without an aggregate in its list is left to plain Spark")
    if joins.where:
        scope = scope.where(joins.where, joins.context)
    fresh = scope.runner.fresh
    columns: dict[str, str] = {}
    aggregates, edits = [], []
    for item in items:
        names = []
        for call in item.reading.calls:
            read = [text for text, fixed in zip(call.arguments, call.fixed, strict=True) if not fixed]
            read += [text for text, _ in call.order] + ([call.filter] if call.filter is not None else [])
            ours = [fresh() for _ in read]
            columns.update(zip(ours, read, strict=True))
            names.append(fresh("g"))
            aggregates.append(F.expr(call.over(ours)).alias(names[-1]))
        edits.append((item.start, item.end, item.reading.finish(names)))
    scope = scope.with_texts(columns, joins.context)
    ask = strongest(found)
    with followed(ask):
        grouped = skew_groupby(scope.frame, *keys, heavy=ask.hot).agg(*aggregates)
    became = done(found, "groupby", grouped, scope)
    if became.strategy == "native":
        return [], became
    return [*edits, *_spliced(block, replace(scope, frame=grouped), keys)], became


def _keys(block: QueryBlock, scope: Scope) -> list[str]:
    """Return our names of the key columns, none where they are not all plain columns."""
    found = block.clause("group")[2:]
    names = [plain(scope, written(block.source, item)) for item in items_of(found)]
    return [] if None in names or len(set(names)) < len(names) else [name for name in names if name is not None]


def _check_having(block: QueryBlock) -> None:
    """Leave a HAVING to Spark that names what the list gives a name: a WHERE would read the column of that name.

    Raises:
        NotCut: the HAVING names such a column.
    """
    named = {token.name.lower() for token in block.clause("having") if token.is_name}
    for item in items_of(block.clause("select")):
        path = all(is_word(item, at, ".") for at in range(1, len(item), 2))
        if not path and item[-1].is_name and item[-1].name.lower() in named:
            raise NotCut(f"a HAVING that names {item[-1].name} of the list is left to plain Spark")


def _items(block: QueryBlock) -> list[_Item]:
    parts = items_of(block.clause("select"))
    if parts and is_word(parts[0], 0, "distinct"):
        parts[0] = parts[0][1:]
    having = block.clause("having")[1:]
    parts += [having] if having else []
    parts += items_of(block.clause("order")[2:])
    found = []
    for part in parts:
        if not any(token.name in SPLITS and is_word(part, i + 1, "(") for i, token in enumerate(part)):
            if part is having:
                raise NotCut("a HAVING without an aggregate is left to plain Spark")
            continue
        part = _unsorted(part)
        try:
            reading = read_sql(written(block.source, part), SPLITS)
        except NotUnderstood as why:
            raise NotCut(str(why)) from why
        found.append(_Item(part[0].start, part[-1].end, reading))
    return found


def _unsorted(part: Tokens) -> Tokens:
    """Return an item of ORDER BY without how it is sorted."""
    end = len(part)
    while end > 1 and part[end - 1].kind == "word" and part[end - 1].name in ("asc", "desc", "nulls", "first", "last"):
        end -= 1
    return part[:end]


def _spliced(block: QueryBlock, scope: Scope, keys: Sequence[str]) -> list[Edit]:
    """Return the edits that put a frame in place of FROM, WHERE and GROUP BY, and a WHERE in place of HAVING."""
    first = block.clauses["from"].start
    last: Token = block.tokens[block.clauses["group"].stop - 1]
    cut = block.tokens[first : block.clauses["group"].stop]
    there = set(keys)
    aliases = {a: tuple(pair for pair in named if pair[1] in there) for a, named in scope.aliases.items()}
    shown = replace(scope, aliases=aliases, star=tuple(pair for pair in scope.star if pair[1] in there))
    exposed = shown.exposed(mentions_in(block.all, without=cut))
    made = [F.col(quoted(name)) for name in scope.frame.columns if name not in there]
    view = scope.runner.add(scope.frame.select(*exposed, *made))
    edits = [(block.tokens[first + 1].start, last.end, view)]
    if "having" in block.clauses:
        having = block.tokens[block.clauses["having"].start]
        edits.append((having.start, having.end, "WHERE"))
    return edits
