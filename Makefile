# The newcomer's commands.  Everything is installed into .venv; needs Linux, Python 3.11 or newer, make and internet
# access for packages.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
# All tests: runs with faults, some of which must end within seconds, with those that only compute beside them at a
# lower priority; then everything else in two processes, whole files in this order, as most of that waits.
FAULTS  := tests/faults
COMPUTE := tests/actors tests/evaluator tests/fuzz tests/learner tests/reversi
REST    := -n 2 --dist loadfile --no-loadscope-reorder tests/scripts tests/figures $(wildcard tests/test_*.py)

.DEFAULT_GOAL := help
.PHONY: help install train test check bench clean

help:            ## print this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "expected Python 3.11 or newer, got $$($(PYTHON) --version); set PYTHON=..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/reversi signature > /dev/null  # compiles the engine once, so that every command answers at once
	@touch $(STAMP)

$(DEV): $(STAMP)
	@echo "installing what tests and checks need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(DEV)

install: $(STAMP)  ## install into .venv

train: $(STAMP)  ## train a 6x6 model from nothing: 10 minutes on two cores (ARGS='run.minutes=5' changes the job)
	@$(BIN)/reversi train $(ARGS)

test: $(DEV)   ## run every test
ifdef ARGS
	@$(BIN)/python -m pytest $(ARGS)
else
	@log=$$(mktemp); nice $(BIN)/python -m pytest $(COMPUTE) > $$log 2>&1 & computing=$$!; \
	trap 'kill $$computing 2> /dev/null; rm -f $$log' EXIT; trap 'exit 130' INT TERM; \
	$(BIN)/python -m pytest $(FAULTS); faults=$$?; \
	wait $$computing; computed=$$?; cat $$log; \
	$(BIN)/python -m pytest $(REST); rest=$$?; exit $$((faults | computed | rest))
endif

check: $(DEV)  ## lint and type-check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(STAMP)  ## measure every layer on this machine
	@$(BIN)/reversi bench $(ARGS)

clean:           ## remove the environment, caches and build output (runs/ stays)
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
