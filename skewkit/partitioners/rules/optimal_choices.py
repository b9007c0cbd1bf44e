"""FINDOPTIMALCHOICES: how many workers may share a key of the head.

Source: Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream Processing",
ICDE 2016, Section IV-A, Proposition 4.1, Equations (3) and (10), and Appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from skewkit.checks import Floats, non_negative, real_number, whole_number

Number = TypeVar("Number", float, Floats)


def optimal_choices(head: Sequence[float] | Floats, tail: float, workers: int, epsilon: float = 1e-4) -> int:
    """Return the least number of choices d that Equation (3) allows for the keys of the head.

    With n workers, b_h = n - n * ((n - 1) / n)**(h * d) is the number of workers that h keys with d choices
    each reach on average (Equation 10). For every prefix of h keys of the head, the load that must land on
    those workers may not exceed b_h * (1 / n + epsilon).

    The search starts at max(2, ceil(p1 * n)), p1 the share of the heaviest key, and takes the first d that
    satisfies every prefix (not only the first and the last, which the paper calls the tight ones).

    * The result is between 2 and `workers`. `workers` itself means: switch to W-Choices, all workers.
    * With an empty head the result is 2, or 1 where there is one worker only.
    * The condition is necessary, not sufficient: the balance reached also depends on the hash draw.

    Args:
        head: shares (0..1 of all load) of the keys of the head, heaviest first. Sorted here if they are not.
        tail: share of all other keys together. Less than 1e-9 below zero is taken as zero.
        workers: number of workers n, 1 or more.
        epsilon: tolerated imbalance, as a share of all load.

    Raises:
        ArgumentError: a share is negative or not finite, `workers` is below 1, `epsilon` is negative.
        ArgumentTypeError: an argument is not a number.

    >>> optimal_choices([0.12, 0.06, 0.04], tail=0.78, workers=50, epsilon=1e-3)
    7
    >>> optimal_choices([], tail=1.0, workers=10)
    2
    >>> optimal_choices([0.95], tail=0.05, workers=10)
    10
    >>> optimal_choices([0.5, 0.5], tail=-1e-16, workers=10)  # 1 less the sum of shares, as floats have it
    10
    """
    n = whole_number("workers", workers)
    eps = real_number("epsilon", epsilon)
    rest = max(0.0, real_number("tail", tail, low=-1e-9))  # one less a sum of shares may be just below zero
    shares = np.sort(non_negative("head", head))[::-1]
    if n <= 2 or shares.size == 0:
        return min(2, n)
    start = max(2, math.ceil(float(shares[0]) * n - 1e-9))  # 1e-9: 0.07 * 100 is not 8
    prefix = np.cumsum(shares)
    return next((d for d in range(start, n) if _holds(d, n, eps, prefix, rest)), n)


def _holds(d: int, n: int, epsilon: float, prefix: Floats, tail: float) -> bool:
    """Tell whether Equation (3) holds for d at every prefix of the head. Look at the tight ones first.

    Powers are products, so that the compiled twin (`skewkit.compiled.head_tail_loop`) rounds as this does.
    """
    missed = power(1.0 - 1.0 / n, d)  # share of workers that the d choices of a key miss
    head, allowed = float(prefix[-1]), 1.0 + n * epsilon
    if not _fits(float(prefix[0]), 1.0 - missed, d, head, tail, allowed):
        return False
    reached: Floats = 1.0 - np.cumprod(np.full(prefix.size, missed))  # b_h / n
    last = float(reached[-1])
    if not head + last * last * tail <= last * allowed:
        return False
    return bool(np.all(_fits(prefix, reached, d, head, tail, allowed)))


def _fits(inside: Number, reached: Number, d: int, head: float, tail: float, allowed: float) -> Any:
    return inside + power(reached, d) * (head - inside) + reached * reached * tail <= reached * allowed


def power(base: Number, exponent: int) -> Number:
    """Return base**exponent by repeated squaring, for an exponent of zero or more.

    >>> power(3.0, 5)
    243.0
    """
    result: Number = base * 0.0 + 1.0
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result
