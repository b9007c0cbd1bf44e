"""README's block of Delta Lake runs as it stands there, but for the folder."""

import pytest

import skewkit
from skewkit.testing import assert_same_rows
from tests.test_readme import blocks

pytestmark = [pytest.mark.delta, pytest.mark.connect]


def test_the_delta_block_runs(spark, tmp_path):
    (block,) = [block for block in blocks("python") if "import delta" in block]
    names = "if(id % 4 = 0, null, if(id % 4 < 3, 'C1', 'C' || id)) AS CustomerID"
    lines = spark.range(20_000).selectExpr(names, "if(id % 10 < 9, 'United Kingdom', 'France') AS Country")
    customers = spark.range(1, 20_000).selectExpr("'C' || id AS CustomerID", "id AS since")
    found = {"spark": spark, "lines": lines, "customers": customers}
    skewkit.install()
    try:
        exec(compile(block.replace("/lake", str(tmp_path)), "README.md", "exec"), found)
    finally:
        skewkit.uninstall()
    assert found["joined"].count() == 20_000
    assert skewkit.decisions()[-1].jobs == 0
    changed = spark.read.format("delta").load(f"{tmp_path}/customers").where("since = substr(CustomerID, 2) + 1")
    assert changed.count() == 999
    assert_same_rows(spark.read.format("delta").load(f"{tmp_path}/lines"), lines)
