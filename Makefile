# Two commands matter: `make demo` and `make test`. Both set everything up first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: setup demo test lint protos baseline strength rules-coverage rules-mutants rules-oracle golden-deals survey soak fuzz clean

setup:
	@$(PYTHON) deploy/tools/setup_env.py

# A league of the three baseline bots: `make demo`, or `make demo PRESET=huanle_2`.
demo: setup
	@$(BIN)/chaodipi demo $(if $(PRESET),--ruleset $(PRESET))

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd proto && ../$(BIN)/buf lint
	cd proto && ../$(BIN)/buf breaking --against baseline.binpb

# `make test ARGS="-k kitty"` hands more arguments to pytest.
test: lint
	$(BIN)/pytest -n 2 $(ARGS)

# After a change to a .proto file.
protos: setup
	$(BIN)/python deploy/tools/gen_protos.py

# How fast the rules are, beside OpenSpiel's bridge on the same machine, and their worst hands.
.PHONY: bench-engine
bench-engine: setup
	@$(BIN)/python deploy/tools/bench_engine.py

# After a release: what later protocol changes are compared with.
baseline: setup
	cd proto && ../$(BIN)/buf build -o baseline.binpb

# Whether random < greedy < rules holds, on 300 boards and three seeds.
strength: setup
	$(BIN)/python -m chaodipi.service.strength

# Each clause of the sources with the tests that show it; fails if one that states a rule has none.
rules-coverage: setup
	$(BIN)/python -m tests.support.rules_coverage

# What a host must stand, each with the tests that show it; `pytest -m situation` runs them.
.PHONY: situations
situations: setup
	@$(BIN)/python -m tests.support.situations

# One whole deal of every preset as text, in tests/rules/deals; delete a file to choose another deal.
golden-deals: setup
	$(BIN)/python -m tests.support.golden_deals

# Every preset over the real service, 204 tables each, and how often what happened.
survey: setup
	$(BIN)/python -m chaodipi.service.survey

# Random and mutated frames against a host: `make fuzz`, or `make fuzz COUNT=100000`.
fuzz: setup
	$(BIN)/python -m tests.fuzz.fuzzer $(or $(COUNT),1000000)

# A league whose host is killed 20 times, and one over a bad network; `make chaos SEED=…` repeats a run.
.PHONY: chaos
chaos: setup
	@$(BIN)/python -m tests.chaos.kill $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.chaos.network $(if $(SEED),--seed $(SEED))

# One value of a preset changed at a time: fails where no position notices. `make rules-mutants PRESET=huanle_2`.
rules-mutants: setup
	$(BIN)/python -m tests.support.rules_mutants $(PRESET)

# The engine against the second implementation on random positions, on all cores: `make rules-oracle POSITIONS=1000000`.
rules-oracle: setup
	$(BIN)/python -m tests.support.rules_oracle $(if $(POSITIONS),--positions $(POSITIONS)) $(if $(SEED),--seed $(SEED))

# Ten minutes of 64 bots on 256 tables, half of them beside bad bots: `make soak`, or `make soak SECONDS=60`.
soak: setup
	$(BIN)/python -m tests.soak.soak $(or $(SECONDS),600)

clean:
	rm -rf .venv .cache out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
