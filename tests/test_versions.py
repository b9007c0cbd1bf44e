"""The script that runs the smoke suite on other versions of PySpark: what it makes of how a suite ended."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "versions.py"

spec = importlib.util.spec_from_file_location("versions", SCRIPT)
versions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(versions)

VERSION = "4.3.0"
OK = f"{'skew_join salt':40}ok\n{'skew_window split':40}native: a reason\n{'agg':40}refused  a reason\n"
BROKEN = f"{'cogroup':40}FAILED   ValueError: wrong\n"
LOG = "26/01/01 WARN a line of Spark's log\n"


@pytest.fixture
def ends(monkeypatch, tmp_path):
    """Return a function that says how the suite ends, in place of running it."""
    monkeypatch.setattr(versions, "HOME", tmp_path)
    monkeypatch.setattr(versions, "python_of", lambda version: tmp_path / "python")

    def end(returncode: int, stdout: str, stderr: str = "") -> None:
        done = subprocess.CompletedProcess([], returncode, stdout, stderr)
        monkeypatch.setattr(versions.subprocess, "run", lambda *args, **kwargs: done)

    return end


@pytest.mark.parametrize(
    ("returncode", "stdout", "stderr", "found", "exit_code"),
    [
        (0, LOG + OK, "", {}, 0),
        (1, OK + BROKEN, "Traceback", {"cogroup": "FAILED   ValueError: wrong"}, 1),
        (-9, OK, LOG + "Killed\n", {"the rest": "FAILED   it ended with -9: Killed"}, 1),
        (134, OK, "", {"the rest": "FAILED   it ended with 134: no reason given"}, 1),
        (1, LOG, LOG + "JAVA_GATEWAY_EXITED\n\n", {"the session": "FAILED   JAVA_GATEWAY_EXITED"}, 1),
        (0, "", "", {"the session": "FAILED   no output"}, 1),
    ],
    ids=["all ran", "a case failed", "killed", "died without a word", "no session", "no output"],
)
def test_a_suite_that_dies_is_a_failure(ends, capsys, returncode, stdout, stderr, found, exit_code):
    ends(returncode, stdout, stderr)
    said = versions.smoke(VERSION)
    assert {name: text for name, text in said.items() if text.startswith("FAILED")} == found
    if stdout.endswith(OK):
        assert said["skew_join salt"] == "ok"
    assert versions.main([VERSION]) == exit_code
    printed = capsys.readouterr().out
    assert all(f"{VERSION} --connect: {name}: {text}" in printed for name, text in found.items())
    assert f"| {VERSION}    | {'1' if 'ok' in stdout else '0'} of {len(said)}" in printed
