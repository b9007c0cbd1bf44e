"""A Delta table from outside: its files, versions and operations as its log has them, read without Spark."""

import json
from collections import defaultdict
from pathlib import Path


def actions(path: Path | str) -> list[list[dict]]:
    """Return the actions of every commit, oldest first."""
    commits = sorted((Path(path) / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in commit.read_text().splitlines()] for commit in commits]


def sizes(path: Path | str) -> dict[tuple, list[int]]:
    """Return the bytes of the table's files by partition value."""
    live: dict[str, tuple[tuple, int]] = {}
    for commit in actions(path):
        for remove in (action["remove"] for action in commit if "remove" in action):
            live.pop(remove["path"], None)  # a file whose deletion vector changes is added again in the same commit
        for add in (action["add"] for action in commit if "add" in action):
            live[add["path"]] = tuple(sorted(add["partitionValues"].items())), add["size"]
    found = defaultdict(list)
    for value, size in live.values():
        found[value].append(size)
    return dict(found)


def versions(path: Path | str) -> int:
    """Return the number of commits."""
    return len(actions(path))


def orphans(path: Path | str) -> set[str]:
    """Return Parquet files in the table's folder that no commit ever named."""
    root = Path(path)
    named = {
        action[kind]["path"]
        for commit in actions(path)
        for action in commit
        for kind in ("add", "remove")
        if kind in action
    }
    there = {str(file.relative_to(root)) for file in root.rglob("*.parquet") if "_delta_log" not in file.parts}
    return there - named


def temporary(path: Path | str) -> list[str]:
    """Return files in the log's folder that a commit makes and takes away again."""
    return [file.name for file in (Path(path) / "_delta_log").rglob("*.tmp*")]


def most_added(path: Path | str) -> int:
    """Return the number of files that the commit which added most has added."""
    return max(sum("add" in action for action in commit) for commit in actions(path))


def assert_planned(found: dict[tuple, list[int]], target: int) -> None:
    """Fail where files are not within a factor of 2 of the target, or a value has more than it needs and one."""
    for value, files in found.items():
        total = sum(files)
        assert len(files) <= -(-total // target) + 1, (value, len(files), total / target)
        assert max(files) <= 2 * target, (value, max(files) / target)
        if total >= target:
            assert min(files) >= target / 2, (value, [round(size / target, 2) for size in sorted(files)[:5]])
