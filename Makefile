# Everything a developer types. Each target sets up what it needs; Python 3.11 or newer is all that must be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# modules are compiled once, not by each of a hundred processes that the tests start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check oracles golden tour bench bench-large soak docs clean

# the main job: captures every agent's sessions on this machine (the samples, if there are none), then shows them
run: $(VENV)/.run
	@$(BIN)/ldg --db ledger.db sync --or-samples
	@$(BIN)/ldg --db ledger.db

# all tests, on SQLite and on a PostgreSQL of their own (three at once on two cores: a third of the time is waiting)
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 3 --dist worksteal

# style, types, direction of imports
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# the real agents judge what is read, written and forked (see CONTRIBUTING.md); one that can't be installed is skipped,
# loudly. NIGHTLY=1: also those that a change does not wait for
oracles: $(VENV)/.dev
	-$(BIN)/python -m oracles.install $(if $(NIGHTLY),--nightly)
	$(BIN)/python -m pytest -n 2 oracles

# rewrites what is kept as expected output (golden files, the README's screens)
golden: $(VENV)/.dev
	GOLDEN=write $(BIN)/python -m pytest -q tests/capture/test_golden.py tests/exports/test_golden.py \
		tests/faces/test_golden.py tests/test_docs.py

# takes the screens of docs/tour.md anew, in tmux
tour: $(VENV)/.dev
	$(BIN)/python -m tests.support.tour

# one table: every figure as a ratio against a floor or a peer of the same run
bench: $(VENV)/.bench
	$(BIN)/python -m bench

# one transcript of 2 GB: a few minutes, 6 GB of disk
bench-large: $(VENV)/.bench
	$(BIN)/python -m bench --only large

# the long version of the tests: 5,000 kills, 10,000 examples of the state machine, 500,000 power cuts, 20 large syncs on
# PostgreSQL
soak: $(VENV)/.dev
	SOAK=1 $(BIN)/python -m pytest -q -s tests/crash tests/machine tests/faults tests/capture/test_postgres.py

# checks that what the documents show is what the program prints
docs: $(VENV)/.dev
	$(BIN)/python -m pytest -q tests/test_docs.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench oracles -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[all]' --group dev
	@touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[all]' --group dev --group bench
	@touch $@
