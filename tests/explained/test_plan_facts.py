"""What plans in words say of sizes and of what is costly to read again."""

import pytest

from skewkit.spark.explained.physical import costly_to_read_twice
from skewkit.spark.explained.plan_flow import Trust
from skewkit.spark.explained.plan_tree import PlanTree, read_tree
from skewkit.spark.explained.plan_walk import flow_of
from skewkit.spark.explained.row_counts import estimated, guess_rows, rows_are_counted, source_bytes
from skewkit.spark.explained.stability import Stability, Verdict

JOIN = """
Join Inner, (a#1 = b#2), Statistics(sizeInBytes=9.9 MiB)
:- Relation [a#1,c#3] parquet, Statistics(sizeInBytes=32.0 KiB)
+- Project [b#2], Statistics(sizeInBytes=1.0 KiB)
   +- Range (0, 500, step=1), Statistics(sizeInBytes=4.0 KiB, rowCount=500)
"""


def test_rows_of_sources_are_guessed_and_not_multiplied():
    join = read_tree(JOIN)
    assert guess_rows(join) == 1024 + 500
    assert guess_rows(join, counted=False) == 1024 + 204
    assert source_bytes(join) == 36 * 1024
    assert not rows_are_counted(join)
    assert estimated(join, 3) == (None, None), "the optimizer multiplies"
    assert estimated(join.children[0], 2) == (1024, 32 * 1024)
    assert guess_rows(read_tree("LogicalRDD [a#1], false, Statistics(sizeInBytes=8.0 EiB)")) is None
    assert guess_rows(read_tree("Filter (a#1 > 2)\n+- Relation [a#1] parquet")) is None
    absurd = "Relation [a#1] parquet, Statistics(sizeInBytes=-3.0 KiB)"
    assert guess_rows(read_tree(absurd)) is None
    assert guess_rows(read_tree(f"Union\n:- {absurd}\n+- Range (0, 5), Statistics(sizeInBytes=40.0 B)")) is None
    assert estimated(read_tree(absurd), 1) == (None, None)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("FileScan parquet", None),
        ("InMemoryTableScan\n      +- InMemoryRelation\n            +- Exchange", None),
        ("Union\n:- InMemoryTableScan\n:     +- InMemoryRelation\n:           +- Exchange\n+- Exchange", "shuffle"),
        ("SortMergeJoin\n+- Exchange", "shuffle"),
        ("*(1) Project [CreditLimit#1]\n+- *(1) FileScan parquet default.JoinSample[CreditLimit#1] Window", None),
    ],
)
def test_what_is_costly_to_read_twice(plan, reason):
    said = costly_to_read_twice(read_tree(plan))
    assert said is None if reason is None else reason in said


def flow(text, **trust):
    plan = read_tree(text)
    return flow_of(PlanTree(plan, plan), Trust(**trust))


NUMBERED = """Window [row_number() windowspecdefinition(k#1, s#2 ASC NULLS FIRST) AS rn all#3], [k#1], [s#2 ASC]
{0}+- Relation [k#1,s#2] parquet"""
LAGGED = NUMBERED.replace("row_number()", "lag(s#2, -1, null)").replace("rn all#3", "b#4")


@pytest.mark.parametrize(
    ("filter_", "below", "level"),
    [
        ("(rn all#3 > 0)", NUMBERED, "STABLE"),
        ("((rn all#3 > 0) AND (k#1 > 5))", NUMBERED, "STABLE"),
        ("(rn all#3 > 1)", NUMBERED, "RANDOM"),
        ("(-rn all#3 > 0)", NUMBERED, "STABLE"),  # never true, in any order
        ("((rn all#3 - 1) > 0)", NUMBERED, "RANDOM"),
        ("NOT ((rn all#3 > 0) = (rn all#3 > 4))", NUMBERED, "RANDOM"),
        ("(b#4 > 0)", LAGGED, "RANDOM"),
        ("CASE WHEN (SPARK_PARTITION_ID() >= 0) THEN true ELSE (xxhash64(k#1, b#4, 42) = 0) END", LAGGED, "STABLE"),
        ("CASE WHEN (SPARK_PARTITION_ID() >= 0) THEN true ELSE a END AND (b#4 = 0) END", LAGGED, "RANDOM"),
    ],
)
def test_a_row_number_is_above_zero_in_any_order(filter_, below, level):
    assert flow(f"Filter {filter_}\n+- " + below.format("   ")).rows.level.name == level


@pytest.mark.parametrize(("second", "level"), [("rn#8", "STABLE"), ("b#8", "RANDOM")])
def test_a_union_has_row_numbers_where_all_its_inputs_have(second, level):
    other = NUMBERED if second == "rn#8" else LAGGED.replace("b#4", "rn all#3")
    other = other.replace("#3", "#8").replace("#1", "#6").replace("#2", "#7")
    text = "Filter (rn all#3 > 0)\n+- Union\n   :- " + NUMBERED.format("   :  ") + "\n   +- " + other.format("      ")
    assert flow(text).rows.level.name == level


