# Two commands do everything on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 3

.PHONY: demo test check format bench gallery crash agents clean

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

# uv where it is there, pip otherwise. The stamp makes it run again when the dependencies change.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tapgate needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) …"
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
		$(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet -e '.[dev]'; \
	fi
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
