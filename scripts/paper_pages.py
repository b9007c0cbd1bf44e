"""Write docs/papers/ and docs/figures/ from a folder of `python -m skewkit reproduce all --quick`.

    python -m skewkit reproduce all --quick
    python -m skewkit reproduce consistent-10 consistent-13 posg-4 fish-10 fish-11 --out full
    python scripts/paper_pages.py reproduced full

The figures in the second folder, if there is one, are shown at full size.
Nothing is measured here: the numbers come from the CSV tables, the pictures are drawn from them anew.
"""

import sys
from pathlib import Path

from PIL import Image

from skewkit.reproduce import PAPERS, Size
from skewkit.reproduce.output import Done, page, read_table
from skewkit.reproduce.plotting import draw

DOCS = Path(__file__).parents[1] / "docs"
SHOWN = (
    *("d-choices-1", "d-choices-5", "d-choices-7", "d-choices-9", "d-choices-10", "d-choices-11", "d-choices-14"),
    *("consistent-4", "consistent-8", "consistent-10", "consistent-13"),
    *("dkg-optimality", "dkg-modulo", "dkg-buckets"),
    *("posg-4", "posg-5", "posg-10"),
    *("fish-10", "fish-11", "fish-16", "fish-17"),
    *("wrap-known", "wrap-curve", "wrap-capacities"),
)


def main(folder: Path, larger: Path | None = None) -> None:
    """Write the pages of all papers, and the pictures that they show."""
    full = {path.stem: path for path in sorted(larger.glob("*.csv"))} if larger else {}
    (DOCS / "papers").mkdir(exist_ok=True)
    (DOCS / "figures").mkdir(exist_ok=True)
    for paper in PAPERS.values():
        tables = {f.name: full.get(f.name, folder / f"{f.name}.csv") for f in paper.figures}
        done = {f.name: Done(f, read_table(tables[f.name]), 0.0) for f in paper.figures}
        text = page(paper, done, Size.QUICK, 0, "../figures/", SHOWN, full)
        (DOCS / "papers" / f"{paper.name}.md").write_text(text, encoding="utf-8")
        for figure in paper.figures:
            if figure.name in SHOWN:
                path = DOCS / "figures" / f"{figure.name}.png"
                draw(figure, done[figure.name].rows, path)
                Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
                print(f"{path.relative_to(DOCS)}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:] or ["reproduced"]))
