# make demo   set up the light core and rank the embedded pools
# make test   set up everything and run every check

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: demo test check bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core-installed
	$(BIN)/mixmood demo

test check: $(VENV)/.dev-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps are newer than the project files: nothing is installed twice.
$(VENV)/.core-installed: $(INPUTS) | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev-installed: $(INPUTS) | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.core-installed
