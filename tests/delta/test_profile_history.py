"""`ProfileHistory`: a run counts once, decay, damaged and foreign rows, time travel, and what operators have seen."""

import json
import threading
import warnings

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.spark.session.jobs import counted
from skewkit.testing import assert_same_rows
from tests.delta.tablelog import versions
from tests.helpers import conf

pytestmark = [pytest.mark.delta, pytest.mark.connect]


def frame(spark, hot=0.5, rows=1000):
    return spark.range(rows).selectExpr(f"if(id % 100 < {int(hot * 100)}, 'hot', string(id)) AS k", "id AS v")


def profile(spark, hot=0.5, rows=1000):
    return skewkit.skew_profile(frame(spark, hot, rows), "k", sample="exact")


@pytest.fixture
def history(spark, tmp_path):
    return delta.ProfileHistory(spark, tmp_path / "it's a history")


def test_a_run_counts_once_and_older_ones_count_less(spark, history, tmp_path):
    assert history.profile("orders", "k") is None
    for _ in range(2):
        history.record("orders", profile(spark, 0.2), run_id=1)
    assert versions(tmp_path / "it's a history") == 2, "made, and one record"
    assert history.profile("orders", "k") == profile(spark, 0.2)
    history.record("orders", profile(spark, 0.8), run_id="2")
    assert [run.run_id for run in history.runs("orders", "k")] == ["1", "2"]
    mean = history.profile("orders", "k", decay=0.5)
    assert mean.rows == pytest.approx(1000)
    assert mean.share("hot") == pytest.approx((0.2 * 0.5 + 0.8) / 1.5)
    assert history.profile("orders", "k", decay=0).share("hot") == pytest.approx(0.8)
    assert history.profile("orders", "k", decay=1).share("hot") == pytest.approx(0.5)
    assert history.profile("other", "k") is None
    assert history.profile("orders", "k", "v") is None


@pytest.mark.slow
def test_a_join_plans_by_it_without_a_job(spark, history, monkeypatch):
    left, right = frame(spark), spark.range(1000).selectExpr("string(id) AS k", "id AS w")
    history.record("left", profile(spark), run_id=1)
    history.record("right", skewkit.skew_profile(right, "k"), run_id=1)
    plain = left.join(right, "k", "left")

    def never(*_, **__):
        raise AssertionError("read")

    monkeypatch.setattr("skewkit.spark.sampling.profiling._collect", never)
    joined = skewkit.skew_join(
        left, right, "k", "left", strategy="salt",
        left_profile=history.profile("left", "k"), right_profile=history.profile("right", "k"),
    )  # fmt: skip
    assert "'hot'" in skewkit.explain(joined)
    assert_same_rows(joined, plain)


USES = {
    "groups": lambda df, known, _: (
        skewkit.skew_groupby(df, "k", profile=known).agg(F.median("v").alias("v")),
        df.groupBy("k").agg(F.median("v").alias("v")),
    ),
    "window": lambda df, known, _: (
        skewkit.skew_window(df, "k", profile=known).select(n=F.sum("v")),
        df.withColumn("n", F.sum("v").over(Window.partitionBy("k"))),
    ),
    "window in order": lambda df, known, _: (
        skewkit.skew_window(df, "k", "v", profile=known).select(n=F.row_number()),
        df.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy("v"))),
    ),
    "files": lambda df, known, _: (
        skewkit.repartition_by_file_size(df, "k", target_file_bytes=1 << 10, profile=known),
        df,
    ),
    "merge": lambda df, known, path: (
        delta.merge(path, df, "k", profile=known).whenMatchedDelete().whenNotMatchedInsertAll().execute(),
        None,
    ),
}
QUERIES = {"window in order": 1, "files": 1}
"""Queries with a profile, none of keys: no profile says where an order is cut, nor how many bytes a row has."""


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_operators_plan_by_it_without_a_query_for_keys(spark, history, tmp_path, use):
    # Keys that are null, and one that is hot; ids of 500 and more are not in the target.
    df = frame(spark).withColumn("k", F.expr("if(v % 100 > 79, null, if(k = 'hot', k, string(v + 500)))"))
    history.record("orders", skewkit.skew_profile(df, "k"), run_id=1)
    known, jobs = history.profile("orders", "k"), []
    for given in (None, known):
        target = tmp_path / ("counted" if given is None else "known")
        before = spark.range(500).selectExpr("string(id) AS k", "id AS v")
        before.write.format("delta").save(str(target))
        with counted() as used:
            ours, plain = USES[use](df, given, target)
            said = skewkit.explain(ours)
        jobs.append(used.jobs)
        if plain is not None:
            assert_same_rows(ours, plain)
        else:
            assert "200 of 1,000 source rows have a key that matches nothing" in said
            assert_same_rows(spark.read.format("delta").load(str(target)), before.unionAll(df))
    assert jobs[0] >= 1, "or nothing is shown"
    assert jobs[1] == QUERIES.get(use, 0)


