"""What a write asks of a frame, in sessions that leave the columns of groups out."""

import numpy as np
import pytest

from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.write.partition_sizes import partition_sizes
from tests.helpers import conf


@pytest.mark.parametrize("by", [["k"], ["k", "v"], []])
def test_without_group_columns(spark, by):
    df = spark.range(0, 3000, 1, 3).selectExpr("if(id % 4 < 3, null, id % 9) AS k", "id % 2 AS v", "string(id) AS s")
    keys = find_keys(df, by) if by else None
    kept = partition_sizes(df, keys)
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        left_out = partition_sizes(df, keys)
    assert left_out.rows.sum() == 3000
    assert left_out.values == kept.values
    for name in ("hashes", "rows", "lengths"):
        np.testing.assert_array_equal(getattr(left_out, name), getattr(kept, name))
    assert left_out.sample.equals(kept.sample)
