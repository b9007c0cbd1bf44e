"""The relations that hints name, and the columns that they bring into a FROM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from skewkit.errors import ArgumentError, ColumnNotFoundError, nearest
from skewkit.hints.running import Runner
from skewkit.hints.scope import Scope, WithClauses
from skewkit.hints.text.from_clause import FromClause, Relation
from skewkit.hints.text.hint_grammar import Hint
from skewkit.hints.text.mentions import Mentions
from skewkit.hints.text.query_block import QueryBlock
from skewkit.hints.text.tokens import NotCut, is_word, written
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.explained.stability import Verdict
from skewkit.spark.expressions.hint_values import fitted
from skewkit.spark.session.compat import tells_case

_STRATEGIES = frozenset(
    ("broadcast", "broadcastjoin", "mapjoin", "merge", "shuffle_merge", "mergejoin", "shuffle_hash",
     "shuffle_replicate_nl")
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """Which columns of relations a query can read: all where it has a star, else those that it mentions."""

    mentions: Mentions
    star: bool
    starred: frozenset[str]
    """Aliases that stand as `alias.*`."""

    def keeps(self, alias: str | None, name: str) -> bool:
        """Return whether a column must be kept."""
        return self.star or (alias or "").lower() in self.starred or self.mentions.any(name)


def kept_of(block: QueryBlock, mentions: Mentions, *, star: bool) -> Kept:
    """Return what a query can read."""
    stars = [at for at in range(len(block.tokens)) if is_word(block.tokens, at, ".", "*")]
    return Kept(mentions, star, frozenset(block.tokens[at - 1].name.lower() for at in stars))


def scope_of(
    relation: Relation, block: QueryBlock, kept: Kept, context: WithClauses, runner: Runner
) -> tuple[Scope, StructType]:
    """Return a relation's columns that are kept, and the schema of all.

    Raises:
        NotCut: it reads a common table that may have other rows or values elsewhere in the query.
    """
    text = f"SELECT * FROM {written(block.source, relation.tokens)}"
    cut = context(text)
    frame = runner.query(cut)
    verdict = PlanFacts(frame).stability() if cut != text else Verdict()
    if not verdict.repeatable:
        raise NotCut(f"a common table that {verdict.reason} is left to plain Spark, which may compute it once")
    schema, columns = frame.schema, frame.columns
    ours = [runner.fresh() for _ in columns]
    pairs = tuple((name, own) for name, own in zip(columns, ours, strict=True) if kept.keeps(relation.alias, name))
    before = f"{relation.alias}." if relation.alias and relation.alias not in runner.given else ""
    runner.spoken.update({own: before + name for name, own in pairs})
    frame = frame.toDF(*ours).select(*(own for _, own in pairs))
    aliases = {relation.alias: pairs} if relation.alias else {}
    return Scope(runner, frame, aliases, pairs, tells_case(runner.spark)), schema


def named_by(hint: Hint, clause: FromClause, runner: Runner) -> list[int]:
    """Return which relations of a FROM a hint names, as an alias or a table.

    Raises:
        ArgumentError: the FROM has no relation of that name.
    """
    names = [_names(relation, runner) for relation in clause.relations]
    found = [i for i, each in enumerate(names) if hint.relation.lower() in each]
    if not found:
        there = [name for each in names for name in each]
        raise ArgumentError(
            f"{hint}: its SELECT has no relation {hint.relation!r} in its FROM: {nearest(hint.relation.lower(), there)}"
        )
    first = [i for i in found if names[i][0] == hint.relation.lower()]
    return first or found


def _names(relation: Relation, runner: Runner) -> list[str]:
    """Return the names of a relation; a frame that was given goes by the user's name for it."""
    names = [name for name in relation.names if name not in runner.given]
    return names + [runner.given[name] for name in relation.names if name in runner.given]


def check_columns(hint: Hint, schema: StructType) -> None:
    """Refuse a hint that names a column which its relation has not, or a value that no row of it can have.

    Raises:
        ColumnNotFoundError: the relation has no such column.
        ArgumentError: no row of it can have such a value.
    """
    types = {field.name.lower(): field.dataType for field in schema}
    for name in hint.columns:
        if name.lower() not in types:
            raise ColumnNotFoundError(
                f"{hint}: the relation {hint.relation!r} has no column {name!r}: {nearest(name, schema.names)}"
            )
    for key in hint.values or ():
        for name, value in zip(hint.columns, key, strict=True):
            fitted(value, types[name.lower()], hint)


def strategies_of(others: Sequence[tuple[str, tuple[str, ...]]], clause: FromClause) -> dict[int, str]:
    """Return the relations of which a hint of Spark's own, such as BROADCAST, says how to join them, with its name."""
    return {
        i: name
        for name, arguments in others
        if name in _STRATEGIES
        for i, relation in enumerate(clause.relations)
        if set(arguments) & set(relation.names)
    }
