"""The preflight script: what it reads from `java -version`, and the one sentence that it prints."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "preflight.py"

spec = importlib.util.spec_from_file_location("preflight", SCRIPT)
preflight = importlib.util.module_from_spec(spec)
spec.loader.exec_module(preflight)

JAVA_8 = 'java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392-b08)\n'
JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian)\n'


@pytest.mark.parametrize(
    ("text", "major"),
    [
        (JAVA_8, 8),
        ('openjdk version "1.8.0_412"', 8),
        ('openjdk version "9-internal"', 9),
        ('openjdk version "11.0.2" 2019-01-15', 11),
        ('openjdk version "17" 2021-09-14', 17),
        (JAVA_17, 17),
        ('java version "21.0.3" 2024-04-16 LTS', 21),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('openjdk version "25.0.3" 2026-04-21 LTS', 25),
        ("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n" + JAVA_17, 17),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_java_major_reads_the_feature_release(text, major):
    assert preflight.java_major(text) == major


def java_in(folder: Path) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 0\n")
    java.chmod(0o755)
    return java


def test_java_home_goes_before_the_path_as_in_spark(tmp_path):
    home, path = java_in(tmp_path / "home"), java_in(tmp_path / "path")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}
    assert preflight.find_java(environ) == str(home)
    assert preflight.find_java({**environ, "JAVA_HOME": ""}) == str(path)
    assert preflight.find_java({"PATH": str(tmp_path)}) is None


@pytest.mark.parametrize(("text", "good"), [(JAVA_8, False), (JAVA_17, True), ("version 17", False)])
def test_java_problem_judges_what_java_says(tmp_path, text, good):
    java_in(tmp_path)
    problem = preflight.java_problem({"JAVA_HOME": str(tmp_path)}, run=lambda java: (0, text))
    assert (problem is None) == good


def test_java_that_cannot_be_run_is_a_sentence(tmp_path):
    java_in(tmp_path).write_text("not a program")

    def run(java):
        raise OSError("Exec format error")

    assert "Exec format error" in preflight.java_problem({"JAVA_HOME": str(tmp_path)}, run=run)
    failed = preflight.java_problem({"JAVA_HOME": str(tmp_path)}, run=lambda java: (1, JAVA_17))
    assert "ended with code 1" in failed


@pytest.mark.parametrize(
    ("version", "missing", "part"),
    [
        ((3, 9, 18), (), "is Python 3.9.18"),
        ((2, 7, 18), (), "is Python 2.7.18"),
        ((3, 12, 1), ("venv",), "no module 'venv'"),
        ((3, 12, 1), ("ensurepip",), "python3.12-venv"),
    ],
)
def test_python_problem_says_what_was_found(version, missing, part):
    assert part in preflight.python_problem(version, "/usr/bin/python3", lambda name: name not in missing)


@pytest.mark.parametrize("version", [(3, 10, 0), (3, 13, 1), (4, 0, 0)])
def test_python_that_is_new_enough_is_no_problem(version):
    assert preflight.python_problem(version, "python3", lambda name: True) is None


def test_an_old_python_can_read_the_script():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))


def test_the_script_imports_the_standard_library_only():
    tree = ast.parse(SCRIPT.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert "subprocess" in names
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def run_script(**environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "java"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_sentence_and_exit_code_1_where_java_home_is_wrong(tmp_path):
    done = run_script(JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert str(tmp_path) in done.stderr
    assert "Java 17 or later" in done.stderr


def test_one_sentence_where_there_is_no_java(tmp_path):
    done = run_script(JAVA_HOME="", PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no java is on the PATH" in done.stderr


def test_one_sentence_where_java_is_too_old(tmp_path):
    java_in(tmp_path).write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    done = run_script(JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "is Java 11" in done.stderr
    java_in(tmp_path / "new").write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\"' >&2\n")
    assert run_script(JAVA_HOME=str(tmp_path / "new")).returncode == 0
