"""Hinted queries and the same without hints, as pairs of SQL texts: names, types and rows are equal."""

import re
from pathlib import Path

import pytest

import skewkit
from skewkit.testing import assert_same_rows

pytestmark = pytest.mark.connect

TREATED = ("salt", "broadcast_head", "broadcast_side", "wrap", "w_choices", "split")


def pairs():
    """Return (title, expected strategy, hinted, plain) of every file."""
    for file in sorted((Path(__file__).parent / "pairs").glob("*.sql")):
        for part in re.split(r"^-- ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, _, texts = part.partition("\n")
            title, _, strategy = head.rpartition(" | ")
            hinted, plain = (text.strip() for text in texts.strip().rstrip(";").split(";\n"))
            yield pytest.param(strategy, hinted, plain, id=f"{file.stem}: {title}")


@pytest.mark.every(1)
@pytest.mark.parametrize(("strategy", "hinted", "plain"), list(pairs()))
def test_pair(tables, strategy, hinted, plain):
    found, expected = skewkit.sql(tables, hinted), tables.sql(plain)
    text = skewkit.explain(found)
    assert found.columns == expected.columns, text
    assert [f.dataType for f in found.schema.fields] == [f.dataType for f in expected.schema.fields], text
    assert_same_rows(found, expected)
    took = re.search(r"^  strategy   (\w+)", text, re.MULTILINE).group(1)
    if strategy != "any":
        assert took in ((strategy,) if strategy == "native" else TREATED), text
