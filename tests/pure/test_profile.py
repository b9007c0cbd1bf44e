"""Profiles as data: bounds, merge, decay, JSON."""

import datetime as dt
import json
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.errors import ArgumentError, ProfileError
from skewkit.hashing.spark import xxhash64
from skewkit.plan.placement.load import expected_tail
from skewkit.plan.profile.key_profile import HeavyKey, KeyProfile, profile_text
from skewkit.plan.profile.profile_plot import plot_shares
from skewkit.plan.profile.rehash import rehashed
from skewkit.plan.profile.unread_profiles import empty_profile, every_key_once, named_heavy

BUCKETS = 16
UTC = dt.timezone.utc


def exact_profile(rows: list[int | None], theta: float = 0.1, name: str = "k", buckets: int = BUCKETS) -> KeyProfile:
    """Return the exact profile of a column of ints, by counting."""
    counts = Counter(row for row in rows if row is not None)
    heavy, tail, tail_keys, unlisted = [], [0.0] * buckets, [0] * buckets, 0
    for key, n in counts.items():
        key_hash = xxhash64([key], ["int"])
        if n >= theta * len(rows):
            heavy.append(HeavyKey((key,), n, n, n, key_hash))
        else:
            tail[key_hash % buckets] += n
            tail_keys[key_hash % buckets] += 1
            unlisted = max(unlisted, n)
    heavy.sort(key=lambda h: (-h.estimate, h.hash))
    nulls = rows.count(None)
    return KeyProfile(
        (name,), ("int",), len(rows), nulls, tuple(heavy), (), tuple(tail), tuple(tail_keys), theta, unlisted
    )


columns = st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=80)


@given(columns, columns)
def test_merge_bounds_hold_for_the_union(a, b):
    merged = exact_profile(a).merge(exact_profile(b))
    counts = Counter(row for row in a + b if row is not None)
    assert merged.rows == len(a + b)
    assert merged.nulls == (a + b).count(None)
    for h in merged.heavy:
        assert h.low <= counts[h.key[0]] <= h.high
    listed = {h.key[0] for h in merged.heavy}
    assert all(n <= merged.unlisted for key, n in counts.items() if key not in listed)
    assert sum(h.estimate for h in merged.heavy) + sum(merged.tail) + merged.nulls == pytest.approx(merged.rows)


@given(columns, columns)
def test_merge_does_not_depend_on_the_order(a, b):
    first, second = exact_profile(a), exact_profile(b)
    assert first.merge(second) == second.merge(first)


@given(columns)
def test_json_round_trip(rows):
    profile = exact_profile(rows)
    assert KeyProfile.from_json(profile.to_json()) == profile


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("string", "naïve\0"),
        ("binary", b"\x00\xff"),
        ("date", dt.date(1969, 7, 20)),
        ("timestamp", dt.datetime(2024, 2, 29, 12, 30, 0, 123456)),
        ("decimal(38,4)", Decimal("-12345678901234567890.1234")),
        ("double", float("inf")),
        ("boolean", True),
        ("interval day to second", dt.timedelta(days=-1, microseconds=5)),
        ("array<int>", (1, None, 3)),
        ("struct<a:int,b:array<binary>>", (None, (b"x",))),
    ],
)
def test_json_keeps_keys_of_every_type(type_, value):
    profile = named_heavy(("k",), (type_,), [(value,)])
    assert KeyProfile.from_json(profile.to_json()).heavy == profile.heavy


@given(columns, st.floats(0, 1))
def test_decay_scales_everything(rows, alpha):
    profile = exact_profile(rows)
    faded = profile.decay(alpha)
    assert faded.rows == pytest.approx(profile.rows * alpha)
    assert sum(faded.tail) == pytest.approx(sum(profile.tail) * alpha)
    for before, after in zip(profile.heavy, faded.heavy, strict=True):
        assert after.estimate == pytest.approx(before.estimate * alpha)
        assert after.low <= after.estimate <= after.high


