# The newcomer's commands.  Everything is installed into .venv; needs Linux, Python 3.11 or newer, make and internet
# access for packages.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
# Whole files in as many processes as there are cores; those of runs and faults mostly wait, so one more of them.  What
# fails there is tried once more with nothing beside it: twenty processes on two cores can be slower than any limit.
CORES   := $(shell nproc)
PYTEST  := $(BIN)/python -m pytest
RUNS    := tests/runs tests/faults

.DEFAULT_GOAL := help
.PHONY: help install train test test-all check bench clean

help:            ## print this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "expected Python 3.11 or newer, got $$($(PYTHON) --version); set PYTHON=..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@echo "compiling the engine (about two minutes), so that every command answers at once"
	@$(BIN)/python -m scripts.compile_kernels
	@touch $(STAMP)

$(DEV): $(STAMP)
	@echo "installing what tests and checks need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(DEV)

install: $(STAMP)  ## install into .venv

train: $(STAMP)  ## train a 6x6 model from nothing: 10 minutes on two cores (ARGS='run.minutes=5' changes the job)
	@$(BIN)/reversi train $(ARGS)

test: $(DEV)     ## run every test that starts no process (ARGS=tests/evaluator/test_gate.py runs some)
	@$(PYTEST) $(or $(ARGS),-n $(CORES) --dist loadfile $(RUNS:%=--ignore %) tests)

test-all: test   ## run those of whole runs and of faults too: Ray, Redis, Chromium, kills
	@$(PYTEST) -n $$(($(CORES) + 1)) --dist loadfile $(RUNS) || $(PYTEST) --last-failed --last-failed-no-failures none $(RUNS)

check: $(DEV)  ## lint and type-check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(STAMP)  ## measure every layer on this machine
	@$(BIN)/reversi bench $(ARGS)

clean:           ## remove the environment, caches and build output (runs/ stays)
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
