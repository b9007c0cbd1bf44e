"""Session confs that change what a group-by or a group function gives: the rows of plain Spark, whatever they say."""

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.sessionconfs import SHARED, SQL

CONFS = {
    **SHARED,
    "legacy.execution.pandas.groupedMap.assignColumnsByName": "false",
    "execution.pandas.convertToArrowArraySafely": "false",
    "execution.pythonUDF.pandas.preferIntExtensionDtype": "true",
    "execution.pythonUDF.pandas.intToDecimalCoercionEnabled": "true",
    "execution.pandas.structHandlingMode": "row",
    "execution.arrow.maxRecordsPerBatch": "7",
    "execution.arrow.useLargeVarTypes": "true",
    "execution.useObjectHashAggregateExec": "false",
    "legacy.sizeOfNull": "true",
    "groupByOrdinal": "false",
    "groupByAliases": "false",
    "requireAllClusterKeysForDistribution": "true",
    "exchange.reuse": "false",
    "codegen.wholeStage": "false",
    "decimalOperations.allowPrecisionLoss": "false",
    "parser.quotedRegexColumnNames": "true",
    "lateralColumnAlias.enableImplicitResolution": "false",
    "mapKeyDedupPolicy": "LAST_WIN",
    "legacy.allowNegativeScaleOfDecimal": "true",
    "variable.substitute": "false",
    "adaptive.enabled": "false",
    "crossJoin.enabled": "false",
    "shuffle.partitions": "1",
}


def total(frame):
    columns = {"x": frame["x"].iloc[:1], "t": [frame["t"].min()], "n": [len(frame)], "d": [frame["d"].sum()]}
    return pd.DataFrame(columns)


def add_up(parts):
    columns = {"x": parts["x"].iloc[:1], "t": [parts["t"].min()], "n": [parts["n"].sum()], "d": [parts["d"].sum()]}
    return pd.DataFrame(columns)


@pytest.mark.every(6)
@pytest.mark.connect
@pytest.mark.parametrize("name", CONFS)
def test_the_rows_are_plain_sparks(spark, name):
    if name.startswith(("legacy.execution", "execution")):
        columns = ["if(id % 4 < 3, null, id % 9) AS x"]
    else:
        columns = ["if(id % 4 < 3, 'hot', string(id % 9)) AS x"]
    columns += ["id AS v", "nullif(id, 5) AS i", "timestamp_seconds(1699160400 + id * 60) AS t"]
    columns += ["cast(id / 7 AS decimal(20, 2)) AS d", "if(id % 5 < 3, 1, id) AS w"]
    df = spark.range(0, 600, 1, 4).selectExpr(*columns)
    exprs = [F.collect_set("i").alias("set"), F.sum("d").alias("s"), F.mode("w").alias("m"), F.median("v").alias("e")]
    schema = f"x {df.schema['x'].dataType.simpleString()}, t timestamp, n bigint, d decimal(30, 2)"
    for strategy in ("auto", "wrap"):
        with conf(spark, SQL + name, CONFS[name]):
            grouped = skewkit.skew_groupby(df, "x", strategy=strategy, partitions=4)
            ours, plain = grouped.agg(*exprs), df.groupBy("x").agg(*exprs)
            assert ours.columns == plain.columns
            applied = grouped.applyInPandas(total, schema, merge=add_up)
            expected = df.groupBy("x").applyInPandas(total, schema)
            taken = "native" if name == "retainGroupColumns" else "wrap"
            for text in map(skewkit.explain, (ours, applied)):
                assert f"  strategy   {taken}" in text, text
            if name != "retainGroupColumns":  # by whose keys rows are compared
                assert_same_rows(ours, plain, unordered=("set",))
                assert_same_rows(applied, expected)
    assert_same_rows(ours, plain, unordered=("set",))
    assert_same_rows(applied, expected)
