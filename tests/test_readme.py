"""The README's Python runs as it stands there; its commands and settings exist."""

import re
from contextlib import ExitStack
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.options import Settings
from tests.helpers import conf

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


DEFAULTS = {
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.skewkit.margin": "0.5",
}
"""What a session has where nobody set anything."""


@pytest.mark.connect
def test_the_first_block_prints_what_stands_below_it(spark, capsys):
    """Run the first block, or on Connect the second one, in a session like one that has just been started."""
    first, twin = blocks("python")[:2]
    block = twin if ".connect." in type(spark).__module__ else first
    session = next(line for line in block.splitlines() if line.startswith("spark = "))
    try:
        with ExitStack() as stack:
            for name, value in DEFAULTS.items():
                stack.enter_context(conf(spark, name, value))
            exec(compile(block.replace(session, ""), "README.md", "exec"), {"spark": spark})
    finally:
        skewkit.uninstall()
    assert capsys.readouterr().out == blocks("text")[0]


def test_the_second_block_differs_from_the_first_in_the_session():
    first, twin = ([line.split("  # ")[0] for line in block.splitlines()] for block in blocks("python")[:2])
    assert [a for a, b in zip(first, twin, strict=True) if a != b] == ["spark = SparkSession.builder.getOrCreate()"]


def test_python_blocks_run(spark, capsys):
    """The first block makes the frames of all; its session is that of the tests, as one is there already.

    Frames of which nothing more is shown are treated whatever that costs, so that the functions of a block merge parts.
    The block of Delta Lake runs in tests/delta.
    """
    first, _twin, *others = [block for block in blocks("python") if "import delta" not in block]
    names = {}
    assert len(others) >= 6
    treated = re.compile(r"^(busy|numbered|balanced) = ", re.MULTILINE)
    try:
        for block in (first, *others):
            with conf(spark, "spark.skewkit.margin", "-1e9" if treated.search(block) else "0.5"):
                exec(compile(block, "README.md", "exec"), names)
    finally:
        skewkit.uninstall()
    printed = capsys.readouterr().out
    assert names["spark"] is spark
    assert "left join on CustomerID" in printed
    assert "'C1'" in printed
    assert names["by_country"].count() == 2
    assert names["baskets"].where("Country = 'France'").first().lines == 10_000
    taken = {name: names[name] for name in ("busy", "numbered", "balanced")}
    assert all(re.search(r"strategy   (?!native)", skewkit.explain(frame)) for frame in taken.values())
    start, minute = datetime(2011, 1, 1), timedelta(minutes=1)
    assert set(map(tuple, taken["busy"].collect())) == {
        ("France", start + 9 * minute, start + 99_999 * minute),
        ("United Kingdom", start, start + 99_998 * minute),
    }
    last = taken["numbered"].groupBy("Country").agg(F.max("rn"), F.max("total"))
    assert set(map(tuple, last.collect())) == {("France", 10_000, 40_000), ("United Kingdom", 90_000, 160_000)}
    assert taken["balanced"].where("since = 1").first()[1] == sum(i % 5 for i in range(100_000) if i % 4 in (1, 2))


def test_the_page_of_streams_runs(capsys):
    for block in blocks("python", (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")):
        exec(compile(block, "streams.md", "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["shuffle", "fish", "consistent"]


def test_commands_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\S+)", "\n".join(blocks("sh")), re.MULTILINE)
    assert commands == ["demo", "test", "wheel"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/limits.md",
        "docs/how-it-works.md",
        "docs/sql.md",
        "docs/speed.md",
        "docs/streams.md",
        "docs/delta/writes.md",
        "docs/delta/merge.md",
        "docs/delta/history.md",
    ],
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links or page != "README.md"
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_settings_are_listed():
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    for setting in fields(Settings):
        default = str(setting.default).lower()
        assert f"| `{setting.metadata['conf']}` | {default} |" in page
