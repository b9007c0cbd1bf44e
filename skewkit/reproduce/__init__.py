"""The figures of the five papers, measured again with skewkit's schemes and simulator.

`PAPERS` and `FIGURES` are data; `python -m skewkit reproduce` runs them.

>>> from skewkit.reproduce import FIGURES, Size
>>> FIGURES["d-choices-3"].measure(Size.TINY, 0)[0]["workers"]
50
"""

from skewkit.reproduce.figure import Figure, Paper, Size
from skewkit.reproduce.registry import FIGURES, PAPERS, chosen

__all__ = ["FIGURES", "PAPERS", "Figure", "Paper", "Size", "chosen"]
