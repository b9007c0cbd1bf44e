"""Tables for the SQL tests: a hot key, null keys, duplicate names on both sides, structs."""

import pytest


@pytest.fixture(scope="module")
def tables(spark):
    """Views a (key 0 is hot), b and c, of this module alone."""
    views = {
        "a": "SELECT if(id % 10 < 6, 0, id % 300) AS k, id AS v, string(id % 7) AS s, "
        "struct(id AS f, id % 3 AS g) AS st, if(id % 11 = 0, null, id % 50) AS j FROM range(1000)",
        "b": "SELECT id AS k, id * 2 AS w, string(id % 5) AS s, id % 50 AS j FROM range(300)",
        "c": "SELECT int(id) AS j, id * 3 AS x, id AS k FROM range(40)",
    }
    for name, query in views.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    yield spark
    for name in views:
        spark.sql(f"DROP VIEW {name}")
