"""The answer to a hinted query: its schema against plain Spark's, and what became of each hint, for `explain`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame

from skewkit.hints.asked import FollowedHint
from skewkit.plan.choice import Choice
from skewkit.spark.session.remembered import remember

_PLAIN_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class QueryAnswer:
    """What was done for hints, and for the others why nothing was."""

    done: tuple[FollowedHint, ...]
    reasons: tuple[str, ...]


def difference(plain: DataFrame, frame: DataFrame) -> str | None:
    """Return how a frame's schema is another than plain Spark's, None where it is the same but for automatic names.

    >>> difference(spark.range(1), spark.range(1)), difference(spark.range(1), spark.range(1).selectExpr("id AS x"))
    (None, 'id is x')
    """
    expected, found = plain.schema.fields, frame.schema.fields
    if len(expected) != len(found):
        return f"{len(found)} columns and not {len(expected)}"
    for a, b in zip(expected, found, strict=True):
        if a.dataType != b.dataType:
            return f"{a.name} is {b.dataType.simpleString()} and not {a.dataType.simpleString()}"
        if a.name != b.name and _PLAIN_NAME.fullmatch(a.name):
            return f"{a.name} is {b.name}"
    return None


def renamed(frame: DataFrame, plain: DataFrame) -> DataFrame:
    """Return the frame under plain Spark's names. Only automatic ones, such as that of `a.k + 1`, are others."""
    return frame if frame.columns == plain.columns else frame.toDF(*plain.columns)


def remembered(frame: DataFrame, answer: QueryAnswer) -> DataFrame:
    """Return the frame with what became of its hints, which `explain` tells, and `decisions` in its last entry."""
    notes = [f"{reason}; plain Spark answers" for reason in answer.reasons]
    told = [f"{', '.join(map(str, done.hints))}\n{done.text}".replace("\n", "\n             ") for done in answer.done]
    strategies = [done.strategy for done in answer.done if done.strategy != "native"]
    if len(answer.done) == 1:
        reason = answer.done[0].reason
    else:
        reason = f"{len(answer.done)} operators for hints, told below" if answer.done else answer.reasons[0]
    return remember(frame, Choice("sql", next(iter(strategies), "native"), reason, notes=(*told, *notes), kind="sql"))
