# Secateur: `make` installs, `make run` plays UCI on stdin and stdout, `make lab` adds the match lab, `make explore`
# shows the explorer's page, `make test` proves it all. `make kernels` compiles the kernels ahead of time, `make wheel` and
# `make standalone` make what is given to others.
#
# Everything a recipe prints goes to stderr and no recipe but `run` reads stdin, so that `make -s run` speaks nothing
# but UCI on stdout.

PYTHON ?= python3
EXE ?= secateur
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(wildcard engine/*.py engine/board/*.py eval/*.py eval/network/*.py eval/terms/*.py search/*.py)

.PHONY: all run lab explore kernels wheel standalone test lint clean

all: $(EXE)

$(VENV)/.play: requirements/play.txt
	@echo "secateur: installing into $(VENV)" >&2
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "secateur needs Python 3.11 or newer, this is " + sys.version.split()[0])' >&2
	@$(PYTHON) -m venv $(VENV) </dev/null >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/play.txt </dev/null >&2
	@touch $@

# Compiles the kernels into the user's cache once, so that the first start is as quick as the others.
$(VENV)/.warm: $(VENV)/.play $(KERNELS) uci_main.py
	@$(BIN)/python uci_main.py warmup </dev/null >&2
	@touch $@

# OpenBench names a network to build in this way. One that was passed over would be tested against itself.
ifeq ($(origin EVALFILE),command line)
$(error EVALFILE= is not supported: the UCI option EvalFile loads a network)
endif

# An executable that was asked for by name must outlive this folder: OpenBench builds in a temporary one.
$(EXE): $(VENV)/.warm
	@$(BIN)/python -m engine.launcher $(if $(filter command line,$(origin EXE)),--standing) "$@" </dev/null >&2

run: $(EXE)
	@exec $(BIN)/python uci_main.py

$(VENV)/.dev: $(VENV)/.play requirements/dev.txt
	@echo "secateur: installing what the tests need" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt </dev/null >&2
	@touch $@

# What the commands of the match lab need besides the engine.
$(VENV)/.lab: $(VENV)/.play requirements/lab.txt
	@echo "secateur: installing the match lab" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lab.txt </dev/null >&2
	@touch $@

lab: $(EXE) $(VENV)/.lab

# What the explorer's page is served with.
$(VENV)/.explore: $(VENV)/.play requirements/explore.txt
	@echo "secateur: installing the explorer's server" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/explore.txt </dev/null >&2
	@touch $@

explore: $(EXE) $(VENV)/.explore
	@exec $(BIN)/python uci_main.py explore

# Compiles the kernels ahead of time, for every level of processor; takes a C compiler.
kernels: $(VENV)/.play
	@$(BIN)/python uci_main.py kernels build </dev/null >&2

# A wheel for this kind of machine, with kernels and network inside. What an earlier one left in `build` would go in, too.
wheel: kernels
	@rm -rf build/lib build/bdist.*
	@$(BIN)/python -m pip wheel . --quiet --disable-pip-version-check --no-deps --wheel-dir dist \
		--config-settings="--build-option=--plat-name=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_platform())')" \
		</dev/null >&2
	@ls -l dist/*.whl >&2

# What the stand-alone program is made of: an environment without Numba.
$(VENV)-standalone/.ready: requirements/standalone.txt
	@echo "secateur: installing what makes the stand-alone program" >&2
	@$(PYTHON) -m venv $(VENV)-standalone </dev/null >&2
	@$(VENV)-standalone/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements/standalone.txt </dev/null >&2
	@touch $@

# A folder with a program that needs neither Python nor anything else, and may lie anywhere.
standalone: kernels $(VENV)-standalone/.ready
	@$(VENV)-standalone/bin/python -m bench.standalone dist </dev/null >&2

LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && PYTHONPATH=. $(BIN)/lint-imports

lint: $(VENV)/.dev
	$(LINT)

# Rooms whose tests neither measure times nor play on a clock: two at once.
UNTIMED := tests/board tests/eval tests/theory tests/training

# The linters leave a core idle: what the tests of recorded searches run on is compiled meanwhile.
test: $(EXE) $(VENV)/.dev
	@SECATEUR_TRACING=1 $(BIN)/python uci_main.py warmup </dev/null >/dev/null 2>&1 & \
		$(LINT); status=$$?; wait; exit $$status
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(UNTIMED)
	$(BIN)/python -m pytest $(addprefix --ignore=,$(UNTIMED))

clean:
	rm -rf $(VENV) $(VENV)-standalone engine/kernels build dist *.egg-info
	rm -f $(EXE)
