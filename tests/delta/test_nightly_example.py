"""The nightly pipeline as users run it: in processes of its own, killed while it writes, and run to its end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.delta, pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
STEPS = [f"{table} of night {number}" for number in (1, 2) for table in ("lines", "customers", "revenue")]
SKIPPED = "skipped, as its commit is in the table's history"


@pytest.fixture(autouse=True)
def balanced_at_any_price():
    """Nothing: this process has no session."""


def states(life):
    """Return what the steps of one life of the job said last."""
    return dict(re.findall(r"^   (\w+ of night \d): (.*)$", life, re.MULTILINE))


def test_killed_three_times_and_every_table_is_that_of_plain_spark(tmp_path):
    # Customers of the made-up data have lines from many countries, so most of them have two versions.
    job = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "nightly_delta.py"), "--folder", str(tmp_path / "nightly")],
        stdout=subprocess.PIPE,
        text=True,
        timeout=1140,
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SKEWKIT_DATA": "nowhere"},
        check=False,
    )
    assert job.returncode == 0, job.stdout
    _, *lives = re.split(r"^The job, .*$", job.stdout, flags=re.MULTILINE)
    assert len(lives) == 4
    committed: list[str] = []
    for life in lives:
        said = states(life)
        assert [step for step, text in said.items() if text == SKIPPED] == committed, job.stdout
        done = [step for step, text in said.items() if text not in (SKIPPED, "writing")]
        kills = re.findall(
            r"^   kill -9 of (.*?), (after its commit|in the middle, before its commit)$", life, re.MULTILINE
        )
        assert len(kills) == (life is not lives[-1]), job.stdout
        assert [step for step, text in said.items() if text == "writing"] == [step for step, _ in kills], job.stdout
        committed += done + [step for step, when in kills if when == "after its commit"]
    assert committed == STEPS
    assert lives[-1].count(SKIPPED) >= 3, "all of the first night"
    assert len(re.findall(r"^   customers of night \d: .* ended; merge strategy +\w+", job.stdout, re.MULTILINE)) >= 1
    checks = re.findall(r"^   check: (.*)$", lives[-1], re.MULTILINE)
    assert re.fullmatch(r"[\d,]+ lines, none lost or doubled", checks[0])
    versions, customers = re.fullmatch(r"([\d,]+) versions of ([\d,]+) customers, as plain Spark", checks[1]).groups()
    assert int(versions.replace(",", "")) > int(customers.replace(",", "")) > 1000
    assert re.fullmatch(r"[\d,]+ revenues, as plain Spark", checks[2])
    assert len(checks) == 3
    assert "Done in " in lives[-1]