@pytest.mark.slow
def test_a_profile_of_another_format_is_passed_over(spark, history, tmp_path):
    history.record("orders", profile(spark, 0.2), run_id=1)
    for run, number in (("old", 0), ("new", 99)):
        text = json.dumps(json.loads(profile(spark, 0.8).to_json()) | {"skewkit_profile": number})
        row = spark.range(1).select(
            F.lit("orders").alias("name"),
            F.array(F.lit("k")).alias("keys"),
            F.lit(run).alias("run_id"),
            F.current_timestamp().alias("recorded"),
            F.lit(1000.0).alias("rows"),
            F.lit(text).alias("profile"),
        )
        row.write.format("delta").mode("append").save(str(tmp_path / "it's a history"))
    with pytest.warns(UserWarning, match="passed over") as warned:
        assert history.profile("orders", "k") == profile(spark, 0.2)
    texts = [str(each.message) for each in warned]
    for run, number in (("old", 0), ("new", 99)):
        assert any(f"run '{run}' is passed over: profile format {number} " in text for text in texts), texts


def test_old_foreign_and_damaged_rows_are_passed_over(spark, history, tmp_path):
    history.record("orders", profile(spark), run_id=1)
    table = str(tmp_path / "it's a history")
    good = profile(spark).to_json()
    foreign = skewkit.skew_profile(frame(spark), "v").to_json()
    negative = good.replace('"rows": 1000', '"rows": -1')
    schema = "name string, keys array<string>, run_id string, rows double, profile string"
    texts = ["{}", good[:100], foreign, negative, None]
    rows = [("orders", ["k"], run, 1.0, text) for run, text in zip("abcde", texts, strict=True)]
    damaged = spark.createDataFrame(rows, schema).withColumn("recorded", F.current_timestamp())
    damaged.select("name", "keys", "run_id", "recorded", "rows", "profile").write.format("delta").mode("append").save(
        table
    )
    with pytest.warns(UserWarning, match="passed over"):
        assert history.profile("orders", "k") == profile(spark)


@pytest.mark.slow
def test_a_column_of_another_type_starts_anew(spark, history):
    history.record("orders", skewkit.skew_profile(spark.range(10).selectExpr("id AS k"), "k"), run_id=1)
    history.record("orders", profile(spark), run_id=2)
    with pytest.warns(UserWarning, match="passed over"):
        assert history.profile("orders", "k") == profile(spark)


def history_times(spark, path):
    """Return when the versions of a table were committed, by version, in Delta's own words."""
    commits = spark.sql(f"DESCRIBE HISTORY delta.`{path}`")
    return dict(commits.selectExpr("version", "date_format(timestamp, 'yyyy-MM-dd HH:mm:ss.SSS')").collect())


