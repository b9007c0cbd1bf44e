"""`%%skewsql` and `skewkit sql`, which are thin over `skewkit.sql`."""

import subprocess
import sys

import pytest

import skewkit
from skewkit.cli import main
from skewkit.errors import EnvironmentProblem


class Shell:
    """What `load_ipython_extension` asks of a notebook's shell."""

    def __init__(self, **names):
        self.user_ns, self.magics = names, {}

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = function


QUERY = "SELECT /*+ SKEW('a', 'k', (0)) */ count(*) AS n FROM a JOIN b ON a.k = b.k"


@pytest.mark.connect
def test_magic(tables):
    shell = Shell(spark=tables)
    skewkit.load_ipython_extension(shell)
    frame = shell.magics["cell", "skewsql"]("counted", QUERY)
    assert shell.user_ns["counted"] is frame
    assert "salt" in skewkit.explain(frame)
    assert frame.first().n == tables.sql("SELECT * FROM a JOIN b ON a.k = b.k").count()


def test_magic_without_a_session(monkeypatch):
    from skewkit.hints import magic

    monkeypatch.setattr(magic.SparkSession, "getActiveSession", classmethod(lambda cls: None))
    shell = Shell()
    skewkit.load_ipython_extension(shell)
    with pytest.raises(EnvironmentProblem, match="no Spark session"):
        shell.magics["cell", "skewsql"]("", QUERY)


def test_command(tables, tmp_path, capsys):
    file, before = tmp_path / "q.sql", tmp_path / "before.sql"
    file.write_text(QUERY + ";\n")
    before.write_text("CREATE OR REPLACE TEMPORARY VIEW d AS SELECT 1 AS one;\nSELECT 1;\n")
    assert main(["sql", str(file), "--before", str(before)]) == 0
    expected = tables.sql("SELECT * FROM a JOIN b ON a.k = b.k").count()
    assert capsys.readouterr().out.split() == ["n", str(expected)]
    assert main(["sql", str(file), "--explain"]) == 0
    assert "strategy   salt" in capsys.readouterr().out
    file.write_text("SELECT nothing FROM a")
    assert main(["sql", str(file)]) == 2
    assert "UNRESOLVED_COLUMN" in capsys.readouterr().err
    assert main(["sql", str(tmp_path / "absent.sql")]) == 2
    file.write_text("SELECT 1 AS one")
    assert main(["sql", str(file), "--explain"]) == 0
    assert "no SKEW hint" in capsys.readouterr().out


def test_without_sqlglot_the_error_names_what_to_install():
    script = (
        "import sys\nsys.modules['sqlglot'] = None\nfrom skewkit.hints.text.tokens import tokens_of\n"
        "try:\n    tokens_of('SELECT 1')\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.startswith("EnvironmentProblem")
    assert "pip install 'skewkit[sql]'" in said
