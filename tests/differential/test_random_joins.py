"""Random joins against plain Spark: rows, schema, column order, and references that work after the plain join."""

from contextlib import ExitStack

import pytest
from pyspark.errors import PySparkException

from skewkit import SkewkitError, explain, skew_join
from skewkit.errors import UnsupportedError
from tests.compare import assert_equal_rows, assert_same_schema, collected
from tests.differential.joins import HOWS, STRATEGIES, random_join
from tests.differential.references import assert_same_changes, hidden_keys, references
from tests.helpers import conf
from tests.seeds import cases

FEW = len(HOWS) * len(STRATEGIES)
"""Joins of `make test`: every type with every entry; each is a random case for either of two strategies."""
OTHER = {"salt": "broadcast_head", "broadcast_head": "salt", "auto": "salt", "broadcast_side": "auto", "native": "salt"}
"""The strategy that a join is asked for as well, by the one that is drawn."""


@pytest.fixture(autouse=True)
def settings_of_joins(spark, draw, settings):
    """Set what only joins depend on."""
    confs = {
        "spark.sql.caseSensitive": draw.choice(["false"] * 5 + ["true"]),
        "spark.skewkit.hashJoinRows": draw.choice(["2000000", "2000000", "0"]),
        "spark.sql.autoBroadcastJoinThreshold": draw.choice(["-1"] * 5 + ["10MB"]),
    }
    with ExitStack() as stack:
        for name, value in confs.items():
            stack.enter_context(conf(spark, name, value))
        yield settings | confs
    spark.catalog.clearCache()


@pytest.mark.parametrize("number", cases(few=FEW, many=600))
def test_random_joins(spark, draw, settings_of_joins, tmp_path, number):
    case = random_join(spark, draw, number, tmp_path if number >= FEW and number % 2 else None)
    print("\n".join(case.text), case.options, settings_of_joins, sep="\n")
    arguments = case.left, case.right, case.on, case.how
    try:
        plain = case.left.join(case.right, list(case.on) if isinstance(case.on, tuple) else case.on, case.how)
        plain.schema  # noqa: B018 - on Connect the schema is what triggers the analysis
    except PySparkException:
        with pytest.raises((SkewkitError, PySparkException)):
            skew_join(*arguments, **case.options)
        return
    several = [_joined(case, strategy) for strategy in (case.options["strategy"], OTHER[case.options["strategy"]])]
    given_up = {name for joined in several for name in hidden_keys(case, joined, plain)}
    asked = references(case, plain, given_up, draw, 8 if number % 4 == 0 else 2)
    print(list(asked))
    try:
        expected = collected(plain.select("*", *asked.values()))
    except PySparkException:  # a key cannot be computed, or has no value in Python
        return
    for joined in several:
        print(explain(joined))
        assert_same_schema(joined, plain, by_name=case.right if case.form == "names" else None)
        assert_equal_rows(collected(joined.select("*", *asked.values())), expected)
    if number % 4 == 0:
        assert_same_changes(case, several[0], plain, given_up)


def _joined(case, strategy):
    options = {**case.options, "strategy": strategy}
    try:
        return skew_join(case.left, case.right, case.on, case.how, **options)
    except UnsupportedError as error:
        print(error)
        return skew_join(case.left, case.right, case.on, case.how, **{**options, "strategy": "auto"})
