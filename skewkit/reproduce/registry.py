"""The one list of papers and their figures, and how names on a command line choose among them."""

from __future__ import annotations

from collections.abc import Sequence

from skewkit.errors import ArgumentError, nearest
from skewkit.reproduce.consistent_figures import PAPER as CONSISTENT
from skewkit.reproduce.d_choices.d_choices_figures import PAPER as D_CHOICES
from skewkit.reproduce.dkg_figures import PAPER as DKG
from skewkit.reproduce.figure import Figure, Paper
from skewkit.reproduce.fish_figures import PAPER as FISH
from skewkit.reproduce.posg_figures import PAPER as POSG
from skewkit.reproduce.wrap_figures import PAPER as WRAP

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (D_CHOICES, CONSISTENT, DKG, POSG, FISH, WRAP)}
FIGURES: dict[str, Figure] = {figure.name: figure for paper in PAPERS.values() for figure in paper.figures}


def chosen(names: Sequence[str]) -> list[Figure]:
    """Return the figures that names stand for: figures, papers (all of their figures) or "all"; none twice.

    Raises:
        ArgumentError: a name is none of these.

    >>> [figure.name for figure in chosen(["d-choices-3", "d-choices-3"])]
    ['d-choices-3']
    >>> chosen(["d-choice-7"])
    Traceback (most recent call last):
    skewkit.errors.ArgumentError: there is no figure 'd-choice-7'; did you mean 'd-choices-7'? ...
    """
    found: dict[str, Figure] = {}
    for name in names:
        if name == "all":
            found |= FIGURES
        elif name in PAPERS:
            found |= {figure.name: figure for figure in PAPERS[name].figures}
        elif name in FIGURES:
            found[name] = FIGURES[name]
        else:
            valid = ("all", *PAPERS, *FIGURES)
            raise ArgumentError(f"there is no figure {name!r}; {nearest(name, valid)} (--list says what they show)")
    return list(found.values())
