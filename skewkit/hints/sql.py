"""`skewkit.sql`: `spark.sql` that follows the SKEW hint."""

from __future__ import annotations

import re
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from skewkit.api.arguments import check_session, first_line
from skewkit.errors import KeyTypeError, UnsupportedError
from skewkit.hints.answer import QueryAnswer, difference, remembered, renamed
from skewkit.hints.asked import FollowedHint
from skewkit.hints.query_arguments import formatted, named_arguments
from skewkit.hints.register import need_top_keys
from skewkit.hints.rewriting import Rewritten, rewrite
from skewkit.hints.running import Runner
from skewkit.hints.text.edits import edited
from skewkit.hints.text.query_block import block_at
from skewkit.hints.text.statement import Statement, read_statement
from skewkit.hints.text.tokens import NotCut, tokens_of
from skewkit.hints.text.top_keys import CALLED, with_top_keys
from skewkit.hints.text.unhinted import skew_hints, unhinted
from skewkit.spark.session.compat import is_of_a_task
from skewkit.spark.session.query_log import quiet_query_log

_HINTED = re.compile(r"/\*\+(?:[^*]|\*(?!/))*skew", re.IGNORECASE)


def sql(spark: SparkSession, query: str, args: Any = None, **frames: Any) -> DataFrame:
    """Run a query as `spark.sql` does, with its SKEW hints followed: the same rows, names and types, balanced.

    * Without a hint it is `spark.sql`, and the text is not read.
    * A hint stands after a SELECT, anywhere in the query: `SELECT /*+ SKEW('orders', 'cust', (1, 2)) */ ...`.
      The relation is a table, an alias or a sub-query's alias in that SELECT's FROM. Then come key columns, then keys
      that are hot. `SKEW_JOIN`, and `SKEW(t(c)(1, 2))` without quotes, are understood here, too.
    * Named keys are treated as hot, as `heavy=` of `skew_join` says. With a column alone one query finds the
      hot keys, and they are treated whatever that costs. With the relation alone all is left to `auto`.
    * Only the hinted joins are cut out of the query and spliced in again as one frame. All else is the user's text.
    * The schema must be that of the query without hints. Where it is not, or a part of SQL is not known here, plain
      Spark answers, and `explain` says why.
    * `SELECT * FROM skew_top_keys(TABLE(t), 'c')` gives the most frequent values of a column. `register` has more.
    * `INSERT ... SELECT` and `CREATE TABLE ... AS SELECT` run at once, as in `spark.sql`.

    Args:
        spark: the session, classic or Connect.
        query: SQL text.
        args: values of parameter markers, a dict for `:name` or a list for `?`.
        **frames: frames and values for `{name}` in the text, as in `spark.sql`.

    Raises:
        ArgumentError: a hint cannot be read, names a relation that is not in its FROM, or a value that does not fit.
        ColumnNotFoundError: a hint names a column that its relation has not.
        EnvironmentProblem: sqlglot is not installed.
        AnalysisException: Spark's own, where the query is wrong without the hint.

    >>> spark.range(1000).selectExpr("if(id < 700, 0, id) AS cust", "id").createOrReplaceTempView("orders")
    >>> joined = sql(spark, '''SELECT /*+ SKEW('orders', 'cust', (0)) */ c.name, count(*) AS n FROM orders
    ...     JOIN (SELECT id AS cust, concat('c', id) AS name FROM range(800)) c USING (cust) GROUP BY c.name''')
    >>> joined.where("name = 'c0'").first()
    Row(name='c0', n=700)
    """
    check_session(spark, "sql")
    if CALLED.search(query):
        need_top_keys(spark)
        query = with_top_keys(query)
    if not is_hinted(query):
        return spark.sql(query, **_given(args), **frames)
    return _hinted(spark, query, args, frames)


def is_hinted(query: str) -> bool:
    """Return whether a query may have a SKEW hint.

    >>> is_hinted("SELECT /*+ SKEW('t') */ 1 FROM t"), is_hinted("SELECT 1 AS skew /* no hint */")
    (True, False)
    """
    return _HINTED.search(query) is not None


def _given(args: Any) -> dict[str, Any]:
    return {} if args is None else {"args": args}


