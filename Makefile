# Two commands to know: `make demo` and `make test`. Each installs what it needs into .venv, once.
PYTHON ?= python3
VENV   ?= .venv
BENCH  ?= .venv-bench
BIN    := $(VENV)/bin
# Files are read as UTF-8 whatever the locale is.
export PYTHONUTF8 := 1

PARALLEL := --numprocesses auto --dist worksteal

# The instructions that kernels and torch may use: all of this processor's, or `make test ISA=avx2`, `ISA=baseline` (no AVX).
ISA ?= native
ISA_avx2 := SYMSHAPE_ARCHITECTURE=x86-64-v3 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2
ISA_baseline := SYMSHAPE_ARCHITECTURE=x86-64 ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE ONEDNN_MAX_CPU_ISA=SSE41
PYTEST := $(ISA_$(ISA)) $(BIN)/python -m pytest $(PARALLEL)

CORPUS := $(wildcard benchmarks/corpus/*.jsonl.gz)
PIP    := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

SITE := NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs

.PHONY: demo install test quick docs durations thorough lint format paranoid check-wheel mutate mutate-quick mutate-rules agreement operators vector-accuracy sanitize bench bench-check bench-install changelog notebooks clean

demo: $(VENV)/.core
	$(BIN)/python -m benchmarks.demo

install: $(VENV)/.development

# The suite, one process for each core.
test: install
	$(PYTEST)

# A twentieth of every test function, or of a second: for whoever changes a line.
quick: install
	HYPOTHESIS_PROFILE=quick $(PYTEST) --quick

# The site, in build/site: pages, and the reference from docstrings. `make docs SERVE=1` shows it while pages are edited.
docs: install
	$(SITE) $(if $(SERVE),serve,build --quiet)

# What each test takes of the processor, for `make quick`.
durations: install
	$(PYTEST) --record-durations

# What `make test` leaves out or looks at briefly: long searches. `make thorough PART=3` runs the third of eight parts.
thorough: install
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "thorough or hypothesis" \
	    $(if $(PART),--splits 8 --group $(PART) --splitting-algorithm least_duration)

lint: install
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	@$(BIN)/towncrier build --draft --version next > /dev/null

format: install
	$(BIN)/ruff check --fix .

# Every fast verdict on the recorded questions, cross-checked with z3.
paranoid: install
	SHAPES_PARANOID=1 $(BIN)/shapes replay $(CORPUS)

# Wheel and source distribution, built and installed into empty environments: conformance suite, prompt, speed.
check-wheel: install
	$(BIN)/python -m tests.distributions

# Break each rung in turn and see the suite fail.
mutate: install
	$(BIN)/python -m tests.mutate

# Break all packages, each rung and at random places, and see how much of what the suite notices `make quick` does.
mutate-quick: install
	$(BIN)/python -m tests.mutate --quick

# Every operator's rule beside torch's kernels on 300 calls; the suite itself looks at 30.
agreement: install
	AGREEMENT_EXAMPLES=300 $(BIN)/python -m pytest tests/shapes/rules/test_agreement.py

# Break the rules of operators mechanically and see the comparison with the real operators fail.
mutate-rules: install
	$(BIN)/python -m tests.mutate_rules

# Torch's operator database traced with symbolic sizes and compared with eager; goes on where it stopped.
operators: install
	$(BIN)/python -m benchmarks.operators --write

# The functions of the CPU backend's vector library at every float32, written to docs/reference/vector.md.
vector-accuracy: install
	$(BIN)/python -m benchmarks.vector_accuracy --all --write

# The tests that run generated C, with kernels built for the address and undefined-behaviour sanitizers.
sanitize: install
	$(BIN)/python -m tests.backends.cpu.sanitize

# Every benchmark against the baselines that are installed (`make bench-install`), written to benchmarks/RESULTS.md.
bench: bench-install
	$(BENCH)/bin/python -m benchmarks --write

# Which ratios of benchmarks/RESULTS.md got worse: `make bench-check ONLY=guards,symints`, or all of them.
bench-check: bench-install
	$(BENCH)/bin/python -m benchmarks.check $(if $(ONLY),--only $(ONLY))

bench-install: $(BENCH)/.baselines

# The fragments in changes/ become a section of CHANGELOG.md: `make changelog VERSION=0.2.0`.
changelog: install
	$(BIN)/towncrier build --yes --version $(VERSION)

notebooks: install
	PYTHONPATH=. $(BIN)/jupytext --to ipynb --execute notebooks/*.py

clean:
	rm -rf $(VENV) $(BENCH) build *.egg-info .pytest_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) --editable '.[prompt,torch]'
	@touch $@

$(VENV)/.development: setup.cfg pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) --editable '.[dev]'
	@touch $(VENV)/.core $@

$(BENCH)/bin/python:
	$(PYTHON) -m venv $(BENCH)

$(BENCH)/.baselines: setup.cfg pyproject.toml constraints.txt | $(BENCH)/bin/python
	$(BENCH)/bin/python $(PIP) torch==2.13.0
	$(BENCH)/bin/python $(PIP) --editable '.[bench]'
	@touch $@
