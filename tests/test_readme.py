"""The README's Python runs as it stands there; its commands and settings exist."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import skewkit
from skewkit.options import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_python_blocks_run(spark, capsys):
    """The first block makes the frames of all; its session is that of the tests, as one is there already."""
    python, names = blocks("python"), {}
    assert len(python) >= 6
    try:
        for block in python:
            exec(compile(block, "README.md", "exec"), names)
    finally:
        skewkit.uninstall()
    printed = capsys.readouterr().out
    assert names["spark"] is spark
    assert "left join on CustomerID" in printed
    assert "'C1'" in printed
    assert names["by_country"].count() == 2
    assert names["baskets"].where("Country = 'France'").first().lines == 10_000


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
