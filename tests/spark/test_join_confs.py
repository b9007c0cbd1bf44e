"""Session confs that change what a join gives, or how Spark plans it: the rows of plain Spark, whatever they say."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.sessionconfs import SHARED, SQL

CONFS = {
    **SHARED,
    "mapKeyDedupPolicy": "LAST_WIN",
    "storeAssignmentPolicy": "LEGACY",
    "decimalOperations.allowPrecisionLoss": "false",
    "crossJoin.enabled": "false",
    "groupByOrdinal": "false",
    "orderByOrdinal": "false",
    "groupByAliases": "false",
    "escapedStringLiterals": "true",
    "parser.quotedRegexColumnNames": "true",
    "variable.substitute": "false",
    "lateralColumnAlias.enableImplicitResolution": "false",
    "functionNames.lowerCase.enabled": "false",
    "analyzer.failAmbiguousSelfJoin": "false",
    "constraintPropagation.enabled": "false",
    "optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushPredicateThroughJoin",
    "requireAllClusterKeysForCoPartition": "false",
    "requireAllClusterKeysForDistribution": "true",
    "join.preferSortMergeJoin": "false",
    "sort.enableRadixSort": "false",
    "exchange.reuse": "false",
    "codegen.wholeStage": "true",
    "shuffle.partitions": "1",
    "autoBroadcastJoinThreshold": "10MB",
    "sortMergeJoinExec.buffer.in.memory.threshold": "1",
    "adaptive.enabled": "false",
    "adaptive.coalescePartitions.enabled": "false",
    "adaptive.forceOptimizeSkewedJoin": "true",
    "adaptive.maxShuffledHashJoinLocalMapThreshold": "1GB",
    "adaptive.autoBroadcastJoinThreshold": "1GB",
    "legacy.sizeOfNull": "true",
    "legacy.allowNegativeScaleOfDecimal": "true",
    "legacy.typeCoercion.datetimeToString.enabled": "true",
    "legacy.timeParserPolicy": "LEGACY",
    "legacy.nullInEmptyListBehavior": "true",
    "legacy.charVarcharAsString": "true",
}
"""Conf without its prefix -> a value that is not the default."""
LEFT = [
    "CASE WHEN id % 10 < 5 THEN 7 WHEN id % 10 = 9 THEN NULL ELSE id % 30 END AS k",
    "id AS v",
    "string(if(id % 10 < 5, 7, id % 30)) AS t",
    "cast(id % 30 AS decimal(10, 2)) AS d",
    "date_add(date'2023-11-01', int(id % 9)) AS day",
    "map('m', id) AS m",
]
RIGHT = [
    "nullif(id, 29) AS k",
    "id * 9 AS w",
    "id AS n",
    "id % 30 + 0.00 AS e",
    "timestamp(date_add(date'2023-11-01', int(id % 9))) AS at",
]


@pytest.mark.slow
@pytest.mark.connect
@pytest.mark.parametrize("name", CONFS)
def test_the_rows_are_plain_sparks(spark, name, connect):
    left = spark.range(0, 300, 1, 2).selectExpr(*LEFT).alias("a")
    right = spark.range(0, 40, 1, 2).selectExpr(*RIGHT).alias("b")
    left_to_spark = name == "retainGroupColumns"
    asked = [
        ("broadcast_head", "k", "inner"),
        ("salt", F.expr("a.k = b.k AND d < e + 5 AND m['m'] <> n AND size(m) = 1 AND day <= at"), "right"),
        ("auto", F.expr("t = n"), "full"),
    ]
    with conf(spark, SQL + name, CONFS[name]):
        pairs = []
        for strategy, on, how in asked:
            ours = skewkit.skew_join(left, right, on, how, strategy="auto" if left_to_spark else strategy, partitions=4)
            pairs.append((ours, left.join(right, on, how)))
            text = skewkit.explain(ours)
            assert left_to_spark == ("retainGroupColumns is off" in text)
            treated = "salt" if strategy == "auto" else strategy
            assert f"  strategy   {'native' if left_to_spark else treated}" in text, text
        if name != "parser.quotedRegexColumnNames":
            shown = ("a.k", "w") if connect else ("a.k", "b.k", "w")  # the union loses `b.k` there, and says so
            pairs.append(tuple(frame.select(*shown) for frame in pairs[0]))
        for ours, plain in () if left_to_spark else pairs:
            assert_same_rows(ours, plain)
    for ours, plain in pairs if left_to_spark else ():  # rows are compared by groups
        assert_same_rows(ours, plain)
