"""Join plans: every pair of rows meets once, copies are only made where the rules allow it, prices decide."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewkit.plan.join import join_plan as joinplan
from skewkit.plan.join.adaptive import adaptive_note
from skewkit.plan.join.join_plan import JoinPlan, join_plan
from skewkit.plan.join.kinds import KINDS, JoinRules
from skewkit.plan.join.matrix import along, cells_of, shape_of, work
from skewkit.plan.join.pair import SIDES, Pair, opposite
from skewkit.plan.profile.sample_bounds import bounds, surely_unlisted
from skewkit.plan.profile.unread_profiles import named_heavy
from tests.joinprofiles import profile_of

AGAIN = st.sampled_from([(), ("left",), ("right",), SIDES])
RULES = st.builds(JoinRules, st.sampled_from(sorted(KINDS)), st.booleans(), AGAIN)


profiles = st.builds(
    profile_of,
    st.dictionaries(st.integers(0, 12), st.floats(1.0, 1e6), max_size=8),
    st.floats(0.0, 1e6),
    st.floats(0.0, 1e5),
)


def sides_meet(plan: JoinPlan) -> None:
    for matrix in plan.matrices:
        for side in matrix.slices:
            assert sum(slice_.share for slice_ in side) == pytest.approx(1.0)
        if matrix.answered:
            continue
        for a in matrix.slices.left:
            for b in matrix.slices.right:
                assert len(set(a.targets) & set(b.targets)) == 1
        for slices in matrix.slices:
            assert all(len(set(slice_.targets)) == len(slice_.targets) for slice_ in slices)


@given(profiles, st.none() | profiles, st.integers(1, 40), RULES)
@settings(max_examples=300, deadline=None)
def test_every_pair_of_rows_meets_in_one_partition(left, right, partitions, rules):
    plan = join_plan(left, right, partitions, rules)
    sides_meet(plan)
    for matrix in plan.matrices:
        copied = {
            side for side, other in (("left", matrix.slices.right), ("right", matrix.slices.left)) if len(other) > 1
        }
        if matrix.answered:
            assert rules.answers
            continue
        assert all(rules.copies(side) != "never" for side in copied)
        assert set(matrix.copied) == copied
        assert matrix.checked == any(rules.copies(side) == "checked" for side in copied)
        lefts, rights = matrix.shape
        assert lefts * rights <= partitions, "a cap on slices: one cell a partition"
    for side in plan.looked_up:
        assert side in rules.again
        assert rules.keeps(opposite(side))


@given(profiles, profiles, st.integers(1, 40), RULES)
@settings(max_examples=100, deadline=None)
def test_the_routes_of_a_side_are_its_slices(left, right, partitions, rules):
    plan = join_plan(left, right, partitions, rules)
    for side in SIDES:
        route, lists = plan.route(side)
        for heavy, matrix in zip(route.heavy, plan.matrices, strict=True):
            slices = matrix.slices.of(side)
            assert [(lists[number], share) for number, share in heavy.parts] == [(s.targets, s.share) for s in slices]


@given(profiles, profiles, st.integers(2, 40))
@settings(max_examples=100, deadline=None)
def test_work_is_not_lost(left, right, partitions):
    plan = join_plan(left, right, partitions, JoinRules("inner"))
    heavy = {h.hash: [1.0, 1.0] for h in (*left.heavy, *right.heavy)}
    for at, profile in enumerate((left, right)):
        for h in profile.heavy:
            heavy[h.hash][at] = max(1.0, h.estimate)
    total = sum(work(a, b) for a, b in heavy.values()) + sum(left.tail) + sum(right.tail)
    assert sum(plan.keys.loads) == pytest.approx(total)


COPIES = {
    # how -> what may be copied, left and right, without and with a residual condition
    "inner": (("freely", "freely"), ("freely", "freely")),
    "left": (("checked", "freely"), ("never", "freely")),
    "right": (("freely", "checked"), ("freely", "never")),
    "full": (("checked", "checked"), ("never", "never")),
    "semi": (("checked", "freely"), ("never", "freely")),
    "anti": (("checked", "freely"), ("never", "freely")),
}


@pytest.mark.parametrize("residual", [False, True], ids=["equality", "residual"])
@pytest.mark.parametrize("how", COPIES)
def test_rules(how, residual):
    rules, expected = JoinRules(how, residual), COPIES[how][residual]
    assert tuple(rules.copies(side) for side in SIDES) == expected
    assert rules.closed == (expected == ("never", "never"))


def test_the_larger_side_of_a_key_is_split_where_the_join_allows_it():
    left, right = profile_of({1: 5000.0, 2: 50.0}), profile_of({2: 6000.0})
    shapes = {h.key[0]: matrix.shape for h, matrix in zip(*_matrices(left, right, "inner"), strict=True)}
    assert shapes[1].left > 1 == shapes[1].right
    assert shapes[2].right > 1 == shapes[2].left
    plan = join_plan(left, right, 8, JoinRules("left", residual=True))
    assert all(len(matrix.slices.right) == 1 for matrix in plan.matrices), (
        "a kept side's rows are not copied under a residual"
    )


def _matrices(left, right, how):
    plan = join_plan(left, right, 8, JoinRules(how))
    return plan.keys.heavy, plan.matrices


def test_hot_right_keys_of_a_semi_join_are_answered_by_the_look_up():
    plan = join_plan(profile_of({}), profile_of({7: 9000.0}), 8, JoinRules("semi"))
    assert [matrix.answered for matrix in plan.matrices] == [True]
    assert plan.keys.native_straggler > 4, "the load that plain Spark would have"
    assert plan.keys.straggler < 1.2
    assert plan.looked_up == ("right",)


def test_copied_keys_without_a_number_stay_whole(monkeypatch):
    left, right, rules = profile_of({1: 5000.0, 2: 4000.0}), profile_of({3: 1.0}), JoinRules("full")
    assert [matrix.checked for matrix in join_plan(left, right, 8, rules).matrices[:2]] == [True, True]
    monkeypatch.setattr("skewkit.plan.join.join_plan.INTS", 8)
    plan = join_plan(left, right, 8, rules)
    sides_meet(plan)
    assert plan.matrices[0].checked
    assert {(matrix.checked, matrix.shape) for matrix in plan.matrices[1:]} == {(False, Pair(1, 1))}


def test_both_sides_hot_make_a_matrix_that_copies_less():
    shape = shape_of(2e4, 2e4, 4e5, 64, ("left", "right"))
    assert shape.split == "both"
    assert shape.lefts * shape.rights <= 64
    one_sided = 2e4 * (64 - 1)
    assert 2e4 * (shape.lefts + shape.rights - 2) < one_sided / 2
    assert shape_of(2e4, 2e4, 4e5, 64, ("left",)).split == "left"


def test_a_matrix_has_more_slices_along_the_side_that_has_more_rows():
    """With four times the rows four times the slices: copies are then as many on either side."""
    for rows, slices in (((4e3, 1e3), (16, 4)), ((1e3, 4e3), (4, 16))):
        shape = shape_of(*rows, 2e3, 64, SIDES)
        assert (shape.split, shape.lefts, shape.rights) == ("both", *slices)


def test_cells_and_slices():
    left, right = cells_of(3, 2, tuple(range(6)))
    assert Counter(t for s in left for t in s.targets) == Counter(t for s in right for t in s.targets)
    split, copied = along("left", ((2, 0.5), (4, 0.5)))
    assert copied[0].targets == tuple(s.targets[0] for s in split)


def test_named_keys_are_split_along_a_side_whose_counterpart_may_be_copied():
    named = named_heavy(["k"], ["int"], [(5,), (6,)])
    for how in KINDS:
        plan = join_plan(named, None, 8, JoinRules(how), scheme="w_choices")
        split = "right" if how == "right" else "left"
        assert {tuple(n > 1 for n in matrix.shape) for matrix in plan.matrices} == {(split == "left", split == "right")}
        sides_meet(plan)


def test_named_keys_are_split_on_the_side_where_they_are_hot():
    named = named_heavy(["k"], ["int"], [(5,)])
    for how in KINDS:
        for hot in SIDES:
            (matrix,) = join_plan(named, None, 8, JoinRules(how), scheme="w_choices", hot=hot).matrices
            assert len(matrix.slices.of("left" if hot == "left" or matrix.answered else "right")) == 8, (how, hot)
    (matrix,) = join_plan(named, None, 8, JoinRules("left", residual=True), scheme="w_choices", hot="right").matrices
    assert matrix.shape == Pair(8, 1)


def test_a_named_key_is_broadcast_however_few_rows_it_seems_to_have():
    named, right = named_heavy(["k"], ["int"], [(5,)]), profile_of({5: 50.0}, 1e3)
    head = join_plan(named, right, 8, JoinRules("inner"), scheme="w_choices").head(100)
    assert [heavy.key for heavy in head.keys.heavy] == [(5,)]


def test_a_semi_join_is_answered_by_the_look_up_where_copies_would_be_more_than_its_rows():
    both = profile_of({1: 1e6}, 1e6), profile_of({1: 9e5}, 1e6)
    (matrix,) = join_plan(*both, 32, JoinRules("semi")).matrices
    assert matrix.answered
    (matrix,) = join_plan(profile_of({1: 1e6}, 1e6), profile_of({1: 1.0}, 1e6), 32, JoinRules("semi")).matrices
    assert not matrix.answered


def test_a_hot_key_of_which_nobody_can_number_the_group_is_not_answered(monkeypatch):
    """A key's group, an int, is its place among the heavy keys times the partitions."""
    monkeypatch.setattr(joinplan, "INTS", 64)
    named = named_heavy(["k"], ["int"], [(k,) for k in range(10)])
    plan = join_plan(named, None, 16, JoinRules("semi"), scheme="w_choices", hot="right")
    assert [matrix.answered for matrix in plan.matrices] == [True] * 4 + [False] * 6
    assert {matrix.shape for matrix in plan.matrices[4:]} == {Pair(1, 1)}


