# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin
# What one process makes for several tests it makes once (tests/conftest.py).
TOGETHER := --dist loadgroup --no-loadscope-reorder

# An image may forbid bytecode: then every process would compile the tests anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help env demo demo-real lint quick test long bench docs
.DEFAULT_GOAL := help

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

env: ## Create or update .venv (vLLM's CPU build, this project, its tools).
	@$(PYTHON) bench/setup_env.py

demo: env ## Serve a tiny model three times, with and without the Enforcer, and compare (ARGS="--requests 40").
	@$(BIN)/python -m bench.demo $(ARGS)

demo-real: env ## Install SmolLM2-135M-Instruct (93 MB), serve it four ways, with and without the Enforcer, and compare.
	@$(BIN)/python -m bench.demo.real_model $(ARGS)

leaderboard: env ## Ask SmolLM2 420 questions of a public leaderboard, served four ways (ARGS="--ways strict,enforcer").
	@$(BIN)/python -m bench.demo.leaderboard $(ARGS)

lint: env
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

quick: lint ## Lint, layers, types, the fast tests: no server, a minute and a half on two idle cores.
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -n auto $(TOGETHER) -m "not vllm and not slow"

test: lint ## Lint, layers, types, all tests: those without servers on all cores, then the others.
	$(BIN)/python -m pytest -n auto $(TOGETHER) -m "not vllm"
	$(BIN)/python -m pytest -n 3 $(TOGETHER) -m "vllm and not long"

long: env ## Servers that `make test` has no time for; before a release.
	-@$(BIN)/python -m bench.scale.ray_head
	$(BIN)/python -m pytest -m long

bench: env ## Measure first mask and mask times beside xgrammar's.
	@$(BIN)/python -m bench.first_mask

docs: ## Build the site of the docs into site/, or site/VERSION (VERSION=0.1.0; DOCS_URL=https://… is its address).
	@test -x .venv-docs/bin/pip || { $(PYTHON) -m venv .venv-docs \
		&& .venv-docs/bin/pip -qq --disable-pip-version-check install --upgrade 'pip>=25.1'; }
	@.venv-docs/bin/pip -qq install --group docs
	DOCS_URL='$(DOCS_URL)' .venv-docs/bin/python bench/site.py $(VERSION)
