"""What a physical plan's text says: which join is on top, and what speaks against reading a frame twice."""

from __future__ import annotations

import re

SALT = "skewkit's salt"
"""Stands in a plan before a position that says where a row goes, and not what is in it."""
_UNSAFE = (
    ("holds a limit or a sample, which may differ the second time", r"(?<!WindowGroup)Limit$|^Sample$|^TakeOrdered"),
    ("is observed, and its metrics would count every reading", r"^CollectMetrics"),
    ("holds positions of rows", r"^AttachDistributedSequence"),
    ("is computed by Python, which may return something else the second time", r"Python|InPandas|InArrow"),
)
_RANDOM = (("holds random values", r"\b(rand|randn|random|uuid|shuffle|randstr|uniform)\("),)
_JAVA = (("calls Java, which may return something else the second time", r"\b(try_)?reflect\(|\bjava_method\("),)
_CHANGING = (
    *_RANDOM,
    *_JAVA,
    (
        "holds positions of rows",
        rf"(?i)(?<!{SALT}, )\b(monotonically_increasing_id|spark_partition_id)\((?!\) >= 0\))",
    ),
)
_UNSAFE_CALLS = (("is read by Python, which may return something else the second time", r"\(Python\)"), *_CHANGING)
_BY_ORDER = (
    (
        "holds the first of several values, or another one that depends on the order of rows",
        r"\b(first|last|any_value|nth_value|max_by|min_by|mode|collect_list|collect_set|array_agg|listagg|string_agg|"
        r"row_number|ntile|lag|lead|percentile_approx|approx_percentile|histogram_numeric|approx_top_k\w*|"
        r"\w+_(?:sketch|merge|union|intersection)_agg\w*)\(|"
        r"specifiedwindowframe\(RowFrame, (?!unboundedpreceding\$\(\), unboundedfollowing)",
    ),
    (
        "sums floating-point numbers, whose last digits depend on the order of rows",
        # A sum of whole numbers is a long, whose attribute ends in L; one of decimals has `isEmpty` beside it.
        r"partial_(?:try_)?sum\(.*\bsum#\d+(?![\dL]|, isEmpty#)|\bsum\((?:(?! AS ).)* AS [^,\]]*#\d+(?![\dL])|"
        r"\b((?:try_|vector_)?avg|vector_sum|std|stddev\w*|variance|var_\w+|corr|covar_\w+|skewness|kurtosis|"
        r"regr_(?!count)\w+|product)\(",
    ),
)
_RANK = re.compile(r"\b(?:dense_|percent_)?rank\((?:(?! AS ).)* AS ")
"""Ranks have a frame of rows, but are the same for rows that tie."""
_RESULTS = "Aggregate ["
_NEVER_FAILS = re.compile(r"(\[|, )(?:max|min)\(([^(),\[\]]+#\d+L?)\)(?= AS )")
AT_OPERATOR = r"^[\s:+|-]*(?:\*\(\d+\) )?"
OPERATOR = re.compile(AT_OPERATOR + r"(?:Scan )?(In-memory table|[A-Za-z]\w*)")
"""A line of a plan up to the end of its operator's name."""
_ROWS_OF_FILES = frozenset(("FileScan", "ColumnarToRow", "Project", "Filter"))
_POSITIONED = _ROWS_OF_FILES | {
    *("Range", "LocalTableScan", "Generate", "Union"),
    *("InMemoryTableScan", "In-memory table", "InMemoryRelation"),
}
"""Operators whose tasks give the same rows in the same order each time; what is cached may have to be made again."""
_PARSED = re.compile(r"FileScan (?:csv|json|xml)\b")
_CUT_LIST = re.compile(r"\.\.\. \d+ more fields")
_UNKNOWN = (
    ("comes from an RDD, which may hold other rows the second time", r"Scan \w*RDD\b"),
    (
        "comes from a source that may have other rows the second time",
        r"(?:Batch)?Scan (?!OneRowRelation|In-memory table|hive )|SparkScriptTransformation",
    ),
)
_COSTLY = (("is the result of a shuffle, which is costly", r"Exchange|Join|Window"),)


