"""The plan of a write, without Spark: files, tasks, bytes of Parquet columns, the profile that a write counts."""

import io
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewkit.hashing.spark import xxhash64
from skewkit.plan.write.column_sample import column_samples
from skewkit.plan.write.file_plan import ABOVE, OPENING, ValueBytes, files_for, plan_files
from skewkit.plan.write.own_sample import file_rows_of_values, own_bytes, rows_of_files, values_to_sample
from skewkit.plan.write.row_bytes import sampled_rows, value_bytes
from skewkit.plan.write.value_profile import value_profile

MIB = 1 << 20


def values_of(sizes):
    return [ValueBytes(str(i), xxhash64([i], ["int"]), size / 100, float(size)) for i, size in enumerate(sizes)]


def tasks_of(plan, value):
    """Return the tasks that a value's rows go to."""
    index = plan.route.heavy_index(value.hash)
    if index >= 0:
        return [task for task, _ in plan.route.heavy[index].parts]
    return [plan.route.buckets[value.hash % len(plan.route.buckets)]]


@given(st.lists(st.integers(0, 400 * MIB), min_size=1, max_size=60), st.integers(1, 64), st.sampled_from([1, 8, 128]))
def test_files_are_within_bounds_and_no_task_has_much_more_than_a_target(sizes, slots, target):
    values = values_of(sizes)
    plan = plan_files(("k",), values, target * MIB, slots=slots)
    assert plan.files == sum(files_for(v.bytes, target * MIB) for v in values)
    if plan.route is None:
        assert plan.tasks == 1
        return
    loads = np.zeros(plan.tasks)
    for v in values:
        tasks = tasks_of(plan, v)
        assert len(tasks) == len(set(tasks)) == files_for(v.bytes, target * MIB)
        assert len(tasks) <= math.ceil(v.bytes / (target * MIB)) + 1
        loads[tasks] += v.bytes / len(tasks) + OPENING
    assert plan.tasks >= min(slots, plan.files)
    # LPT: at most the mean and one whole file more.
    assert loads.max() <= loads.mean() + ABOVE * target * MIB + 2 * OPENING


def test_five_thousand_small_values_are_packed():
    plan = plan_files(("k",), values_of([40_000] * 5000), 128 * MIB, slots=32)
    assert plan.files == 5000
    assert plan.cut == 0
    per_task = np.bincount([tasks_of(plan, v)[0] for v in values_of([40_000] * 5000)], minlength=plan.tasks)
    assert per_task.max() <= 200, "files that a task writes are bounded"
    assert plan.tasks < 100


def test_no_value_and_a_tail_known_by_buckets():
    assert plan_files((), (), MIB).tasks == 1
    plan = plan_files(("k",), values_of([10 * MIB]), MIB, tail=[0.5 * MIB] * 64, rows=1000)
    assert plan.files == files_for(10 * MIB, MIB) + 64
    assert set(plan.route.buckets) <= set(range(plan.tasks))


def test_the_rows_of_a_file_are_bounded_by_the_shortest_rows():
    short, long = ValueBytes("s", 1, 1000.0, 1000.0), ValueBytes("l", 2, 10.0, 9000.0)
    assert plan_files(("k",), [short, long], 3000).rows_per_file == 6000


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "no_such_codec"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array(range(40_000)),
        pa.array(np.random.default_rng(1).integers(0, 50, 40_000)),
        pa.array([np.random.default_rng(i).bytes(8).hex() for i in range(40_000)]),
        pa.array([f"product {i}" for i in np.random.default_rng(2).zipf(1.3, 40_000) % 3001]),
        pa.array([None if i < 0 else bool(i) for i in np.random.default_rng(3).integers(-1, 2, 40_000)]),
    ],
)
def test_a_file_four_times_the_sample_is_foretold(column, codec):
    # The sample is every fourth row, what is foretold is the whole.
    whole = pa.table({"x": column})
    part = whole.take(np.arange(0, 40_000, 4))
    (foretold,), (measured,) = column_samples(part, codec), column_samples(whole, codec)
    assert foretold.bytes_in(40_000) == pytest.approx(measured.bytes_in(40_000), rel=0.35)


@pytest.mark.parametrize("copies", [2, 3])
def test_rows_that_are_there_several_times_do_not_hide_how_values_grow(copies):
    """All copies of a row are in one file, so that no value of the sample is there once."""
    texts = [np.random.default_rng(i).bytes(32).hex() for i in range(8_000)]
    whole, part = (pa.table({"x": texts[:n] * copies, "one": [1] * (n * copies)}) for n in (8_000, 800))
    (foretold, _), (measured, _) = column_samples(part, "snappy"), column_samples(whole, "snappy")
    assert foretold.bytes_in(8_000 * copies) == pytest.approx(measured.bytes_in(8_000 * copies), rel=0.35)


