# Two commands do everything on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 3
# The exact versions with which the suite passed. `make latest` tries the newest ones, `make lock` renews the file.
CONSTRAINTS ?= constraints.txt

.PHONY: demo test check format bench gallery crash agents latest lock release clean

demo: $(STAMP)
	@$(BIN)/tapgate demo $(ARGS)

# A file's tests stay together, as they share browsers and daemons. JOBS=0: one after another, in one process.
test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m bench $(ARGS)

crash: $(STAMP)
	$(BIN)/python -m tests.crash --rounds 200 $(ARGS)

# The real agents that tests/agents/real runs, in versions pinned there: into .agents, or where TAPGATE_AGENTS says.
agents:
	@$(PYTHON) -m tests.agents.real.pinned

gallery: $(STAMP)
	$(BIN)/python -m tests.gallery $(ARGS)

latest:
	rm -rf .venv-latest
	$(MAKE) test VENV=.venv-latest CONSTRAINTS=

# Run it after `make latest` has passed.
lock:
	@test -x .venv-latest/bin/python || { echo "run \`make latest\` first: constraints.txt is made from what passed there"; exit 1; }
	$(PYTHON) .ci/lock.py .venv-latest/bin/python > constraints.txt

# Checks that everything names one version, runs the checks and tests, builds both packages and makes the tag.
release: $(STAMP)
	$(BIN)/python .ci/release.py --check
	$(MAKE) check
	$(MAKE) test
	$(BIN)/python .ci/release.py

# uv where it is there, pip otherwise. The stamp makes it run again when the dependencies change.
$(STAMP): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tapgate needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) …"
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python $(addprefix --constraint ,$(CONSTRAINTS)) -e '.[dev]'; \
	else \
		$(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet $(addprefix --constraint ,$(CONSTRAINTS)) -e '.[dev]'; \
	fi
	@touch $(STAMP)

clean:
	rm -rf .venv .venv-latest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
