"""Schemes with options that bring their turning points into the range of short streams, and such streams."""

from hypothesis import settings
from hypothesis import strategies as st

from skewkit.partitioners import PARTITIONERS

SHORT = {
    "dkg": {"learning": 30, "mu": 3},
    "wrap": {"mu": 3},
    "d_choices": {"refresh": 0.1},
    "fish": {"epoch": 20, "points": 3, "interval": 4.0},
    "posg": {"window": 2, "tolerance": 0.5},
    "consistent": {"virtual": 3, "slot": 5.0},
    "bounded_hash": {"points": 3},
}

some = settings(max_examples=settings.default.max_examples * 2 // 5, deadline=None)  # of each scheme

# Skewed: one key is drawn as often as all others together.
keys = st.lists(st.one_of(st.just("hot"), st.integers(0, 30)), max_size=150)
weights = st.lists(st.one_of(st.just(1.0), st.floats(0, 10)), min_size=150, max_size=150)
worker_counts = st.sampled_from([1, 2, 3, 7, 50])


def make(name, workers=7, seed=1, **options):
    """Return a new instance of a scheme."""
    return PARTITIONERS[name](workers=workers, seed=seed, **{**SHORT.get(name, {}), **options})
