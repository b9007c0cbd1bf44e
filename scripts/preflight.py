"""Check that this machine can run skewkit, and say in one sentence what is missing.

    python3 scripts/preflight.py            # everything
    python3 scripts/preflight.py python     # what `make` needs for its virtual environment
    python3 scripts/preflight.py java       # what Spark needs

Prints nothing and exits with 0 where all is well; otherwise one sentence on standard error and exit code 1.
Standard library only, and no syntax younger than Python 3.6: an old Python must get the sentence as well.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

PYTHON_NEEDED = (3, 10)
JAVA_NEEDED = 17  # Spark 4 needs it


def python_problem(version, executable, has_module):
    """Return what is wrong with this Python, or None; `has_module` tells whether a module can be imported."""
    found, needed = ".".join(map(str, version[:3])), ".".join(map(str, PYTHON_NEEDED))
    if tuple(version[:2]) < PYTHON_NEEDED:
        return (
            f"skewkit needs Python {needed} or later, but {executable} is Python {found}: "
            "install a newer one and name it, for example `make demo PYTHON=python3.12`."
        )
    missing = [name for name in ("venv", "ensurepip") if not has_module(name)]
    if missing:
        short = ".".join(map(str, version[:2]))
        return (
            f"skewkit needs Python's own tool for virtual environments, but {executable} (Python {found}) "
            f"has no module {missing[0]!r}: install it (on Debian, `apt install python{short}-venv`) and run "
            "make again."
        )
    return None


def java_major(text):
    """Return the feature release that the output of `java -version` names, or None where it names none.

    >>> java_major('openjdk version "17.0.15" 2025-04-15')
    17
    >>> java_major('java version "1.8.0_392"')
    8
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def find_java(environ):
    """Return the java that Spark would start (JAVA_HOME goes before PATH), or None.

    With JAVA_HOME set the answer may be a file that does not exist, as in Spark.
    """
    home = environ.get("JAVA_HOME", "")
    if home:
        return os.path.join(home, "bin", "java")
    return shutil.which("java", path=environ.get("PATH", ""))


def run_java_version(java):
    """Return the exit code of `java -version` and all that it printed."""
    done = subprocess.run(
        [java, "-version"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def java_problem(environ, run=run_java_version):
    """Return what is wrong with the Java that Spark would start, or None."""
    need = f"Spark needs Java {JAVA_NEEDED} or later"
    install = f"install a JDK, version {JAVA_NEEDED} or later, and set JAVA_HOME to its folder"
    home, java = environ.get("JAVA_HOME", ""), find_java(environ)
    if java is None:
        return f"{need}, but JAVA_HOME is not set and no java is on the PATH: {install}."
    if home and not os.access(java, os.X_OK):
        return (
            f"{need}, but JAVA_HOME is {home} and there is no program {java}: set JAVA_HOME to the folder of "
            f"a JDK, version {JAVA_NEEDED} or later, or unset it so that the java on the PATH is taken."
        )
    try:
        code, text = run(java)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{need}, but {java} could not be run ({error}): {install}."
    major = java_major(text)
    if code != 0 or major is None:
        said = " ".join(text.split())[:200] or "nothing"
        return f"{need}, but `{java} -version` ended with code {code} and said {said!r}: {install}."
    if major < JAVA_NEEDED:
        source = "JAVA_HOME" if home else "the PATH"
        return f"{need}, but {java} (from {source}) is Java {major}: {install}."
    return None


def has_module(name):
    """Return whether `import name` would find a module."""
    return importlib.util.find_spec(name) is not None


CHECKS = {
    "python": lambda: python_problem(sys.version_info, sys.executable, has_module),
    "java": lambda: java_problem(os.environ),
}


def main(names):
    """Run the named checks (all, where none is named) and return the exit code."""
    for name in names or sorted(CHECKS, reverse=True):
        if name not in CHECKS:
            print(f"preflight: no check is called {name!r}, take one of {sorted(CHECKS)}.", file=sys.stderr)
            return 2
        problem = CHECKS[name]()
        if problem:
            print(problem, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