def test_values_of_longer_texts_have_more_bytes():
    table = pa.table({"t": [f"{i:020d}" for i in range(4096)]})
    sample = sampled_rows(table, [(0,)], (20.0,), "none")
    short, long = value_bytes(sample, np.array([10_000, 10_000]), np.array([[200_000.0], [2_000_000.0]]), 1e9)
    assert long > 8 * short


@pytest.mark.parametrize("files", [8, 40])
def test_neighbours_that_are_alike_are_in_other_files(files):
    # Some eight rows in a row have the same texts. A file has one row in so many of them.
    rng = np.random.default_rng(3)
    texts = np.array([rng.bytes(16).hex() for _ in range(20_000)])
    table = pa.table({"commit": texts[np.arange(160_000) // 8], "path": texts[rng.integers(0, 20_000, 160_000)]})
    blocks = np.arange(160_000) // 128
    sample = sampled_rows(table.take(np.flatnonzero(blocks % 4 == 0)), (), (), "snappy")
    file = io.BytesIO()
    part = table.take(np.flatnonzero(rng.integers(0, files, 160_000) == 0))
    pq.write_table(part, file, compression="snappy", write_statistics=False)
    target = float(file.tell())
    assert 0.55 < sample.bytes_of(160_000, (), target) / (files * target) < 1.8


def test_values_whose_rows_alternate_have_their_own_bytes():
    # Every fourth row of such a sample would be a short one.
    rng = np.random.default_rng(1)
    table = pa.table({"t": [rng.bytes(400 if i % 2 else 20).hex() for i in range(4096)]})
    sample = sampled_rows(table, [(0,)], (420.0,), "none")
    lengths = np.array([[40.0], [800.0]])
    for rows in (100, 1000, 4000, 50_000):
        short, long = value_bytes(sample, np.array([rows, rows]), rows * lengths, 1 << 18)
        assert long == pytest.approx(800 * rows, rel=0.1)
        assert short < long / 8


def test_a_value_whose_columns_repeat_among_its_own_rows_has_its_own_bytes():
    # Two values that share no text: one repeats 20 of its own, the other has no text twice.
    rng = np.random.default_rng(2)
    texts = np.array([rng.bytes(16).hex() for _ in range(6_020)])
    value_of = np.arange(12_000) % 2 * 7
    table = pa.table(
        {"t": np.where(value_of == 0, texts[np.arange(12_000) // 2], texts[6_000 + np.arange(12_000) % 20])}
    )
    sizes = np.full(3, 50_000), np.full((3, 1), 32.0 * 50_000), [(0,)], 1 << 16, "none"
    common = np.full(3, 1e6)
    found = own_bytes(common, file_rows_of_values({0: (0,), 7: (2,)}, value_of, table), *sizes)
    assert found[0] == pytest.approx(36 * 50_000, rel=0.1)
    assert found[1] == common[1]
    assert found[2] < 50_000
    few = file_rows_of_values({0: (0,)}, value_of[:20], table.slice(0, 20))
    assert (own_bytes(common, few, *sizes) == common).all()


def test_values_that_are_cut_are_sampled_by_themselves():
    def sampled(*sizes):
        values = values_of([size * MIB for size in sizes])
        plan = plan_files(("k",), values, MIB)
        found = values_to_sample(plan, values)
        return {at for positions in found.values() for at in positions}, rows_of_files(plan, values, found)

    assert sampled(0.2, 0.9, 1.2) == (set(), 0.0)
    assert sampled(20, 0.6, 0.1)[0] == {0}
    assert sampled(20) == ({0}, 20 / files_for(20, 1) * MIB / 100)
    found, rows = sampled(4, 4, 0.9, 0.1, 3)
    assert found == {0, 1, 2, 4}
    assert rows == pytest.approx((4 / 4 + 4 / 4 + 0.9 + 3 / 3) * MIB / 100)


@given(st.dictionaries(st.one_of(st.none(), st.text(max_size=8)), st.integers(1, 1000), min_size=1, max_size=40))
def test_the_profile_of_counted_values(counts):
    values = [
        ValueBytes("null" if k is None else k, xxhash64([k], ["string"]), float(n), 1.0) for k, n in counts.items()
    ]
    profile = value_profile(["k"], ["string"], values)
    assert profile.rows == sum(counts.values())
    assert profile.nulls == counts.get(None, 0)
    assert profile.nulls + sum(h.estimate for h in profile.heavy) + sum(profile.tail) == profile.rows
    for key, rows in counts.items():
        if key is not None and rows >= profile.theta * profile.rows:
            assert profile.share(key) == rows / profile.rows
    assert type(profile).from_json(profile.to_json()) == profile
