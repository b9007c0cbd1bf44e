"""Run the benchmarks: `python -m benchmarks [names] [--rows N] [--runs N]`, all of them where no name is given."""

import argparse
from importlib import import_module
from inspect import signature

BENCHMARKS = (
    *(
        "never_lose",
        "pipelines",
        "keyquery",
        "defining",
        "costs",
        "join",
        "joinshapes",
        "joinbounds",
        "window",
        "groups",
        "aggregates",
    ),
    *("partitioners", "balance", "papers", "cures", "delta"),
)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=f"of {', '.join(BENCHMARKS)}")
parser.add_argument("--rows", type=int, default=5_000_000)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument(
    "--only",
    nargs="+",
    metavar="CASE",
    help="cases of joinshapes and aggregates, ways of groups, writes or merges of delta, texts of never_lose",
)
parser.add_argument("--stages", action="store_true", help="of join and joinshapes: the stages of each last run, too")
arguments = parser.parse_args()
more = {option: value for option in ("only", "stages") if (value := getattr(arguments, option))}
mains = {}
for name in arguments.names:
    if name not in BENCHMARKS:
        parser.error(f"there is no benchmark {name!r}; choose of {', '.join(BENCHMARKS)}")
    mains[name] = import_module(f"benchmarks.{name}").main
    if unknown := set(more) - set(signature(mains[name]).parameters):
        parser.error(f"{name} has no --{unknown.pop()}")
for main in mains.values():
    main(arguments.rows, arguments.runs, **more)