def with_results(logical: str, physical: str) -> str:
    r"""Return a physical plan's text and the group-bys of the logical one: only there stands what is made of results.

    >>> print(with_results("Aggregate [k#1], [k#1, rand(7) AS r#2]\n+- Relation t", "HashAggregate(keys=[k#1])"))
    HashAggregate(keys=[k#1])
    Aggregate [k#1], [k#1, rand(7) AS r#2]
    >>> with_results("Aggregate [k#1], [k#1, max(v#2L) AS w#3L]", "")  # as good as another name: it never fails
    '\nAggregate [k#1], [k#1, v#2L AS w#3L]'
    """
    lines = (line.lstrip(" :+-") for line in uncached(logical).splitlines())
    results = (_NEVER_FAILS.sub(r"\1\2", line) for line in lines if line.startswith(_RESULTS))
    return "\n".join((physical.rstrip("\n"), *results))


def is_cut(text: str) -> bool:
    """Return whether EXPLAIN left out some of many columns.

    >>> is_cut("Project [a#1, ... 40 more fields]")
    True
    """
    return _CUT_LIST.search(text) is not None


def unsafe_to_read_twice(physical: str) -> str | None:
    """Return why a frame may have other rows when it is computed again, or None; what is cached stays as it is.

    >>> unsafe_to_read_twice("*(1) ColumnarToRow")
    >>> unsafe_to_read_twice("")
    'has a plan that cannot be seen'
    >>> unsafe_to_read_twice("Project [monotonically_increasing_id() AS n#1L]")
    'holds positions of rows'
    >>> unsafe_to_read_twice("Project [xxhash64(skewkit's salt, monotonically_increasing_id(), 42) AS n#1L]")
    >>> unsafe_to_read_twice("Filter (spark_partition_id() >= 0)")
    """
    text = uncached(physical)
    if not text.strip():
        return "has a plan that cannot be seen"
    return _operator(_UNSAFE, text) or _called(_UNSAFE_CALLS, text)


def is_random(physical: str) -> str | None:
    """Return why two plans of this text would draw other values, if nobody gave them a seed, or None.

    >>> is_random("Project [rand(7) AS r#1]"), is_random("Project [monotonically_increasing_id() AS n#1L]")
    ('holds random values', None)
    """
    return _called(_RANDOM, uncached(physical))


def is_changing(physical: str) -> str | None:
    r"""Return why values may be others when a task runs again, or None; Python is trusted.

    >>> is_changing("Project [rand(7) AS r#1]\n+- Exchange"), is_changing("Project [rand(7) AS r#1]\n+- FileScan orc")
    ('holds random values', None)
    """
    calls = _JAVA if is_positioned(physical) else _CHANGING  # draws and positions of the same rows are the same again
    return depends_on_order(physical) or _called(calls, uncached(physical))


def depends_on_order(physical: str) -> str | None:
    """Return why a frame's values may depend on the order of its rows, which a shuffle does not promise, or None.

    >>> depends_on_order("HashAggregate(keys=[k#1], functions=[first(v#2, false)])")
    'holds the first of several values, or another one that depends on the order of rows'
    """
    lines = (line for line in uncached(physical).splitlines() if not line.startswith(_RESULTS))
    return _called(_BY_ORDER, _RANK.sub("", "\n".join(lines)))  # of group-bys the physical plan says more


def costly_to_read_twice(physical: str) -> str | None:
    """Return why it is costly to compute a frame twice, or None.

    >>> costly_to_read_twice("Exchange SinglePartition")
    'is the result of a shuffle, which is costly'
    """
    return _operator(_COSTLY, uncached(physical))


def of_unknown(physical: str) -> str | None:
    r"""Return why a frame may have other rows when it is computed again, as nobody sees what makes them, or None.

    Files, ranges, lists in the plan and what is cached are the same each time.

    >>> of_unknown("*(1) Scan ExistingRDD[k#1]")
    'comes from an RDD, which may hold other rows the second time'
    >>> of_unknown("Project [k#1]\n+- *(1) Scan JDBCRelation((SELECT k FROM t LIMIT 9)) [k#1]")
    'comes from a source that may have other rows the second time'
    >>> of_unknown("*(1) ColumnarToRow\n+- FileScan parquet [Scan X#1]")
    """
    lines = uncached(physical).splitlines()
    return next((why for why, scan in _UNKNOWN if any(re.match(AT_OPERATOR + scan, line) for line in lines)), None)


