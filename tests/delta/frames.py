"""Frames that tests of writes share, and what they ask of a table beside its sizes."""

import re
from collections import defaultdict

from tests.delta.tablelog import actions

KIB = 1 << 10
TEXT = "sha2(cast(id AS string), 256)"


def days(spark, rows=60_000, mappers=2, hot=0.9, values=40):
    """Return rows over days, one of them hot, from so many input partitions."""
    day = f"if(id % 1000 < {int(hot * 1000)}, 0, cast(id % {values} AS int))"
    return spark.range(rows, numPartitions=mappers).selectExpr(
        "id", f"{day} AS day", f"{TEXT} AS text", "id % 7 AS few"
    )


def read(spark, path):
    return spark.read.format("delta").load(str(path))


def added(path, commit=-1):
    """Return the files that a commit added, the last one if none is named."""
    return [action["add"] for action in actions(path)[commit] if "add" in action]


def commit_info(path, commit=-1):
    """Return what a commit says of itself."""
    return next(action["commitInfo"] for action in actions(path)[commit] if "commitInfo" in action)


def tasks(path, commit=-1):
    """Return the numbers of the tasks that wrote a commit's files, by partition value."""
    found = defaultdict(list)
    for add in added(path, commit):
        (number,) = re.findall(r"(?:^|/)part-(\d+)-", add["path"])
        found[tuple(sorted(add["partitionValues"].items()))].append(int(number))
    return dict(found)
