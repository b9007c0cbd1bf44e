"""The command line: `python -m skewkit COMMAND`."""

from skewkit.cli.main import main

__all__ = ["main"]