@pytest.mark.parametrize("seen", [2, 3, 400])
def test_a_sample_tells_how_many_rows_a_key_surely_has(seen):
    """Of ten million keys that are all there twice, a sample of 2 % has some twice: no sign of a hundred rows."""
    profile = replace(profile_of({}), sampled=True, fraction=0.02, unlisted=bounds(seen, 0.02)[1])
    low = surely_unlisted(profile)
    assert seen <= low <= seen / 0.02
    assert low == pytest.approx(bounds(seen, 0.02)[0], rel=0.02, abs=1)
    assert (low > 33) == (seen == 400)
    assert surely_unlisted(replace(profile, sampled=False)) == profile.unlisted


PHYSICAL = """
AdaptiveSparkPlan isFinalPlan=false
+- SortMergeJoin [k#1L], [k#2L], Inner
   :- Sort [k#1L ASC NULLS FIRST], false, 0
   :  +- {left}
   :     +- Scan
   +- Sort [k#2L ASC NULLS FIRST], false, 0
      +- Exchange hashpartitioning(k#2L, 8), ENSURE_REQUIREMENTS, [plan_id=7]
         +- HashAggregate(keys=[j#2L], functions=[])
"""
NOTES = {
    "Exchange hashpartitioning(k#1L, 8), ENSURE_REQUIREMENTS, [plan_id=6]": "from 256 MB",
    "Exchange hashpartitioning(k#1L, 8), REPARTITION_BY_COL, [plan_id=6]": "left side was repartitioned by the user",
    "HashAggregate(keys=[k#1L], functions=[count(1)])": "left side is already grouped by the key",
    "Window [row_number() windowspecdefinition(k#1L)]": "left side comes from a window",
    "SortMergeJoin [k#1L], [k#9L], Inner": "left side comes from a join",
    "InMemoryTableScan [k#1L]": "left side is cached",
}


