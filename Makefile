# All files stay in the checkout: Python in .venv/, data and secrets in .vitrine/, browser assets in server/assets/built/.
# The only prerequisite is python3 (3.11 or newer); choose another one with PYTHON=...

PYTHON ?= python3
# One more process than cores, since a part of the tests waits for time-outs and other programs; with more, each takes longer.
TEST_WORKERS ?= 3
# Fast tests wait for nothing: more processes than cores only start more often.
FAST_TEST_WORKERS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=
SOAK_ARGS ?=
CLUSTER_ARGS ?=
LOCK_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
CREATED := $(VENV)/.created
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
ASSETS := server/assets/built/version

PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input
COMPILE := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

# Python 3.11 reads the path of the checkout, which pip writes, in the encoding of the locale and ends at others (LC_ALL=C): a relative
# one is ASCII.
INSTALL_VITRINE = $(PIP) install --no-deps --no-build-isolation --no-index --editable . \
	&& for file in $(VENV)/lib/python3*/site-packages/_vitrine.pth; do echo ../../../.. >"$$file"; done

# Without bytecode every test process compiles all modules again, and rewrites the assertions of 380: 40 s of CPU each.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help run test test-fast check snapshots bench soak cluster-test kill-test assets clients packages lock clean FORCE

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z-]+:.* ## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: $(INSTALLED) $(ASSETS) ## install dependencies and run the server (configured by environment variables)
	@exec $(BIN)/vitrine serve

test: $(INSTALLED_DEV) $(ASSETS) clients ## run the tests (PYTEST_ARGS='-k cart' for some)
	@$(BIN)/pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder -rfEs $(PYTEST_ARGS)

test-fast: $(INSTALLED_DEV) ## run the tests that need neither the database nor other processes (seconds)
	@$(BIN)/pytest -n $(FAST_TEST_WORKERS) --dist worksteal --fast -rfEs $(PYTEST_ARGS)

# All checks run even when an early one fails, so that one run reports all problems.
check: $(INSTALLED_DEV) ## check style, types, layers, snapshots and repository files
	@failed=; \
	step() { printf '%s\n' "== $$*"; "$$@" || failed="$$failed\n  $$*"; }; \
	PATH="$(CURDIR)/$(BIN):$$PATH"; \
	step ruff check --quiet --output-format concise .; \
	step ruff format --check --output-format concise .; \
	step mypy --no-error-summary; \
	step lint-imports --no-logo; \
	step vitrine schema --check; \
	step vitrine openapi --check; \
	step pip --disable-pip-version-check check; \
	step python server/assets/build.py --packages; \
	step pytest --quiet --noconftest -p no:cacheprovider tests/test_repository.py \
		tests/test_terminology.py tests/test_dead_code.py; \
	if [ -n "$$failed" ]; then printf "checks failed:$$failed\n" >&2; exit 1; fi; \
	echo "all checks passed"

snapshots: $(INSTALLED_DEV) ## regenerate the snapshots in schema/ and docs/openapi/
	@$(BIN)/vitrine schema --write
	@$(BIN)/vitrine openapi --write

bench: $(INSTALLED_DEV) $(ASSETS) ## run the benchmarks (BENCH_ARGS=...)
	@$(BIN)/python -m bench $(BENCH_ARGS)

soak: $(INSTALLED_DEV) $(ASSETS) ## run mixed traffic under fault injection for 30 minutes (SOAK_ARGS='--minutes 5')
	@$(BIN)/python -m tests.system.soak $(SOAK_ARGS)

kill-test: $(INSTALLED_DEV) ## kill the process of a payment or refund 140 times, at each point and at any time (KILLS=5 times each)
	@VITRINE_TEST_KILLS=$(or $(KILLS),5) $(BIN)/pytest -q -n 2 tests/domain/test_created_payments.py -k kill

cluster-test: $(INSTALLED_DEV) $(ASSETS) ## move a store between cells; restart and kill all of a cluster for 10 minutes (CLUSTER_ARGS='--minutes 2')
	@VITRINE_TEST_MOVES=5 $(BIN)/pytest -q -n 0 -s tests/server/test_cell_moves.py
	@$(BIN)/python -m tests.system.soak --only cluster --minutes 10 $(CLUSTER_ARGS)

