"""Run the benchmarks: `python -m benchmarks [names] [--rows N] [--runs N]`, all of them where no name is given."""

import argparse
from importlib import import_module

BENCHMARKS = ("join", "joinshapes", "window", "groups", "aggregates", "partitioners", "balance", "cures")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=f"of {', '.join(BENCHMARKS)}")
parser.add_argument("--rows", type=int, default=5_000_000)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--only", nargs="+", metavar="CASE", help="of joinshapes: the cases to run")
parser.add_argument("--stages", action="store_true", help="of join and joinshapes: the stages of each last run, too")
arguments = parser.parse_args()
for name in arguments.names:
    if name not in BENCHMARKS:
        parser.error(f"there is no benchmark {name!r}; choose of {', '.join(BENCHMARKS)}")
    more: dict[str, object] = {"only": arguments.only} if name == "joinshapes" and arguments.only else {}
    if name.startswith("join"):
        more["by_stage"] = arguments.stages
    import_module(f"benchmarks.{name}").main(arguments.rows, arguments.runs, **more)
