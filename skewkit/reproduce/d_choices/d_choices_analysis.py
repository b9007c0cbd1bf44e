"""Figures 3 to 6 of the D-Choices paper: the head, d by Equation (3), and the memory that follows from it."""

from __future__ import annotations

import numpy as np

from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.reproduce.figure import Axis, Claim, Figure, Plot, Row, Rows, Size, pick
from skewkit.reproduce.measuring import exponents
from skewkit.simulator.streams import zipf_shares

KEYS = 10_000
MESSAGES = 10_000_000
SKEW = Axis("exponent", "skew z")


def head_size(size: Size, seed: int) -> list[Row]:
    """Figure 3: keys with a share of at least theta."""
    del seed
    return [
        {
            "workers": n,
            "threshold": name,
            "exponent": z,
            "keys in head": int(np.sum(zipf_shares(KEYS, z) >= theta)),
        }
        for n in (50, 100)
        for name, theta in (("theta = 2/n", 2 / n), ("theta = 1/(5n)", 1 / (5 * n)))
        for z in exponents(Size.FULL if size is Size.QUICK else size)
    ]


def choices(workers: int, exponent: float) -> int:
    """Return d by Equation (3) for known Zipf shares.

    >>> choices(100, 1.4)
    43
    """
    shares = zipf_shares(KEYS, exponent)
    head = shares[shares >= 1 / (5 * workers)]
    return optimal_choices(head, 1.0 - float(head.sum()), workers)


def fraction_of_workers(size: Size, seed: int) -> list[Row]:
    """Figure 4: d over n."""
    del seed
    return [
        {"workers": n, "exponent": z, "d": choices(n, z), "share": choices(n, z) / n}
        for n in (5, 10, 50, 100)
        for z in exponents(Size.FULL if size is Size.QUICK else size)
    ]


def memory(size: Size, seed: int) -> list[Row]:
    """Figures 5 and 6: key-worker pairs by the formulas of Section IV-B, for known shares."""
    del seed
    rows: list[Row] = []
    for n in (50, 100):
        for z in exponents(Size.FULL if size is Size.QUICK else size):
            shares = zipf_shares(KEYS, z)
            counts = MESSAGES * shares
            two, all_workers = np.minimum(counts, 2).sum(), np.minimum(counts, n).sum()
            for scheme, degree in (("d_choices", choices(n, z)), ("w_choices", n)):
                most = np.where(shares >= 1 / (5 * n), degree, 2)
                pairs = float(np.minimum(counts, most).sum())
                against_sg = pairs / float(all_workers)
                against_pkg = pairs / float(two)
                rows.append(
                    {
                        "workers": n,
                        "scheme": scheme,
                        "exponent": z,
                        "against PKG": against_pkg,
                        "against SG": against_sg,
                        "percent over PKG": 100 * (against_pkg - 1),
                        "percent of SG": 100 * against_sg,
                    }
                )
    return rows


def _largest_head(rows: Rows) -> str:
    most = max(pick(rows, "keys in head", workers=100, threshold="theta = 1/(5n)"))
    half = max(pick(rows, "keys in head", workers=50, threshold="theta = 1/(5n)"))
    return f"at most {most:.0f} keys for n = 100 and {half:.0f} for n = 50"


def _below(rows: Rows) -> str:
    large = max(pick(rows, "share", workers=(50, 100)))
    small = sum(share >= 1.0 for share in pick(rows, "share", workers=(5, 10)))
    return f"d/n is at most {large:.2f} for n = 50 and 100; d = n at {small} points of n = 5 and 10"


def _over_pkg(rows: Rows) -> str:
    w, d = (max(pick(rows, "percent over PKG", workers=100, scheme=name)) for name in ("w_choices", "d_choices"))
    return f"n = 100: W-C at most {w:.1f} % over PKG, D-C at most {d:.1f} %"


def _of_sg(rows: Rows) -> str:
    most = max(pick(rows, "percent of SG", workers=100))
    half = max(pick(rows, "percent of SG", workers=50))
    return f"at most {most:.1f} % of SG for n = 100, {half:.1f} % for n = 50"


FIGURES = (
    Figure(
        "d-choices-3",
        "Fig. 3: keys in the head",
        "Keys with a share of at least theta among 10,000 Zipf keys; computed, nothing is drawn.",
        head_size,
        Plot(SKEW, (Axis("keys in head", "keys in the head"),), "threshold", across="workers"),
        (
            Claim(
                "The head is small: 5n keys at the very most, and far fewer when keys are skewed.",
                _largest_head,
                "None.",
            ),
        ),
    ),
    Figure(
        "d-choices-4",
        "Fig. 4: share of the workers that D-Choices gives to the head",
        "d by Equation (3), every prefix of the head checked, for 10,000 Zipf keys with known shares.",
        fraction_of_workers,
        Plot(SKEW, (Axis("share", "d / n"),), "workers"),
        (Claim("d is always smaller than n for n = 50 and 100.", _below, "None."),),
    ),
    Figure(
        "d-choices-5",
        "Fig. 5: memory of D-Choices and W-Choices over PKG",
        "Sums of min(f, d) over all keys, f = share of the key times 10 M messages; nothing is drawn.",
        memory,
        Plot(SKEW, (Axis("percent over PKG", "memory over PKG (%)", log=True),), "scheme", across="workers"),
        (
            Claim(
                "D-C and W-C need at most 30 % more memory than PKG; W-C up to 25 % more with 100 workers, D-C "
                "less than W-C at moderate skew.",
                _over_pkg,
                "The text says 25 % and the caption 30 %: what is computed lies between.",
            ),
        ),
    ),
    Figure(
        "d-choices-6",
        "Fig. 6: memory of D-Choices and W-Choices as a share of SG",
        "As in the figure before, against the sum of min(f, n).",
        memory,
        Plot(SKEW, (Axis("percent of SG", "memory (% of SG)", log=True),), "scheme", across="workers"),
        (
            Claim(
                "Both use at least 80 % less memory than SG in the worst case.",
                _of_sg,
                "At the highest skew most keys are so rare that SG, too, keeps few copies of them.",
            ),
        ),
    ),
)
