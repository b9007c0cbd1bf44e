"""Plans of all versions of Spark, classic and Connect: what is read of them, without a session."""

import re

import pytest

from skewkit.spark.explained.plan_flow import Trust
from skewkit.spark.explained.plan_tree import read_plans
from skewkit.spark.explained.plan_walk import flow_of
from skewkit.spark.explained.stability import Stability
from tests.explained.stored_plans import SESSIONS, TEXTS, expected

EXPECTED = expected()
RERUN = {"random": Stability.STABLE, "encrypted": Stability.RANDOM, "firsts": Stability.BY_ROW_ORDER}
PLANS = {session: {name: read_plans(text) for name, text in TEXTS[session].items()} for session in SESSIONS}


def test_there_are_plans_of_every_version():
    versions = {re.match(r"\d\.\d", session)[0] for session in SESSIONS}
    assert versions >= {"3.5", "4.0", "4.1", "4.2", "4.3"}
    assert {session.partition("-")[2] for session in SESSIONS} == {"classic", "connect"}
    assert all(len(TEXTS[session]) >= 80 for session in SESSIONS)


@pytest.mark.parametrize("session", SESSIONS)
def test_stability(session):
    """Each frame of the catalogue has the levels that stand beside it, in each version."""
    wrong = []
    for name, levels in EXPECTED.items():
        if name not in PLANS[session]:
            continue
        flow = flow_of(PLANS[session][name])
        rows = levels["rows"]
        said = {"rows": flow.rows, **{column.name: flow.rows.worse(column.verdict) for column in flow.columns}}
        asked = {column: max(levels.get(column, Stability.STABLE), rows) for column in said}
        wrong += [(name, column, verdict) for column, verdict in said.items() if verdict.level != asked[column]]
        wrong += [(name, column, "not found") for column in levels.keys() - said.keys()]
        wrong += [
            (name, column, "no reason") for column, verdict in said.items() if verdict.level and not verdict.reason
        ]
    assert wrong == []


@pytest.mark.parametrize("session", SESSIONS)
def test_stability_when_a_task_runs_again(session):
    """What is drawn from a seed comes again where a task reads stored rows; what has no seed does not."""
    for name, level in RERUN.items():
        flow = flow_of(PLANS[session][name], Trust(rerun=True))
        assert max(column.verdict.level for column in flow.columns) == level, name
    shuffled = flow_of(PLANS[session]["random_after_group_by"], Trust(rerun=True))
    assert max(column.verdict.level for column in shuffled.columns) == Stability.RANDOM
    udf = PLANS[session].get("udf")
    if udf is not None:
        assert flow_of(udf).all.level == Stability.UNKNOWN
        assert flow_of(udf, Trust(rerun=True)).all.repeatable


@pytest.mark.parametrize("session", SESSIONS)
def test_all_columns_are_found(session):
    """A frame has as many columns as its plan is read to have, which is what names are looked up in."""
    counts = {"files": 9, "joined": 3, "window_ranks": 4, "union": 2, "exploded": 2, "rollup": 4, "sums_mixed": 4}
    for name, count in counts.items():
        flow = flow_of(PLANS[session][name])
        assert len(flow.columns) >= count, name
        assert all(column.ids for column in flow.columns)


@pytest.mark.parametrize("session", SESSIONS)
def test_what_is_stored_and_what_is_computed(session):
    def origins(name):
        return {column.name: column.origin for column in flow_of(PLANS[session][name]).columns}

    assert origins("files_filtered") == {"k": "stored", "w": "stored", "y": "computed"}
    assert origins("counts")["lo"] == "stored", "min of a stored column is as good as another name"
    assert origins("counts")["n"] == "computed"
    assert origins("joined") == {"k": "stored", "v": "stored", "name": "stored"}
    assert origins("union")["k"] == "stored"
    assert origins("union")["v"] == "computed"
    assert set(origins("cached").values()) == {"stored"}
    if "renamed_twice" in PLANS[session]:
        assert origins("renamed_twice") == {"k": "stored", "y": "computed"}


@pytest.mark.parametrize("session", SESSIONS)
def test_plans_are_read_whole(session):
    """Each line of a plan that names an operator is a node, but those of a plan in a plan below a cached frame."""
    for name, text in TEXTS[session].items():
        plans = read_plans(text)
        logical = text.partition("== Physical Plan ==")[0]
        assert plans.logical is not None, name
        assert plans.physical is not None, name
        with_statistics = [node for node in plans.logical.walk() if node.statistics is not None]
        assert len(with_statistics) == logical.count("Statistics(sizeInBytes="), name
