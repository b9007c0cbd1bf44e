"""The figures of the papers: every one runs, its columns fit its plot, and what must hold holds."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from skewkit.cli import main
from skewkit.cli.progress import Progress
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, KeyTypeError
from skewkit.partitioners import PARTITIONERS
from skewkit.reproduce import FIGURES, PAPERS, Size, chosen
from skewkit.reproduce.figure import pick
from skewkit.reproduce.output import departures, page, reproduce
from skewkit.reproduce.posg_runs import Setting, completion_time, full_knowledge, tuples
from skewkit.simulator import replay, streams

EXPECTED = {
    "d-choices": [1, *range(3, 15)],
    "consistent": [4, *range(6, 14)],
    "dkg": ["optimality", "usage", "modulo", "learning", "buckets"],
    "posg": [*range(4, 11)],
    "fish": [*range(9, 18)],
    "wrap": ["known", "curve", "capacities"],
}


@pytest.fixture(autouse=True, scope="module")
def made_up_streams():
    """No figure of these tests depends on data that is there on one machine only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKEWKIT_DATA", "nowhere")
        yield


@pytest.fixture(scope="module")
def tiny():
    """Rows of a figure, measured once."""
    known = {}

    def rows(name):
        if name not in known:
            known[name] = FIGURES[name].measure(Size.TINY, 0)
        return known[name]

    return rows


def test_every_figure_is_there():
    for paper, numbers in EXPECTED.items():
        assert [figure.name for figure in PAPERS[paper].figures] == [f"{paper}-{number}" for number in numbers]
    assert list(FIGURES) == [figure.name for figure in chosen(["all"])]


@pytest.mark.parametrize("name", FIGURES)
def test_rows_fit_the_plot(name, tiny):
    figure, rows = FIGURES[name], tiny(name)
    plot = figure.plot
    used = {plot.x.column, plot.series, plot.across, plot.down}
    used |= {column for axis in plot.y for column in (axis.column, axis.low, axis.high)}
    assert rows
    assert used - {""} <= set(rows[0])
    assert all(list(row) == list(rows[0]) for row in rows)
    assert all(math.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))
    keys = [
        tuple(row[column] for column in (plot.x.column, plot.series, plot.across, plot.down) if column) for row in rows
    ]
    assert len(set(keys)) == len(keys) or plot.kind == "stack", "two rows for one point"
    assert figure.claims
    assert all(claim.paper and claim.note and claim.found(rows) for claim in figure.claims)


@pytest.mark.parametrize("name", ["d-choices-8", "consistent-6", "dkg-buckets", "posg-8", "fish-11"])
def test_the_seed_decides(name, tiny):
    assert FIGURES[name].measure(Size.TINY, 0) == tiny(name)


# --- claims that hold whatever is drawn ---


def test_head_and_memory(tiny):
    full = FIGURES["d-choices-3"].measure(Size.QUICK, 0)
    assert max(pick(full, "keys in head", workers=100)) == 51
    assert max(pick(full, "keys in head", workers=50)) == 27
    memory = FIGURES["d-choices-5"].measure(Size.QUICK, 0)
    assert max(pick(memory, "percent over PKG", workers=100, scheme="w_choices")) == pytest.approx(26.2, abs=0.1)
    assert max(pick(memory, "percent over PKG", workers=100, scheme="d_choices")) == pytest.approx(24.8, abs=0.1)
    assert max(pick(memory, "percent of SG")) == pytest.approx(20.4, abs=0.1)
    for n in (50, 100):
        ours, all_workers = (pick(memory, "against PKG", workers=n, scheme=s) for s in ("d_choices", "w_choices"))
        assert all(d <= w for d, w in zip(ours, all_workers, strict=True))


def test_no_instance_is_used_more_than_fully(tiny):
    for scheme in ("modulo", "dkg"):
        least, greatest = (pick(tiny("dkg-usage"), column, scheme=scheme) for column in ("least", "greatest"))
        assert min(least) > 0.0
        assert 97.0 < min(greatest) <= max(greatest) <= 100.0


