"""How the rows of a join's hot keys are cut: along which side, into a matrix, or not at all."""

from __future__ import annotations

from dataclasses import replace

from skewkit.plan.join.kinds import JoinRules
from skewkit.plan.join.matrix import Matrix, Shape, along, cells_of, shape_of, work
from skewkit.plan.join.pair import SIDES, Pair, Side, opposite
from skewkit.plan.placement.key_plan import HeavyRoute

INTS = 1 << 31
"""Number of negative ints. A heavy key that needs a number takes one per partition, as its packed key."""


def shape_in_join(rows: Pair[float], mean: float, partitions: int, rules: JoinRules) -> Shape:
    """Return how a key with so many left and right rows is cut, or that it stays whole."""
    a, b = rows
    if not rules.kind.pairs:
        pieces = min(partitions, work(a, b, pairs=False) / mean + 1) if mean else 1
        if rules.answers and (b > a or b * (pieces - 1) > a + b):
            return Shape("right")
        return Shape("left" if a >= b else "none")
    splits = tuple(side for side in SIDES if rules.copies(opposite(side)) != "never")
    shape = shape_of(a, b, mean, partitions, splits)
    copied = {"left": b, "right": a}.get(shape.split, 0.0)
    # A copy of more rows than the key has work does more harm than the longest task.
    pieces = min(partitions, work(a, b) / mean + 1) if mean else 1
    return Shape("none") if copied * (pieces - 1) > work(a, b) else shape


def named_shape(rules: JoinRules, hot: Side | None) -> Shape:
    """Return how keys of unknown weight are cut: along the side `hot`, where the other side's rows may be copied.

    Else along a side for which that holds, freely before checked, or not at all.
    """
    if not rules.kind.pairs:
        return Shape("right" if hot == "right" and rules.answers else "left")
    if hot is not None and rules.copies(opposite(hot)) != "never":
        return Shape(hot)
    for allowed in ("freely", "checked"):
        for side in SIDES:
            if rules.copies(opposite(side)) == allowed:
                return Shape(side)
    return Shape("none")


def matrix_of(
    heavy: HeavyRoute,
    shape: Shape,
    rows: Pair[float],
    most: Pair[float | None],
    rules: JoinRules,
    *,
    numbered: bool,
) -> Matrix:
    """Return a key's matrix. Copies can be checked only of a `numbered` key; any other that needs it stays whole.

    `rows` are the key's rows on both sides, `most` how many they are at most, None where nobody knows.
    """
    answered = numbered and is_answered(shape, rules)
    if shape.split == "both":
        slices = cells_of(shape.lefts, shape.rights, tuple(p for p, _ in heavy.parts))
    else:
        slices = along("right" if shape.split == "right" and not answered else "left", heavy.parts)
    matrix = Matrix(slices, rows, most, answered=answered)
    checked = any(rules.copies(side) == "checked" for side in matrix.copied)
    if checked and not numbered:
        return replace(matrix, slices=along("left", ((heavy.parts[0][0], 1.0),)))
    return replace(matrix, checked=checked)


def is_answered(shape: Shape, rules: JoinRules) -> bool:
    """Return whether a look-up answers for a key, so that its right rows go nowhere."""
    return shape.split == "right" and not rules.kind.pairs
