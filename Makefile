# Everything runs in .venv, which the targets set up and bring up to date when pyproject.toml has changed.
# `make help` lists them. PYTHON names the interpreter that .venv is made from, 3.11 or newer.

PYTHON ?= python3

# The version of xDSL, such as 0.74, in environments that are yet to be made; by default the newest that pip chooses.
XDSL ?=

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What `make quick` runs: fast tests that touch every folder of the source. tests/README.md says what belongs here.
QUICK_UNIT := tiny affine_forms builder_errors errors expected gathers grouping interpreter_checked large_floats \
  legalize_overrides native_calls singleton op_pattern operator_types packed_entries passes patterns public_names \
  remove_unused results schedule shared_loops site sizes table te universe wrong_calls wrong_sources
QUICK_EXTRAS := script/tests/test_script_live
QUICK_LIT := dialects/relex/argument-names dialects/schedule/ops dialects/tir/rules passes/apply-schedule \
  passes/check-tir passes/fuse-tir passes/infer-sizes passes/rewrite-layout lowering/convert-tir-to-scf \
  lowering/vectorize-loops lowering/llvm/convert-arith-to-llvm lowering/llvm/convert-func-to-llvm \
  tools/verify-diagnostics

# The folders of the pytest tests of the core.
CORE := tests/unit tests/mutants tests/replays

# What `make test-core` leaves to `make test`: tests of the checkout, of what is installed, and of pages and programs, which
# start other processes or take long.
NOT_CORE := accuracy batch_dask benchmarks demo docs docs_installed growth installed lenet lesson_notebooks networks \
  out_of_tree packaging pyodide site_build surroundings

# Tests start hundreds of processes; each would compile the source again where the environment forbids to keep bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Two installations into one environment at the same time would damage it; the tools are parallel inside.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-extras test-all quick quick-tests quick-xdsl quick-pythons onnx-suite onnx-schemas accuracy fuzz mutants nnsmith torch-samples replays lit unit lint typecheck bench bench-report docs notebooks tvm torch pyodide targets format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMPS)/relex ## compile and run the digits classifiers
	$(BIN)/python examples/digits/demo.py
	$(BIN)/python examples/lenet/demo.py

test: lit unit test-extras ## run all tests: of the core, then of extras

test-core: lit $(STAMPS)/relex $(STAMPS)/test ## run lit, and a part of the pytest tests of the core, in 5 CPU-minutes
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal --few $(foreach name,$(NOT_CORE),--ignore=$(wildcard tests/unit/*/test_$(name).py)) $(CORE)

test-extras: $(STAMPS)/relex $(STAMPS)/test ## run the tests of extras
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal extras

test-all: lit $(STAMPS)/relex $(STAMPS)/test ## run all tests, with all combinations of their parameters
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal --full $(CORE)
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal --full extras

quick: lint $(STAMPS)/test quick-tests ## check style and run a few fast tests, in less than a minute

quick-tests: $(STAMPS)/relex $(STAMPS)/quick
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal $(foreach name,$(QUICK_UNIT),$(wildcard tests/unit/*/test_$(name).py)) $(QUICK_EXTRAS:%=extras/%.py)
	$(BIN)/lit --succinct $(QUICK_LIT:%=tests/lit/%.mlir)

# These two run the fast tests in separate environments, which have only the packages that those tests need.
OTHER_XDSL := 0.74
quick-xdsl: ## run the fast tests with another version of xDSL, XDSL=0.74
	@$(MAKE) --no-print-directory VENV=$(VENV)/xdsl-$(or $(XDSL),$(OTHER_XDSL)) XDSL=$(or $(XDSL),$(OTHER_XDSL)) quick-tests

PYTHONS := 3.11 3.12 3.13 3.14
# The version that runs all tests anyway, if it is to be left out.
OWN :=
quick-pythons: ## run the fast tests with every Python from 3.11 to 3.14 that is found, also by pyenv
	@failed=; for version in $(filter-out $(OWN),$(PYTHONS)); do \
	  found=; \
	  for python in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version".*/bin/python; do \
	    "$$python" -c 'import ensurepip, sys; sys.exit(sys.argv[1] != "%d.%d" % sys.version_info[:2])' "$$version" \
	      2>/dev/null && found=$$python && break; \
	  done; \
	  if [ -z "$$found" ]; then echo "Python $$version: not found, or without ensurepip; skipped"; continue; fi; \
	  echo "Python $$version: $$found"; \
	  $(MAKE) --no-print-directory PYTHON="$$found" VENV="$(VENV)/python-$$version$(XDSL:%=-xdsl-%)" quick-tests || failed="$$failed $$version"; \
	done; test -z "$$failed"

onnx-suite: $(STAMPS)/relex $(STAMPS)/test ## compile and run all node cases and networks of the package onnx
	$(BIN)/python extras/onnx/tests/node_suite.py --native
	$(BIN)/python extras/onnx/tests/networks.py

# How many draws of each operator, in place of those that the page shows: `make onnx-schemas SAMPLES=all` takes hours, and
# so does `torch-samples`.
SAMPLES ?=
DRAWN = $(if $(SAMPLES),--samples $(SAMPLES),--write)
onnx-schemas: $(STAMPS)/relex $(STAMPS)/test ## compile random models of one node, and compare with the package onnx
	$(BIN)/python extras/onnx/tests/schemas.py $(DRAWN)

lit: $(STAMPS)/relex $(STAMPS)/test ## run the FileCheck tests
	$(BIN)/lit --succinct --verbose tests/lit

unit: $(STAMPS)/relex $(STAMPS)/test ## run the pytest tests of the core
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal $(CORE)

