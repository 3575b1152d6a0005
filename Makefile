# Two commands matter: `make demo` and `make test`. Both set everything up first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN = .venv/bin

.PHONY: setup test lint protos clean

setup:
	@$(PYTHON) deploy/tools/setup_env.py

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint proto

test: lint
	$(BIN)/pytest -n 2

protos: setup
	$(BIN)/python deploy/tools/gen_protos.py

clean:
	rm -rf .venv .cache out .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
