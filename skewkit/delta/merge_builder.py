"""`delta.merge`: MERGE with Delta's clauses, whose null keys and placeholders do not pile up in one task."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.api.arguments import check_batch, settings_of
from skewkit.api.profile import skew_profile
from skewkit.delta.delta_table import TableName, existing_table, table_name
from skewkit.delta.merge_arguments import assigned_column, clause_sql, placeholder_keys
from skewkit.delta.merge_keys import PLACEHOLDER_ADDED, MergeKeys, SqlKey, among, merge_keys, row_hash, sql_keys
from skewkit.delta.merge_sql import (
    BY_SOURCE,
    MATCHED,
    NOT_MATCHED,
    MergeClause,
    insert_action,
    merge_statement,
    update_action,
    write_join,
)
from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, ProfileError, shown
from skewkit.plan.choice import Choice
from skewkit.plan.explanation import choice_text
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.session.compat import default_partitions, resolves, tells_case
from skewkit.spark.session.jobs import Used, counted, described, labelled
from skewkit.spark.session.remembered import remember

_JOINS = {
    "full outer": "adaptive execution never splits one",
    "left outer": "adaptive execution may split a hot source key there",
    "left anti": "all clauses insert; adaptive execution may split a hot source key there",
    "right outer": (
        "adaptive execution may split a hot target key there, and a broadcast of a small source shuffles nothing"
    ),
    "inner": "adaptive execution may split a hot key there, and a broadcast of a small source shuffles nothing",
}
"""What helps where a matched key is hot, by the join of source and target."""
_VECTORS = "delta.enableDeletionVectors"
_FEW_ROWS = 1_000
"""Rows that match nothing are no load below so many, wherever they are."""
_STRAGGLES = 1.5
"""The longest task, in mean tasks, from which on a hot key is worth a word."""
_PILED = 0.5
"""Rows that match nothing are spread from so many mean partitions of both sides' rows on."""


def merge(
    path_or_table: str | os.PathLike[str],
    source: DataFrame,
    on: str | Sequence[str],
    *,
    target_alias: str = "t",
    source_alias: str = "s",
    placeholders: Sequence[Any] = (),
    profile: KeyProfile | None = None,
) -> MergeBuilder:
    """Merge a frame into a Delta table. Add clauses as to Delta's own builder, then call `.execute()`.

    * The table's rows, the rows that the metrics count and the commits are those of the plain MERGE: it is one SQL
      statement. Only the condition in the table's history is another one.
    * Source rows whose key is null match nothing. A MERGE that inserts and also updates or deletes is a full outer
      join, which adaptive execution never splits, or in a table with deletion vectors a left outer one. Here they are
      spread over all tasks by their content, where there are so many that it pays.
    * `placeholders` are key values that stand for no key, such as -1. They are spread, too, if the target has none of
      them, which a query asks just before; else they are merged as they are, also where another writer adds one
      between the two: then the MERGE fails, without a commit, and runs once more.
    * A hot key of the target stays in one task: no exact cure inside one MERGE is known. `.explain()` says how long.

    Args:
        path_or_table: a path, which has a slash, or the name of a table as SQL writes it.
        source: the rows to merge, classic or Connect.
        on: a column, a list of columns of both sides, or a condition over the aliases as SQL text.
        target_alias: name of the target in conditions and values.
        source_alias: name of the source in them.
        placeholders: key values, or tuples for several key columns, that match nothing.
        profile: a profile of the source's keys. Without one, or beside placeholders, a query counts the source's null
            keys, unless the source is dear to read twice.

    Raises:
        ColumnNotFoundError: a column of `on` is not on both sides.
        ArgumentError: no Delta table, an empty `on`, or one alias for both.
        ProfileError: the profile is of other keys, or of weights.
        UnsupportedError: the source is a stream.
    """
    check_batch(source, "delta.merge", place="second")
    table = table_name(path_or_table)
    aliases = (target_alias, source_alias)
    wrong = next((a for a in aliases if not isinstance(a, str) or not a.replace("_", "a").isalnum()), None)
    if wrong is not None or target_alias.lower() == source_alias.lower():
        raise ArgumentError(f"aliases are {shown(aliases)}; expected two different names of letters and digits")
    detail = existing_table(source.sparkSession, table, "delta.merge")
    target = table.read(source.sparkSession)
    keys = merge_keys(on, target.schema, source.schema, aliases=aliases, tells_case=tells_case(source.sparkSession))
    target_rows = detail.bytes / max(1.0, row_bytes(target.schema))
    if profile is not None and not isinstance(profile, KeyProfile):
        raise ArgumentTypeError(f"profile is a KeyProfile of the source's keys, not {shown(profile)}; see skew_profile")
    if profile is not None and profile.weight is not None:
        raise ProfileError(f"this profile weighs rows by {profile.weight!r}; a MERGE needs one that counts rows")
    if profile is not None and keys.columns and {k.lower() for k in profile.keys} != {k.lower() for k in keys.columns}:
        of, on_keys = ", ".join(profile.keys), ", ".join(keys.columns)
        raise ProfileError(f"the profile is of {of}, and the MERGE is on {on_keys}")
    given = placeholder_keys(placeholders, len(keys.source))
    vectors = (detail.properties.get(_VECTORS) or "").lower() == "true"
    return MergeBuilder(table, target, source, keys, aliases, given, profile, target_rows, vectors)


