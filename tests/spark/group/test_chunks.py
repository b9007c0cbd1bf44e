"""Sub-groups as the Python workers make them, without Spark: nothing is lost, nothing is too large, no tie is cut."""

import itertools
import pickle
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField, StructType

from skewkit.errors import SchemaError
from skewkit.spark.group.worker import shown
from skewkit.spark.group.worker.chunks import Chunking, on_chunks
from skewkit.spark.group.worker.merging import Merging, on_parts
from skewkit.spark.group.worker.results import Declared, checked
from skewkit.spark.group.worker.whole_groups import same

HOW = Chunking(width=2, keys=(0,), heavy=2, most_rows=7, most_bytes=1 << 20, out=("group", "place", "number", "packed"))
ORDERED = replace(HOW, block=3, tie=4)


def batches(rows, size):
    """Return rows of (key, value, heavy, block, tie) as Arrow batches."""
    types = [("k", pa.int64()), ("v", pa.int64()), ("heavy", pa.int32()), ("block", pa.int32()), ("tie", pa.int64())]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    table = pa.table([pa.array(c, t) for c, (_, t) in zip(columns, types, strict=True)], names=[n for n, _ in types])
    return iter(table.to_batches(max_chunksize=size))


def run(rows, size, how):
    """Return (heavy, block, number, key, values) of every sub-group."""
    found = []
    for batch in on_chunks(lambda frame: frame["v"].tolist(), how)(batches(rows, size)):
        for row in batch.to_pylist():
            identity, key, values = pickle.loads(row["packed"])
            assert identity == tuple(None if pd.isna(part) else part for part in key)
            found.append((row["group"], row["place"], row["number"], key, values))
    return found


KEYS = st.sampled_from([(0, 0), (1, 1), (None, 1), (2, 2)])
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 2), st.integers(0, 5)), max_size=60)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 20))
def test_rows_in_any_order(drawn, size):
    rows = [(key, i, heavy, 0, 0) for i, ((key, heavy), _, _) in enumerate(drawn)]
    found = run(rows, size, HOW)
    assert sorted(v for *_, values in found for v in values) == [row[1] for row in rows]
    assert all(len(values) <= 7 for *_, values in found)
    keys = {row[1]: row[0] for row in rows}
    for _, _, _, key, values in found:
        assert {str(pd.isna(keys[v]) or keys[v]) for v in values} == {str(pd.isna(key[0]) or int(key[0]))}


@pytest.mark.parametrize("how", [HOW, ORDERED])
def test_rows_of_one_key_come_without_their_index(how):
    rows = [(5, i, 0, 0, i // 3) for i in range(20)]
    sent = [batch.drop_columns(["heavy"]) for batch in batches(rows, 6)]
    func = on_chunks(lambda frame: frame["v"].tolist(), replace(how, one=True))
    found = [(row["group"], pickle.loads(row["packed"])) for batch in func(iter(sent)) for row in batch.to_pylist()]
    assert {group for group, _ in found} == {0}
    assert [v for _, (_, key, values) in found for v in values] == list(range(20))
    assert {key for _, (_, key, _) in found} == {(5,)}


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 20), st.sampled_from([1 << 20, 100]))
def test_rows_along_an_order(drawn, size, most_bytes):
    whole = [((0 if heavy == 0 else 1, heavy), block, tie) for (_, heavy), block, tie in drawn]
    ordered = sorted(whole, key=lambda row: (row[0][1], row[1], row[2]))
    rows = [(key, i, heavy, block, tie) for i, ((key, heavy), block, tie) in enumerate(ordered)]
    found = run(rows, size, replace(ORDERED, most_bytes=most_bytes))
    assert [v for *_, values in found for v in values] == list(range(len(rows))), "all rows, in order"
    assert [number for _, _, number, _, _ in found] == list(range(len(found)))
    for heavy, block, _, _, values in found:
        assert {(rows[v][2], rows[v][3]) for v in values} == {(heavy, block)}
        assert len(values) <= 7 or len({rows[v][4] for v in values}) == 1, "too large only where all rows tie"
    for one, other in itertools.pairwise(found):
        a, b = rows[one[4][-1]], rows[other[4][0]]
        assert a[2:] != b[2:], "a cut goes through no tie"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, st.integers(0, 3000)), min_size=1, max_size=60), st.integers(1, 60), st.booleans())
