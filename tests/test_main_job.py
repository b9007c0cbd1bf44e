"""The main job as users run it: in a process of its own, on a classic and on a Connect session."""

import os
import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

# Beside two test processes on a slow day the job takes four times what it takes alone.
pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[1]
STEPS = (
    "1. Order lines",
    "United Kingdom",
    "3. Revenue per country",
    "strategy   native",
    "4. The invoices of each country",
    "5. Lines with their customers",
    "strategy   salt",
    "rows per partition, skewkit",
    "6. Lines with their products",
    "registered: skew_bucket, ",
    "lines_with_customers: ",
    "Done in ",
)


def run_job(folder: Path, *arguments: str, **environment: str) -> str:
    """Run the job and return what it printed; nothing but the job's own lines may be there."""
    job = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "main_job.py"), "--folder", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=840,
        cwd=folder,
        # As in conftest.py: the job's queries are many and small, and most of its time is planning.
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            **environment,
        },
        check=False,
    )
    assert job.returncode == 0, job.stderr[-3000:]
    assert job.stderr == "", "no warnings, no log lines"
    return job.stdout


@pytest.mark.delta
@pytest.mark.slow  # a session of its own and some sixty queries: README's blocks, in this session, are in make test
@pytest.mark.parametrize("rows", ["20000", "0"])
def test_on_a_classic_session(tmp_path, rows):
    printed = run_job(tmp_path, SKEWKIT_DEMO_ROWS=rows)
    assert [step for step in STEPS if step not in printed] == []
    assert printed.count("rows as plain Spark") == 3
    assert (tmp_path / "revenue" / "_delta_log").is_dir()


@pytest.mark.delta
@pytest.mark.slow
def test_on_a_connect_session_with_made_up_data(tmp_path):
    for _ in range(2):  # tables of the first run are there in the second
        printed = run_job(tmp_path, "--connect", SKEWKIT_DATA="nowhere", SKEWKIT_DEMO_ROWS="30000")
        assert [step for step in STEPS if step not in printed] == []
        assert printed.count("rows as plain Spark") == 3
        assert "made-up data of the same shape (30,000 lines)" in printed


def test_without_java_there_is_one_sentence(tmp_path):
    job = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "main_job.py"), "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={"PATH": "/nowhere", "JAVA_HOME": "", "HOME": str(tmp_path), "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    assert job.returncode == 1
    assert "Traceback" not in job.stderr
    assert "install Java 17 or later" in job.stderr
    assert len(job.stderr.strip().splitlines()) == 1


def _delta_from(repository, folder):
    """Return what a job says that asks one repository for Delta's jars; an empty home has none from before."""
    settings = folder / "ivy.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers><ibiblio name="none" m2compatible="true" '
        f'root="{repository}"/></resolvers></ivysettings>'
    )
    code = (
        "from skewkit.testing import local_session\n"
        f"local_session(delta=True, confs={{'spark.jars.ivySettings': {str(settings)!r}, "
        f"'spark.jars.ivy': {str(folder / 'ivy')!r}}})"
    )
    job = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )
    return job.stderr


def test_a_delta_jar_that_no_repository_has_is_named(tmp_path):
    (tmp_path / "repository").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "repository")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        said = _delta_from(f"http://127.0.0.1:{server.server_address[1]}/", tmp_path)
        server.shutdown()
    assert re.search(r"EnvironmentProblem: No repository that answers \(127\.0\.0\.1\) has io\.delta:delta-spark", said)
    assert "reached" not in said


def test_a_delta_jar_out_of_reach_is_one_sentence(tmp_path):
    # The only repository that it may ask is not there.
    said = _delta_from("http://127.0.0.1:9/", tmp_path)
    assert "EnvironmentProblem: The jars of Delta Lake could not be fetched" in said