def test_what_a_sampled_row_counts_for_decays_and_merges():
    sample = replace(exact_profile([1, 2, 3]), sampled=True, fraction=0.1)
    assert (exact_profile([1]).row_weight, sample.row_weight) == (0.0, 10.0)
    old = sample.decay(0.5).decay(0.5)
    assert old.row_weight == 2.5
    assert sample.merge(old).row_weight == old.merge(sample).row_weight == 10.0
    assert KeyProfile.from_json(old.to_json()) == old
    # Buckets differ by chance as much as rows of their weight do, however long ago they were read.
    tail = (40.0, 0.0, 20.0, 10.0)
    fresh, faded = replace(sample, tail=tail), replace(sample, tail=tail).decay(0.05)
    assert [w * 0.05 for w in expected_tail(fresh)] == pytest.approx(expected_tail(faded))


def test_a_profile_may_be_merged_for_years():
    new = replace(exact_profile([1, 2, 3]), sampled=True, fraction=0.01, tail=(7.0, 1.0, 3.0, 2.0), tail_keys=(1,) * 4)
    old = replace(new.decay(0.0), unit=1e-200)
    for profile in (old, old.merge(replace(new, sampled=False, fraction=1.0))):
        assert all(math.isfinite(w) for w in expected_tail(profile))


def test_what_is_known_of_other_frames_merges_in_any_order():
    sample = replace(exact_profile([1, 2, 3]), sampled=True, fraction=0.1)
    once = every_key_once(sample.keys, sample.types, 100, buckets=len(sample.tail))
    for both in (once.merge(sample), sample.merge(once)):
        assert (both.sampled, both.fraction) == (True, 0.1)
        assert expected_tail(both)
    named = named_heavy(sample.keys, sample.types, [(1,)])
    assert named.merge(sample).named
    assert sample.merge(named).named


def test_merge_folds_the_larger_number_of_buckets():
    rows = [1] * 50 + list(range(2, 52))
    fine, coarse = exact_profile(rows, buckets=64), exact_profile(rows, buckets=16)
    assert fine.merge(coarse).tail == tuple(2 * w for w in coarse.tail)


def test_share():
    profile = exact_profile([1] * 60 + [None] * 20 + list(range(2, 22)))
    assert profile.share(1) == 0.6
    assert 0 < profile.share(5) < profile.theta
    with pytest.raises(ArgumentError, match="one value per column"):
        profile.share(1, 2)


@pytest.mark.parametrize(
    ("type_", "value", "wrong"),
    [
        ("string", "a", ["a"]),
        ("string", "a", 5),
        ("int", 1, "1"),
        ("boolean", True, [True]),
        ("int", 1, [1]),
        ("struct<a:int>", (1,), ((1,),)),
    ],
)
def test_share_takes_a_key_as_a_profile_shows_it(type_, value, wrong):
    heavy = HeavyKey((value,), 9, 9, 9, xxhash64([value], [type_]))
    profile = replace(exact_profile([1] * 9), types=(type_,), heavy=(heavy,))
    assert profile.share(value) == profile.share(heavy) == 1.0
    if type_ != "struct<a:int>":  # whose values are tuples
        assert profile.share(heavy.key) == 1.0
    for other in (wrong, np.array([1, 2]), {1, 2}, object()):
        with pytest.raises(ArgumentError, match="does not fit the key types"):
            profile.share(other)


def test_profiles_of_other_keys_do_not_merge():
    with pytest.raises(ProfileError, match="different keys"):
        exact_profile([1]).merge(exact_profile([1], name="other"))
    for text in ("", "[1]", "{}", '{"skewkit_profile": 99}', '{"skewkit_profile": 1, "types": []}'):
        with pytest.raises(ProfileError):
            KeyProfile.from_json(text)
    for alpha in (-0.1, 1.5):
        with pytest.raises(ArgumentError, match="between 0 and 1"):
            exact_profile([1]).decay(alpha)


