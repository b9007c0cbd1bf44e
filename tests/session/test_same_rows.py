"""`assert_same_rows` finds what differs, and says it, in every session."""

import pytest

from skewkit.testing import assert_same_rows
from tests.helpers import conf

pytestmark = pytest.mark.connect


@pytest.mark.parametrize("retained", ["true", "false"])
def test_rows_that_differ_are_shown(spark, retained):
    rows = spark.range(4).selectExpr("id % 2 AS k", "if(id = 3, null, id) AS v")
    with conf(spark, "spark.sql.retainGroupColumns", retained):
        assert assert_same_rows(rows, rows.orderBy("v")) == 4
        with pytest.raises(AssertionError, match="2 distinct rows differ in number") as raised:
            assert_same_rows(rows, rows.selectExpr("k", "if(v = 2, 5, v) AS v"))
        with pytest.raises(AssertionError, match="1 distinct rows differ in number"):
            assert_same_rows(rows, rows.unionAll(rows.where("v IS NULL")))
    found = [line for line in str(raised.value).splitlines() if line.startswith("{")]
    assert sorted(found) == [
        '{"actual":0,"expected":1,"c0":0,"c1":5}',
        '{"actual":1,"expected":0,"c0":0,"c1":2}',
    ]
