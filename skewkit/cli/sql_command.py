"""`skewkit sql`: runs a file of SQL with its SKEW hints followed, and says what became of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from skewkit.errors import ArgumentError, EnvironmentProblem

HELP = "run a SQL file's query with its SKEW hints followed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="a file with one query; - for standard input")
    parser.add_argument("--explain", action="store_true", help="say what became of each hint, and run nothing more")
    parser.add_argument("--rows", type=int, default=20, metavar="N", help="how many rows to print (20)")
    parser.add_argument("--remote", metavar="URL", help="a Spark Connect server, such as sc://localhost")
    parser.add_argument("--before", metavar="FILE", help="a file of statements to run first, each ended by a semicolon")


def run(given: argparse.Namespace) -> None:
    """Run the command.

    Raises:
        ArgumentError: a file cannot be read, or a hint is wrong.
        EnvironmentProblem: there is no PySpark, or no session.
    """
    query, before = _read(given.file), _read(given.before) if given.before else ""
    try:
        from skewkit.hints.command import run_text
    except ImportError as error:
        raise EnvironmentProblem("skewkit sql needs PySpark; pip install 'skewkit[sql]'") from error
    said = run_text(query, before=before, told=given.explain, rows=given.rows, remote=given.remote)
    sys.stdout.write(said + "\n")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{name} cannot be read: {error}") from error
