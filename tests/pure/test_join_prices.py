"""What each way to answer a join costs, and where `auto` would take which: seconds for the slots at hand."""

import pytest

from skewkit.plan.costs import Slots, Stage, Terms
from skewkit.plan.join.join_plan import join_plan
from skewkit.plan.join.kinds import JoinRules
from skewkit.plan.join.pair import Pair
from skewkit.plan.join.prices import (
    broadcast_head_stages,
    broadcast_side_stages,
    makes_many_pairs,
    native_stages,
    salt_stages,
)
from tests.joinprofiles import profile_of

NARROW = Pair(16.0, 16.0)


def terms(slots: int, **more: float) -> Terms:
    return Terms(Slots(slots, "given"), **more)


def prices(left, right, how: str, slots: int, *, widths=NARROW, costly=None, pre_partitioned=()) -> dict[str, float]:
    """Return the seconds of every strategy that the join can have."""
    plan = join_plan(left, right, 32, JoinRules(how))
    stages = {
        "native": native_stages(plan, widths),
        "salt": salt_stages(plan, widths, hashed=False, costly=costly or {}, pre_partitioned=pre_partitioned),
    }
    head = plan.head(100_000)
    if head is not None:
        stages["broadcast_head"] = broadcast_head_stages(plan, head, widths, hashed=False)
    for side in plan.broadcastable:
        stages["broadcast_side"] = broadcast_side_stages(plan, side, widths)
    return {name: terms(slots).seconds(each) for name, each in stages.items()}


@pytest.mark.parametrize(("slots", "longest"), [(2, False), (32, True), (64, True)])
def test_a_stage_takes_its_tasks_over_the_slots_or_its_longest_task(slots, longest):
    stage = Stage(total=8.0, longest=1.0)
    assert terms(slots).seconds([stage]) == (1.0 if longest else 4.0)


def test_what_a_task_holds_beyond_its_memory_is_written_and_read_once_more():
    fits, spills = Stage(8.0, 4.0, largest=1e9), Stage(8.0, 4.0, largest=3e9)
    assert terms(2, memory=1e9).seconds([fits]) == 4.0
    assert terms(2, memory=1e9).seconds([spills]) == pytest.approx(4.0 + 2e9 * 1e-8)


def test_even_keys_are_left_alone():
    found = prices(profile_of({}, 1e7), profile_of({}, 1e6), "full", 32)
    assert min(found, key=found.__getitem__) == "native"


def test_a_hot_key_pays_on_many_slots_and_hardly_on_two():
    left, right = profile_of({1: 4e5}, 3.6e6), profile_of({1: 1.0}, 1e6)
    few, many = (prices(left, right, "full", slots) for slots in (2, 64))
    assert not terms(2).pays(few["native"], few["salt"], 0.3), few
    hot = profile_of({1: 8e6}, 4e6)
    many = prices(hot, right, "full", 64)
    assert terms(64).pays(many["native"], many["salt"], 0.3), many


def test_a_whole_side_is_broadcast_where_few_tasks_run_at_a_time():
    """The driver makes its table alone: little beside the work of two slots, much beside that of 64."""
    left, right = profile_of({1: 7.6e6}, 12.4e6), profile_of({}, 3e6)
    few, many = (prices(left, right, "inner", slots) for slots in (2, 64))
    assert few["broadcast_side"] < few["salt"]
    assert many["broadcast_side"] > many["salt"]


def test_hot_rows_of_one_key_are_cheapest_by_a_broadcast_of_the_other_sides():
    found = prices(profile_of({1: 1e7}, 1e7), profile_of({}, 3e6), "left", 32)
    assert found["broadcast_head"] < found["salt"] < found["native"]


def test_a_look_up_on_what_comes_out_of_a_shuffle_is_not_cheap():
    left, right = profile_of({1: 1e6}, 1e6), profile_of({1: 1.0}, 1e6)
    assert join_plan(left, right, 32, JoinRules("full")).looked_up == ("left",)
    cheap, dear = (prices(left, right, "full", 2, costly=costly)["salt"] for costly in ({}, {"left": 2.0}))
    assert dear > cheap
    assert prices(left, right, "full", 2, costly={"right": 2.0})["salt"] == cheap


def test_bytes_count():
    left, right = profile_of({1: 1e6}, 1e6), profile_of({1: 1.0}, 1e6)
    narrow, wide = (prices(left, right, "full", 32, widths=Pair(w, w))["native"] for w in (16.0, 400.0))
    assert wide > 2 * narrow


def test_rows_of_a_hot_key_that_are_in_one_task_already_cannot_be_spread():
    left, right = profile_of({1: 8e6}, 4e6), profile_of({1: 1.0}, 1e6)
    free, bound = (prices(left, right, "full", 64, pre_partitioned=sides)["salt"] for sides in ((), ("left",)))
    assert bound > free + 3.0


def test_a_side_that_need_not_be_shuffled_makes_plain_spark_cheaper():
    plan = join_plan(profile_of({1: 3e5}, 1e7), profile_of({1: 1.0}, 1e6), 32, JoinRules("full"))
    dear, cheap = native_stages(plan, NARROW), native_stages(plan, NARROW, ("left",))
    assert cheap[0].total < 0.2 * dear[0].total
    assert cheap[1].total < dear[1].total


def test_rows_that_come_out_count():
    """A key with half a percent on both sides makes most of the output, in one task."""
    left = right = profile_of({1: 2e4}, 4e6)
    found = prices(left, right, "inner", 32)
    assert terms(32).pays(found["native"], found["salt"], 0.3), found


def test_many_pairs_are_told_by_key():
    left, right = profile_of({1: 1e6}, 1e6), profile_of({3: 1e5}, 1e6)
    assert not makes_many_pairs(join_plan(left, right, 32, JoinRules("inner"))), "either key meets one row"
    both = profile_of({1: 1e3}, 1e6)
    assert makes_many_pairs(join_plan(both, both, 32, JoinRules("inner")))
    assert not makes_many_pairs(join_plan(both, both, 32, JoinRules("semi")))


def test_asking_is_not_worth_it_where_the_work_is_less_than_many_queries_take():
    assert not terms(32).worth_asking([Stage(total=0.4)], 0.3)
    assert not terms(32).worth_asking([Stage(total=2.9)], 0.3)
    assert terms(32).worth_asking([Stage(total=3.1)], 0.3)
    assert not terms(1).worth_asking([Stage(total=100.0)], 0.3), "one slot has no straggler"
    assert terms(32, margin=-1e9).worth_asking([Stage(total=0.0)], 0.3)
