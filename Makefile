# `make reproduce` runs the paper, `make test` the tests. Every target sets up .venv by itself, once; a Python that is
# named, as in `make test PYTHON=python3.13`, has an environment of its own, .venv-3.13.
ifdef PYTHON
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
else
PYTHON := python3
VENV := .venv
endif
BIN := $(VENV)/bin

# Bytecode is kept, wherever this is set: tests start many processes, each of which would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

# Tests that `make test` leaves to targets of their own.
APART := long or torture or cluster or browser or gpu
# One process per core, each of which takes tests from the others when it has none left.
SPREAD := -n logical --dist worksteal

.PHONY: help reproduce test api serve long cluster browser gpu-test torture soak coverage lint format bench science docs release-check lowest clean
.DEFAULT_GOAL := help

help:
	@echo "make reproduce   the paper's three experiments, with a report in report/index.html"
	@echo "make test        the test suite (PYTHON=python3.13: with that Python, in .venv-3.13)"
	@echo "make serve       the decision service, http://127.0.0.1:8080 (ARGS=--demo for something to look at)"
	@echo "make api         what the service's OpenAPI document says, tried on a server by schemathesis"
	@echo "make long        the tests that take long: a sweep that is killed fifty times"
	@echo "make cluster     the tests that start a local Dask cluster and a local Ray"
	@echo "make gpu-test    what runs on a GPU, in Numba's simulator of one"
	@echo "make coverage    the suite once more, interpreted, and which lines it reaches"
	@echo "make browser     the operator's page and the site in a real browser (Debian: apt-get install chromium)"
	@echo "make lint        ruff, mypy --strict, import-linter"
	@echo "make format      let ruff rewrite what it can"
	@echo "make bench       speed against what one would write by hand; also by name: scaling, service, executors, gpu, ..."
	@echo "make science     regret at full size beside known figures, a script for each topic in science/ (minutes)"
	@echo "make torture     servers killed under load (KILLS=200), statements that fail (EXAMPLES=500), odd bodies (FUZZ=3000)"
	@echo "make soak        a campaign that ages by a year: changes, settings, retention, restarts (DAYS=365)"
	@echo "make docs        the documentation site, docs/_build/html/index.html"
	@echo "make release-check   build the packages, install them into empty environments, try the core and each extra (ARGS='--only core')"
	@echo "make lowest      the tests with the lowest supported version of every dependency"
	@echo "make clean       remove .venv, caches and reports"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "matroid-bandits needs Python 3.11 or newer; choose one with PYTHON=python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, newer than pyproject.toml while it is up to date. What is never imported is not compiled.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[$*]'
	@touch $@

reproduce: $(VENV)/.experiments
	$(BIN)/matroid-bandits reproduce
	@echo "The command is $(BIN)/matroid-bandits; try $(BIN)/matroid-bandits --help, or . $(BIN)/activate to call it by its name."

# Without another database it is a file in var/, which git ignores.
serve: $(VENV)/.serve
	@mkdir -p var
	$(if $(findstring --config,$(ARGS)),,MATROID_BANDITS_DB=$${MATROID_BANDITS_DB:-var/matroid-bandits.db}) $(BIN)/matroid-bandits serve $(ARGS)

# Kernels are compiled once, one process per core, and then the tests start.
test: $(VENV)/.test
	$(BIN)/python tests/kernels/compile_all.py
	$(BIN)/python -m pytest $(SPREAD) -m "not ($(APART))"

# In an environment of its own: it has its own pytest and Hypothesis.
SCHEMATHESIS := .venv-schemathesis
PHASES ?= fuzzing,coverage,stateful
api: $(VENV)/.serve
	@test -x $(SCHEMATHESIS)/bin/schemathesis || $(PYTHON) -m venv $(SCHEMATHESIS)
	@$(SCHEMATHESIS)/bin/python -m pip install --quiet schemathesis==4.32.5
	$(BIN)/python tools/check_api.py $(SCHEMATHESIS)/bin/schemathesis --phases $(PHASES)

long: $(VENV)/.test
	$(BIN)/python -m pytest $(SPREAD) -m "long and not torture" tests

cluster: $(VENV)/.test,dask,ray
	$(BIN)/python -m pytest -m cluster tests/simulation

gpu-test: $(VENV)/.test
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest $(SPREAD) -m gpu tests/gpu

# Rooms above the compiled code: make test plays them, and interpreted they would say nothing more.
ABOVE := service client cli paper reporting datasets specs testing evaluation learner simulation

coverage: $(VENV)/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(SPREAD) --cov --cov-report=term:skip-covered \
	  -m "not (compiled or $(APART))" tests $(ABOVE:%=--ignore=tests/%)

browser: docs $(VENV)/.browser
	$(BIN)/python -m pytest $(SPREAD) -m browser tests/service tests/site

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

science: $(VENV)/.test
	@for script in science/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Kill servers under load, KILLS times for each database; EXAMPLES random histories of two servers whose statements
# fail; FAULTS times each fault of the holder of a lease, which stops for each of STOP_S seconds in turns; and FUZZ
# requests that nobody would send.
KILLS ?= 200
EXAMPLES ?= 500
FAULTS ?= 3
STOP_S ?= 2,10,60
FUZZ ?= 3000
torture: $(VENV)/.test
	MATROID_BANDITS_KILLS=$(KILLS) MATROID_BANDITS_EXAMPLES=$(EXAMPLES) MATROID_BANDITS_FAULTS=$(FAULTS) \
	  MATROID_BANDITS_STOP_S=$(STOP_S) MATROID_BANDITS_FUZZ=$(FUZZ) $(BIN)/python -m pytest $(SPREAD) -rP \
	  $(patsubst %,tests/service/test_service_%.py,kills moves model fuzz)

# A campaign that ages by DAYS simulated days, on both databases.
DAYS ?= 365
soak: $(VENV)/.test
	MATROID_BANDITS_DAYS=$(DAYS) $(BIN)/python -m pytest -s tests/service/test_service_soak.py

# Warnings are errors: a link that leads nowhere, a name that is not found, a page in no table of contents.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "The site is docs/_build/html/index.html."

release-check: | $(BIN)/python
	$(BIN)/python tools/release_check.py $(ARGS)

# The lower bounds of pyproject.toml, with a cache for their kernels; TESTS names what to run. What an old version uses of a
# newer one may be deprecated there, which is no failure.
LOWEST := .venv-lowest
TESTS ?= tests src
lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable '.[test]'
	NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba $(LOWEST)/bin/python -m pytest $(SPREAD) -m "not ($(APART))" \
	  -W default::DeprecationWarning -W default::PendingDeprecationWarning $(TESTS)

clean:
	rm -rf docs/_build docs/api docs/gallery .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage report
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