@pytest.mark.parametrize(
    ("plan", "level"),
    [
        ("Relation [k#1] parquet", "STABLE"),
        ("Relation spark_catalog.default.t[k#1] ORC", "STABLE"),
        ("Relation [k#1] JDBCRelation(t) [numPartitions=1]", "UNKNOWN"),
        ("Relation [k#1] my.own.Source@7f", "UNKNOWN"),
        ("RelationV2[k#1] class org.example.Table", "UNKNOWN"),
        ("LogicalRDD [k#1], false", "UNKNOWN"),
        (
            "HiveTableRelation [`c`.`d`.`t`, org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe, Data Cols: [k#1]]",
            "STABLE",
        ),
        ("HiveTableRelation [`c`.`d`.`t`, org.example.SerDe, Data Cols: [k#1], Partition Cols: []]", "UNKNOWN"),
        ("ExampleRelation [k#1]", "UNKNOWN"),
        ("Example [k#1]\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Project [my_function(k#1) AS a#2]\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Project [k#7]\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Filter (k#1 = scalar-subquery#2 [])\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Project [k#1]\n:- Relation [k#1] parquet\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Project [k#1, concat(k#1, :) AS a#2\n+- Relation [k#1] parquet", "UNKNOWN"),
        ("Project [max(v)#1 AS a#2]\n+- InMemoryRelation [max(v)#1], StorageLevel(memory)", "STABLE"),
        ("Project [avg(v)#1 AS a#2]\n+- InMemoryRelation [avg(v)#1], StorageLevel(memory)", "STABLE"),
        (
            "Project [(avg(v)#1 + 1.0) AS (avg(v) + 1)#2]\n+- InMemoryRelation [avg(v)#1], StorageLevel(memory)",
            "STABLE",
        ),
        ("Project [k#1, x AS a, b AS c#2]\n+- Relation [k#1] parquet", "STABLE"),
        ("Project [sum(a AS b)#1]\n+- Relation [sum(a AS b)#1] parquet", "STABLE"),
        (
            "Project [CASE WHEN (k#1 = 1) THEN Rank #1, best ELSE Rank #2, other END AS g#20]\n"
            "+- Relation [k#1] parquet",
            "UNKNOWN",
        ),
        ("Project [if ((rand(5) < 0.5)) Rank #1, best else other AS g#20]\n+- Relation [k#1] parquet", "UNKNOWN"),
        (
            "Project [CASE WHEN (k#1 = 2) THEN SAME AS BEFORE ELSE cast(uuid(Some(5)) as string) END AS g#7]\n"
            "+- Exchange hashpartitioning(k#1, 8)\n   +- Relation [k#1] parquet",
            "UNKNOWN",
        ),
        (
            "Filter ((k#1 = Error:\n            Connection refused) AND my_function(k#1))\n+- Relation [k#1] parquet",
            "UNKNOWN",
        ),
    ],
)
def test_what_nobody_knows_is_unknown(plan, level):
    assert flow(plan).all.level.name == level


def test_sources_may_be_trusted():
    jdbc = "Relation [k#1] JDBCRelation(t) [numPartitions=1]"
    assert flow(jdbc, sources=True).all.repeatable
    assert flow(jdbc, rerun=True).all.repeatable
    assert not flow(jdbc, sources=True).positioned
    assert not flow("Project [udf(k#1) AS k#2]\n+- " + jdbc, sources=True).all.repeatable


def test_a_salt_is_no_position():
    """Where a row goes is not what is in it."""
    project = "Project [xxhash64({}monotonically_increasing_id(), 42) AS n#2L]\n+- Relation [k#1] parquet"
    assert flow(project.format("skewkit salt, ")).all.repeatable
    assert flow(project.format("")).all == Verdict(Stability.RANDOM, "holds positions of rows")
    assert flow("Filter (spark_partition_id() >= 0)\n+- Relation [k#1] parquet").all.repeatable


def test_a_text_with_a_line_end_is_part_of_its_line():
    plan = read_tree("Filter (k#1 = a\nRange\n+ b)\n+- Relation [k#1] parquet")
    assert plan.arguments == "(k#1 = a\nRange\n+ b)"
    assert [child.operator for child in plan.children] == ["Relation"]


def test_a_verdict_is_no_truth():
    with pytest.raises(TypeError, match="repeatable"):
        bool(Verdict())


def test_the_root_of_an_adaptive_plan_stands_by_itself_below_its_heading():
    lines = ["InMemoryRelation [k#1], StorageLevel(memory)", "   +- AdaptiveSparkPlan isFinalPlan=true"]
    lines += [
        "      +- == Final Plan ==",
        "         *(2) SortMergeJoin [k#1], [k#2], Inner",
        "         :- Exchange single",
    ]
    tree = read_tree("\n".join(lines))
    assert [node.operator for top in tree.inner or tree.children for node in top.walk()][:2] == [
        "AdaptiveSparkPlan",
        "SortMergeJoin",
    ]