def test_text_names_keys_nulls_and_the_rest(capsys):
    profile = exact_profile([7] * 60 + [None] * 20 + list(range(10, 30)))
    text = profile_text(profile)
    assert "7   60.00%  60" in text
    assert "null   20.00%  20" in text
    assert "all other keys   20.00%  20" in text
    profile.show()
    assert capsys.readouterr().out == text + "\n"
    assert "no heavy key" in str(empty_profile(("k",), ("int",)))


def test_hot_placeholders_are_reported():
    text = str(exact_profile([0] * 60 + [7] * 30 + list(range(10, 20))))
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert lines["0"].endswith("(a placeholder?)")
    assert not lines["7"].endswith("(a placeholder?)")


def test_a_profile_for_other_types_is_rehashed():
    profile = exact_profile([1] * 9 + [2])
    wider = rehashed(profile, ("bigint",))
    assert [h.hash for h in wider.heavy] == [xxhash64([1], ["bigint"]), xxhash64([2], ["bigint"])]
    assert sum(wider.tail) == sum(profile.tail)
    lost = rehashed(profile, ("map<int,int>",))
    assert lost.heavy == ()
    assert (sum(lost.tail), lost.unlisted) == (pytest.approx(10), 9)
    nulls = replace(
        profile, keys=("a", "b"), types=("int", "int"), heavy=(), null_heavy=(HeavyKey((None, 1), 9, 9, 9, 0),)
    )
    (wider_null,) = rehashed(nulls, ("int", "bigint")).null_heavy
    assert wider_null.hash == xxhash64([None, 1], ["int", "bigint"])


@pytest.mark.parametrize(
    ("value", "old", "new", "cast"),
    [
        ("5", "string", "bigint", 5),
        ("5.5", "string", "bigint", None),
        ("x", "string", "int", None),
        ("7e993412", "string", "bigint", None),
        ("1_000", "string", "bigint", None),
        ("9" * 20, "string", "bigint", None),
        ("2.50", "string", "decimal(5,2)", Decimal("2.50")),
        (" no ", "string", "boolean", False),
        ("perhaps", "string", "boolean", None),
        (0.1, "float", "double", 0.10000000149011612),
        ((1, None), "struct<a:int,b:string>", "struct<a:bigint,b:string>", (1, None)),
        (("5",), "array<string>", "array<bigint>", (5,)),
        (True, "boolean", "string", "true"),
        (7, "int", "string", "7"),
        (7.0, "double", "string", None),
        (Decimal("0E-2"), "decimal(5,2)", "string", "0.00"),
        ("é", "string", "binary", "é".encode()),
        (dt.date(2024, 5, 1), "date", "timestamp_ntz", dt.datetime(2024, 5, 1)),
        (dt.date(2024, 5, 1), "date", "timestamp", dt.datetime(2024, 5, 1, 4, tzinfo=dt.timezone.utc)),
        (dt.datetime(2024, 5, 1), "timestamp_ntz", "timestamp", dt.datetime(2024, 5, 1, 4, tzinfo=dt.timezone.utc)),
        (dt.datetime(2024, 5, 1), "timestamp", "string", None),
        (
            dt.datetime(2024, 5, 1, 4, tzinfo=dt.timezone.utc),
            "date",
            "timestamp",
            dt.datetime(2024, 5, 1, 4, tzinfo=UTC),
        ),
    ],
)
def test_heavy_keys_are_cast_as_spark_casts_them_or_left_out(value, old, new, cast):
    profile = replace(exact_profile([1] * 9), types=(old,), heavy=(HeavyKey((value,), 9, 9, 9, 0),))
    heavy = rehashed(profile, (new,), "America/New_York").heavy
    assert [h.key for h in heavy] == ([] if cast is None else [(cast,)])
    assert [h.hash for h in heavy] == ([] if cast is None else [xxhash64([cast], [new])])


