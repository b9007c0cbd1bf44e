"""The figures of Nasir et al., "When Two Choices Are not Enough"."""

from skewkit.reproduce.d_choices import d_choices_analysis, d_choices_balance, d_choices_queues, d_choices_real
from skewkit.reproduce.figure import Paper

PAPER = Paper(
    name="d-choices",
    citation='Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream Processing", '
    "ICDE 2016",
    remarks="Unless said otherwise: 5 sources with sketches and loads of their own, theta = 1/(5n), epsilon = 1e-4, "
    "Zipf keys with K = 10,000. I(m) depends on the draw of the hash functions, so it is the median of 10 draws. "
    "The Wikipedia and Twitter logs and the cashtags cannot be had: words of novels and directories of git changes "
    "(with drift) stand for them. With --quick the changes are 20 even cuts out of the whole history.",
    departures=(
        "d is computed again whenever the messages have grown by 1 % (`refresh=0.01`), not for every "
        "message of the head; `refresh=0` does it for every one.",
        "SpaceSaving has 10 counters per worker (`capacity`), and at least 2 / theta. A key counts as "
        "hot by its lower bound, the counter less its error: by the counter itself, with fewer than 5 per "
        "worker, every key that is tracked would look hot. Equation (3) takes the lower bounds of these keys; all "
        "messages beyond them are its tail.",
        "Sources do not merge their sketches, which the paper says can be done: each finds the head and d for itself.",
        "The hash functions are not named; candidates are drawn by a seeded 64-bit mixer.",
    ),
    figures=(
        d_choices_real.FIG_1,
        *d_choices_analysis.FIGURES,
        *d_choices_balance.FIGURES,
        d_choices_real.FIG_11,
        d_choices_real.FIG_12,
        *d_choices_queues.FIGURES,
    ),
)
