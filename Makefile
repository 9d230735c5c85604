# Every target sets up what it needs, from the package registries alone. `make demo` and `make test` are the two to know.
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-e2e lint soak bench cluster cluster-down env proxy-image clean

BIN := .venv/bin
READY := .venv/.ready
CLUSTERS := "$${XDG_CACHE_HOME:-$$HOME/.cache}/sandbox-components/clusters"
MAKEFLAGS += --no-print-directory
export PYTHONDONTWRITEBYTECODE := 1

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/; s/\$$\$$/$$/g' | expand -t 16

$(READY): pyproject.toml .ci/constraints.txt
	@echo "Python environment .venv (about a minute)" >&2
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 must be 3.11 or newer" >&2; exit 1; }
	@python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv; } >&2
	@python3 -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[test,proxy,postgres,api,mcp,remote-state]'
	@touch $@

demo: $(READY) ## the main job on a local cluster: create, pause, resume, go on from the checkpoint
	@$(BIN)/python -m devcluster demo $(or $(CLUSTER),demo)

test: lint ## everything that CI runs: lint, types, pure tests, real engine, real node
	@.ci/test

test-fast: $(READY) ## pure tests and mocks, under 30 s
	@$(BIN)/python -m pytest -m 'not server and not engine and not node and not soak' -n 2 -q

test-e2e: $(READY) ## the real node; K=word selects
	@$(BIN)/python -m pytest -m 'node and not soak' $(if $(K),-k '$(K)')

lint: $(READY) ## format, lint, types, layers
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports

soak: $(READY) ## the long loops at their full counts, by hand
	@SANDBOX_SOAK=1 $(BIN)/python -m pytest -m 'engine or node' --timeout 7200
	@SANDBOX_SOAK=1 $(BIN)/python -m pytest tests/ledger tests/proxy

bench: $(READY) ## figures as lines `name: value`; BENCH=name for one
	@$(BIN)/python -m tests.bench $(BENCH)

cluster: $(READY) ## start the local cluster (CLUSTER=NAME, default demo)
	@$(BIN)/python -m devcluster up $(or $(CLUSTER),demo)

cluster-down: ## remove local clusters with all their state (CLUSTER=NAME; default all)
	@if ls -d $(CLUSTERS)/*/ >/dev/null 2>&1; then $(MAKE) -s $(READY) >&2; fi
	@if [ -e $(READY) ]; then $(BIN)/python -m devcluster down $(CLUSTER); else echo "there is no cluster"; fi

env: ## print export lines for a shell: eval "$$(make env)"
	@$(MAKE) -s $(READY) >&2
	@$(BIN)/python -m devcluster env $(or $(CLUSTER),demo)

proxy-image: ## put the inference proxy's image into the local registry, and print what pods call it
	@$(MAKE) -s $(READY) >&2
	@$(BIN)/python -m devcluster image $(or $(CLUSTER),demo)

clean: ## remove what was built in the checkout (caches and clusters stay)
	@rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
