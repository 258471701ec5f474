# Each target works alone on a clean clone: its requirements are installed once into .venv.
PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python
TORCH ?= torch==2.13.0
# Number of processes that share the tests.
TESTERS ?= 2
# Figures of bench-papers.
FIGURES ?= build/papers.json
# Architecture of wheels: x86_64 or aarch64.
MACHINE ?= $(shell uname -m)
# Folder of the other engines, see bench/peers.
PEERS ?= build/peers
# Hundreds of tests start a Python; without its kept bytecode each compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Number of Pythons that test-pythons must test, or it fails.
PYTHONS ?= 1

DEMO = "A man is riding a bicycle through the snow." "Two children are building a sandcastle on the beach." \
	"Where is the train station?" "Please restart the computer after installing the update."

.PHONY: help demo serve test test-all test-arm test-page test-pythons train-tools docs bench \
	bench-papers bench-peers check wheel clean

help:
	@echo "make demo         translate a few sentences with the included model"
	@echo "make serve        translate over HTTP with the included model, at http://127.0.0.1:5000"
	@echo "make test         the tests that should pass before every commit"
	@echo "make test-all     the same, and the slow ones"
	@echo "make test-arm     aarch64, emulated by QEMU (apt-get install qemu-user-static): an hour, 430 MB in build/arm"
	@echo "make test-page    the tests of the server's page, in Chromium"
	@echo "make test-pythons the quick set on Python 3.10 to 3.14 and the free-threaded one, as available"
	@echo "make train-tools  PyTorch, to use and test models/train"
	@echo "make docs         the documentation, as build/docs/index.html"
	@echo "make bench        measure kernels, translation and one decoder step"
	@echo "make bench-papers the tables of five papers, in kind: about an hour of one core, into build/papers.json"
	@echo "make bench-peers  measure beside bergamot and CTranslate2, and write the figures into README and docs"
	@echo "make check        style and types: ruff, mypy"
	@echo "make wheel        a wheel with programs, in dist/, for this architecture or MACHINE=aarch64: docs/install.md"
	@echo "make clean        remove the output of the other targets"

demo: $(VENV)/runtime.done
	@printf '%s\n' $(DEMO)
	@echo
	@printf '%s\n' $(DEMO) | $(VENV)/bin/cpunmt translate -m models/ende

serve: $(VENV)/serve.done
	$(VENV)/bin/cpunmt serve models/ende

test: $(VENV)/test.done
	$(RUN) -m pytest -q -n $(TESTERS) --dist worksteal

test-all: $(VENV)/train.done $(VENV)/browser.done $(VENV)/scale.done
	$(RUN) -m pytest -q --thorough -o faulthandler_timeout=7200

test-arm: $(VENV)/test.done
	@command -v qemu-aarch64-static || { echo "QEMU is missing: apt-get install qemu-user-static" >&2; exit 1; }
	$(RUN) -m tests.arm.equality build/arm

test-page: $(VENV)/browser.done
	@for name in chromium chromium-browser google-chrome-stable google-chrome; do command -v $$name && exit; done; \
		echo "Chromium is missing: apt-get install chromium" >&2; exit 1
	@command -v npm || { echo "npm is missing, which fetches axe-core: apt-get install npm" >&2; exit 1; }
	$(RUN) -m pytest -q -n $(TESTERS) --dist loadfile --thorough tests/serve/browser

test-pythons: $(VENV)/pythons.done
	$(RUN) -m tools.pythons --at-least $(PYTHONS)

train-tools: $(VENV)/train.done

docs: $(VENV)/docs.done
	$(RUN) -m sphinx -q -W --keep-going -c docs . build/docs
	@echo "build/docs/index.html"

bench: $(VENV)/bench.done
	$(RUN) -m bench.kernels
	$(RUN) -m bench.translate
	$(RUN) -m bench.decode_step

bench-papers: $(VENV)/bench.done
	@mkdir -p $(dir $(FIGURES))
	taskset -c 0 $(RUN) -m bench.papers --json $(FIGURES)

bench-peers: $(VENV)/bench.done
	taskset -c 1 $(RUN) -m bench.peers.figures --home $(PEERS) --json docs/benchmarks.json
	$(RUN) -m docs.figures

check: $(VENV)/test.done
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

wheel: $(VENV)/wheel.done
	$(RUN) -m tools.programs --machine $(MACHINE)
	CPUNMT_WHEEL_MACHINE=$(MACHINE) $(RUN) -m build --wheel

clean:
	rm -rf $(VENV) build dist cpunmt/engine/prebuilt *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache

$(VENV)/runtime.done: setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --editable .
	touch $@

$(VENV)/serve.done: $(VENV)/runtime.done
	$(RUN) -m pip install --quiet --editable ".[serve,detect]"
	touch $@

$(VENV)/test.done: $(VENV)/runtime.done
	$(RUN) -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/browser.done: $(VENV)/test.done
	$(RUN) -m pip install --quiet --editable ".[test,browser]"
	touch $@

$(VENV)/scale.done: $(VENV)/test.done
	$(RUN) -m pip install --quiet --editable ".[test,scale]"
	touch $@

$(VENV)/pythons.done: $(VENV)/runtime.done
	$(RUN) -m pip install --quiet --editable ".[pythons]"
	touch $@

$(VENV)/train.done: $(VENV)/test.done
	$(RUN) -m pip install --quiet "$(TORCH)"
	$(RUN) -m pip install --quiet --editable ".[test,train]"
	touch $@

$(VENV)/docs.done: $(VENV)/runtime.done
	$(RUN) -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/wheel.done: $(VENV)/runtime.done
	$(RUN) -m pip install --quiet --editable ".[jit]" build
	touch $@

$(VENV)/bench.done: $(VENV)/test.done
	$(RUN) -m pip install --quiet --editable ".[test,bench]"
	touch $@
