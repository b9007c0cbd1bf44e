"""Runs SQL texts over frames that are passed by reference: no view is left behind, and none of the user's replaced."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from skewkit.spark.session.compat import VERSION, is_connect, is_too_deep


class Runner:
    """A session with the arguments of a query and the frames that its text names.

    A frame is named by a word that nobody can guess. PySpark itself registers it while a text is analysed: a classic
    session drops the view right after, a Connect server gets the frame's plan as part of the query's. Before Spark 4.0
    a Connect server knows no such plans, and a client copies none that is nested more than a hundred deep: there the
    views stay until the session ends.
    """

    def __init__(self, spark: SparkSession, args: Any = None) -> None:
        self.spark, self.args = spark, args
        self.mark = uuid4().hex
        self.frames: dict[str, DataFrame] = {}
        self.given: dict[str, str] = {}
        self.spoken: dict[str, str] = {}
        self._made = 0

    def add(self, frame: DataFrame, given: str | None = None) -> str:
        """Return the word that a frame is named by in texts. `given` is what the user calls it."""
        name = self.fresh("t")
        self.frames[name] = frame
        if given is not None:
            self.given[name] = given.lower()
        return name

    def said(self, text: str) -> str:
        """Return a text with the user's names in place of ours."""
        return re.sub(rf"\w+_{self.mark}", lambda found: self.spoken.get(found.group(), found.group()), text)

    def fresh(self, prefix: str = "c") -> str:
        """Return a word that no text and no frame has.

        >>> Runner(spark).fresh("x").startswith("x1_")
        True
        """
        self._made += 1
        return f"{prefix}{self._made}_{self.mark}"

    def query(self, text: str) -> DataFrame:
        """Return the frame of a text, resolved.

        >>> runner = Runner(spark, {"least": 1})
        >>> name = runner.add(spark.range(3))
        >>> runner.query(f"SELECT count(*) AS n, '{{}}' AS braces FROM {name} WHERE id >= :least").collect()
        [Row(n=2, braces='{}')]
        """
        frame = self.run(text)
        frame.schema  # noqa: B018 - on Connect the schema is what triggers the analysis
        return frame

    def run(self, text: str) -> DataFrame:
        """Run a text as `spark.sql` does, commands at once and once."""
        used: dict[str, Any] = {name: frame for name, frame in self.frames.items() if name in text}
        arguments: dict[str, Any] = {} if self.args is None else {"args": self.args}
        if used and not (is_connect(self.spark) and VERSION < (4, 0)):
            named = text.replace("{", "{{").replace("}", "}}")
            for name in used:
                named = named.replace(name, f"{{{name}}}")
            try:
                return self.spark.sql(named, **arguments, **used)
            except Exception as error:
                if not is_too_deep(error):  # what a server answers to a command is rows, no plan
                    raise
        for name, frame in used.items():
            frame.createOrReplaceTempView(name)
        return self.spark.sql(text, **arguments)
