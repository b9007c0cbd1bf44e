"""The commands of `skewkit`, which is `python -m skewkit`, and their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from skewkit.cli import reproduce, sql_command
from skewkit.errors import EnvironmentProblem, SkewkitError

COMMANDS = {"reproduce": reproduce, "sql": sql_command}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for a request that cannot be met, 3 where something is missing.

    Args:
        arguments: what follows `skewkit`; the arguments of this process by default.
    """
    parser = argparse.ArgumentParser(prog="skewkit", description="skewkit on the command line")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    given = parser.parse_args(arguments)
    try:
        COMMANDS[given.command].run(given)
    except SkewkitError as error:
        sys.stderr.write(f"{parser.prog} {given.command}: {error}\n")
        return 3 if isinstance(error, EnvironmentProblem) else 2
    return 0