def test_keys_known_by_their_hash_alone():
    named = exact_profile([1] * 50 + [2] * 30 + [3] * 20)
    nameless = replace(named, heavy=tuple(replace(h, key=(None,)) for h in named.heavy))
    assert nameless.share(2) == named.share(2) == 0.3
    assert named.share(nameless.heavy[1]) == nameless.share(nameless.heavy[1]) == 0.3
    for both in (nameless.merge(named), named.merge(nameless)):
        assert [(h.key, h.estimate) for h in both.heavy] == [((1,), 100), ((2,), 60), ((3,), 40)]
    assert [h.estimate for h in nameless.merge(nameless).heavy] == [100, 60, 40]
    assert rehashed(nameless, ("bigint",)).heavy == ()
    assert f"the key of hash {named.heavy[0].hash}   50.00%" in str(nameless)
    assert KeyProfile.from_json(nameless.to_json()) == nameless


def test_keys_of_one_hash_stay_apart():
    """Spark's hash passes over nulls, also those inside a struct."""
    one, other = (HeavyKey(((None, 1),), 60, 60, 60, 8), HeavyKey(((1, None),), 40, 40, 40, 8))
    structs = replace(exact_profile([]), types=("struct<a:int,b:int>",), rows=100, heavy=(one, other))
    assert [h.estimate for h in structs.merge(structs).heavy] == [120, 80]
    assert structs.merge(replace(structs, rows=0, heavy=())).heavy == structs.heavy
    nameless = replace(structs, null_heavy=(HeavyKey((None,), 6, 6, 6, 3), HeavyKey((None,), 4, 4, 4, 5)))
    assert [h.estimate for h in nameless.merge(nameless).null_heavy] == [12, 8]


def test_plot_draws_the_heavy_keys():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = exact_profile([7] * 60 + [None] * 20 + list(range(10, 30))).plot()
    assert [bar.get_width() for bar in axes.patches] == [0.6, 0.2]
    assert [text.get_text() for text in axes.texts] == []


def test_plot_shows_keys_as_they_are():
    """Two dollar signs are no mathematics, and long keys that begin alike have a bar each."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    shares = [("$a_{$", 0.5), ("x" * 40 + "1", 0.3), ("x" * 40 + "2", 0.2)]
    axes = plot_shares(shares, 0.1, "by $ and $", "the rows")
    axes.figure.canvas.draw()
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.3, 0.2]
    assert len({bar.get_y() for bar in axes.patches}) == 3
    assert axes.get_yticklabels()[0].get_text() == r"\$a_{\$"


@pytest.mark.parametrize("rows", [list(range(2_000)), []])
def test_plot_of_no_heavy_key_says_so(rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = exact_profile(rows).plot()
    assert list(axes.patches) == []
    assert axes.get_xlim()[0] == 0
    assert [text.get_text() for text in axes.texts] == ["no heavy key"]


DAMAGE = {
    "tail": [[], ["x"], [1.0]],
    "theta": [None, -1.0, "1"],
    "rows": [float("inf"), None, True],
    "heavy": [
        [{"key": [1], "low": 1, "estimate": None, "high": 2, "hash": 3}],
        [{"key": [1], "low": 1, "estimate": 1, "high": 2, "hash": 1 << 63}],
        [{"key": [1], "low": 1, "estimate": 1, "high": 2, "hash": "3"}],
        [{"key": [], "low": 1, "estimate": 1, "high": 2, "hash": 3}],
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGE.items() for value in values])
def test_damaged_json_is_refused(name, value):
    data = json.loads(exact_profile([5, 4, 3]).to_json())
    KeyProfile.from_json(json.dumps(data))
    with pytest.raises(ProfileError, match="damaged"):
        KeyProfile.from_json(json.dumps({**data, name: value}))


def test_a_sample_of_nothing_is_refused():
    data = json.loads(exact_profile([5, 4, 3]).to_json())
    with pytest.raises(ProfileError, match="fraction is 0, but the profile is of a sample"):
        KeyProfile.from_json(json.dumps({**data, "sampled": True, "fraction": 0.0}))
