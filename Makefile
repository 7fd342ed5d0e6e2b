# make run            opens the app on http://127.0.0.1:7860
# make test           style, types and tests: what to run while you work
# make test-thorough  what starts many programs, or does the same in more ways: a change has to pass it too
# make lock           writes requirements.lock and its two companions anew, after a change of a requirements file
# All but lock set up .venv first and reuse it when it is up to date.
# PYTHON=python3.13 names the interpreter that .venv is made with; otherwise the first of 3.11, 3.12 and 3.13 is taken.
export PYTHON
BIN := .venv/bin

# One process a core, at most four; the tests of a file stay together, in the order that tests/conftest.py gives them.
# Those with a browser start apps of their own.
SIDE_BY_SIDE := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Tests of a cluster start one that has processes of its own, so that they run alone.
CLUSTER := tests/cluster

# With a browser, on a machine that does other things too: a test that fails is tried once more, and where it fails again,
# its whole file, from a fresh app and page.
WITH_BROWSER = $(BIN)/python -m pytest $(SIDE_BY_SIDE) -raR --reruns 1 -m $(1) tests/ui
define browser_tests
$(call WITH_BROWSER,$(1)) || { [ $$? = 1 ] && $(call WITH_BROWSER,$(1)) --failed-files; }
endef

.PHONY: run test test-thorough test-all lint setup setup-dev lock clean

run: setup
	$(BIN)/python app.py

test: setup-dev lint
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not thorough" --ignore=tests/ui
	$(call browser_tests,"not slow and not thorough")

test-thorough: setup-dev
	$(BIN)/python -m pytest -m "thorough and not slow" --reruns 1 $(CLUSTER)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "thorough and not slow" --ignore=tests/ui --ignore=$(CLUSTER)
	$(call browser_tests,"thorough and not slow")

test-all: setup-dev lint
	$(BIN)/python -m pytest --reruns 1 $(CLUSTER)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --ignore=tests/ui --ignore=$(CLUSTER)
	$(call browser_tests,"")

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup:
	@scripts/setup.sh app

setup-dev:
	@scripts/setup.sh dev

lock:
	@scripts/lock.sh

clean:
	rm -rf .venv