@pytest.mark.parametrize("child", NOTES)
def test_adaptive_execution_splits_only_what_was_shuffled_for_the_join(child):
    note = adaptive_note("inner", ("left",), PHYSICAL.format(left=child), 1e6, enabled=True)
    assert NOTES[child] in note


def test_adaptive_execution_by_type_of_join():
    for how, side in (("left", "right"), ("right", "left"), ("semi", "right"), ("anti", "right")):
        assert f"never splits the {side} side" in adaptive_note(how, (side,), "", 1e9, enabled=True)
    assert "may split" in adaptive_note("inner", ("left",), "", 1e9, enabled=True)
    assert "is off" in adaptive_note("inner", ("left",), "", 1e9, enabled=False)


@pytest.mark.parametrize("source", ["Coalesce 1", "Range (0, 9, step=1, splits=1)"])
def test_adaptive_execution_never_cuts_what_one_task_writes(source):
    physical = PHYSICAL.format(left="Exchange hashpartitioning(k#1L, 8), ENSURE_REQUIREMENTS").replace("Scan", source)
    for hot, note in ((("left",), "one task writes all rows of the left side"), (("right",), "may split")):
        assert note in adaptive_note("inner", hot, physical, 1e9, enabled=True)


def test_adaptive_execution_goes_by_the_threshold_of_the_session():
    for threshold, note in ((1 << 20, "may split partitions from 1 MB on"), (8 << 20, "from 8 MB (compressed) on")):
        assert note in adaptive_note("inner", ("left",), "", 4e6, enabled=True, threshold=threshold)
    assert "largest hot key" not in adaptive_note("inner", ("left",), "", 0.0, enabled=True)


def test_which_sides_may_be_broadcast_as_a_whole():
    left, right = profile_of({1: 1e6}, 1e6), profile_of({}, 1e5)
    found = {how: join_plan(left, right, 32, JoinRules(how)).broadcastable for how in KINDS}
    assert found == {
        "inner": ("right",),
        "left": ("right",),
        "right": (),
        "full": (),
        "semi": ("right",),
        "anti": ("right",),
    }
    assert join_plan(right, left, 32, JoinRules("right")).broadcastable == ("left",)
    assert set(join_plan(right, right, 32, JoinRules("inner")).broadcastable) == set(SIDES)