def test_sub_groups_keep_to_their_bytes(drawn, size, along_an_order):
    """Rows are wide, and Spark's batches larger than a sub-group may be."""
    ordered = sorted(drawn, key=lambda row: row[0][1])
    rows = [(key, i, heavy, 0, i) for i, ((key, heavy), _) in enumerate(ordered)]
    texts = pa.array(["x" * wide for _, wide in ordered], pa.string())
    table = pa.Table.from_batches(batches(rows, size)).set_column(1, "v", texts)
    how = replace(ORDERED if along_an_order else HOW, most_rows=1000, most_bytes=4000)
    found = []
    for batch in on_chunks(lambda frame: frame["v"].str.len().tolist(), how)(iter(table.to_batches(size))):
        found += [pickle.loads(row["packed"])[2] for row in batch.to_pylist()]
    assert sorted(n for lengths in found for n in lengths) == sorted(wide for _, wide in ordered)
    assert all(sum(lengths) <= 4000 or len(lengths) == 1 for lengths in found)


def test_all_keys_together_hold_back_few_bytes():
    rows = [(k, k, k, 0, 0) for _ in range(50) for k in range(20)]
    found = run(rows, 10, replace(HOW, most_rows=10_000, most_bytes=3000))
    assert max(len(values) for *_, values in found) < 50
    assert sum(len(values) for *_, values in found) == 1000


@pytest.mark.parametrize("how", [HOW, ORDERED], ids=["as read", "along an order"])
def test_nothing_of_a_sub_group_is_held_beside_its_frame(how):
    """What pandas has copied is freed: Arrow holds the batch that is read and no sub-group while the function runs."""
    size, wide = 10, 10_000
    rows = [(0, i, 0, 0, i) for i in range(200)]
    held = []

    def read():
        for start in range(0, len(rows), size):
            table = pa.Table.from_batches(batches(rows[start : start + size], size))
            texts = pa.array(["x" * wide] * size, pa.string())
            yield from table.set_column(1, "v", texts).to_batches()

    def func(frame):
        held.append(pa.total_allocated_bytes() - before)
        return len(frame)

    before = pa.total_allocated_bytes()
    cut = replace(how, most_rows=1000, most_bytes=100 * wide)
    found = [pickle.loads(batch.column(3)[0].as_py())[2] for batch in on_chunks(func, cut)(read())]
    assert sum(found) == len(rows)
    assert len(found) > 1
    assert max(held) < 30 * wide, "a batch and what is made of the next, not the 90 rows or more of a sub-group"


def packed(key, value):
    """Return a partial result as `on_chunks` packs it; in pandas a null of doubles is a NaN, as is a NaN."""
    shown = float("nan") if key is None else key
    return pickle.dumps(((same(key),), (shown,), pd.DataFrame({"v": [] if value is None else [value]})))


MERGING = Merging(Declared(StructType([StructField("v", LongType())])), ("place", "number"), "packed", "zone")


def test_merge_sees_parts_in_order_and_keys_apart():
    nan = float("nan")
    parts = [(1, 0, 1.0, 3), (0, 5, 1.0, 2), (0, 2, 1.0, 1), (0, 3, nan, 9), (0, 4, 1.0, None), (0, 6, None, 8)]
    frame = pd.DataFrame(
        {
            "place": [place for place, *_ in parts],
            "number": [number for _, number, *_ in parts],
            "packed": [packed(key, value) for _, _, key, value in parts],
            "zone": "UTC",
        }
    )
    seen = []

    def merge(key, rows):
        seen.append((str(key[0]), rows["v"].tolist()))
        return rows.iloc[:1]

    merged = on_parts(merge, MERGING)(frame)
    assert seen == [("1.0", [1, 2, 3]), ("nan", [9]), ("nan", [8])]
    assert merged["v"].tolist() == [1, 9, 8]


def test_what_is_no_frame_is_told():
    parts = iter(batches([(0, 0, 0, 0, 0)], 1))
    func = checked(lambda rows: [3], MERGING.declared, "the group function <lambda>")
    with pytest.raises(SchemaError, match="<lambda> returned list; expected a pandas DataFrame"):
        list(on_chunks(func, HOW)(parts))


def test_frames_may_be_written_to_whatever_spark_s_converter_returns(monkeypatch):
    """That of some versions returns views of Arrow's own memory, which may only be read."""
    table = pa.table({"v": [1, 2], "x": [1.0, 2.0], "s": ["a", "b"]})
    monkeypatch.setattr(shown, "_series", lambda table, ints: [column.to_pandas() for column in table.columns])
    assert not table.column("v").to_pandas().to_numpy().flags.writeable
    for columns in (["v", "x", "s"], ["v", "v"]):
        frame = shown.in_pandas(table.select(columns), False)
        frame.iloc[0, 0] = 7
        assert frame.iloc[0, 0] == 7
    assert table.column("v")[0].as_py() == 1
