"""What every partitioner refuses, and in which words: one suite over the whole registry."""

import itertools
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, SkewkitError, UnsupportedError
from skewkit.partitioners import PARTITIONERS
from tests.schemes import make

every_scheme = pytest.mark.parametrize("name", PARTITIONERS)


@every_scheme
def test_an_unknown_option_is_refused_with_the_nearest_one(name):
    scheme = PARTITIONERS[name]
    options = scheme(workers=3).options
    with pytest.raises(ArgumentError, match="'no_such_thing'"):
        scheme(workers=3, no_such_thing=1)
    for option in options:
        with pytest.raises(ArgumentError, match=f"did you mean '{option}'"):
            scheme(workers=3, **{option + "x": 1})
        for bad in (-1, float("nan"), "many"):
            with pytest.raises(SkewkitError, match=option):
                scheme(workers=3, **{option: bad})
    if not options:
        with pytest.raises(ArgumentError, match="no options"):
            scheme(workers=3, theta=0.1)


@every_scheme
def test_sizes_beyond_all_memory_are_refused_or_harmless(name):
    scheme = PARTITIONERS[name]
    for workers in (2**25 + 1, 2**31, 10**30, 10**5000):
        with pytest.raises(ArgumentError, match=r"^workers is .{,60}; expected a whole number, .* at most 33554432"):
            scheme(workers=workers)
    for option, value in itertools.product(scheme(workers=3).options, (10**30, 10**400, 1e-300, 5e-324)):
        with suppress(ArgumentError, ArgumentTypeError):
            assert scheme(workers=3, **{option: value}).route_many(range(100)).max() < 3
    for option in {"points", "virtual", "capacity"} & set(scheme(workers=3).options):
        with pytest.raises(ArgumentError, match=rf"{option} is .* at most 33554432"):
            scheme(workers=3, **{option: 10**30})


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("dkg", {"mu": 10**30}, r"workers \* mu is"),
        ("posg", {"epsilon": 1e-300}, "epsilon is 1e-300; .* at least 8.1"),
        ("posg", {"epsilon": 1e-7}, r"workers \* rows \* columns is"),
        ("fish", {"workers": 10**6}, r"workers \* points is"),
    ],
)
def test_what_takes_too_much_memory_is_named(name, options, match):
    with pytest.raises(ArgumentError, match=match):
        PARTITIONERS[name](**({"workers": 3} | options))


def test_a_million_workers_are_none_too_many():
    assert PARTITIONERS["d_choices"](workers=10**6).route_many(range(5)).max() < 10**6


@every_scheme
def test_options_are_documented_and_shown(name):
    p = PARTITIONERS[name](workers=3, seed=5)
    for option in p.options:
        assert f"{option}: " in type(p).__doc__
    assert repr(eval(repr(p), {"PARTITIONERS": PARTITIONERS})) == repr(p)
    assert repr(p).startswith(f"PARTITIONERS[{name!r}](workers=3, seed=5")


@every_scheme
def test_nonsense_is_refused_and_changes_nothing(name):
    scheme = PARTITIONERS[name]
    for workers in (0, -1):
        with pytest.raises(ArgumentError, match="workers"):
            scheme(workers=workers)
    for workers in (2.5, "ten", True, None):
        with pytest.raises(ArgumentTypeError, match="workers"):
            scheme(workers=workers)
    p = scheme(workers=3)
    for weight in (-1.0, float("nan"), float("inf"), 1e301):
        with pytest.raises(ArgumentError, match="weight"):
            p.route("a", weight)
        with pytest.raises(ArgumentError, match=r"weights\[0\]"):
            p.route_many(["a"], [weight])
    with pytest.raises(ArgumentTypeError, match="not a number"):
        p.route_many(["a", "b"], ["1", "2"])
    for weight in (1 + 2j, True, Decimal("1.5"), Fraction(1, 2), None):  # both forms refuse the same
        for act in (lambda w: p.route("a", w), lambda w: p.route_many(["a"], [w])):
            with pytest.raises(ArgumentTypeError, match="number"):
                act(weight)
    with pytest.raises(ArgumentError, match="2 keys and 1 weights"):
        p.route_many(["a", "b"], [1.0])
    with pytest.raises(KeyTypeError):
        p.route_many(["a", {}])
    with pytest.raises(KeyTypeError):
        p.choices([1])
    with pytest.raises(ArgumentTypeError):
        p.route_many("abc")
    for others in (5, [None], "p"):
        with pytest.raises(ArgumentTypeError, match="others is"):
            p.choices_beside(others, "a")
    for source, sources in ((-1, 2), (2, 2), (0, 0)):
        with pytest.raises(ArgumentError):
            p.as_source(source, sources)
    assert p.loads.tolist() == [0.0] * 3
    assert p.messages == 0


@every_scheme
def test_only_planned_schemes_fit(name):
    p = make(name)
    if not p.planned:
        with pytest.raises(UnsupportedError, match=r"'dkg'.*'wrap'"):
            p.fit(["a"], [1.0])
        return
    assert p.fit(["a", "b"], [2.0, 1.0]) is p
    assert p.plans == 1
    choices = p.choices("a")
    p.route_many(["a", "b", "c"] * 100)
    assert (p.plans, p.choices("a")) == (1, choices)
    for bad in (([], []), (["a"], [0.0]), (["a"], [-1.0]), (["a"], [1.0, 2.0])):
        with pytest.raises(ArgumentError):
            p.fit(*bad)


@every_scheme
def test_reports_that_make_no_sense_are_refused(name):
    p = make(name)
    for report in ((7, "a", 1.0, 1.0), (-1, "a", 1.0, 1.0), (0, "a", -1.0, 1.0), (0, "a", 1.0, float("nan"))):
        with pytest.raises(ArgumentError):
            p.observe(*report)
    for worker in ("0", 0.5, None, True):
        with pytest.raises(ArgumentTypeError, match="worker is"):
            p.observe(worker, "a", 1.0, 1.0)
    with pytest.raises(KeyTypeError):
        p.observe(0, [], 1.0, 1.0)
    if not p.learns:
        return
    with pytest.raises(ArgumentError):
        p.tick(float("inf"))
    with pytest.raises(ArgumentTypeError):
        p.share_workers(make("key" if name != "key" else "shuffle"))
    for other in (PARTITIONERS[name](workers=p.workers + 1), PARTITIONERS[name](workers=p.workers, seed=p.seed + 1)):
        with pytest.raises(ArgumentError, match="expected one like this source"):
            p.share_workers(other)


@every_scheme
def test_a_change_of_workers_that_makes_no_sense_is_refused(name):
    p = make(name, 2)
    if not p.elastic:
        return
    for call in (
        lambda: p.remove_worker(2),
        lambda: p.remove_worker(-1),
        lambda: p.add_worker(0),
        lambda: p.add_worker(5),
    ):
        with pytest.raises(ArgumentError):
            call()
    for call in (p.remove_worker, p.add_worker):
        with pytest.raises(ArgumentTypeError, match="worker is"):
            call("0")
    p.remove_worker(0)
    with pytest.raises(ArgumentError, match="last one"):
        p.remove_worker(1)
    with pytest.raises(ArgumentError, match=r"\[0\]"):
        p.add_worker(1)
    assert p.add_worker() == 2
    assert p.add_worker(0) == 0
    assert p.active == (0, 1, 2)
    assert p.loads.shape == (3,)
