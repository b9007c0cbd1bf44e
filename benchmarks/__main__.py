"""Run the benchmarks: `python -m benchmarks [join] [joinshapes] [--rows N] [--runs N]`."""

import argparse

from benchmarks import join, joinshapes

BENCHMARKS = {"join": join.main, "joinshapes": joinshapes.main}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=f"of {', '.join(BENCHMARKS)}")
parser.add_argument("--rows", type=int, default=5_000_000)
parser.add_argument("--runs", type=int, default=3)
arguments = parser.parse_args()
for name in arguments.names:
    BENCHMARKS[name](arguments.rows, arguments.runs)
