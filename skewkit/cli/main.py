"""The commands of `python -m skewkit` and their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from skewkit.cli.reproduce import HELP, add_arguments, run
from skewkit.errors import SkewkitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or 2 for a request that cannot be met.

    Args:
        arguments: what follows `python -m skewkit`; the arguments of this process by default.
    """
    parser = argparse.ArgumentParser(prog="python -m skewkit", description="skewkit on the command line")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_arguments(commands.add_parser("reproduce", help=HELP, description=HELP))
    given = parser.parse_args(arguments)
    try:
        run(given)
    except SkewkitError as error:
        sys.stderr.write(f"{parser.prog} {given.command}: {error}\n")
        return 2
    return 0