@dataclass(frozen=True, eq=False)
class MergeBuilder:
    """A MERGE that is being built; every clause returns a new builder. The methods are those of Delta's own.

    `target_rows` is a guess by the table's bytes, and a low one, as they are compressed. `deletion_vectors` says
    whether the table has them.
    """

    table: TableName
    target: DataFrame
    source: DataFrame
    keys: MergeKeys
    aliases: tuple[str, str]
    placeholders: tuple[tuple[Any, ...], ...] = ()
    profile: KeyProfile | None = None
    target_rows: float = 0.0
    deletion_vectors: bool = False
    clauses: tuple[MergeClause, ...] = ()
    evolve: bool = False

    def whenMatchedUpdate(self, condition: Any = None, set: Mapping[str, Any] | None = None) -> MergeBuilder:
        """Update a matched target row: `set` maps columns to SQL over both aliases."""
        return self._with(MATCHED, update_action(self._assigned(set, "whenMatchedUpdate", "set")), condition)

    def whenMatchedUpdateAll(self, condition: Any = None) -> MergeBuilder:
        """Set all columns of a matched target row to the source's columns of the same names."""
        return self._with(MATCHED, "UPDATE SET *", condition)

    def whenMatchedDelete(self, condition: Any = None) -> MergeBuilder:
        """Delete a matched target row."""
        return self._with(MATCHED, "DELETE", condition)

    def whenNotMatchedInsert(self, condition: Any = None, values: Mapping[str, Any] | None = None) -> MergeBuilder:
        """Insert a source row that matched nothing: `values` maps columns to SQL over the source's alias."""
        return self._with(
            NOT_MATCHED, insert_action(self._assigned(values, "whenNotMatchedInsert", "values")), condition
        )

    def whenNotMatchedInsertAll(self, condition: Any = None) -> MergeBuilder:
        """Insert all columns of a source row that matched nothing."""
        return self._with(NOT_MATCHED, "INSERT *", condition)

    def whenNotMatchedBySourceUpdate(self, condition: Any = None, set: Mapping[str, Any] | None = None) -> MergeBuilder:
        """Update a target row that no source row matched: `set` maps columns to SQL over the target's alias."""
        assigned = self._assigned(set, "whenNotMatchedBySourceUpdate", "set")
        return self._with(BY_SOURCE, update_action(assigned), condition)

    def whenNotMatchedBySourceDelete(self, condition: Any = None) -> MergeBuilder:
        """Delete a target row that no source row matched."""
        return self._with(BY_SOURCE, "DELETE", condition)

    def withSchemaEvolution(self) -> MergeBuilder:
        """Let the table get the source's new columns."""
        return replace(self, evolve=True)

    def execute(self) -> DataFrame:
        """Run the MERGE; return the numbers of affected rows, as Delta does.

        Where another writer adds a row whose key is a placeholder between the query for them and the statement, that
        fails. It runs once more then, with placeholders as any other key.

        Raises:
            ArgumentError: there is no clause.
            Exception: Delta's own errors stay Delta's, and the table is unchanged then.
        """
        with counted() as used:
            choice, condition = self._decided()
        try:
            return self._run(choice, condition, used)
        except Exception as error:
            if not self.placeholders or PLACEHOLDER_ADDED not in str(error):
                raise
            with counted() as again:
                choice, condition = replace(self, placeholders=())._decided()
            again.jobs += used.jobs
            note = "another writer had added a row whose key is a placeholder, so the MERGE failed and ran once more"
            return self._run(replace(choice, notes=(*choice.notes, note)), condition, again)

    def _run(self, choice: Choice, condition: str, used: Used) -> DataFrame:
        spark, view = self.source.sparkSession, f"skewkit_merge_{uuid.uuid4().hex}"
        # A view's plan is dropped from the cache with the view, so it must not be a plan that the user has cached.
        self.source.where(F.lit("merged by skewkit").isNotNull()).createOrReplaceTempView(view)
        try:
            statement = merge_statement(
                self.table.sql, view, condition, self.clauses, aliases=self.aliases, evolve=self.evolve
            )
            with labelled(spark, f"skewkit delta: merge into {self.table.sql}"):
                return remember(spark.sql(statement), choice, used)
        finally:
            spark.catalog.dropTempView(view)

    def explain(self) -> str:
        """Return what is done with null keys, and how long the longest task will be, of both sides' keys.

        Queries count null keys and profile the keys of both sides. `execute()` counts null keys again.
        """
        choice, _ = self._decided()
        return choice_text(replace(choice, notes=(*choice.notes, *self._hot_keys())))

    # --- what is decided ---

    def _decided(self) -> tuple[Choice, str]:
        """Return the choice and the condition to merge by."""
        if not self.clauses:
            raise ArgumentError("this MERGE has no clause; add one, such as .whenMatchedUpdateAll()")
        choice, condition = self._spread()
        lines = (f"  join       {self._join}; {_JOINS[self._join]}", f"  on         {condition}")
        return replace(choice, operator=f"merge into {self.table.sql}", kind="merge", lines=lines), condition

    def _spread(self) -> tuple[Choice, str]:
        keys = self.keys
        if keys.why_native is not None:
            return Choice("merge", "native", keys.why_native), keys.condition
        if self._join in ("inner", "right outer"):
            dropped = f"source rows of no match are dropped, as it is the {self._join} join of source and target"
            return Choice("merge", "native", dropped), keys.condition
        source_row = row_hash(self.aliases[1], self.source.schema, keys.source)
        target_row = row_hash(self.aliases[0], self.target.schema, keys.target)
        if source_row is None:
            return Choice("merge", "native", "the source has no column to tell rows of one key apart"), keys.condition
        absent, notes = self._absent_placeholders()
        piled, reason = self._piled(absent)
        if not piled:
            return Choice("merge", "native", reason, notes=notes), keys.condition
        return Choice("merge", "spread", reason, notes=notes), keys.spread(target_row or "0L", source_row, absent)

    def _piled(self, placeholders: Sequence[SqlKey]) -> tuple[bool, str]:
        """Return whether rows that match nothing are so many that they pile up, and how many they are."""
        n = default_partitions(self.source.sparkSession)
        if self.profile is not None and not placeholders:
            rows, alone = self.profile.rows, self.profile.nulls
        else:
            costly = PlanFacts(self.source).cost_again
            if costly is not None:
                return True, f"nobody counted null keys, as the source {costly}"
            test = F.expr(f"count_if({self.keys.alone(placeholders)})")
            counts = self.source.alias(self.aliases[1]).agg(F.count(F.lit(1)), test)
            with described(self.source.sparkSession, "skewkit merge: null keys of the source"):
                rows, alone = counts.collect()[0]
        text = f"{alone:,.0f} of {rows:,.0f} source rows have a key that matches nothing"
        few = alone < _FEW_ROWS and settings_of(self.source).margin >= 0
        if few or alone * n < _PILED * (rows + self.target_rows) or not alone:
            return False, f"{text}, too few to pile up in {n} tasks"
        return True, f"{text}; one task of {n} would get all of them"

    def _absent_placeholders(self) -> tuple[tuple[SqlKey, ...], tuple[str, ...]]:
        """Return the placeholders that no target row has, and a note on the others."""
        if not self.placeholders or not self.keys.target:
            return (), ()
        frame = self.target.alias(self.aliases[0])
        keys = self.source.alias(self.aliases[1]).select(*map(F.expr, self.keys.source))
        values = sql_keys(self.placeholders, frame.select(*map(F.expr, self.keys.target)).schema, keys.schema)
        # Between some types Spark knows no cast, so such a value is no key.
        values = tuple(value for value in values if all(resolves(keys, F.expr(part)) for part in value))
        tests = [among(self.keys.target, [each]) for each in values]
        if not values:
            return (), ()
        with described(frame.sparkSession, "skewkit merge: placeholders among the target's keys"):
            flags = frame.agg(*(F.expr(f"coalesce(bool_or({test}), false)") for test in tests)).collect()[0]
        absent = tuple(each for each, there in zip(values, flags, strict=True) if not there)
        there = len(values) - len(absent)
        notes = (
            (f"{there} of the placeholders are keys of the target, so they are merged as they are",) if there else ()
        )
        return absent, notes

    @property
    def _join(self) -> str:
        return write_join(self.clauses, deletion_vectors=self.deletion_vectors)

    def _hot_keys(self) -> tuple[str, ...]:
        """Return notes on the hottest key of both sides, which one task merges. It profiles both."""
        if not self.keys.source:
            return ()
        n = default_partitions(self.source.sparkSession)
        sides = zip(self.aliases, (self.target, self.source), (self.keys.target, self.keys.source), strict=True)
        try:
            both = [skew_profile(frame.alias(alias), *map(F.expr, keys)) for alias, frame, keys in sides]
        except KeyTypeError as error:
            return (str(error),)
        weights = {h.key: h.estimate for h in both[0].heavy}
        for h in both[1].heavy:
            weights[h.key] = weights.get(h.key, 0.0) + h.estimate
        total = sum(profile.rows for profile in both)
        if not weights or not total:
            return ("no key is hot on either side",)
        hottest = max(weights, key=lambda key: weights[key])
        times = n * (weights[hottest] + (total - weights[hottest]) / n) / total
        stays = (
            f"key {key_text(hottest)} has some {weights[hottest]:,.0f} of {total:,.0f} rows: the longest task "
            f"will take some {times:.1f} times the mean"
        )
        if times < _STRAGGLES:
            return (f"the hottest {stays}",)
        return (f"{stays}; it stays, as a matched key's rows must meet in one task of one MERGE",)

    # --- clauses ---

    def _with(self, rows: str, action: str, condition: Any) -> MergeBuilder:
        text = None if condition is None else clause_sql(condition, "condition")
        return replace(self, clauses=(*self.clauses, MergeClause(rows, action, text)))

    def _assigned(self, given: Mapping[str, Any] | None, method: str, name: str) -> list[tuple[str, str]]:
        if given is None or (isinstance(given, Mapping) and not given):
            raise ArgumentError(f"{method} has no action: {name}= maps at least one column to a value, {{'a': 's.a'}}")
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(f"{name} of {method} maps columns to SQL texts, and is {type(given).__name__}")
        # Columns of the source are new ones of the table where its schema evolves, which may be said later.
        columns, alias, new = self.target.columns, self.aliases[0], self.source.columns
        return [(assigned_column(str(k), alias, columns, method, new), clause_sql(v, name)) for k, v in given.items()]
