"""Jobs that writes, MERGEs and histories start say what they are for, and the user's own description stays."""

import pytest

from skewkit import delta, skew_profile
from skewkit.spark.session.compat import is_connect

pytestmark = [pytest.mark.delta, pytest.mark.connect]


@pytest.mark.every(2)
@pytest.mark.parametrize("what", ["write", "merge", "history"])
def test_every_job_says_what_it_is_for(spark, tmp_path, monkeypatch, what):
    rows = spark.range(0, 3000, 1, 2).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v")
    path, group = str(tmp_path / "table"), f"{what} of {tmp_path}"
    delta.write(rows, path, target_file_bytes=20_000)
    profile = skew_profile(rows, "k") if what == "history" else None

    def run():
        if what == "write":
            delta.write(rows, path, mode="append", target_file_bytes=20_000)
        elif what == "merge":
            delta.merge(path, rows, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        else:
            history = delta.ProfileHistory(spark, str(tmp_path / "history"))
            history.record("rows", profile, run_id="1")
            assert history.profile("rows", "k") is not None

    if is_connect(spark):
        found = []
        monkeypatch.setattr(spark, "addTag", found.append)
        monkeypatch.setattr(spark, "removeTag", lambda tag: None)
        run()
    else:
        spark.sparkContext.setJobGroup(group, "the user's own")
        try:
            run()
            assert spark.sparkContext.getLocalProperty("spark.job.description") == "the user's own"
        finally:
            for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
                spark.sparkContext.setLocalProperty(name, None)
        store = spark.sparkContext._jsc.sc().statusStore()
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(group)
        found = [store.job(job).description().get() for job in sorted(jobs)]
    assert found
    # Delta puts its own description of a step before that of the command.
    assert all("skewkit" in each for each in found), found
