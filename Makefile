# SPDX-License-Identifier: BSD-3-Clause
# `make demo` and `make test` need Python >= 3.11, a C++17 compiler and make; the rest is
# installed into .venv. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2
ARGS ?=
CALLS ?= 1000000
SEED ?= 1

# Two test processes with one thread each, instead of two that fight for the same cores.
SINGLE_THREADED := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# Tests that reach the compiled core; the others are Python through and through.
CORE_TESTS := tests/solvers tests/kernels/test_exponential.py tests/estimators/test_limits.py \
  tests/estimators/test_count_likelihood.py tests/estimators/test_count_laws.py \
  tests/estimators/test_exact_counts.py tests/estimators/test_in_bags.py \
  tests/estimators/test_tgplm_plus.py tests/model_selection/test_path_search.py \
  tests/model_selection/test_tgplm_cv.py

# What a new build of the package depends on; Python files are used where they lie.
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard cpp/*)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test nightly lint format docs benchmarks wheel sanitize fuzz develop clean

help: ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1  -  \2/p' Makefile

demo: $(VENV)/.ready-cli ## Build, write example files, fit, predict, evaluate; draw one picture.
	$(BIN)/bagshift demo $(ARGS)

test: $(VENV)/.ready-test ## Build and run the test suite (ARGS="-k bags" narrows it).
	$(SINGLE_THREADED) $(BIN)/python -m pytest -m "not nightly" -n $(WORKERS) --dist worksteal --durations=5 $(ARGS)

nightly: $(VENV)/.ready-dev ## Run all tests, the long ones too, with many new random examples.
	$(SINGLE_THREADED) $(BIN)/python -m pytest --hypothesis-profile=nightly -n $(WORKERS) --dist worksteal --durations=5 $(ARGS)

lint: $(VENV)/.ready-dev ## Check style, format, types, file endings.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_files.py

format: $(VENV)/.ready-dev ## Put the code into the agreed format.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready-dev ## Build the documentation (docs/_build/html), warnings are errors.
	$(SINGLE_THREADED) $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html $(ARGS)
	$(BIN)/python scripts/check_links.py docs/_build/html
	@echo "Written: docs/_build/html/index.html"

benchmarks: $(VENV)/.ready-dev ## Run every benchmark (long; one: .venv/bin/python benchmarks/NAME.py).
	set -e; for script in $(filter-out benchmarks/engine.py,$(wildcard benchmarks/[a-z]*.py)); do echo "== $$script"; $(BIN)/python $$script; done

sanitize: $(VENV)/.ready-test ## Run the tests of the compiled core under address and undefined behaviour sanitizers.
	$(SINGLE_THREADED) sh scripts/sanitize.sh $(BIN)/python -m "not nightly" -n $(WORKERS) --dist worksteal $(CORE_TESTS) $(ARGS)

fuzz: $(BIN)/cmake ## Give random small problems to the core under the sanitizers (CALLS=1000000 SEED=1).
	@mkdir -p build
	$(BIN)/cmake -S . -B build/fuzz -DBAGSHIFT_FUZZ=ON -DBAGSHIFT_SANITIZE=ON \
	  -DBAGSHIFT_WERROR=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >build/fuzz.log || (cat build/fuzz.log; exit 1)
	$(BIN)/cmake --build build/fuzz --parallel $(WORKERS) >>build/fuzz.log || (cat build/fuzz.log; exit 1)
	build/fuzz/cpp/fuzz/fuzz_core $(CALLS) $(SEED)

wheel: $(VENV)/.created ## Build a wheel into dist/, install it into a fresh environment and use it there.
	rm -rf dist build/wheel
	$(PIP) wheel --no-deps --wheel-dir dist .
	$(BIN)/python -m venv build/wheel
	build/wheel/bin/python -m pip --disable-pip-version-check --quiet install dist/bagshift-*.whl
	cd dist && ../build/wheel/bin/python -I ../scripts/use_wheel.py
	@wc -c dist/bagshift-*.whl | awk '{ printf "%s: %.0f kB\n", $$2, $$1 / 1000 }'

develop: $(VENV)/.ready-dev ## Install everything a developer needs into .venv.

clean: ## Remove everything that was built or installed here.
	rm -rf $(VENV) build dist demo docs/_build docs/gallery docs/generated \
	  .pytest_cache .mypy_cache .ruff_cache examples/.ruff_cache .hypothesis
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# --- installation ---------------------------------------------------------------------------
# One stamp per set of extras. The widest set serves the narrower ones, so that `make lint`
# followed by `make test` installs once.

SAY_SETUP := echo "Installing into $(VENV) and building the compiled core (a few minutes the first time) ..."

$(VENV)/.created:
	@sh scripts/check_tools.sh "$(PYTHON)"
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(BIN)/cmake: | $(VENV)/.created
	$(PIP) install cmake

$(VENV)/.ready-cli: $(VENV)/.created $(BUILD_INPUTS)
	@$(SAY_SETUP)
	$(PIP) install --editable ".[cli]"
	@touch $@

$(VENV)/.ready-test: $(VENV)/.created $(BUILD_INPUTS)
	@$(SAY_SETUP)
	$(PIP) install --editable ".[test]"
	@touch $@ $(VENV)/.ready-cli

$(VENV)/.ready-dev: $(VENV)/.created $(BUILD_INPUTS)
	@$(SAY_SETUP)
	$(PIP) install --editable ".[test,lint,docs,bench]"
	@touch $@ $(VENV)/.ready-test $(VENV)/.ready-cli
