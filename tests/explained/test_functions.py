"""Every function of Spark has a class: a version that adds one is noticed."""

import pytest

from skewkit.spark.explained.functions import FUNCTIONS
from tests.explained.stored_plans import FUNCTIONS as STORED
from tests.explained.stored_plans import SESSIONS

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
