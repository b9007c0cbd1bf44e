"""One hinted SELECT rewritten: what a hint asks for is computed into a frame, and the user's text reads that frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException, PySparkException

from skewkit.api.arguments import first_line
from skewkit.errors import ArgumentError, UnsupportedError
from skewkit.hints.asked import FollowedHint
from skewkit.hints.hinted_group import group
from skewkit.hints.hinted_join import Joined, Joins
from skewkit.hints.hinted_window import check_windows, windows
from skewkit.hints.relations import Kept, check_columns, kept_of, named_by, scope_of, strategies_of
from skewkit.hints.running import Runner
from skewkit.hints.scope import Scope, WithClauses
from skewkit.hints.text.edits import Edit
from skewkit.hints.text.from_clause import FromClause, read_from
from skewkit.hints.text.hint_grammar import Hint, HintToken
from skewkit.hints.text.mentions import Mentions, mentions_in
from skewkit.hints.text.query_block import QueryBlock, in_context
from skewkit.hints.text.star import stars_of
from skewkit.hints.text.tokens import NotCut, Token, deeper, is_word, written
from skewkit.hints.text.unhinted import unhinted


@dataclass(frozen=True)
class Rewritten:
    """The edits of a query's text, none where plain Spark answers, and what became of the hints."""

    edits: tuple[Edit, ...]
    done: tuple[FollowedHint, ...]
    reasons: tuple[str, ...] = ()


def rewrite(block: QueryBlock, hint: HintToken, runner: Runner) -> Rewritten:
    """Return how a SELECT is rewritten for the SKEW hints of its hint token.

    Raises:
        ArgumentError: a hint names what is not in its FROM, or a value that does not fit.
        NotCut: the SELECT is left to plain Spark, as the reason says.
    """
    if "from" not in block.clauses:
        if is_word(block.tokens, block.start - 1, "|>"):
            raise NotCut("a hint after a pipe is left to plain Spark")
        if block.follows_from:
            raise NotCut("a FROM before its SELECT is left to plain Spark")
        raise ArgumentError(
            f"{hint.hints[0]}: its SELECT has no FROM, so there is no relation {hint.hints[0].relation!r}"
        )
    clause = read_from(block.tokens, block.clauses["from"])
    context = WithClauses(block.source, block.start)
    hinted = [(each, index) for each in hint.hints for index in named_by(each, clause, runner)]
    _check_alone(block, runner)
    strategies = strategies_of(hint.others, clause)
    stars = stars_of(block)
    kept = kept_of(block, mentions_in(block.tokens), star=bool(stars))
    scopes = _scopes(clause, block, hinted, kept, context, runner)
    for index, strategy in strategies.items():
        scopes[index] = replace(scopes[index], frame=scopes[index].frame.hint(strategy))
    where = written(block.source, block.clause("where")[1:])
    joins = Joins(block.source, clause, scopes, hinted, where, context, frozenset(strategies))
    grouped = "group" in block.clauses
    over = any(is_word(block.clause("select"), at, "over", "(") for at in range(len(block.clause("select"))))
    whole = (grouped or over) and clause.behind == clause.end
    joined = _joined(joins, whole=bool(stars) or whole)
    reasons: tuple[str, ...] = ()
    found = None
    if whole:
        try:
            found = _grouped(block, joined, joins) if grouped else _windowed(block, joined, joins, stars)
        except (NotCut, UnsupportedError, AnalysisException) as why:
            reasons = (f"{hint}: {first_line(why)}",)
    if found is None:
        found = Rewritten(tuple(_spliced(block, joined, stars)) if joined.changed else (), tuple(joined.done))
    return replace(found, reasons=reasons or tuple(_not_followed(hint, found.done, block, strategies)))


def _not_followed(
    hint: HintToken, done: Sequence[FollowedHint], block: QueryBlock, strategies: Mapping[int, str]
) -> Iterator[str]:
    """Return why hints are about no operator, one reason for each of them."""
    followed = {each for became in done for each in became.hints}
    for each in hint.hints:
        if each not in followed:
            names = " and ".join(sorted({name.upper() for name in strategies.values()}))
            first = f"{names} in the same hint: Spark joins as it says"
            yield f"{each}: {first if names else _no_such_key(block)}"