def is_simple(physical: str) -> bool:
    r"""Return whether a plan only reads, selects and filters, as far as its operators say.

    >>> is_simple("*(1) Project [k#1]\n+- *(1) FileScan parquet"), is_simple("Generate explode(a#1)\n+- FileScan orc")
    (True, False)
    >>> is_simple("InMemoryTableScan\n+- InMemoryRelation\n   +- Generate explode(a#1)")
    True
    """
    read = uncached(physical)
    narrow = _operator((*_UNSAFE, *_COSTLY), read) is None and of_unknown(physical) is None
    return narrow and bool(physical.strip()) and "Generate" not in operators(read)


def is_positioned(physical: str) -> bool:
    r"""Return whether a row is at the same place of the same task whenever the plan runs.

    >>> is_positioned("*(1) ColumnarToRow\n+- FileScan parquet"), is_positioned("Scan JDBCRelation(t)")
    (True, False)
    >>> is_positioned("Scan In-memory table t [k#1]\n+- InMemoryRelation\n +- Range"), is_positioned(
    ...     "InMemoryTableScan\n+- InMemoryRelation\n +- Exchange"
    ... )
    (True, False)
    """
    return bool(physical.strip()) and operators(physical) <= _POSITIONED


def is_of_parquet(physical: str) -> bool:
    r"""Return whether a plan's rows are those of Parquet files, one by one.

    >>> is_of_parquet("*(1) ColumnarToRow\n+- FileScan parquet [k#1]"), is_of_parquet("FileScan orc [parquet#1]")
    (True, False)
    """
    return operators(physical) <= _ROWS_OF_FILES and re.search(r"FileScan parquet\b", physical) is not None


def is_of_cache(physical: str) -> bool:
    r"""Return whether a plan reads what is cached, and no file.

    >>> is_of_cache("InMemoryTableScan\n+- InMemoryRelation\n +- FileScan orc [k#1]"), is_of_cache("Range (0, 9)")
    (True, False)
    """
    names = operators(uncached(physical))
    return not names.isdisjoint(("InMemoryTableScan", "In-memory table")) and "FileScan" not in names


def is_parsed(physical: str) -> bool:
    r"""Return whether a plan reads files of CSV, JSON or XML, of which it parses no more than is asked for.

    >>> is_parsed("FileScan csv [k#1]"), is_parsed("InMemoryTableScan\n+- InMemoryRelation\n +- FileScan csv [k#1]")
    (True, False)
    """
    return _PARSED.search(uncached(physical)) is not None


def reads_files(physical: str) -> bool:
    r"""Return whether a plan reads files that are not cached.

    >>> reads_files("FileScan orc [k#1]"), reads_files("InMemoryTableScan\n+- InMemoryRelation\n +- FileScan orc [k#1]")
    (True, False)
    """
    return "FileScan" in operators(uncached(physical))


def count_shuffles(physical: str) -> int:
    r"""Return the number of shuffles of a plan, below a cached frame none.

    >>> count_shuffles("SortMergeJoin\n:- Exchange hashpartitioning(k#1)\n+- Exchange hashpartitioning(k#2)")
    2
    """
    return sum(bool(re.match(AT_OPERATOR + r"Exchange\b", line)) for line in uncached(physical).splitlines())


def operators(physical: str) -> set[str]:
    r"""Return the operators of a plan; not its columns, tables and files, which may have any name.

    >>> operators("*(1) Project [Limit#1]\n+- *(1) Scan ExistingRDD[Limit#1]") == {"Project", "ExistingRDD"}
    True
    """
    return {found.group(1) for found in map(OPERATOR.match, physical.splitlines()) if found}


def _operator(reasons: tuple[tuple[str, str], ...], text: str) -> str | None:
    """Return the first reason whose pattern is found in the name of an operator."""
    names = operators(text)
    return next((reason for reason, pattern in reasons if any(re.search(pattern, name) for name in names)), None)


def _called(reasons: tuple[tuple[str, str], ...], text: str) -> str | None:
    """Return the first reason whose pattern is found anywhere in a plan."""
    return next((reason for reason, pattern in reasons if re.search(pattern, text)), None)


def uncached(physical: str) -> str:
    """Return the plan's lines but for those below a cached frame."""
    lines, cached = [], None
    for line in physical.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if cached is not None and depth > cached:
            continue
        cached = depth if "InMemoryRelation" in line else None
        lines.append(line)
    return "\n".join(lines)
