# Every target does its own set-up on a fresh clone: virtual environment, packages, system headers, native module.
# `make PYTHON=/path/to/python TARGET` uses an environment that is already there and installs nothing into it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:

VENV := $(CURDIR)/.venv
ifeq ($(origin PYTHON),command line)
READY :=
BENCH_READY :=
else
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready-dev
BENCH_READY := $(VENV)/.ready-bench
endif
BIN = $(dir $(PYTHON))
RUN = PYTHONPATH=$(CURDIR)/src $(PYTHON)
# A newer compiler may warn of more: only where a warning is ours to mend does it end the build.
WERROR ?= $(if $(CI),ON,OFF)
# Tests mostly wait, for processes that start: two at a time take half the time, also on two CPUs. 0 runs them one by one.
TEST_JOBS ?= 2
CPP_FILES = $(shell find native -name '*.cpp' -o -name '*.h')

.PHONY: help
help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "make %-14s %s\n", $$1, $$2 }'

# --- set-up ---------------------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@echo "Making a virtual environment in .venv"
	@base=$${BASE_PYTHON:-$$(scripts/find_python.sh)} && "$$base" -m venv $(VENV)

$(VENV)/.ready-dev: pyproject.toml | $(VENV)/bin/python
	@scripts/system_packages.sh $(PYTHON)
	@echo "Installing packages into .venv (torch among them: this takes a while the first time)"
	@$(PYTHON) scripts/requirements.py dev > $(VENV)/requirements-dev.txt
	@$(PYTHON) -m pip install -q -r $(VENV)/requirements-dev.txt
	@$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' | sed 's|$$|/headrace-checkout.pth|' | xargs sh -c 'echo $(CURDIR)/src > "$$0"'
	@touch $@

# The photographs of the benchmarks are cut from wallpapers that Debian ships.
WALLPAPERS := lomiri-wallpapers-20.04 lomiri-wallpapers-16.04 plasma-workspace-wallpapers gnome-backgrounds

$(VENV)/.ready-bench: $(VENV)/.ready-dev
	@dpkg -s $(WALLPAPERS) >/dev/null 2>&1 || scripts/debian_packages.sh $(WALLPAPERS)
	@$(RUN) -m benchmarks.peers
	@touch $@

.PHONY: setup
setup: $(READY) ## Virtual environment, packages and system headers

# CMake and Ninja do only what changed sources ask for: a second call takes a fraction of a second.
.PHONY: native
native: $(READY) ## Builds the native module into src/headrace
	@mkdir -p build/dev
	@PATH="$(BIN):$$PATH" cmake -S . -B build/dev -G Ninja -DHEADRACE_INPLACE=ON -DHEADRACE_WERROR=$(WERROR) \
	    -DPython_EXECUTABLE=$(PYTHON) > build/dev/configure.log 2>&1 || { cat build/dev/configure.log; exit 1; }
	@PATH="$(BIN):$$PATH" cmake --build build/dev

# --- what people and CI run -----------------------------------------------------------------------------------------

.PHONY: test
test: native ## All tests
	@$(RUN) -m pytest -n $(TEST_JOBS) --dist loadfile $(ARGS)

.PHONY: native-test
native-test: $(READY) ## The native parts alone, under sanitisers: checks, seeds and mutations of the fuzz targets
	@$(RUN) -m pytest -q tests/integration/native

.PHONY: check
check: native lint types layers ## Lint, format, types and layers

.PHONY: lint
lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	@if [ -x $(BIN)clang-format ]; then set -x; $(BIN)clang-format --dry-run --Werror $(CPP_FILES); \
	    else echo "clang-format is not there: format of native/ not checked"; fi

.PHONY: types
types: $(READY)
	$(PYTHON) -m mypy

.PHONY: layers
layers: $(READY)
	$(RUN) -m pytest -q tests/unit/test_layers.py

.PHONY: format
format: $(READY) ## Formats Python and C++
	$(PYTHON) -m ruff check --fix-only -q .
	$(PYTHON) -m ruff format .
	$(BIN)clang-format -i $(CPP_FILES)

.PHONY: demo
demo: native ## Trains on two ranks, stock loader and Headrace side by side (DATA=folder: on your photographs)
	@$(RUN) -m headrace demo --cache data/demo $(if $(DATA),--data "$(DATA)") $(ARGS)

.PHONY: wheel
wheel: $(READY) ## A manylinux wheel in wheelhouse/, tried out in a new environment without compiler
	@scripts/wheel.sh $(PYTHON)

.PHONY: bench
bench: native $(BENCH_READY) ## All loaders side by side; writes benchmarks/results/*.json and the README's table
	@$(RUN) -m benchmarks $(ARGS)

.PHONY: fuzz
fuzz: $(READY) ## Fuzzes the native parsers and decoders under sanitisers, with coverage (RUNS, TARGETS, CHUNK_S, WITH)
	@PATH="$(BIN):$$PATH" CHUNK_S="$(CHUNK_S)" WITH="$(WITH)" native/fuzz/run.sh $(or $(RUNS),1000000) $(TARGETS)

.PHONY: tsan
tsan: $(READY) ## The native pool and kernel, used by several threads at once, under the thread sanitiser (RUNS rounds)
	@mkdir -p build/tsan
	@PATH="$(BIN):$$PATH" cmake -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHEADRACE_CHECKS=ON \
	    -DHEADRACE_SANITIZE=thread > build/tsan/configure.log 2>&1 || { cat build/tsan/configure.log; exit 1; }
	@PATH="$(BIN):$$PATH" cmake --build build/tsan --target threads_check
	@$(PYTHON) native/fuzz/make_corpus.py build/tsan/seeds > /dev/null
	@for image in baseline-420 progressive-444 restarts oriented-6; do \
	    build/tsan/threads_check build/tsan/seeds/jpeg/$$image $(or $(RUNS),100) || exit 1; done

.PHONY: clean
clean: ## Removes what was built; keeps .venv and data/
	rm -rf build dist wheelhouse .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f src/headrace/*.so
	find src tests benchmarks scripts examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
