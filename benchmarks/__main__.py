"""Run the benchmarks: `python -m benchmarks [join window] [--rows N] [--runs N]`."""

import argparse

from benchmarks import join, window

BENCHMARKS = {"join": join.main, "window": window.main}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=f"of {', '.join(BENCHMARKS)}")
parser.add_argument("--rows", type=int, default=5_000_000)
parser.add_argument("--runs", type=int, default=3)
arguments = parser.parse_args()
for name in arguments.names:
    BENCHMARKS[name](arguments.rows, arguments.runs)
