"""How a join is decided: what is known of its sides, then the plan, then the strategy; each question once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewkit.api.common import measured, stale_note
from skewkit.api.joinsides import Sides
from skewkit.errors import UnsupportedError
from skewkit.options import Settings
from skewkit.plan.adaptive import adaptive_note
from skewkit.plan.choice import Choice, JoinOptions, choose_join, cold_reason, hot_reason
from skewkit.plan.grid import Grid
from skewkit.plan.joinplan import JoinPlan, join_plan
from skewkit.plan.joinrules import SIDES, JoinRules, Side, opposite
from skewkit.plan.profile import KeyProfile
from skewkit.spark.compat import conf_reader
from skewkit.spark.joinsides import JoinKeys
from skewkit.spark.looking import Glance, look
from skewkit.spark.physical import top_join
from skewkit.spark.profiling import auto_fraction

_LOOK = 1000
"""Rows per partition of a first look: a key that makes a task half as long again has some 500 of them."""
_NEARLY = 0.9
"""What a look finds near the line, is profiled."""


@dataclass(frozen=True)
class Asked:
    """What the user asked for: the strategy, the keys, and the profiles that were given, if any."""

    title: str
    strategy: str
    keys: JoinKeys
    rules: JoinRules
    partitions: int
    settings: Settings
    left: KeyProfile | None
    right: KeyProfile | None

    @property
    def auto(self) -> bool:
        """Whether skewkit is to decide."""
        return self.strategy == "auto"


def decide(asked: Asked, sides: Sides, physical: str) -> Choice:
    """Return the choice for a join; `physical` is the plan that plain Spark would run.

    The questions get dearer: the plan that Spark has, a look at some hashes, a profile of both sides.
    """
    native = _without_a_job(asked, physical) or _at_a_look(asked, sides)
    if native is not None:
        return Choice(asked.title, "native", native)
    left, right = _profiles(asked, sides)
    scheme = "w_choices" if left.named else "wrap"
    plan = join_plan(left, right, asked.partitions, asked.rules, null_safe=asked.keys.null_safe, scheme=scheme)
    chosen, reason = _strategy(asked, sides, plan, left, right)
    notes = (_adaptive(asked, sides, plan, physical), *stale_note(left, asked.partitions))
    choice = Choice(asked.title, chosen, reason, left, plan.keys, plan, notes=notes)
    if chosen != "broadcast_head":
        return choice
    head = plan.head(asked.settings.broadcast_rows)
    if head is None:
        raise UnsupportedError(f"broadcast_head is not possible in a {asked.rules.how} join; use 'salt'")
    warning = (f"a frame is read twice, though {sides.no_broadcast}",) if sides.no_broadcast else ()
    return replace(choice, head=head, notes=(*warning, *notes))


def fits_a_hash_table(plan: JoinPlan, settings: Settings) -> bool:
    """Return whether the build side of a shuffled hash join, which cannot spill, is small enough everywhere."""
    return plan.build_rows is not None and plan.build_rows <= settings.hash_join_rows


def _without_a_job(asked: Asked, physical: str) -> str | None:
    """Return why plain Spark is right, from its own plan, or None."""
    join = top_join(physical)
    named = asked.left is not None and asked.left.named
    if not asked.auto or named or join is None or not join.startswith("Broadcast"):
        return None
    return f"Spark broadcasts one side ({join}): nothing is shuffled"


def _at_a_look(asked: Asked, sides: Sides) -> str | None:
    """Return why plain Spark is right, if a small sample of large frames shows it; None where it takes a profile."""
    if not asked.auto or asked.left is not None:
        return None
    wanted, n = _LOOK * asked.partitions, asked.partitions
    fractions = [auto_fraction(seen.rows, wanted) for _, seen in sides.named]
    plain = all(seen.rows is not None and seen.simple for _, seen in sides.named)
    if not plain or min(fractions) == 1.0 or asked.settings.sample_rows <= _LOOK:
        return None
    glances = [
        Glance(seen.frame, keys, fraction, asked.keys.unmatched(keys))
        for (_, seen), keys, fraction in zip(sides.named, (asked.keys.left, asked.keys.right), fractions, strict=True)
    ]
    left, right = look(glances, n)
    nearly = replace(asked.settings, min_straggler=asked.settings.min_straggler * _NEARLY)
    larger = max(left, right, key=lambda profile: profile.rows)
    cold = cold_reason(join_plan(left, right, n, asked.rules).keys, larger, nearly)
    return cold and f"{cold} (from a look at about {wanted:,} rows of each side)"


def _profiles(asked: Asked, sides: Sides) -> tuple[KeyProfile, KeyProfile | None]:
    """Return the profiles of both sides, measured where they were not given; the right one only if it is needed."""
    right = (sides.right, asked.keys.right)
    if asked.left is None:
        both = measured([(sides.left, asked.keys.left), right], asked.partitions, asked.settings)
        return both[0].profile, both[1].profile
    if asked.right is None and asked.strategy == "broadcast_head":
        return asked.left, measured([right], asked.partitions, asked.settings)[0].profile
    return asked.left, asked.right


def _strategy(
    asked: Asked, sides: Sides, plan: JoinPlan, left: KeyProfile, right: KeyProfile | None
) -> tuple[str, str]:
    if not asked.auto:
        return asked.strategy, "asked for; " + hot_reason(plan.keys)
    if left.named:
        return "salt", "these keys were named as hot"
    options = JoinOptions(sides.widths, fits_a_hash_table(plan, asked.settings), sides.no_broadcast)
    return choose_join(plan, (left, right), asked.settings, options)


def _adaptive(asked: Asked, sides: Sides, plan: JoinPlan, physical: str) -> str:
    """Return the note on what adaptive execution would do."""
    read = conf_reader(sides.left.frame.sparkSession)
    names = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled")
    enabled = all((read(name) or "true") == "true" for name in names)
    most = [max((_rows(grid, s) for grid in plan.grids), default=0.0) * sides.widths.of(s) for s in SIDES]
    hot = tuple(s for s in SIDES if any(_rows(grid, s) >= _rows(grid, opposite(s)) for grid in plan.grids))
    return adaptive_note(asked.rules.how, hot, physical, max(most), enabled=enabled)


def _rows(grid: Grid, side: Side) -> float:
    return grid.left_rows if side == "left" else grid.right_rows
