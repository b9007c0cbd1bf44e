"""The one logger of the package: `logging.getLogger("skewkit")`; silent until the application configures it."""

from __future__ import annotations

import logging

LOG = logging.getLogger("skewkit")
LOG.addHandler(logging.NullHandler())