@pytest.mark.slow
def test_time_travel_and_plot(spark, history, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for run, hot in enumerate((0.2, 0.5, 0.8)):
        history.record("orders", profile(spark, hot), run_id=run)
    assert history.profile("orders", "k", decay=0, version=1).share("hot") == pytest.approx(0.2)
    assert history.frame(version=2).count() == 2
    times = history_times(spark, tmp_path / "it's a history")
    for version, hot in enumerate((0.2, 0.5, 0.8), start=1):
        assert history.profile("orders", "k", decay=0, timestamp=times[version]).share("hot") == pytest.approx(hot)
        assert history.frame(timestamp=times[version]).count() == version
    assert len(history.runs("orders", "k", timestamp=times[2])) == 2
    with pytest.raises(ArgumentError, match="not both"):
        history.frame(version=1, timestamp="2024-01-01")
    axes = history.plot("orders", "k")
    (line,) = [each for each in axes.get_lines() if each.get_label() == "'hot'"]
    assert list(line.get_ydata()) == pytest.approx([0.2, 0.5, 0.8])
    pyplot.close("all")


@pytest.mark.slow
def test_watch_records_what_a_run_has_seen(spark, history, tmp_path):
    right = spark.range(1000).selectExpr("string(id) AS k", "id AS w")
    joined = skewkit.skew_join(frame(spark), right, "k", "left")
    assert history.watch("left", joined, run_id=1)
    assert history.profile("left", "k").share("hot") == pytest.approx(0.5, abs=0.05)
    again = skewkit.skew_join(frame(spark), right, "k", "left", left_profile=history.profile("left", "k"))
    assert not history.watch("left", again, run_id=2), "it has read nothing"
    own = skewkit.skew_join(frame(spark), right, "k", "left", left_profile=skewkit.skew_profile(frame(spark), "k"))
    assert not history.watch("left", own, run_id=2), "it was given what another call has read"
    plan = delta.write(frame(spark, rows=100), tmp_path / "t", partition_by="k")
    assert history.watch("table", plan, run_id=1)
    found = history.profile("table", "k")
    assert found.share("hot") == 0.5
    second = delta.write(frame(spark, rows=100), tmp_path / "t", mode="append", profile=found)
    assert not history.watch("table", second, run_id=2), "it has read nothing"
    assert second.files == plan.files
    with pytest.raises(ArgumentError):
        history.watch("x", spark.range(1), run_id=1)


@pytest.mark.slow
def test_watch_starts_no_job_but_its_append(spark, history, connect, monkeypatch):
    right = spark.range(1000).selectExpr("string(id) AS k", "id AS w")
    joined = skewkit.skew_join(frame(spark), right, "k", "left")
    recorded = []
    monkeypatch.setattr(history, "record", lambda *given, **run: recorded.append((given, run)))
    if not connect:
        spark.sparkContext.setJobGroup("watch", "what watch starts beside its append")
    with counted() as used:
        assert history.watch("left", joined, run_id=1)
        assert history.watch("right", joined, run_id=1, side="right")
    assert used.jobs == 0
    assert [(name, run) for (name, _), run in recorded] == [("left", {"run_id": 1}), ("right", {"run_id": 1})]
    if not connect:
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("watch") == []
        spark.sparkContext.setJobGroup("other", "other")


@pytest.mark.slow
def test_runs_that_record_at_the_same_time(spark, tmp_path, history):
    errors = []

    def record(run):
        try:
            delta.ProfileHistory(spark, tmp_path / "it's a history").record("orders", given, run_id=run)
        except Exception as error:
            errors.append(error)

    given = profile(spark)
    threads = [threading.Thread(target=record, args=(run,)) for run in (0, 1, 2, 3, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(run.run_id for run in history.runs("orders", "k")) == ["0", "1", "2", "3"]


def test_bad_input(spark, tmp_path, history):
    with pytest.raises(ArgumentTypeError):
        history.record("orders", "profile", run_id=1)
    with pytest.raises(ArgumentError, match="name is empty"):
        history.record(" ", profile(spark), run_id=1)
    with pytest.raises(ArgumentTypeError, match="run_id"):
        history.record("orders", profile(spark), run_id=None)
    with pytest.raises(ArgumentTypeError):
        history.profile("orders")
    with pytest.raises(ArgumentError, match="decay"):
        history.profile("orders", "k", decay=2)
    with pytest.raises(ArgumentError, match="nothing to draw"):
        history.plot("orders", "k")
    assert not (tmp_path / "it's a history").exists()
    old = tmp_path / "old"
    spark.range(1).selectExpr("'x' AS name", "'{}' AS profile").write.format("delta").save(str(old))
    with pytest.raises(ArgumentError, match="history of profiles of this version"):
        delta.ProfileHistory(spark, old)
    assert versions(old) == 1
    other = tmp_path / "files"
    spark.range(1).write.parquet(str(other))
    with pytest.raises(ArgumentError, match="holds other files"):
        delta.ProfileHistory(spark, other).record("orders", profile(spark), run_id=1)
    assert not (other / "_delta_log").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert delta.ProfileHistory(spark, tmp_path / "new").profile("orders", "k") is None


def test_a_history_has_moments_with_a_zone_whatever_the_session_calls_them(spark, history):
    with conf(spark, "spark.sql.timestampType", "TIMESTAMP_NTZ"):
        history.record("orders", profile(spark), run_id=1)
    history.record("orders", profile(spark), run_id=2)
    assert len(history.runs("orders", "k")) == 2
