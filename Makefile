# Every target sets up what it needs in .venv by itself:
# `make demo` and `make test` are the two to know, `make help` lists the rest.

# The first interpreter that is new enough; set PYTHON=... to choose another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
# The build of CuPy that `make gpu` installs where there is none yet.
CUPY ?= cupy-cuda12x
# Seeds of the random programs that `make fuzz` runs, START:STOP.
SEEDS ?= 0:10000
# Seeds of the hostile specs that `make fuzz-specs` makes, START:STOP.
SPECS ?= 0:60000

# The part of the tests that `make thorough` runs, K/N.
PART ?= 1/1
# The folder of a release of Pyodide, for `make docs` and `make browser`.
export PYODIDE
# Seeds of the random programs of which `make self-check` counts functions, START:STOP.
CHECKED ?= 0:200

# Threads that wait for a busy core disturb a benchmark more than they help.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
EXAMPLES := $(sort $(wildcard examples/*.yaml))
CODE := tensorgen tests examples benchmarks docs

.DELETE_ON_ERROR:
.PHONY: help demo test thorough lint check format golden bench gpu fuzz mutants torture accuracy clean
.PHONY: fuzz-extremes

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(RUN)  ## generate logistic regression and fit a real data set with it
	$(BIN)/python examples/logistic_regression_demo.py

test: $(DEV)  ## run the tests; DURATIONS=1: and say how long each took
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder \
	  $(if $(DURATIONS),--durations=0)

thorough: $(DEV)  ## run the tests that take long, which `make test` leaves out; PART=K/N
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder \
	  -m thorough --part $(PART)

.PHONY: checked
checked: $(DEV)  ## run all tests, and hold that no function of their specs is unchecked
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --checked

lint: $(DEV)  ## formatting, lint and types, changing nothing
	$(BIN)/black --check --quiet $(CODE) || $(BIN)/black --diff --quiet --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m tests.goldens --to build/golden
	$(BIN)/mypy build/golden/*.py

check: lint test  ## everything a change must pass

format: $(DEV)  ## lay out the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only --quiet $(CODE)
	$(BIN)/black --quiet $(CODE)

golden: $(DEV)  ## rewrite the golden files and what documents quote; review the difference
	$(BIN)/python -m tests.goldens --to build/golden
	$(BIN)/python -m tensorgen gen --anew --force $(EXAMPLES) -o build/golden -b numpy -b cupy
	$(BIN)/python -m tests.goldens --from build/golden
	$(BIN)/python docs/function_tables.py
	$(BIN)/python docs/operator_table.py
	$(BIN)/python -m tests.explanation.told
	$(BIN)/python -m tests.documents
	$(BIN)/python -m tests.sessions

ifdef QUICK
bench: $(DEV)  ## measure, and rewrite benchmarks/results; QUICK=1: a look that keeps nothing
	$(BIN)/python benchmarks/suite.py --quick
else
bench: $(DEV)
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/structures.py
	$(BIN)/python benchmarks/solvers.py
	$(ONE_THREAD) $(BIN)/python benchmarks/systems.py
	$(ONE_THREAD) $(BIN)/python benchmarks/keys.py
	$(ONE_THREAD) $(BIN)/python benchmarks/recurrences.py
	$(ONE_THREAD) $(BIN)/python benchmarks/checkpoints.py
	$(ONE_THREAD) $(BIN)/python benchmarks/scale.py
	$(BIN)/python -c 'import matplotlib' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python benchmarks/suite.py; status=$$?; \
	  $(BIN)/python -m tests.documents && exit $$status
endif

gpu: $(DEV)  ## tests that need a CUDA device; CUPY=cupy-cuda13x for CUDA 13
	$(BIN)/python -c 'import cupy' 2>/dev/null || $(BIN)/python -m pip install --quiet $(CUPY)
	$(BIN)/python -c 'import cupy; print(cupy.zeros(1).device)'
	$(BIN)/python -m pytest -m gpu

.PHONY: cupy-signatures
CUPY_VERSIONS := 13.6.0 14.2.0
cupy-signatures: $(DEV)  ## what CuPy's functions take, by version, into the tests' stand-in
	for version in $(CUPY_VERSIONS); do \
	  $(BIN)/python -m pip install --quiet --upgrade --no-deps --target build/cupy-$$version \
	    cupy-cuda12x==$$version fastrlock cuda-pathfinder || exit 1; done
	$(BIN)/python -m tests.device.cupy_signatures $(CUPY_VERSIONS:%=build/cupy-%)

BACKEND := numpy
fuzz: $(DEV)  ## random programs against the oracles, SEEDS=START:STOP; keeps the outcome
	$(BIN)/python -m tests.fuzz --seeds $(SEEDS) --backend $(BACKEND)

BROWSER := $(BIN)/python -c 'import playwright' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable '.[browser]'

.PHONY: browser screenshots
browser: $(DEV)  ## tests of pages in Chromium (CHROMIUM=...), without a server by PYODIDE=...
	$(BROWSER)
	$(BIN)/python -m pytest -m browser

screenshots: $(DEV)  ## take the pictures of pages in docs anew, in Chromium
	$(BROWSER)
	$(BIN)/python -m tests.play.screenshots

.PHONY: plots
plots: $(DEV)  ## draw the pictures of docs/time.md anew
	$(BIN)/python -c 'import matplotlib' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python docs/plots.py

.PHONY: gallery
gallery: $(DEV)  ## fit the models of docs/gallery, against other programs; PAGES=1 writes
ifdef PAGES
	$(BIN)/python -c 'import matplotlib' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python docs/gallery.py
endif
	$(BIN)/python -m pytest -n auto --dist loadgroup tests/gallery

.PHONY: fuzz-specs
fuzz-specs: $(DEV)  ## hostile specs, SPECS=START:STOP; keeps the outcome
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz_specs --seeds $(SPECS)

.PHONY: papers
papers: $(DEV)  ## the papers' figures beside JAX, torch and autograd; keeps the tables
	$(ONE_THREAD) $(BIN)/python benchmarks/papers.py; status=$$?; \
	  $(BIN)/python -m tests.documents && exit $$status

.PHONY: ablation
ablation: $(DEV)  ## what each law changes, by leaving it out; keeps the outcome
	PYTHONPATH=. $(ONE_THREAD) $(BIN)/python benchmarks/ablation.py

.PHONY: compare
BASE ?= main
compare: $(DEV)  ## what is emitted now beside what BASE=REVISION emits; CHECKED=1: checked
	$(BIN)/python -m tests.compare $(BASE) $(if $(CHECKED),--checked)

.PHONY: names
names: $(DEV)  ## how values in emitted functions are called; keeps the outcome
	PYTHONPATH=. $(BIN)/python benchmarks/names.py

.PHONY: corpus
corpus: $(DEV)  ## specs as people of many fields write them; keeps the outcome
	$(ONE_THREAD) $(BIN)/python -m tests.corpus.run

.PHONY: editors
editors: $(DEV)  ## yaml-language-server, which npm installs into build/, and editors
	$(BIN)/python -m pytest -rs tests/editors/yaml_server.py tests/editors/programs.py

.PHONY: vscode
VSCODE := build/vscode
vscode:  ## package the extension of VS Code as build/tensorgen.vsix; needs Node and npm
	rm -rf $(VSCODE)
	mkdir -p $(VSCODE)
	cp examples/editors/vscode/* LICENSE $(VSCODE)
	cd $(VSCODE) && npm install --omit=dev --no-audit --no-fund --no-package-lock
	cd $(VSCODE) && npm exec --yes --package=@vscode/vsce@3 -- \
	  vsce package --allow-missing-repository --out ../tensorgen.vsix

.PHONY: projects
projects: $(DEV)  ## build and run the projects of examples/projects, as by users
	$(BIN)/python -m pytest tests/projects/recipes.py

.PHONY: release-check
release-check: $(DEV)  ## build wheel and sdist, install each where nothing else is, and run it
	$(BIN)/python -m pytest tests/release/check.py

.PHONY: docs
docs: $(DEV)  ## build the site in build/site, and check it; PYODIDE=... to take that in
	$(BIN)/python -c 'import material, mkdocstrings_handlers.python' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	$(BIN)/python -m pytest -q -m 'browser or not browser' tests/built_site.py \
	  tests/site_in_browser.py

.PHONY: notebook
notebook: $(DEV)  ## execute the tutorial notebook, and compare what it shows
	$(BIN)/python -m pytest tests/notebook/tutorial.py

mutants: $(DEV)  ## break the compiler in hundreds of places, and see what tests notice
	test -d build/reach || PYTEST_PLUGINS=tests.reach $(BIN)/python -m pytest -n auto \
	  --dist loadfile --no-loadscope-reorder
	$(BIN)/python -m tests.mutants

torture: $(DEV)  ## kill, interrupt and starve runs that write files, at every moment
	$(BIN)/python -m tests.torture

accuracy: $(DEV)  ## values and derivatives against mpmath at every size; keeps the table
	$(BIN)/python -m tests.accuracy

.PHONY: self-check
self-check: $(DEV)  ## how much of random programs is checked when they are made; keeps it
	$(BIN)/python -m tests.self_check --seeds $(CHECKED)

fuzz-extremes: $(DEV)  ## naive texts at extreme points against many digits, SEEDS=START:STOP
	$(BIN)/python -m tests.fuzz_extremes --seeds $(SEEDS)

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Some systems ship Python without ensurepip: their own pip then fills the
# environment.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

$(RUN): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(RUN)
