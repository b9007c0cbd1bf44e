"""What a hint may say, what is an error, what is left to plain Spark, and that nothing is left behind."""

import pytest
from pyspark.errors import AnalysisException

import skewkit
from skewkit.errors import ArgumentError, ColumnNotFoundError
from skewkit.hints import sql as sql_module
from skewkit.plan import costs
from skewkit.spark.session.jobs import counted
from skewkit.testing import assert_same_rows
from tests.helpers import conf, physical_plan

pytestmark = pytest.mark.connect

JOIN = "FROM a JOIN b ON a.k = b.k"


@pytest.mark.parametrize(
    ("query", "error", "said"),
    [
        (f"SELECT /*+ SKEW('aa', 'k') */ v {JOIN}", ArgumentError, r"no relation 'aa' in its FROM: did you mean 'a'"),
        (f"SELECT /*+ SKEW('a', 'kk') */ v {JOIN}", ColumnNotFoundError, r"no column 'kk': did you mean 'k'"),
        (f"SELECT /*+ SKEW('a', 'k', ('x')) */ v {JOIN}", ArgumentError, r"'x' is no bigint, which is the key's type"),
        (
            f"SELECT /*+ SKEW('a', ('k', 's'), (1)) */ v {JOIN}",
            ArgumentError,
            r"2 column\(s\) and a value of the hint 1",
        ),
        (f"SELECT /*+ SKEW('a', ('k', 'K')) */ v {JOIN}", ArgumentError, "names a column twice"),
        (f"SELECT /*+ SKEW() */ v {JOIN}", ArgumentError, "is no SKEW hint; write SKEW"),
        ("SELECT /*+ SKEW('a') */ 1", ArgumentError, "has no FROM"),
        (f"SELECT /*+ SKEW('a', 's', (1)) */ v {JOIN}", ArgumentError, "1 is no string, which is the key's type"),
        (
            "SELECT (SELECT /*+ SKEW('z') */ max(v) FROM a WHERE a.k = b.k) AS m FROM b",
            ArgumentError,
            "no relation 'z' in its FROM",
        ),
        (f"SELECT /*+ SKEW('a', 'k') */ nothing {JOIN}", AnalysisException, r"UNRESOLVED_COLUMN.*`nothing`"),
        (f"SELECT /*+ SKEW('a', 'k') */ v {JOIN} WHERE", AnalysisException, "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_is_wrong_is_said_before_a_job(tables, query, error, said):
    with pytest.raises(error, match=said):
        skewkit.sql(tables, query)


@pytest.fixture
def binding(tables):
    """Skip where plain Spark binds no parameter marker: Delta 4.4.0's parser drops the values that go with a text."""
    try:
        assert tables.sql("SELECT :n AS n", {"n": 1}).first().n == 1
    except AnalysisException as error:
        if "UNBOUND_SQL_PARAMETER" not in str(error):
            raise
        pytest.skip("plain Spark binds no parameter marker in this session")


@pytest.mark.usefixtures("binding")
def test_without_a_hint_the_text_is_not_looked_at(tables, monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(sql_module, "_hinted", fail)
    query = "SELECT /* SKEW('a') is no hint */ 'skew' AS x, :n + 1 AS n FROM {t} /*+ "
    with pytest.raises(AnalysisException):
        skewkit.sql(tables, "SELECT 'skew' FROM a /*")
    found = skewkit.sql(tables, query.removesuffix("/*+ "), {"n": 1}, t=tables.range(1))
    assert [tuple(row) for row in found.collect()] == [("skew", 2)]


@pytest.mark.usefixtures("binding")
def test_arguments_and_frames(tables):
    query = "SELECT /*+ SKEW('f', 'k', 0) */ f.v, b.w, {text} AS t FROM {f} JOIN b ON f.k = b.k AND b.w > {mark}"
    plain = "SELECT f.v, b.w, {text} AS t FROM {f} AS f JOIN b ON f.k = b.k AND b.w > {mark} WHERE f.v < {mark}"
    frame, text = tables.table("a"), "it's {here} `--` \\ */"
    for marks, args in ((":low", {"low": 10, "high": 700}), ("?", [10, 700])):
        first, second = (marks, ":high") if marks == ":low" else ("?", "?")
        hinted = query.replace("{f}", "{f} AS f").replace("{mark}", first) + f" WHERE f.v < {second}"
        expected = plain.replace("{mark}", first, 1).replace("{mark}", second)
        found = skewkit.sql(tables, hinted, args, f=frame, text=text)
        assert "salt" in skewkit.explain(found)
        assert_same_rows(found, tables.sql(expected, args, f=frame, text=text))


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {{}} v, w {JOIN}",
        "SELECT {} k, sort_array(collect_set(v)) AS c FROM a GROUP BY k",
        "SELECT {} k, v, sum(v) OVER (PARTITION BY k ORDER BY v) AS s FROM a",
    ],
)
def test_hot_keys_of_a_column_without_values_are_found_by_one_query(tables, query):
    """And treated whatever that costs, as in tables so small as these."""
    with conf(tables, "spark.sql.autoBroadcastJoinThreshold", "-1"), counted() as used:
        found = skewkit.sql(tables, query.format("/*+ SKEW('a', 'k') */"))
        plain = skewkit.sql(tables, query.format("/*+ SKEW('a') */"))
    assert used.jobs == 1, "of a relation alone all is left to `auto`, which asks nothing of so small a table"
    text = skewkit.explain(found)
    assert "strategy   native: " not in text
    assert "the hint has no values: the hot keys that a query finds are treated, whatever that costs" in text
    assert "strategy   native: " in skewkit.explain(plain)
    assert_same_rows(found, tables.sql(query.format("")))


def test_of_a_column_without_hot_keys_nothing_is_treated(tables):
    query = "SELECT /*+ SKEW('b', 'k') */ b.w FROM b JOIN c ON b.k = c.k"
    assert "strategy   native: " in skewkit.explain(skewkit.sql(tables, query))


def test_named_keys_are_treated_by_the_cheapest_strategy(tables, monkeypatch):
    """Which one that is, is asked of a join that is large enough; here of any."""
    query = f"SELECT {{}} v, w {JOIN}"
    hint = "/*+ SKEW('a', 'k', 0) */"
    assert "strategy   salt: these keys were given as hot\n" in skewkit.explain(skewkit.sql(tables, query.format(hint)))
    monkeypatch.setattr(costs, "ODDS", 0.0)
    with conf(tables, "spark.sql.autoBroadcastJoinThreshold", "1"):
        found = skewkit.sql(tables, query.format(hint))
    assert "strategy   broadcast_side: these keys were given as hot; expected on" in skewkit.explain(found)
    assert_same_rows(found, tables.sql(query.format("")))


def test_hints_on_one_relation_add_up(tables):
    query = f"SELECT /*+ SKEW('a', 'k', (0)), SKEW('a', 'k', (1, 0)), SKEW('a') */ v {JOIN}"
    text = skewkit.explain(skewkit.sql(tables, query))
    assert "2 heavy keys" in text or "heavy      0, 1" in text
    assert "SKEW('a', 'k', 1 value), SKEW('a', 'k', 2 values), SKEW('a')" in text


def test_a_hint_of_sparks_own_goes_first_and_is_kept(tables):
    query = "SELECT /*+ {}SKEW('a', 'k', (0)), BROADCAST(c) */ v, x FROM a JOIN c ON a.j = c.j JOIN b ON a.k = b.k"
    found = skewkit.sql(tables, query.format(""))
    assert "strategy   salt" in skewkit.explain(found)
    assert "BroadcastHashJoin" in physical_plan(found)
    text = skewkit.explain(skewkit.sql(tables, query.format("MERGE(b), ")))
    assert "BROADCAST and MERGE in the same hint: Spark joins as it says; plain Spark answers" in text


def test_explain_says_why_plain_spark_answers_in_the_users_names(tables):
    text = skewkit.explain(skewkit.sql(tables, "SELECT /*+ SKEW('a', 'k', 0) */ v FROM a NATURAL JOIN c"))
    assert "SKEW('a', 'k', 1 value): a NATURAL join is left to plain Spark; plain Spark answers" in text
    text = skewkit.explain(skewkit.sql(tables, f"SELECT /*+ SKEW('a', 'k', 0) */ v {JOIN}"))
    assert "a.k" in text
    assert "b.k" in text


def test_decisions_say_what_became_of_each_hint(tables):
    skewkit.sql(tables, f"SELECT /*+ SKEW('a', 'k', 0), SKEW('b', 'w') */ v {JOIN}")
    last = skewkit.decisions()[-1]
    assert (last.operator, last.strategy) == ("sql", "salt")
    assert "SKEW('a', 'k', 1 value)" in last.text
    assert "SKEW('b', 'w'): no join, GROUP BY or window of its SELECT has such a key" in last.text
    skewkit.sql(tables, "SELECT /*+ SKEW('a', 'k', 0) */ v FROM a NATURAL JOIN c")
    assert skewkit.decisions()[-1].strategy == "native"
    assert "NATURAL" in skewkit.decisions()[-1].reason


def test_no_view_is_left_and_none_is_replaced(tables):
    before = sorted(row.tableName for row in tables.sql("SHOW TABLES").collect())
    found = skewkit.sql(tables, f"SELECT /*+ SKEW('a', 'k', (0)) */ a.k, w {JOIN}")
    assert sorted(row.tableName for row in tables.sql("SHOW TABLES").collect()) == before
    other = skewkit.sql(tables, "SELECT /*+ SKEW('a', 'k', (0)) */ count(*) AS n FROM a JOIN b USING (k)")
    assert found.count() == other.first().n
    assert sorted(row.tableName for row in tables.sql("SHOW TABLES").collect()) == before


def test_the_guard_keeps_plain_sparks_schema(tables, monkeypatch):
    from skewkit.hints import answer

    query = f"SELECT /*+ SKEW('a', 'k', (0)) */ a.k, w {JOIN}"
    monkeypatch.setattr(sql_module, "difference", lambda *frames: "k is int and not bigint")
    found = skewkit.sql(tables, query)
    assert "another schema: k is int and not bigint; plain Spark answers" in skewkit.explain(found)
    assert_same_rows(found, tables.sql(f"SELECT a.k, w {JOIN}"))
    ids = tables.range(1)
    assert answer.difference(ids, ids.selectExpr("string(id) AS id")) == "id is string and not bigint"
    assert answer.difference(ids, ids.selectExpr("id", "id AS x")) == "2 columns and not 1"


def test_statements(tables, tmp_path):
    plain = f"SELECT a.k + 1 AS k1, w, v {JOIN}"
    hinted = plain.replace("SELECT", "SELECT /*+ SKEW('a', 'k', (0)) */")
    made = skewkit.sql(tables, f"CREATE TABLE made_by_hint USING parquet LOCATION '{tmp_path}/t' AS {hinted}")
    try:
        assert "salt" in skewkit.explain(made)
        assert_same_rows(tables.table("made_by_hint"), tables.sql(plain))
        skewkit.sql(tables, f"INSERT INTO made_by_hint {hinted} WHERE v < 100")
        skewkit.sql(tables, f"WITH q AS ({hinted}) INSERT INTO made_by_hint SELECT * FROM q WHERE v < 50")
        twice = tables.sql(f"SELECT * FROM ({plain}) UNION ALL {plain} WHERE v < 100 UNION ALL {plain} WHERE v < 50")
        assert_same_rows(tables.table("made_by_hint"), twice)
        with pytest.raises(AnalysisException, match="INSERT_COLUMN_ARITY_MISMATCH"):
            skewkit.sql(tables, "INSERT INTO made_by_hint SELECT /*+ SKEW('a', 'k', (0)) */ v FROM a JOIN b USING (k)")
        view = skewkit.sql(
            tables, f"CREATE OR REPLACE TEMPORARY VIEW made_view AS {plain.replace('SELECT', 'SELECT ')}"
        )
        assert view.columns == []
        kept = f"CREATE OR REPLACE TEMPORARY VIEW made_view AS {hinted}"
        assert "CREATE" in skewkit.explain(skewkit.sql(tables, kept))
        assert tables.table("made_view").count() == tables.sql(plain).count()
    finally:
        tables.sql("DROP TABLE IF EXISTS made_by_hint")
        tables.sql("DROP VIEW IF EXISTS made_view")
