"""Every function of Spark has a class: a version that adds one is noticed."""

import re

import pytest

from skewkit.spark.explained.functions import FUNCTIONS, GENERATORS
from skewkit.spark.explained.plan_flow import Trust
from skewkit.spark.explained.plan_tree import read_plans
from skewkit.spark.explained.plan_walk import flow_of
from tests.explained.stored_plans import FUNCTIONS as STORED
from tests.explained.stored_plans import SESSIONS
from tests.helpers import conf

WORDS = {"and", "between", "case", "div", "in", "not", "or"}
"""What SHOW FUNCTIONS lists and plans show as operators."""
LEFT_OUT = {"measure"}
"""Functions that are unknown on purpose: nobody has seen a plan with them."""


def unclassified(names):
    return {name for name in names if name[0].isalpha()} - FUNCTIONS.keys() - WORDS - LEFT_OUT


@pytest.mark.parametrize("session", SESSIONS)
def test_functions_of_stored_versions(session):
    assert unclassified(STORED[session]) == set()


@pytest.mark.connect
def test_functions_of_this_session(spark):
    names = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert len(names) > 400
    assert unclassified(names) == set()


def test_functions_that_make_rows(spark):
    listed = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    found = {each.getName() for each in listed if each.getGroup() == "generator_funcs"}
    assert found >= {"explode", "stack"}
    assert found <= GENERATORS


_FOLDING = (
    "ConstantFolding",
    "ConvertToLocalRelation",
    "NullPropagation",
    "SimplifyConditionals",
    "LikeSimplification",
)
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"


@pytest.mark.slow
def test_names_of_functions_in_plans(spark):
    """The examples of each function's description show by which names plans call it."""
    unknown, asked = [], 0
    with (
        conf(spark, "spark.sql.optimizer.excludedRules", ",".join(f"{_OPTIMIZER}.{rule}" for rule in _FOLDING)),
        conf(spark, "spark.sql.debug.maxToStringFields", "1000"),
    ):
        for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
            if name not in FUNCTIONS or FUNCTIONS[name].name == "JAVA":
                continue
            text = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
            for example in re.findall(r"> (SELECT.*?);", text, re.DOTALL)[:3]:
                try:
                    plan = spark.sql(f"EXPLAIN COST {example}").collect()[0][0]
                except Exception:  # examples that ANSI mode refuses
                    continue
                reason = flow_of(read_plans(plan), Trust(sources=True)).all.reason or ""
                asked += 1
                unknown += [(name, reason)] if "not known" in reason else []
    assert asked > 500
    assert len(unknown) < asked / 25, unknown