def test_dkg_is_optimal_up_to_theta(tiny):
    for row in tiny("dkg-optimality"):
        assert row["ratio"] <= 1 + row["theta"]


def test_bounded_schemes_end_below_epsilon():
    rows = FIGURES["consistent-4"].measure(Size.TINY, 0)
    messages = Size.TINY.of(0, 0, 4_000)
    for scheme in ("random_choices", "bounded_hash"):
        for row in rows:
            if row["scheme"] == scheme:
                assert row["imbalance"] <= 0.01 + row["virtual"] / messages + 1e-9


def test_memory_of_fish_is_between_one_worker_and_all(tiny):
    rows = tiny("fish-11")
    assert set(pick(rows, "memory", scheme="key")) == {1.0}
    for one, all_workers in zip(
        pick(rows, "memory", scheme="fish"), pick(rows, "memory", scheme="shuffle"), strict=True
    ):
        assert 1.0 < one < all_workers


def test_full_knowledge_is_the_greedy_scheduler():
    setting = Setting(messages=2000)
    _, work, arrivals = tuples(setting, 3)
    free, total = [0.0] * setting.instances, 0.0
    for came, took in zip(arrivals, work, strict=True):
        first = min(range(setting.instances), key=free.__getitem__)
        free[first] = max(came, free[first]) + took
        total += free[first] - came
    assert full_knowledge(work, arrivals, setting.instances) == pytest.approx(total / work.size)
    assert full_knowledge(work, arrivals, setting.instances) < completion_time("round-robin", setting, 3)


def test_one_instance_leaves_nothing_to_gain(tiny):
    assert pick(tiny("posg-8"), "speed-up", instances=1) == [1.0, 1.0]


# --- what the figures needed ---


@pytest.mark.parametrize("d", [1, 3, 20])
def test_a_fixed_d_is_used_throughout(d):
    stream = streams.zipf(20_000, keys=500, exponent=1.6, seed=2)
    p = PARTITIONERS["d_choices"](workers=20, seed=1, d=d)
    routes = p.route_many(stream)
    twin = PARTITIONERS["d_choices"](workers=20, seed=1, d=d)
    assert [twin.route(int(key)) for key in stream[:3000]] == routes[:3000].tolist()
    assert p.choices(0) == d
    assert len(np.unique(routes[stream == 0][100:])) <= d


def test_turning_zipf_turns_in_every_part():
    stream = streams.turning_zipf(10_000, keys=100, exponent=2.0, turns=2, seed=1)
    hottest = [int(np.bincount(part).argmax()) for part in (stream[:4000], stream[4000:5000], stream[5000:9000])]
    assert hottest == [0, 99, 0]
    assert stream[9000:].tolist().count(99) > 400
    assert streams.turning_zipf(0, keys=5, exponent=1.0).size == 0
    with pytest.raises(ArgumentError, match="before"):
        streams.turning_zipf(10, keys=5, exponent=1.0, before=1.5)


def test_streams_from_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "trace.parquet"
    parquet.write_table(pa.table({"word": ["b", "a", None, "b", "c"]}), path, row_group_size=2)
    assert streams.from_parquet(path, "word").tolist() == [0, 1, 0, 2]
    assert streams.from_parquet(path, "word", messages=2).tolist() == [0, 1]
    assert replay(streams.from_parquet(path, "word"), "key", workers=2).loads.sum() == 4
    with pytest.raises(ColumnNotFoundError, match="did you mean 'word'"):
        streams.from_parquet(path, "words")
    with pytest.raises(ArgumentError, match="no file"):
        streams.from_parquet(tmp_path / "nothing.parquet", "word")


def test_keys_of_parquet_are_numbered_as_they_come(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "word": pa.DictionaryArray.from_arrays([1, 0, 1], ["b", "a"]),
        "zero": [0.0, -0.0, 1.0],
        "list": [[1], [2], [1]],
    }
    pq.write_table(pa.table(columns), tmp_path / "keys.parquet")
    assert streams.from_parquet(tmp_path / "keys.parquet", "word").tolist() == [0, 1, 0]
    assert streams.from_parquet(tmp_path / "keys.parquet", "zero").tolist() == [0, 0, 1]
    with pytest.raises(KeyTypeError, match="one value per row"):
        streams.from_parquet(tmp_path / "keys.parquet", "list")
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(ArgumentError, match="no Parquet file"):
        streams.from_parquet(tmp_path / "text.parquet", "word")
    with pytest.raises(ArgumentTypeError):
        streams.from_parquet(None, "word")


