"""The columns that the relations of a FROM give, under names of our own; and how texts see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from skewkit.hints.running import Runner
from skewkit.hints.text.mentions import Mentions
from skewkit.hints.text.query_block import in_context
from skewkit.hints.text.tokens import NotCut, tokens_of
from skewkit.spark.expressions.keys import padded, quoted

Named = tuple[tuple[str, str], ...]
"""Columns as (the user's name, our name), in order."""


@dataclass(frozen=True)
class Scope:
    """A frame of columns under our names, and by which alias and in which order the user sees them.

    `star` is what `*` gives. A column that a USING join hides is in `aliases` only.
    """

    runner: Runner
    frame: DataFrame
    aliases: Mapping[str, Named]
    star: Named
    cased: bool = False

    def same(self, a: str, b: str) -> bool:
        """Return whether two names are one to the session."""
        return a == b if self.cased else a.lower() == b.lower()

    def alias(self, name: str) -> Named | None:
        """Return the columns of an alias, None where there is none of the name."""
        return next((columns for alias, columns in self.aliases.items() if self.same(alias, name)), None)

    def column(self, parts: tuple[str, ...]) -> str | None:
        """Return our name of a column that is written as `name` or `alias.name`, None where it is anything else."""
        columns = self.alias(parts[0]) if len(parts) == 2 else self.star if len(parts) == 1 else None
        found = [ours for name, ours in columns or () if self.same(name, parts[-1])]
        return found[0] if len(found) == 1 else None

    def exposed(self, mentions: Mentions, *, star: bool = False) -> list[Column]:
        """Return the columns that a text which mentions these names may read: a struct per alias, and plain columns.

        Raises:
            NotCut: an alias and a column have one name, and the text may mean either.
        """
        columns: dict[str, Column] = {}
        schema = self.frame.schema
        times = Counter(self._folded(name) for name, _ in self.star)
        for alias, named in self.aliases.items():
            if named and (mentions.dotted(alias) or (star and any(times[self._folded(n)] > 1 for n, _ in named))):
                if padded(StructType([schema[ours] for _, ours in named])):
                    raise NotCut(f"{alias} has a CHAR column, which Spark pads where it is one by itself")
                columns[self._folded(alias)] = F.struct(*(F.col(ours).alias(name) for name, ours in named)).alias(alias)
        structs = list(columns)
        for name, ours in self.star:
            if times[self._folded(name)] > 1 or not (star or mentions.alone(name)):
                continue
            if self._folded(name) in columns:
                raise NotCut(f"{name} names a relation and a column")
            columns[self._folded(name)] = F.col(ours).alias(name)
        alone = next((alias for alias in structs if mentions.bare(alias)), None)
        if alone is not None:
            raise NotCut(f"{alone} names a relation and stands without a column")
        return list(columns.values()) or [F.lit(1).alias(self.runner.fresh())]

    def view(self, mentions: Mentions, *more: str, star: bool = False) -> str:
        """Return the word for a frame that a text can read in place of the FROM, with `more` columns."""
        return self.runner.add(self.frame.select(*self.exposed(mentions, star=star), *more))

    def with_texts(self, texts: Mapping[str, str], context: WithClauses) -> Scope:
        """Return the scope with more columns, under these names of ours, computed by SQL texts. Spark resolves them."""
        if not texts:
            return self
        self.runner.spoken.update(texts)
        selected = "".join(f", ({text}) AS {name}" for name, text in texts.items())
        return replace(self, frame=self.select(selected, "", " ".join(texts.values()), context))

    def where(self, text: str, context: WithClauses) -> Scope:
        """Return the scope with the rows that a SQL condition keeps."""
        return replace(self, frame=self.select("", f" WHERE {text}", text, context))

    def select(self, more: str, rest: str, texts: str, context: WithClauses) -> DataFrame:
        """Return our columns and more, out of a view that these texts can read."""
        name = self.runner.add(self.readable(Mentions.of(texts)))
        ours = ", ".join(self.frame.columns)
        return self.runner.query(context(f"SELECT {ours}{more} FROM {name}{rest}"))

    def readable(self, mentions: Mentions) -> DataFrame:
        """Return our columns beside those that a text can read."""
        return self.frame.select("*", *self.exposed(mentions))

    def shown_of(self, frame: DataFrame, *more: str) -> Scope:
        """Return the scope over a frame that has its columns and `more`."""
        return replace(self, frame=frame.select(*self.frame.columns, *more))

    def star_text(self) -> str:
        """Return what a star is spelled out as.

        Raises:
            NotCut: a column has no name of its own.
        """
        times = Counter(self._folded(name) for name, _ in self.star)
        return ", ".join(quoted(n) if times[self._folded(n)] == 1 else self._by_alias(n, ours) for n, ours in self.star)

    def _by_alias(self, name: str, ours: str) -> str:
        for alias, columns in self.aliases.items():
            if (name, ours) in columns and sum(self.same(name, other) for other, _ in columns) == 1:
                return f"{quoted(alias)}.{quoted(name)}"
        raise NotCut(f"its star has several columns {name} that no alias tells apart")

    def _folded(self, name: str) -> str:
        return name if self.cased else name.lower()


class WithClauses:
    """Puts the WITHs that a SELECT sees before the texts that are cut out of it."""

    def __init__(self, source: str, at: int) -> None:
        self._source, self._at = source, at

    def __call__(self, query: str) -> str:
        """Return the query with the common tables that it names."""
        return in_context(self._source, tokens_of(self._source), self._at, query)
