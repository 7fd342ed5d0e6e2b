# make run   opens the app on http://127.0.0.1:7860
# make test  all that a change has to pass: style, types and tests
# make lock  writes requirements.lock and its two companions anew, after a change of a requirements file
# All but lock set up .venv first and reuse it when it is up to date.
# PYTHON=python3.13 names the interpreter that .venv is made with; otherwise the first of 3.11, 3.12 and 3.13 is taken.
export PYTHON
BIN := .venv/bin

# One process a core, at most four; the tests of a file stay together, in the order that tests/conftest.py gives them.
SIDE_BY_SIDE := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Tests of a cluster start one that has processes of its own, which wait a lot: meanwhile only types are checked. Those
# of the page hold a browser, which must not wait for all others before it is closed.
CLUSTER := tests/cluster
PAGE := tests/ui

.PHONY: run test test-all style types cluster setup setup-dev lock clean

run: setup
	$(BIN)/python app.py

test: style
	$(MAKE) -j 2 types cluster
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow" --ignore=$(CLUSTER) --ignore=$(PAGE)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow" $(PAGE)

# With the tests that are marked as slow.
test-all: style
	$(MAKE) -j 2 types cluster
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --ignore=$(CLUSTER) --ignore=$(PAGE)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(PAGE)

style: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev
	$(BIN)/mypy

cluster: setup-dev
	$(BIN)/python -m pytest $(CLUSTER)

setup:
	@scripts/setup.sh app

setup-dev:
	@scripts/setup.sh dev

lock:
	@scripts/lock.sh

clean:
	rm -rf .venv
