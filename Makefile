# make demo   set up the light core and rank the embedded pools
# make test   set up everything and run every check
# make docs   build the pages into site/
# make dist   build wheel and sdist, try the wheel alone; PYTHONS="python3.12 python3.13" for others
# make fuzz   feed the readers with 24,800 damaged files; FUZZ="--seed 1 --only png" for options
# make kills  kill or interrupt processes 220 times, look at what they left; make load: large inputs
# make raises list the raise statements that no test reaches, or whose message none looks at
# make bench  measure speed and memory; make bench-peers first to measure the peers too

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
INPUTS := pyproject.toml constraints.txt
PEERS  := benchmarks/peers/.venv
# Processes that the tests are divided among; each computes with one thread. A file stays with one
# process as long as there is work for the other: what its tests share is made once.
WORKERS ?= 2
# Tests start a hundred processes: each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check .types .pytest raises fuzz kills load bench bench-peers docs dist clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core-installed
	$(BIN)/mixmood demo

test check: $(VENV)/.dev-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory -j 2 .types .pytest

# Beside one another: mypy fills the gaps that tests leave on the cores.
.types:
	$(BIN)/mypy

.pytest:
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# In one process, where coverage knows which test it is in. The readers' harness would take
# coverage's own files for a finding.
raises: $(VENV)/.dev-installed
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -n 0 --deselect tests/fuzz/test_readers.py
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python scripts/unreached_raises.py

fuzz: $(VENV)/.dev-installed
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz $(FUZZ)
	MIXMOOD_FUZZ_EXAMPLES=2000 $(BIN)/python -m pytest tests/fuzz/test_structured.py

kills: $(VENV)/.dev-installed
	$(BIN)/python -m fuzz.kills
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz.interrupts

load: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks.speed.load

bench: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks

bench-peers: $(PEERS)/.installed

# At every build the theme announces its end of life, in May 2027; to say it here is enough.
docs: $(VENV)/.docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/index.html"

# The wheel is built from the sdist, so that neither lacks a file.
dist: $(VENV)/.dist-installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist > /dev/null
	$(BIN)/python scripts/try_package.py $(PYTHONS)

clean:
	rm -rf $(VENV) $(PEERS) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps are newer than the project files: nothing is installed twice.
$(VENV)/.core-installed: $(INPUTS) | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.docs-installed: $(INPUTS) | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.dist-installed: $(INPUTS) | $(BIN)/python
	$(PIP) build mypy
	@touch $@

$(VENV)/.dev-installed: $(INPUTS) | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.core-installed

# Torch comes with what it needs; the peers come alone, or they would pull another torch.
$(PEERS)/.installed: benchmarks/peers/requirements.txt $(INPUTS)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . torch tqdm
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@
