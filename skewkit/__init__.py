"""skewkit: even load for Spark joins, aggregations, group functions and repartitions over skewed keys.

Importing the package needs no Spark and patches nothing: `skewkit.install()` attaches the operators to DataFrame.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skewkit.errors import SkewkitError, nearest, with_pyspark

if TYPE_CHECKING:
    from skewkit.api.explain import explain
    from skewkit.api.group.skew_groupby import SkewGroupedData, skew_groupby
    from skewkit.api.join.skew_join import skew_join
    from skewkit.api.profile import skew_profile
    from skewkit.api.repartition.by_file_size import repartition_by_file_size
    from skewkit.api.window.skew_asof_join import skew_asof_join
    from skewkit.api.window.skew_window import SkewWindow, skew_window
    from skewkit.attach import install, uninstall
    from skewkit.hints.magic import load_ipython_extension
    from skewkit.hints.register import register
    from skewkit.hints.sql import sql
    from skewkit.plan.decision import Decision
    from skewkit.plan.placement.key_plan import KeyPlan
    from skewkit.plan.profile.heavy_key import HeavyKey
    from skewkit.plan.profile.key_profile import KeyProfile
    from skewkit.spark.session.remembered import decisions

__version__ = "0.1.0"

_MODULES = {
    "Decision": "skewkit.plan.decision",
    "HeavyKey": "skewkit.plan.profile.heavy_key",
    "KeyPlan": "skewkit.plan.placement.key_plan",
    "KeyProfile": "skewkit.plan.profile.key_profile",
    "SkewGroupedData": "skewkit.api.group.skew_groupby",
    "SkewWindow": "skewkit.api.window.skew_window",
    "decisions": "skewkit.spark.session.remembered",
    "explain": "skewkit.api.explain",
    "install": "skewkit.attach",
    "load_ipython_extension": "skewkit.hints.magic",
    "register": "skewkit.hints.register",
    "repartition_by_file_size": "skewkit.api.repartition.by_file_size",
    "skew_asof_join": "skewkit.api.window.skew_asof_join",
    "skew_groupby": "skewkit.api.group.skew_groupby",
    "skew_join": "skewkit.api.join.skew_join",
    "skew_profile": "skewkit.api.profile",
    "skew_window": "skewkit.api.window.skew_window",
    "sql": "skewkit.hints.sql",
    "uninstall": "skewkit.attach",
}

__all__ = [
    "Decision",
    "HeavyKey",
    "KeyPlan",
    "KeyProfile",
    "SkewGroupedData",
    "SkewWindow",
    "SkewkitError",
    "__version__",
    "decisions",
    "explain",
    "install",
    "load_ipython_extension",
    "register",
    "repartition_by_file_size",
    "skew_asof_join",
    "skew_groupby",
    "skew_join",
    "skew_profile",
    "skew_window",
    "sql",
    "uninstall",
]


_PACKAGES = ("delta", "partitioners", "simulator", "testing")


def __getattr__(name: str) -> Any:
    with with_pyspark(f"skewkit.{name}"):
        if name in _MODULES:
            found = globals()[name] = getattr(import_module(_MODULES[name]), name)
            return found
        if name in _PACKAGES:
            return import_module(f"skewkit.{name}")
    message = f"module 'skewkit' has no attribute {name!r}"
    raise AttributeError(message if name.startswith("_") else f"{message}: {nearest(name, [*__all__, *_PACKAGES])}")


def __dir__() -> list[str]:
    return sorted(__all__)