# Which functions: `make accuracy FUNCTIONS="exp power"`; else all, and docs/operators.md is written anew.
accuracy: $(STAMPS)/relex $(STAMPS)/test ## measure how exact functions of floats are, in some minutes
	$(BIN)/python tests/unit/support/accuracy.py $(FUNCTIONS)
	$(BIN)/python tests/unit/support/operator_reference.py

replays: $(STAMPS)/relex $(STAMPS)/test ## run what other compilers got wrong, and write the tables of docs/replays.md
	$(BIN)/python -m pytest -q --full tests/replays --deselect tests/replays/test_replays.py::test_the_page_has_them_all
	$(BIN)/python tests/replays/page.py

# How long, and how: `make fuzz MINUTES=60 FUZZ="--seed 7"`.
MINUTES ?= 5
fuzz: $(STAMPS)/relex $(STAMPS)/test ## check generated programs for some MINUTES
	$(BIN)/relex-fuzz --minutes $(MINUTES) $(FUZZ)

# Which, and how: `make mutants MUTANTS="--seed 7 --count 20 --files 'passes/graph/*'"`.
mutants: $(STAMPS)/relex $(STAMPS)/test ## make small mistakes in a copy of the compiler, and see that tests notice
	$(BIN)/python tests/mutants/mutants.py $(MUTANTS)

# How many: `make nnsmith MODELS=50 NNSMITH="--seed 1000"`.
MODELS ?= 500
nnsmith: $(STAMPS)/relex $(STAMPS)/torch $(STAMPS)/nnsmith ## run MODELS that NNSmith makes, beside ONNX Runtime
	$(BIN)/python -W ignore extras/onnx/tests/nnsmith_models.py --models $(MODELS) --output build/nnsmith $(NNSMITH)

# What was tried is kept, and not tried again.
torch-samples: $(STAMPS)/relex $(STAMPS)/test $(STAMPS)/torch ## compare PyTorch's own samples of its operators with PyTorch
	$(BIN)/python -W ignore extras/torch/tests/torch_samples.py $(DRAWN)

lint: $(STAMPS)/dev ## check style, format and words
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/unit/support/plain_words.py .

typecheck: $(STAMPS)/relex $(STAMPS)/test $(STAMPS)/dev ## check types
	$(BIN)/python tests/typing/check.py

bench: $(STAMPS)/relex $(STAMPS)/bench ## measure relex and other libraries side by side
	$(BIN)/python -m benchmarks --publish

# Which, and how: `make bench-report REPEAT="znver4-avx2 --rows 'MLP*'"`.
bench-report: $(STAMPS)/relex $(STAMPS)/bench ## repeat published measurements, and say where they differ
	$(BIN)/python -m benchmarks.repeat $(REPEAT)

docs: $(STAMPS)/relex $(STAMPS)/docs ## build the documentation site, in build/docs/html
	$(BIN)/python docs/site/make_site.py $(if $(wildcard $(STAMPS)/pyodide),--pyodide $(VENV)/pyodide/node_modules/pyodide)

notebooks: $(STAMPS)/relex $(STAMPS)/docs ## make notebooks of the lessons, in build/notebooks
	$(BIN)/python docs/site/notebooks.py

tvm: $(STAMPS)/tvm ## install TVM, which then has to take what -t script prints

torch: $(STAMPS)/torch ## install PyTorch for processors alone, if pip finds it; then its tests run

pyodide: $(STAMPS)/pyodide ## install Pyodide by npm: Python as browsers run it; then its test runs

targets: $(STAMPS)/zig ## install a linker for other machines, and a WebAssembly runtime; then programs for them are tested

format: $(STAMPS)/dev ## format the code and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "relex needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "no virtual environment could be made; Debian and Ubuntu have it in the package python3-venv" >&2; exit 1; }
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/relex: pyproject.toml build_backend.py | $(STAMPS)/venv
	$(PIP) --editable . $(XDSL:%='xdsl==%.*')
	@touch $@

# PyPI has PyTorch for Linux with libraries for graphics processors, which take gigabytes. The version for processors
# alone has a name that pip only finds where it is configured to; elsewhere than on Linux there is no other one.
TORCH := 2.13.0
$(STAMPS)/torch: pyproject.toml | $(STAMPS)/venv
	$(PIP) torch==$(TORCH)+cpu || { test "$$(uname -s)" != Linux && $(PIP) torch==$(TORCH); } || { \
	  echo "pip finds no PyTorch $(TORCH) for processors alone; it has to be told where they are" >&2; exit 1; }
	$(PIP) expecttest
	@touch $@

$(STAMPS)/pyodide: | $(STAMPS)/venv
	npm install --silent --prefix $(VENV)/pyodide pyodide@314
	@touch $@

# zig compiles the C library of each machine when it is first asked for: `make targets MACHINES="aarch64 wasm32"` takes
# less time than all of them.
MACHINES :=
$(STAMPS)/zig: $(STAMPS)/relex $(STAMPS)/targets
	$(BIN)/python tests/unit/support/machines.py $(MACHINES)
	@touch $@

# The packages of one extra, without building relex itself once more.
$(STAMPS)/test $(STAMPS)/quick $(STAMPS)/dev $(STAMPS)/docs $(STAMPS)/bench $(STAMPS)/tvm $(STAMPS)/nnsmith $(STAMPS)/targets: pyproject.toml | $(STAMPS)/venv
	@$(BIN)/python -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*project["optional-dependencies"][sys.argv[1]], sep="\n")' $(@F) > $@.txt
	$(PIP) --requirement $@.txt
	@touch $@
