"""Random joins against plain Spark: rows, schema, column order, and every reference that works after the plain join."""

from collections import Counter

import pytest

from tests.spark import joinfuzz

FEW = (1029, 1030, 1032, 1034)
MANY = range(100, 500)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", FEW)
def test_some_random_joins(spark, seed):
    assert joinfuzz.run(spark, seed) in ("salt", "broadcast_head")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_random_joins(spark, tmp_path):
    chosen = Counter()
    for seed in MANY:
        chosen[joinfuzz.run(spark, seed, tmp_path if seed % 2 else None)] += 1
        spark.catalog.clearCache()
    assert set(chosen) >= {"native", "salt", "broadcast_head"}
    assert chosen["native"] + chosen["salt"] + chosen["broadcast_head"] > len(MANY) / 2, chosen
