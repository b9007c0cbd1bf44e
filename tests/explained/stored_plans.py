"""The plans that `scripts/store_plans.py` stored, and what `frames.sql` says of each frame."""

import json
import re
from pathlib import Path

from skewkit.spark.explained.stability import Stability

PLANS = Path(__file__).parents[1] / "plans"
SESSIONS = sorted(path.stem for path in PLANS.glob("*.json"))
"""Version and kind of session: `4.2.1-classic`."""


def _stored(session):
    return json.loads((PLANS / f"{session}.json").read_text(encoding="utf-8"))


def _texts(session):
    """Return the plans by name; a Connect session's are those of a classic one, but for some."""
    version, _, kind = session.partition("-")
    classic = {} if kind == "classic" else _stored(f"{version}-classic")["plans"]
    return {name: "\n".join(lines) for name, lines in {**classic, **_stored(session)["plans"]}.items() if lines}


FUNCTIONS = {session: _stored(session)["functions"] for session in SESSIONS}
TEXTS = {session: _texts(session) for session in SESSIONS}


def expected():
    """Yield name -> levels of the frames, `rows` among the columns."""
    found = re.findall(r"^-- (\w+): (.*)$", (PLANS / "frames.sql").read_text(encoding="utf-8"), re.MULTILINE)
    return {
        name: {column: Stability[level] for column, level in (said.split("=") for said in levels.split())}
        for name, levels in found
    }
