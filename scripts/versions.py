"""Run the smoke suite on every version of PySpark that skewkit names, and print the table of README.

    python scripts/versions.py [VERSION ...]

Each version has an environment of its own in `.versions/`, made on the first run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".versions"
VERSIONS = {
    # PySpark -> the version of delta-spark whose jar goes with it, and that of pandas
    "3.5.9": ("3.3.3", "pandas<3"),
    "4.0.5": ("4.0.1", "pandas<3"),
    "4.1.4": ("4.4.0", "pandas<3"),
    "4.2.1": ("4.4.0", "pandas<3"),
    "4.3.0": (None, "pandas>=3"),
}
# PySpark 3.5 does not bring a Connect server, and that of its last releases is not in every repository.
CONNECT = {"3.5.9": "org.apache.spark:spark-connect_2.12:3.5.7,io.delta:delta-spark_2.12:3.3.3"}


def python_of(version: str) -> Path:
    """Return the Python of a version's environment, made if it is not there."""
    folder = HOME / version
    python = folder / "bin" / "python"
    if not python.exists():
        delta, pandas = VERSIONS[version]
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # PySpark 3.5 is of the time before NumPy 2, which later releases of Arrow ask for.
        arrow = ["numpy<2", "pyarrow<20"] if version.startswith("3") else ["numpy", "pyarrow"]
        wanted = [f"pyspark=={version}", pandas, *arrow, "mmh3"]
        wanted += ["grpcio", "grpcio-status", "googleapis-common-protos", "zstandard", "sqlglot==30.30.0"]
        wanted += ["setuptools"]  # PySpark 3.5 imports distutils, which Python 3.12 no longer has
        quiet = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*quiet, *wanted], check=True)
        if delta:  # it pins another PySpark, and needs one package beside it
            subprocess.run([*quiet, "--no-deps", f"delta-spark=={delta}"], check=True)
            subprocess.run([*quiet, "importlib-metadata"], check=True)
    return python


def smoke(version: str, *options: str) -> dict[str, str]:
    """Run the smoke suite on a version; return what it said of each case."""
    python = python_of(version)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python)}
    environment["PYSPARK_DRIVER_PYTHON"] = str(python)
    environment.pop("SPARK_HOME", None)
    command = [str(python), str(ROOT / "scripts" / "smoke.py"), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=HOME)
    lines = [line for line in done.stdout.splitlines() if line[40:].startswith(("ok", "native", "refused", "FAILED"))]
    if not lines:
        return {
            "the session": f"FAILED   {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no output'}"
        }
    found = {line[:40].strip(): line[40:] for line in lines}
    if done.returncode and not any(said.startswith("FAILED") for said in found.values()):
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        found["the rest"] = f"FAILED   it ended with {done.returncode}: {last[0]}"
    return found


def main(versions: list[str]) -> int:
    """Print what each version said, and then the table."""
    HOME.mkdir(exist_ok=True)
    table, failed = [], False
    for version in versions:
        cells = []
        for options in ((), ("--connect",)):
            options += ("--packages", CONNECT[version]) if options and version in CONNECT else ()
            options += ("--delta",) if VERSIONS[version][0] else ()
            found = smoke(version, *options)
            ok = sum(said.startswith("ok") for said in found.values())
            failed |= any(said.startswith("FAILED") for said in found.values())
            cells.append(f"{ok} of {len(found)}")
            for name, said in found.items():
                if not said.startswith("ok"):
                    sys.stdout.write(f"{version} {options[0] if options else ''}: {name}: {said}\n")
            sys.stdout.flush()
        table.append(f"| {version:8} | {cells[0]:10} | {cells[1]:10} |")
    sys.stdout.write(
        "\n".join(["| PySpark  | classic    | Connect    |", "| -------- | ---------- | ---------- |", *table, ""])
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(VERSIONS)))
