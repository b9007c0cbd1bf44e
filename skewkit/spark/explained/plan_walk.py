"""A walk up a logical plan that says of every column, and of the rows, how stable they are: an allow-list.

What an operator does to rows is written below for the operators that are known. Any other makes all UNKNOWN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from skewkit.spark.explained.expression_stability import UNSEEN, Context, stability_of
from skewkit.spark.explained.partial_sums import exact_sums
from skewkit.spark.explained.physical import is_positioned
from skewkit.spark.explained.plan_columns import Made, columns_made, groups, without_names
from skewkit.spark.explained.plan_flow import Flow, Output, Trust, worst
from skewkit.spark.explained.plan_tree import CACHED, PlanNode, PlanTree
from skewkit.spark.explained.row_counts import is_of_files
from skewkit.spark.explained.stability import Stability, Verdict

_STABLE = Verdict()
_PYTHON = Verdict(Stability.UNKNOWN, "is computed by Python, which may return something else the second time")
_SOURCE = Verdict(Stability.UNKNOWN, "comes from a source that may have other rows the second time")
_RDD = Verdict(Stability.UNKNOWN, "comes from an RDD, which may hold other rows the second time")
_OBSERVED = Verdict(Stability.UNKNOWN, "is observed, and its metrics would count every reading")
_LIMIT = Verdict(Stability.RANDOM, "holds a limit or a sample, which may differ the second time")
_POSITION = Verdict(Stability.RANDOM, "holds positions of rows")
_CARRIED = re.compile(r"(?:max|min)\([^(),]*#(\d+)L?\)")
_ABOVE_0 = re.compile(r"\([^()#]*#(\d+)L? > 0\)")
_ALWAYS = re.compile(r"CASE WHEN \(SPARK_PARTITION_ID\(\) >= 0\) THEN true ELSE (?:(?! END).)* END", re.IGNORECASE)
"""A filter that keeps all rows (`kept_whole`)."""
_GOES_ON = re.compile(r" (?:ELSE|else|THEN|WHEN|END)\b")
_SHORT = 64
"""Longer texts without columns or calls count as computed, not as constant."""


_NOTHING = Trust()


def flow_of(plans: PlanTree, trust: Trust = _NOTHING) -> Flow:
    r"""Return what is known of the result of a plan.

    >>> from skewkit.spark.explained.plan_tree import PlanTree, read_tree
    >>> plan = read_tree("Project [id#0L, rand(7) AS r#1]\n+- Range (0, 9)")
    >>> flow = flow_of(PlanTree(plan, plan))
    >>> flow.rows.repeatable, [(column.name, column.verdict.level.name) for column in flow.columns]
    (True, [('id', 'STABLE'), ('r', 'RANDOM')])
    """
    if plans.logical is None or plans.physical is None or plans.cut:
        return Flow(UNSEEN, ())
    text_ids = frozenset(_range_ids(plans.logical))
    return _Walk(trust, text_ids, exact_sums(plans.physical)).flow(plans.logical)


def _range_ids(node: PlanNode) -> set[int]:
    """Return the numbers that the columns of ranges may have. EXPLAIN does not list these."""
    return {int(number) for each in node.walk() for number in re.findall(r"\bid#(\d+)L", each.arguments, re.IGNORECASE)}


@dataclass(frozen=True)
class _Walk:
    trust: Trust
    range_ids: frozenset[int]
    exact_sums: frozenset[str]

    def flow(self, node: PlanNode) -> Flow:
        """Return what comes out of a node. Names that look like calls are taken out of its text."""
        known = _OPERATORS.get(node.operator)
        if known is None:
            return self._opaque(node, Verdict(Stability.UNKNOWN, f"has a step that is not known: {node.operator}"))
        arity, made = known
        if len(node.children) != arity and arity >= 0:
            return Flow(UNSEEN, ())
        flows = tuple(map(self.flow, node.children))
        names = {(column.name, number) for flow in flows for column in flow.columns for number in column.ids}
        odd = [each for each in names if re.search(r"[(\[,]| AS ", each[0])]
        return made(self, replace(node, arguments=without_names(node.arguments, odd)), flows)

    def _around(self, node: PlanNode, flow: Flow) -> Context:
        inner = [self.flow(each) for each in node.inner]
        subqueries = worst([each.all for each in inner]) if inner else UNSEEN
        return Context(
            {number: column.verdict for number, column in flow.by_id.items()},
            subqueries,
            positioned=flow.positioned,
            rerun=self.trust.rerun,
            exact_sums=self.exact_sums,
        )

    # --- sources ---

    def _opaque(self, node: PlanNode, verdict: Verdict) -> Flow:
        """Return a flow of columns of which nothing is known but this."""
        listed = [made for group in groups(node.arguments) for made in columns_made(group) or []]
        flows = [self.flow(child) for child in node.children]
        columns = [column for flow in flows for column in flow.columns]
        made = [Output(each.name, frozenset((each.id,)), verdict, "computed") for each in listed]
        told = (replace(column, verdict=column.verdict.worse(verdict), origin="computed") for column in columns)
        rows = worst([verdict, *(flow.rows for flow in flows)])
        return Flow(rows, (*made, *told), unknown=verdict)

    def _leaf(self, node: PlanNode, verdict: Verdict = _STABLE, *, placed: bool = True) -> Flow:
        lists = groups(node.arguments.replace("Data Cols: ", "").replace("Partition Cols: ", ""))
        made = [each for listed in lists for each in columns_made(listed) or []]
        columns = tuple(Output(each.name, frozenset((each.id,)), verdict) for each in made)
        return Flow(verdict, columns, placed and verdict.repeatable)

    def _source(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        known = is_of_files(node)
        return self._leaf(node, _STABLE if known or self._trusted else _SOURCE, placed=known)

    @property
    def _trusted(self) -> bool:
        return self.trust.sources or self.trust.rerun

    def _script(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return replace(self._opaque(replace(node, children=()), _SOURCE), rows=_SOURCE)

    def _rdd(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return self._leaf(node, _STABLE if self._trusted or self.trust.rdds else _RDD, placed=False)

    def _listed(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return self._leaf(node)

    def _range(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return Flow(_STABLE, (Output("id", self.range_ids or frozenset((-1,))),), positioned=True)

    def _cached(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        """What is cached stays as it is. But its rows have their places only if those of what made it have them."""
        return self._leaf(node, placed=bool(node.inner) and all(map(is_positioned, node.inner)))

    # --- one input ---

    def _filter(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        if _ALWAYS.fullmatch(node.arguments):
            return flow
        asked = _ABOVE_0.sub(lambda found: "true" if _numbers_rows(flow, found[1]) else found[0], node.arguments)
        verdict = stability_of(asked, self._around(node, flow))
        return replace(flow, rows=flow.rows.worse(_of_rows(verdict)))

    def _project(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        lists = groups(node.arguments)
        made = columns_made(lists[0]) if len(lists) == 1 else None
        if made is None:
            return self._opaque(node, UNSEEN)
        around = self._around(node, flow)
        return replace(flow, columns=tuple(self._column(each, flow, around) for each in made))

    def _column(self, made: Made, flow: Flow, around: Context, beside: Verdict = _STABLE) -> Output:
        """Return a column made of those of a flow. `beside` is what its value depends on as well."""
        ids = frozenset((made.id,))
        if made.source is not None:
            known = flow.by_id.get(made.source)
            if known is None:
                return Output(made.name, ids, flow.unknown, "computed")
            return replace(known, name=made.name or known.name, ids=ids)
        in_a_text = "#" in made.name or _GOES_ON.search(made.name)  # the item was cut at an AS of a text in it
        text = f"{made.text} AS {made.name}" if in_a_text else made.text
        verdict = stability_of(text, around, long=made.long).worse(beside)
        carried = _CARRIED.fullmatch(made.text)
        if carried is not None and int(carried[1]) in flow.by_id:  # as good as another name: it never fails
            origin = flow.by_id[int(carried[1])].origin
        else:
            origin = "computed" if len(made.text) > _SHORT or re.search(r"[#()]", made.text) else "constant"
        return Output(made.name, ids, verdict, origin, made.text.startswith("row_number() windowspecdefinition("))

    def _aggregate(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        lists = groups(node.arguments)
        listed = node.arguments if len(lists) == 1 else ""
        keys, results = ("", lists[0]) if listed else lists[:2] if len(lists) >= 2 else ("", "?")
        made = columns_made(results)
        if made is None:
            return self._opaque(node, UNSEEN)
        around = replace(self._around(node, flow), positioned=False)  # results are made after the shuffle
        by_key = _of_rows(stability_of(keys, around))
        beside = by_key.worse(flow.rows)
        columns = tuple(self._column(each, flow, around, beside) for each in made)
        return Flow(flow.rows.worse(by_key), columns)

    def _window(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        lists = groups(node.arguments)
        made = columns_made(lists[0]) if lists else None
        if made is None:
            return self._opaque(node, UNSEEN)
        around = replace(self._around(node, flow), positioned=False)
        beside = flow.rows.worse(_of_rows(stability_of(" ".join(lists[1:]), around)))
        columns = tuple(self._column(each, flow, around, beside) for each in made)
        return Flow(flow.rows, flow.columns + columns)

    def _moved(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return replace(flows[0], positioned=False)

    def _limit(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return replace(flows[0], rows=flows[0].rows.worse(_LIMIT), positioned=False)

    def _sample(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        return flow if self.trust.rerun and flow.positioned else self._limit(node, flows)

    def _observed(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        return flows[0] if self.trust.rerun else replace(flows[0], rows=flows[0].rows.worse(_OBSERVED))

    def _generate(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        lists = groups(node.arguments)
        made = columns_made(lists[-1]) if lists else None
        if made is None:
            return self._opaque(node, UNSEEN)
        verdict = stability_of(node.arguments[: node.arguments.rindex("[")], self._around(node, flow))
        columns = [Output(each.name, frozenset((each.id,)), verdict, "computed") for each in made]
        dropped = set(map(int, re.findall(r"\d+", lists[0]))) if re.fullmatch(r"[\d, ]+", lists[0]) else set()
        kept = [column for at, column in enumerate(flow.columns) if at not in dropped]
        return replace(flow, rows=flow.rows.worse(_of_rows(verdict)), columns=(*kept, *columns))

    def _expand(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        (flow,) = flows
        lists = groups(node.arguments)
        made = columns_made(lists[1]) if len(lists) == 2 else None
        if made is None:
            return self._opaque(node, UNSEEN)
        verdict = stability_of(lists[0], self._around(node, flow))
        columns = tuple(Output(each.name, frozenset((each.id,)), verdict, "computed") for each in made)
        return Flow(flow.rows, columns, flow.positioned)

    def _python(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        """UDFs beside the columns that there are."""
        (flow,) = flows
        lists = groups(node.arguments)
        made = columns_made(lists[1]) if len(lists) >= 2 else None
        if made is None:
            return self._opaque(node, UNSEEN)
        verdict = flow.all if self.trust.rerun else _PYTHON
        columns = (Output(each.name, frozenset((each.id,)), verdict, "computed") for each in made)
        return replace(flow, columns=(*flow.columns, *columns), positioned=False)

    def _python_rows(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        """Functions of Python that return rows."""
        verdict = worst([flow.all for flow in flows]) if self.trust.rerun else _PYTHON
        return replace(self._opaque(replace(node, children=()), verdict), rows=verdict)

    def _numbered(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        found = re.search(r"([^\s\[(]+)#(\d+)L?", node.arguments)
        made = [] if found is None else [Output(found[1], frozenset((int(found[2]),)), _POSITION, "computed")]
        return replace(flows[0], columns=(*made, *flows[0].columns))

    # --- several inputs ---

    def _join(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        left, right = flows
        both = Flow(left.rows.worse(right.rows), left.columns + right.columns)
        how, _, condition = node.arguments.partition(", ")
        rows = both.rows.worse(_of_rows(stability_of(condition, self._around(node, both))))
        if how in ("LeftSemi", "LeftAnti"):
            return Flow(rows, left.columns)
        exists = re.match(r"ExistenceJoin\(([^#]+)#(\d+)\)", node.arguments)
        if exists is not None:
            found = Output(exists[1], frozenset((int(exists[2]),)), rows, "computed")
            return Flow(left.rows, (*left.columns, found))
        return replace(both, rows=rows)

    def _union(self, node: PlanNode, flows: Sequence[Flow]) -> Flow:
        if not flows or len({len(flow.columns) for flow in flows}) > 1:
            return Flow(UNSEEN, ())
        columns = []
        for first, *others in zip(*(flow.columns for flow in flows), strict=True):
            verdict = worst([first.verdict, *(other.verdict for other in others)])
            same = all(other.origin == first.origin for other in others)
            numbers_rows = first.numbers_rows and all(other.numbers_rows for other in others)
            columns.append(
                replace(first, verdict=verdict, origin=first.origin if same else "computed", numbers_rows=numbers_rows)
            )
        rows = worst([flow.rows for flow in flows])
        return Flow(rows, tuple(columns), all(flow.positioned for flow in flows))


def _numbers_rows(flow: Flow, number: str) -> bool:
    return int(number) in flow.by_id and flow.by_id[int(number)].numbers_rows


def _of_rows(verdict: Verdict) -> Verdict:
    """Return what a filter or key of this stability makes of the rows: by the order of rows there are others."""
    return replace(verdict, level=Stability.RANDOM) if verdict.level is Stability.BY_ROW_ORDER else verdict


_Known = tuple[int, Callable[[_Walk, PlanNode, Sequence[Flow]], Flow]]
_OPERATORS: Mapping[str, _Known] = {
    "Relation": (0, _Walk._source),
    "RelationV2": (0, _Walk._source),
    "HiveTableRelation": (0, _Walk._source),
    "LogicalRDD": (0, _Walk._rdd),
    "ExternalRDD": (0, _Walk._rdd),
    "LocalRelation": (0, _Walk._listed),
    "OneRowRelation": (0, _Walk._listed),
    "EmptyRelation": (0, _Walk._listed),
    "Range": (0, _Walk._range),
    CACHED: (0, _Walk._cached),
    "Filter": (1, _Walk._filter),
    "Project": (1, _Walk._project),
    "Aggregate": (1, _Walk._aggregate),
    "Window": (1, _Walk._window),
    "Generate": (1, _Walk._generate),
    "Expand": (1, _Walk._expand),
    **dict.fromkeys(("Sort", "Repartition", "RepartitionByExpression"), (1, _Walk._moved)),
    **dict.fromkeys(("RebalancePartitions", "WindowGroupLimit"), (1, _Walk._moved)),
    **dict.fromkeys(("GlobalLimit", "LocalLimit", "Offset", "Tail"), (1, _Walk._limit)),
    "Sample": (1, _Walk._sample),
    "CollectMetrics": (1, _Walk._observed),
    "AttachDistributedSequence": (1, _Walk._numbered),
    **dict.fromkeys(("BatchEvalPython", "ArrowEvalPython"), (1, _Walk._python)),
    **dict.fromkeys(("MapInPandas", "PythonMapInArrow", "MapInArrow"), (1, _Walk._python_rows)),
    **dict.fromkeys(("FlatMapGroupsInPandas", "FlatMapGroupsInArrow"), (1, _Walk._python_rows)),
    **dict.fromkeys(("FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"), (2, _Walk._python_rows)),
    "ScriptTransformation": (1, _Walk._script),
    "Join": (2, _Walk._join),
    "Union": (-1, _Walk._union),
}
"""The operators that are known, with how many inputs they have (-1: any number), and what they do."""
