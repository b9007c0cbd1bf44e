"""Every query of skewkit's says in Spark's UI what it is for; a user's own description, group and tags stay."""

from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.options import Settings
from skewkit.spark.sampling.ask import ask
from skewkit.spark.session.compat import is_connect
from skewkit.spark.session.jobs import counted, described
from tests.spark.sampling.test_ask import question


def descriptions(spark, group):
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = sorted(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    return [store.job(job).description().get() for job in jobs]


@pytest.fixture
def short_path():
    """A path that Spark does not cut short in its plans."""
    with TemporaryDirectory() as path:
        yield path


def test_a_sample_is_one_job_with_a_description_in_the_users_group(spark, short_path):
    spark.range(0, 900, 1, 3).selectExpr("id % 3 AS k").write.parquet(short_path + "/orders")
    orders = spark.read.parquet(short_path + "/orders")
    context = spark.sparkContext
    context.setJobGroup("users", "the user's own")
    try:
        ask([question(orders, "k")], 4, Settings(), why="skew_join on k")
        assert descriptions(spark, "users") == ["skewkit: keys of orders for skew_join on k"]
        ask([question(orders, "k"), question(spark.range(9), "id")], 4, Settings(), why="skew_join on k")
        assert descriptions(spark, "users")[1:] == ["skewkit: keys of orders and a frame for skew_join on k"]
        assert context.getLocalProperty("spark.job.description") == "the user's own"
        with pytest.raises(RuntimeError), described(spark, "skewkit: fails"):
            raise RuntimeError
        assert context.getLocalProperty("spark.job.description") == "the user's own"
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)


OPERATORS = {
    "join": lambda df: skewkit.skew_join(df, df.select("k").distinct(), "k"),
    "broadcast_head": lambda df: skewkit.skew_join(
        df, df.select("k").distinct(), "k", strategy="broadcast_head", left_profile=skewkit.skew_profile(df, "k")
    ),
    "window": lambda df: skewkit.skew_window(df, "k", "v").select(total=F.sum("v")),
    "as-of join": lambda df: skewkit.skew_asof_join(df, df.withColumnRenamed("v", "w"), "t", "k", strategy="split"),
    "aggregate": lambda df: skewkit.skew_groupby(df, "k").agg(F.collect_set("v")),
    "function": lambda df: skewkit.skew_groupby(df, "k").applyInPandas(len, "k bigint", merge=len),
    "files": lambda df: skewkit.repartition_by_file_size(df, "k", target_file_bytes=10_000),
}


@pytest.mark.connect
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_query_of_an_operator_says_what_it_is_for(spark, monkeypatch, operator):
    df = spark.range(0, 4000, 1, 3).selectExpr("if(id % 10 < 8, 0, id % 50) AS k", "id AS v", "id AS t")
    if is_connect(spark):
        tags = []
        monkeypatch.setattr(spark, "addTag", tags.append)
        monkeypatch.setattr(spark, "removeTag", lambda tag: None)
        OPERATORS[operator](df)
        found = tags
    else:
        group = f"users {operator}"
        spark.sparkContext.setJobGroup(group, "the user's own")
        try:
            OPERATORS[operator](df)
            found = descriptions(spark, group)
        finally:
            for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
                spark.sparkContext.setLocalProperty(name, None)
    assert found
    assert all(each.startswith("skewkit") for each in found), found


@pytest.mark.connect
def test_tags_are_there_meanwhile_and_the_users_stay(spark):
    if not is_connect(spark):
        pytest.skip("a classic session has descriptions")
    spark.addTag("mine")
    try:
        with described(spark, "skewkit: keys of a, for b"):
            assert spark.getTags() == {"mine", "skewkit: keys of a; for b"}
            with described(spark, "skewkit: keys of a, for b"):
                assert spark.range(3).count() == 3
            assert spark.getTags() == {"mine", "skewkit: keys of a; for b"}
        with pytest.raises(RuntimeError), described(spark, "skewkit: fails"):
            raise RuntimeError
        assert spark.getTags() == {"mine"}
    finally:
        spark.clearTags()


@pytest.mark.connect
def test_threads_count_their_own(spark):
    def run(queries):
        with counted() as used:
            for _ in range(queries):
                with described(spark, f"skewkit: {queries}"):
                    spark.range(2).count()
        return used.jobs

    with counted() as outer, ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, (1, 2, 3))) == [1, 2, 3]
    assert outer.jobs == 0
    with counted() as outer:
        assert run(2) == 2
        with pytest.raises(RuntimeError), described(spark, "skewkit: fails"):
            raise RuntimeError
    assert outer.jobs == 3
    assert outer.seconds >= outer.query_seconds > 0