# --- the command ---


def test_unknown_figures_are_answered_with_the_nearest(capsys, tmp_path):
    assert main(["reproduce", "fish-99", "--out", str(tmp_path / "out")]) == 2
    assert "there is no figure 'fish-99'; did you mean 'fish-9'?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["reproduce"]) == 2
    assert "--list" in capsys.readouterr().err
    assert main(["reproduce", "all", "--jobs", "0"]) == 2
    (tmp_path / "file").touch()
    assert main(["reproduce", "d-choices-3", "--out", str(tmp_path / "file")]) == 2
    assert "expected a folder" in capsys.readouterr().err


def test_a_missing_matplotlib_is_said_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reproduce", "d-choices-3", "--out", str(tmp_path / "out")]) == 3
    assert "pip install 'skewkit[plot]'; or use --no-plots" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["reproduce", "d-choices-3", "--quick", "--no-plots", "--out", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"d-choices-3.csv", "d-choices.md"}


def test_the_list_names_every_figure(capsys):
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in FIGURES)


def test_tables_pictures_and_pages_are_written(tmp_path, capsys):
    assert main(["reproduce", "d-choices-3", "d-choices-4", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"d-choices-3.csv", "d-choices-3.png", "d-choices-4.csv", "d-choices-4.png", "d-choices.md"}
    assert (tmp_path / "d-choices-4.png").read_bytes()[:4] == b"\x89PNG"
    table = (tmp_path / "d-choices-3.csv").read_text(encoding="utf-8").splitlines()
    assert table[:2] == ["workers,threshold,exponent,keys in head", "50,theta = 2/n,0.1,0"]
    text = (tmp_path / "d-choices.md").read_text(encoding="utf-8")
    assert "at most 51 keys for n = 100 and 27 for n = 50" in text
    assert "d-choices-5" not in text
    shown = capsys.readouterr()
    assert "measured: at most 51 keys" in shown.out
    assert "[2/2] d-choices-" in shown.err


@pytest.mark.parametrize("name", ["d-choices-8", "consistent-9", "dkg-usage", "posg-4", "fish-10"])
def test_every_kind_of_picture_is_drawn(name, tmp_path):
    done = reproduce(FIGURES[name], Size.TINY, 0, tmp_path)
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    paper = PAPERS[name.rpartition("-")[0]]
    text = page(paper, {name: done}, Size.TINY, 0, pictures="figures/")
    assert f"(figures/{name}.png)" in text
    assert "| The paper | Measured | The difference |" in text


def test_the_bar_fills(capsys):
    class Terminal(list):
        def write(self, text):
            self.append(text)

        def flush(self):
            pass

        def isatty(self):
            return True

    shown = Terminal()
    bar = Progress(2, shown)
    bar.begin()
    bar.step("one")
    bar.step("two")
    assert shown[0].count("·") == 30
    assert shown[1].count("█") == 15
    assert shown[2].count("█") == 30
    assert shown[2].endswith("two\n")


def test_the_stored_pages_say_where_schemes_depart_from_the_text():
    for paper in PAPERS.values():
        stored = (Path(__file__).parents[2] / "docs" / "papers" / f"{paper.name}.md").read_text(encoding="utf-8")
        assert paper.departures
        assert all(line in stored.splitlines() for line in departures(paper)), paper.name


def test_the_page_of_wrap_holds_what_the_benchmark_printed():
    root = Path(__file__).parents[2]
    printed = (root / "skewkit" / "reproduce" / "wrap_streams.md").read_text(encoding="utf-8").strip()
    assert printed.count("\n| ---") == 4
    assert printed in (root / "docs" / "papers" / "wrap.md").read_text(encoding="utf-8")