assets: $(ASSETS) ## build the browser assets

# Not a stamp file: what could not be installed is tried again by the next `make test`.
clients: $(INSTALLED_DEV) ## install the clients and client generators that tests run
	@$(BIN)/python -m tests.harness.packages

packages: $(INSTALLED_DEV) ## build the typed clients for TypeScript and Python into .vitrine/build/packages
	@$(BIN)/python -m clients.build

lock: $(INSTALLED_DEV) ## update the lock files of Python packages (LOCK_ARGS=--upgrade for newer versions)
	@$(COMPILE) pyproject.toml $(LOCK_ARGS) --group build --output-file requirements.lock
	@$(COMPILE) pyproject.toml $(LOCK_ARGS) --group build --group dev --constraints requirements.lock \
		--output-file requirements-dev.lock
	@$(COMPILE) pyproject.toml $(LOCK_ARGS) --extra tracing --constraints requirements-dev.lock \
		--output-file requirements-tracing.lock
	@for folder in ariadne typed; do $(COMPILE) tests/clients/$$folder/requirements.in $(LOCK_ARGS) \
		--output-file tests/clients/$$folder/requirements.lock || exit; done

clean: ## remove build and test artifacts; keeps the data in .vitrine/
	@rm -rf $(VENV) server/assets/built .vitrine/build \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Set-up ----------------------------------------------------------------------------------------------------------
# A stamp file is touched last, so an interrupted set-up is repeated.

# Scripts in .venv contain its absolute path, and its python is a symlink: recreate it when the checkout was moved or that
# python removed. A valid one created by hand is kept.
ifneq ($(shell test -x $(BIN)/python && grep -qsF "$(CURDIR)/$(BIN)/" $(BIN)/pip && echo valid),valid)
$(CREATED): FORCE
endif

$(CREATED):
	@if test -x $(BIN)/python && grep -qsF "$(CURDIR)/$(BIN)/" $(BIN)/pip; then touch $@; exit; fi; \
	fail() { rm -rf $(VENV); echo "vitrine: $$*" >&2; exit 1; }; \
	command -v "$(PYTHON)" >/dev/null \
		|| fail "Python 3.11 or newer is required, but $(PYTHON) was not found (set PYTHON=...)"; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| fail "Python 3.11 or newer is required; $(PYTHON) is $$("$(PYTHON)" --version 2>&1)"; \
	rm -rf $(VENV); \
	if ! "$(PYTHON)" -m venv $(VENV) >/dev/null 2>&1; then \
		"$(PYTHON)" -m venv --clear --without-pip $(VENV) >/dev/null 2>&1 \
		&& sed -n '/^pip==/,/# via/p' requirements.lock >$(VENV)/pip.lock \
		&& "$(PYTHON)" -m pip --python $(BIN)/python --quiet --quiet --disable-pip-version-check --no-input \
			install --require-hashes --requirement $(VENV)/pip.lock 2>/dev/null \
		|| fail "$(PYTHON) can't create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; \
	fi; \
	touch $@

$(INSTALLED): $(CREATED) requirements.lock pyproject.toml
	@echo "Installing Python packages into $(VENV)/ (the first time takes a minute) ..."
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(INSTALL_VITRINE)
	@touch $@

# The development lock includes everything in the other one, at the same versions (tests/test_repository.py).
$(INSTALLED_DEV): $(CREATED) requirements-dev.lock pyproject.toml
	@echo "Installing Python packages and development tools into $(VENV)/ (the first time takes a minute) ..."
	@$(PIP) install --require-hashes --requirement requirements-dev.lock
	@$(INSTALL_VITRINE)
	@touch $(INSTALLED) $@

$(ASSETS): $(shell find server/assets examples/storefront backoffice -path server/assets/built -prune -o -path '*/node_modules' -prune \
		-o -type f ! -name '*.pyc' -print) \
		schema/public.graphql requirements-node.lock | $(CREATED)
	@$(BIN)/python server/assets/build.py
	@touch $@
