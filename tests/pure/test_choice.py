"""What `explain` says of a decision by seconds: the sentence it begins with, and why nothing was asked."""

import pytest

from skewkit.plan.choice import Weighed, small_reason
from skewkit.plan.costs import Slots, Stage, Terms
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import HeavyLoad, KeyLoad

TAIL = (2.0,) * 200
NATIVE = Stage(total=8.0, longest=5.0)
FASTER, SLOWER = Stage(total=8.0, longest=2.0), Stage(total=24.0)
PLAIN = "plain Spark is expected to take 5.0 s on 4 slots, its longest task 5.0 s"


def load_of(*heavy: HeavyLoad, spread: float = 0.0) -> KeyLoad:
    return KeyLoad(("k",), ("int",), heavy, TAIL, spread)


def weighed(treated: Stage, margin: float = 0.5) -> Weighed:
    return Weighed(Terms(Slots(4, "given"), margin), [NATIVE], [treated])


@pytest.mark.parametrize(
    ("load", "of", "cause"),
    [
        (load_of(HeavyLoad((7,), 99, 600.0)), "rows", "Key 7 has 60% of the rows"),
        (load_of(HeavyLoad((7,), 99, 600.0)), "weight", "Key 7 has 60% of the weight"),
        (load_of(HeavyLoad((1,), 9, 100.0), HeavyLoad((7,), 99, 500.0)), "work", "Key 7 has 50% of the work"),
        (load_of(HeavyLoad((7,), 99, 100.0), spread=500.0), "rows", "Key 7 has 10% of the rows"),
        (load_of(HeavyLoad((None,), 42, 600.0)), "rows", "Key null has 60% of the rows"),
        (load_of(HeavyLoad((None,), 99, 600.0)), "rows", "A key has 60% of the rows"),  # known by its hash alone
        (load_of(spread=600.0), "work", "Rows of null keys pile up"),
        (load_of(), "rows", "No key is hot"),
    ],
)
def test_the_opening_names_the_cause(load, of, cause):
    opening = weighed(FASTER).opening(key_plan(load, 4), "wrap", taken=True, of=of)
    assert opening == f"{cause}: {PLAIN}, and wrap 2.0 s, so it is taken."


@pytest.mark.parametrize(
    ("treated", "margin", "taken", "choice"),
    [
        (FASTER, 0.5, True, "2.0 s, so it is taken"),
        (FASTER, 4.5, False, "2.0 s, which does not save 4.5 s"),
        (SLOWER, -2.0, True, "6.0 s, and it is taken, as the margin allows"),
        (NATIVE, -2.0, True, "5.0 s, and it is taken, as the margin allows"),
        (SLOWER, 0.5, False, "6.0 s, so plain Spark's plan stays"),
        (NATIVE, 0.5, False, "5.0 s, so plain Spark's plan stays"),
    ],
)
def test_the_opening_says_what_was_chosen_and_why(treated, margin, taken, choice):
    found = weighed(treated, margin)
    assert found.pays == taken
    opening = found.opening(key_plan(load_of(spread=600.0), 4), "salt", taken=found.pays, of="work")
    assert opening == f"Rows of null keys pile up: {PLAIN}, and salt {choice}."


@pytest.mark.parametrize(
    ("slots", "total", "asked"),
    [
        (2, 4.0, True),  # 2 s are to be saved at the most, on 32 slots nearly 4 s
        (2, 2.5, False),  # nor would 32 slots save 0.3 s eight times over, and the margin
        (32, 2.5, False),
        (64, 2.5, False),
    ],
)
def test_what_is_too_small_says_whether_more_slots_would_change_that(slots, total, asked):
    stages, terms = [Stage(total=total)], Terms(Slots(slots, "given"))
    assert not terms.worth_asking(stages, 0.3)
    reason = small_reason(terms, stages, 32, 0.3)
    assert reason.startswith(f"some {total} s of work on {slots} slots at the most, by the rows of its sources: no ")
    more = "; on 32 slots they would be asked for (spark.skewkit.slots)"
    assert reason.endswith(f"with a margin of 0.5 s (spark.skewkit.margin){more if asked else ''}")


def test_what_is_too_small_but_for_its_pairs_says_so():
    reason = small_reason(Terms(Slots(2, "given")), [Stage(total=2.5)], 32, 0.3, pairs=True)
    assert "by the rows of its sources and if no key has more than 1 % of both sides: no plan" in reason
