# `make reproduce` runs the paper, `make test` the tests. Every target sets up .venv by itself, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help reproduce test serve coverage lint format bench torture clean
.DEFAULT_GOAL := help

help:
	@echo "make reproduce   the paper's three experiments, with a report in report/index.html"
	@echo "make test        the test suite"
	@echo "make serve       the decision service, http://127.0.0.1:8080 (ARGS=--demo for something to look at)"
	@echo "make coverage    the suite once more, interpreted, and which lines it reaches"
	@echo "make lint        ruff, mypy --strict, import-linter"
	@echo "make format      let ruff rewrite what it can"
	@echo "make bench       speed against what one would write by hand"
	@echo "make bench service   the decision service under load, both databases"
	@echo "make torture     servers killed under load, hundreds of times (KILLS=200)"
	@echo "make clean       remove .venv, caches and reports"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "matroid-bandits needs Python 3.11 or newer; choose one with PYTHON=python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, newer than pyproject.toml while it is up to date.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

reproduce: $(VENV)/.experiments
	$(BIN)/matroid-bandits reproduce
	@echo "The command is $(BIN)/matroid-bandits; try $(BIN)/matroid-bandits --help, or . $(BIN)/activate to call it by its name."

serve: $(VENV)/.serve
	$(BIN)/matroid-bandits serve $(ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest

coverage: $(VENV)/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -m "not compiled" tests
	$(BIN)/python -m coverage report

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# make bench runs the suites that take seconds; make bench service (or another name) runs what is named.
SUITES := $(if $(filter bench,$(MAKECMDGOALS)),$(filter-out bench,$(MAKECMDGOALS)))

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(SUITES)

ifneq ($(SUITES),)
.PHONY: $(SUITES)
$(SUITES): bench
	@:
endif

# Kill servers under load, KILLS times for each database.
KILLS ?= 200
torture: $(VENV)/.test
	MATROID_BANDITS_KILLS=$(KILLS) $(BIN)/python -m pytest -s tests/service/test_service_kills.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage report
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
