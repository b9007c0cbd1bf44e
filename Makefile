# `make` alone lists what there is. Needs Python 3.10 or later and Java 17 or later; the rest goes into .venv.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

# Two test processes, each with a Spark session of its own: most of a small query is planning, on one core.
SIDE_BY_SIDE := -n 2 --dist worksteal

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo pipeline test test-slow test-all test-versions coverage lint types wheel bench bench-auto format clean preflight venv

# Spark's Python workers must be those of .venv, and Spark the one in .venv, whatever the shell has set.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)
unexport SPARK_HOME
unexport SPARK_REMOTE
# A laptop whose host name does not resolve (VPN, train) can run Spark too.
SPARK_LOCAL_IP ?= 127.0.0.1
export SPARK_LOCAL_IP

# One sentence, and no more, where Python or Java is missing or too old.
CHECK = command -v $(PYTHON) >/dev/null || { echo "skewkit needs Python 3.10 or later, but there is no" \
  "$(PYTHON) on the PATH: install one, or name it, for example 'make demo PYTHON=python3.12'." >&2; exit 1; }; \
  $(PYTHON) scripts/preflight.py

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: preflight venv ## run the example job: see skew, explain it, remove it
	@$(PY) examples/main_job.py $(ARGS)

pipeline: preflight venv ## run the nightly Delta pipeline: two days, killed in every step and run again
	@$(PY) examples/nightly_delta.py $(ARGS)

test: preflight lint types ## lint, types and the tests, as continuous integration runs them (ARGS="-k join")
	@$(PY) -m pytest $(SIDE_BY_SIDE) --durations=10 $(ARGS)
	@$(PY) -m pytest $(SIDE_BY_SIDE) --delta --connect -m "connect and not slow" $(ARGS)
	@$(PY) -m pytest $(SIDE_BY_SIDE) --delta tests/delta $(ARGS)

test-slow: preflight venv ## what `make test` leaves out: the tests marked slow, and more examples of the properties
	@$(PY) -m pytest $(SIDE_BY_SIDE) --durations=10 --hypothesis-profile many -m "slow or hypothesis" $(ARGS)
	@$(PY) -m pytest $(SIDE_BY_SIDE) --connect -m "connect and slow" $(ARGS)
	@$(PY) -m pytest --delta -m slow tests/delta $(ARGS)
	@$(PY) -m pytest --delta --connect -m "connect and slow" tests/delta $(ARGS)

test-versions: preflight venv ## each operator and strategy on every PySpark that README names (ARGS="4.3.0" for one)
	@$(PY) scripts/versions.py $(ARGS)

coverage: preflight venv ## lines and branches of skewkit/ that the tests of `make test` reach, on both kinds of session
	@rm -rf .coverage
	@$(PY) -m coverage run -m pytest $(SIDE_BY_SIDE) $(ARGS)
	@$(PY) -m coverage run -m pytest $(SIDE_BY_SIDE) --connect -m "connect and not slow" $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report

test-all: test test-slow ## both

lint: venv ## ruff: rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: venv ## mypy, strict
	@$(PY) -m mypy

wheel: preflight venv ## build dist/skewkit-*.whl
	@$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

bench: preflight venv ## run the benchmarks
	@$(PY) -m benchmarks $(ARGS)

bench-auto: preflight venv ## `auto` beside plain Spark over sizes, widths, shares and operators
	@$(PY) -m benchmarks never_lose $(ARGS)

format: venv ## let ruff repair and format the code
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

clean: ## remove .venv and everything that builds, tools and Spark leave behind
	@rm -rf $(VENV) build dist artifacts spark-warehouse metastore_db derby.log
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage htmlcov
	@find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

preflight:
	@$(CHECK)

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(CHECK) python
	@echo "Filling $(VENV) with PySpark, Delta Lake and the tools (about 500 MB, the first time only) ..."
	@$(PY) -c "" 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --upgrade pip
	@$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
