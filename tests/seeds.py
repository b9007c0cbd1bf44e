"""The seed of this run's random cases: another one for every commit, and the same one again where it is asked for."""

import os
import random
import subprocess
from pathlib import Path

import pytest

VARIABLE = "SKEWKIT_SEED"
WITHOUT_GIT = "skewkit"
_OF_CI = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION")


def run_seed(asked: str | None) -> tuple[str, str]:
    """Return the seed and where it is from: the option, the environment, the commit, or a constant."""
    if asked:
        return asked, "--seed"
    for name in (VARIABLE, *_OF_CI):
        if os.environ.get(name):
            return os.environ[name][:12], name
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return WITHOUT_GIT, "a constant, as there is no git here"
    return done.stdout.strip()[:12], "the commit"


def random_of(seed: str, *about: object) -> random.Random:
    """Return the random numbers of one thing, the same in every process and version of Python."""
    return random.Random(" ".join(map(str, (seed, *about))))


_SEED = pytest.StashKey[tuple[str, str]]()


def run_seed_of(config: pytest.Config) -> tuple[str, str]:
    """Return the seed of a test run and where it is from."""
    if _SEED not in config.stash:
        config.stash[_SEED] = run_seed(config.getoption("--seed"))
    return config.stash[_SEED]


def cases(few: int, many: int) -> list[object]:
    """Return the numbers of random cases: all but the first few are slow, and one in eight is for Connect, too."""
    marks = [[pytest.mark.connect] * (number % 8 == 0) + [pytest.mark.slow] * (number >= few) for number in range(many)]
    return [pytest.param(number, marks=each) for number, each in enumerate(marks)]