def _no_such_key(block: QueryBlock) -> str:
    where = block.clause("where")
    if any(is_word(where, at, "exists", "(") or is_word(where, at, "in", "(", "select") for at in range(len(where))):
        return "IN and EXISTS are left to plain Spark; written as LEFT SEMI JOIN or LEFT ANTI JOIN they are followed"
    return "no join, GROUP BY or window of its SELECT has such a key"


def _check_alone(block: QueryBlock, runner: Runner) -> None:
    """Refuse a sub-query that reads columns of the query around it: a cut would need them.

    Raises:
        NotCut: the sub-query reads such a column.
    """
    if sum(deeper(token) for token in block.tokens[: block.start]) == 0:
        return
    own = block.source[block.tokens[block.start].start : block.tokens[block.end - 1].end]
    try:
        runner.query(unhinted(in_context(block.source, block.tokens, block.start, own)))
    except PySparkException as error:
        raise NotCut(f"a correlated sub-query is left to plain Spark ({first_line(error)})") from error


def _grouped(block: QueryBlock, joined: Joined, joins: Joins) -> Rewritten | None:
    """Return the SELECT with its GROUP BY computed. None where no hint is about it."""
    found = group(block, joined.scope, joins)
    if found is None:
        return None
    edits, became = found
    if not edits and joined.changed:
        edits = _spliced(block, joined, ())
    return Rewritten(tuple(edits), (*joined.done, became))


def _windowed(block: QueryBlock, joined: Joined, joins: Joins, stars: Sequence[Token]) -> Rewritten | None:
    """Return the SELECT with its hinted windows computed. None where no hint is about them."""
    check_windows(block, stars)
    found = windows(block, joined.scope, joins)
    if found is None:
        return None
    edits, scope, became = found
    if all(each.strategy == "native" for each in became):
        return Rewritten(tuple(_spliced(block, joined, stars)) if joined.changed else (), (*joined.done, *became))
    made = [text for _, _, text in edits]
    last = "where" if "where" in block.clauses else "from"
    end = block.clauses[last].stop
    return Rewritten(
        (*edits, *_spliced(block, replace(joined, scope=scope, end=end), stars, made)), (*joined.done, *became)
    )


def _scopes(
    clause: FromClause,
    block: QueryBlock,
    hinted: Sequence[tuple[Hint, int]],
    kept: Kept,
    context: WithClauses,
    runner: Runner,
) -> list[Scope]:
    scopes = []
    for index, relation in enumerate(clause.relations):
        scope, schema = scope_of(relation, block, kept, context, runner)
        for hint in (hint for hint, named in hinted if named == index):
            check_columns(hint, schema)
        scopes.append(scope)
    return scopes


def _joined(joins: Joins, *, whole: bool) -> Joined:
    """Return the relations joined up to the last hinted join; to the end where the `whole` is asked for."""
    chains = joins.clause.chains
    if whole and joins.clause.behind < joins.clause.end:
        raise NotCut("a star over more than relations and joins is left to plain Spark")
    if whole or len(chains) > 1:
        return joins.all()
    steps = joins.chain(chains[0], 0)
    last = max((i for i, step in enumerate(steps) if len(step.done) > (len(steps[i - 1].done) if i else 0)), default=0)
    return steps[last]


def _spliced(block: QueryBlock, joined: Joined, stars: Sequence[Token], made: Sequence[str] = ()) -> list[Edit]:
    start = block.tokens[block.clauses["from"].start + 1].start
    cut = block.tokens[block.clauses["from"].start : joined.end]
    mentions: Mentions = mentions_in(block.all, without=cut)
    view = joined.scope.view(mentions, *made, star=bool(stars))
    text = joined.scope.star_text() if stars else ""
    return [(start, cut[-1].end, view), *((star.start, star.end, text) for star in stars)]
