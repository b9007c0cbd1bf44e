"""Where a column of a physical plan comes from: read, computed or a constant."""

from __future__ import annotations

import re

from skewkit.spark.explained.physical import AT_OPERATOR, operators, uncached


def is_computed(physical: str, name: str) -> bool:
    r"""Return whether a physical plan computes the column of this name, and does not only rename another one.

    >>> is_computed("Project [k#1, (v#2 + 1) AS w#3]", "w"), is_computed("Project [k#1, v#2 AS w#3]", "w")
    (True, False)
    >>> is_computed("Project [k#1, v#2 AS w#3]\n+- Project [k#1, (u#4 + 1) AS v#2]", "w")
    True
    >>> is_computed("Project [k#1, if ((v#2 = 4)) null else v#2 AS w#3]", "w")
    True
    >>> is_computed("Project [k#1, the v#2 AS w#3]", "w"), is_computed("Project [k#1, NOT v#2 AS w#3]", "w")
    (False, True)
    """
    text = uncached(physical)
    made = [(source, set[str]()) for source in _sources(text, rf"{re.escape(name)}#\d")]
    while made:
        source, seen = made.pop()
        if source is None:
            return True
        if source not in seen:
            below = _sources(text, rf"[^,\[\]]*#{source}(?!\d)")
            made += [(each, seen | {source}) for each in below]
    return False


def is_constant(physical: str, name: str) -> bool:
    r"""Return whether a column is a short constant wherever a plan computes one of its name.

    >>> is_constant("Project [EU AS c#1]", "c"), is_constant("Project [concat(a#1, b#2) AS c#3]", "c")
    (True, False)
    """
    text, at = uncached(physical), rf" AS {re.escape(name)}#\d"
    made = re.findall(r"(?:\[|, )([^,\[\]]{0,64})" + at, text)
    return 0 < len(made) == len(re.findall(at, text)) and not any(re.search(r"[#()]", value) for value in made)


def is_stored(physical: str, name: str) -> bool:
    r"""Return whether a column is for certain one that the plan reads, by this or another name.

    >>> is_stored("Project [v#2 AS W#3]\n+- FileScan parquet [k#1,v#2]", "w"), is_stored("FileScan orc [k#1]", "v")
    (True, False)
    >>> is_stored("Project [id#0L AS v#1L]\n+- Range (0, 9)", "v"), is_stored("Generate explode(a#1), [v#2]", "v")
    (True, False)
    """
    text = uncached(physical)
    lines = text.splitlines()
    read = "\n".join(line for line in lines if re.match(AT_OPERATOR + r"\w*Scan\b", line))
    if "Union" in operators(text):  # whose columns have the names of one side
        return False
    if "Range" in operators(text):
        read += "\n" + "\n".join(set(re.findall(r"\bid#\d+L", text)))
    made = [rf"(?i:(?<![^\s,\[(])(?:{re.escape(name)}))#\d"]
    seen = set[str]()
    while made:
        pattern = made.pop()
        found = _sources(text, pattern)
        if None in found or not (found or re.search(pattern, read)):
            return False
        made += [rf"[^,\[\]]*#{source}(?!\d)" for source in found if source and source not in seen]
        seen.update(source for source in found if source)
    return True


def _sources(text: str, made: str) -> list[str | None]:
    """Return, for each column `made`, the number of the one that it is another name of; None where it is computed.

    Only a name that stands alone in its list is one: that of `if (a) b else c#1 AS d` does not.
    """
    found = re.finditer(rf"(?:(?:\[|, )(?!NOT |-|~)[^,\[\]()#]+#(\d+)L?|.) AS {made}", text)
    return [each.group(1) for each in found]