def _hinted(spark: SparkSession, query: str, args: Any, frames: dict[str, Any]) -> DataFrame:
    runner = Runner(spark, args)
    try:
        text = formatted(query, frames, runner) if frames else query
        text, runner.args = named_arguments(text, args, runner)
        if not any(skew_hints(text)):
            raise NotCut("no SKEW hint stands after a SELECT")
        bare = unhinted(text)
        statement, plain_statement = read_statement(text), read_statement(bare)
    except NotCut as why:
        return remembered(_left_to_spark(spark, query, args, frames), QueryAnswer((), (str(why),)))
    try:
        with quiet_query_log():
            plain = runner.query(plain_statement.query)
    except AnalysisException:
        if not statement.command:
            return remembered(_left_to_spark(spark, query, args, frames), QueryAnswer((), ()))
        # An INSERT may select what no query does, such as DEFAULT.
        return remembered(runner.run(bare), QueryAnswer((), ("Spark takes the query of this command within it only",)))
    found, answer = _followed(runner, statement, plain)
    if not statement.command:
        return remembered(plain if found is None else found, answer)
    return remembered(_commanded(runner, statement, bare, found), answer)


def _left_to_spark(spark: SparkSession, query: str, args: Any, frames: dict[str, Any]) -> DataFrame:
    """Return plain Spark's answer, without the hints where it does not take their form."""
    try:
        with quiet_query_log():
            return spark.sql(query, **_given(args), **frames)
    except AnalysisException:
        try:
            bare = unhinted(query)
        except NotCut:
            bare = query
        return spark.sql(bare, **_given(args), **frames)


def _followed(runner: Runner, statement: Statement, plain: DataFrame) -> tuple[DataFrame | None, QueryAnswer]:
    """Return the query's frame with its hints followed, inner ones first. None where plain Spark answers all."""
    text, found = statement.query, None
    done: list[FollowedHint] = []
    reasons: list[str] = []
    while True:
        at, hint = min(skew_hints(text), key=lambda found: _end(text, found[0]), default=(0, None))
        if hint is None:
            break
        token = tokens_of(text)[at]
        bare = edited(text, [(token.start, token.end, hint.rest)])
        try:
            with quiet_query_log():
                rewritten = rewrite(block_at(text, at), hint, runner)
                frame, new = _spliced(runner, text, bare, rewritten, (token.start, token.end, hint.rest), plain)
        except (NotCut, UnsupportedError, KeyTypeError) as why:
            reasons.append(f"{hint}: {why}")
            text = bare
            continue
        except Exception as error:
            if not (isinstance(error, PySparkException) or is_of_a_task(error)):
                raise
            reasons.append(f"{hint}: Spark does not take the query so cut: {first_line(error)}")
            text = bare
            continue
        reasons += rewritten.reasons
        done += rewritten.done
        text = new
        found = frame if frame is not None else found
    return found, QueryAnswer(tuple(done), tuple(reasons))


def _end(text: str, at: int) -> int:
    """Return where a hint's SELECT ends, 0 where nobody knows."""
    try:
        return block_at(text, at).end
    except NotCut:
        return 0


def _spliced(
    runner: Runner, text: str, bare: str, rewritten: Rewritten, hint: tuple[int, int, str], plain: DataFrame
) -> tuple[DataFrame | None, str]:
    """Return the spliced query's frame and text; no frame where nothing was spliced."""
    if not rewritten.edits:
        return None, bare
    new = edited(text, [*rewritten.edits, hint])
    frame = runner.query(unhinted(new))
    unlike = difference(plain, frame)
    if unlike is not None:
        raise NotCut(f"the query so cut has another schema: {unlike}")
    return renamed(frame, plain), new


def _commanded(runner: Runner, statement: Statement, bare: str, found: DataFrame | None) -> DataFrame:
    """Run a command over the frame of its query."""
    if found is None:
        return runner.run(bare)
    try:
        with quiet_query_log():
            return runner.run(f"{statement.command} SELECT * FROM {runner.add(found)}")
    except AnalysisException:  # the user's own text says what is wrong with it
        return runner.run(bare)
