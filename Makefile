# Secateur: `make` installs, `make run` plays UCI on stdin and stdout. `make help` lists all targets.
#
# The recipes that `run` needs print to stderr and do not read stdin, so that `make -s run` prints only UCI on stdout.
# Long steps report their progress (TELL).

PYTHON ?= python3
EXE ?= secateur
# Modules are run from this folder.
unexport PYTHONSAFEPATH
VENV := .venv
BIN := $(VENV)/bin
# Runs a command and reports its progress: `$(TELL) "text" command`. Works only after the environment has been made.
TELL = $(BIN)/python -m engine.progress
PIP = -m pip install --quiet --disable-pip-version-check --require-hashes -r
KERNELS := $(wildcard engine/*.py engine/board/*.py engine/compiler/*.py eval/*.py eval/kernels/*.py eval/network/*.py \
	eval/terms/*.py search/*.py search/kernels/*.py)

# Makes an environment in a folder. A working environment is kept, because the user may have edited files in it.
VENV_IN = if [ ! -e $(1)/pyvenv.cfg ]; then \
	$(PYTHON) -m engine.progress "creating an environment" $(PYTHON) -m venv $(1); else $(call RUNS_IN,$(1)) && \
	{ $(1)/bin/python -m pip --version >/dev/null 2>&1 || $(1)/bin/python -m ensurepip >/dev/null; }; fi

# Says so if the environment's Python does not run or has no packages there, for example because the system has replaced
# it by another version.
RUNS_IN = { $(1)/bin/python -c 'import os, sys, sysconfig; sys.exit(not os.path.isdir(sysconfig.get_path("purelib")))' \
	2>/dev/null || { \
	echo "secateur: $(1): its Python does not run any more; move the folder elsewhere, then run make again" >&2; exit 1; }; }

# Puts this folder on the environment's import path. The environment may have been copied from another folder. A file
# with other lines than two that a checkout writes is a user's.
PATHS = [ -L $(VENV) ] || for site in $(VENV)/lib/python*/site-packages; do \
	lines=$$(printf '%s\n' "$(CURDIR)" "$(CURDIR)/engine/checkout"); \
	pth=$$site/secateur.pth; old=$$([ ! -e $$pth ] || cat $$pth 2>&1); first=$$(printf '%s\n' "$$old" | head -n 1); \
	case $$old in "$$lines") ;; "" | "$$(printf '%s\n' "$$first" "$$first/engine/checkout")") \
		new=$$(mktemp $$pth.XXXXXX) && printf '%s\n' "$$lines" >$$new && chmod 644 $$new && mv -f $$new $$pth || exit 1 ;; \
	*) echo "secateur: $$pth: has lines that make did not write and is left unchanged" >&2 ;; esac; done

# Gives a new folder an empty stamp file, which is so old that make runs the recipe. Other folders belong to the user.
.PRECIOUS: $(VENV)/.play $(VENV)-standalone/.ready
CLAIM = if [ ! -e $(@D) ]; then mkdir -p $(@D) && touch -t 200001010000 $@; elif [ ! -f $@ ] || [ -s $@ ]; then \
	echo "secateur: $(@D): was not made by make and is left unchanged; move it elsewhere" >&2; exit 1; fi

GOALS := help all run lab explore recordings site kernels wheel wheels standalone release docs test lint coverage clean FORCE
.PHONY: $(GOALS)

all: $(EXE)  ## installs into .venv and compiles the kernels once, in about half a minute (default)

help:  ## lists these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

$(VENV)/.play: requirements/play.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "secateur needs Python 3.11 or newer (found " + sys.version.split()[0] + ")")' >&2
	@$(CLAIM)
	@{ $(call VENV_IN,$(VENV)); } </dev/null >&2
	@$(TELL) "installing into $(VENV)" $(BIN)/python $(PIP) requirements/play.txt </dev/null >&2
	@$(PATHS)
	@touch $@

# Compiles the kernels into the user's cache, so that the first start is as quick as later ones. A release of the same
# sources makes this unnecessary: `make` takes its kernels from a wheel in dist, or from RELEASE=WHEEL.
RELEASE ?= $(wildcard dist/*.whl dist/packages/*.whl dist/release/*.whl)
$(VENV)/.warm: $(VENV)/.play $(KERNELS) uci_main.py $(if $(filter command line,$(origin RELEASE)),FORCE)
	@$(if $(RELEASE),$(BIN)/python uci_main.py kernels take $(RELEASE) </dev/null >&2 || :)
	@$(BIN)/python uci_main.py warmup </dev/null >&2
	@touch $@

# OpenBench sets EVALFILE to the network to be tested. If we ignored it, the default network would be tested instead.
ifeq ($(origin EVALFILE),command line)
$(error EVALFILE= is not supported; use the UCI option EvalFile to load a network)
endif
ifneq ($(words $(EXE)),1)
$(error EXE='$(EXE)' is not supported; give a path without blanks)
endif
ifneq ($(filter $(GOALS),$(EXE)),)
$(error EXE=$(EXE) is not supported, because it is the name of a target)
endif

# The stamps of make are below these folders.
ifneq ($(strip $(foreach folder,$(VENV) $(VENV)-standalone docs/_build,\
	$(findstring |$(abspath $(folder))/,|$(abspath $(EXE))))),)
$(error EXE=$(EXE) is not supported, because make keeps its own files in that folder)
endif

# If EXE is given, the executable must work after this folder is deleted: OpenBench builds in a temporary folder.
# Check it at each run of `make`: the sources may have changed, or this folder may be a copy of another.
$(EXE): $(VENV)/.warm FORCE
	@$(call RUNS_IN,$(VENV))
	@$(PATHS)
ifeq ($(origin EXE),command line)
	@$(TELL) "copying the engine" $(BIN)/python -m engine.compiler.launcher --standing "$@" </dev/null >&2
else
	@[ -x "$@" ] && grep -qsxF "exec $(CURDIR)/$(BIN)/python -X \"launcher=\$$0\" $(CURDIR)/uci_main.py \"\$$@\"" "$@" || \
		$(BIN)/python -m engine.compiler.launcher "$@" </dev/null >&2
endif

run: $(EXE)  ## runs the UCI loop on stdin and stdout
	@exec $(BIN)/python uci_main.py

$(VENV)/.dev: $(VENV)/.play requirements/dev.txt
	@$(TELL) "installing the development packages" $(BIN)/python $(PIP) requirements/dev.txt </dev/null >&2
	@touch $@

# The packages that the match lab needs in addition to the engine's.
$(VENV)/.lab: $(VENV)/.play requirements/lab.txt
	@$(TELL) "installing the match lab" $(BIN)/python $(PIP) requirements/lab.txt </dev/null >&2
	@touch $@

lab: $(EXE) $(VENV)/.lab  ## adds the packages for the match lab

# The server of the explorer's page.
$(VENV)/.explore: $(VENV)/.play requirements/explore.txt
	@$(TELL) "installing the explorer's server" $(BIN)/python $(PIP) requirements/explore.txt </dev/null >&2
	@touch $@

explore: $(EXE) $(VENV)/.explore  ## opens the explorer, a page that shows pruning
	@exec $(BIN)/python uci_main.py explore

# The packages that link kernels for other platforms, and build and check the packages of a release.
$(VENV)/.release: $(VENV)/.play requirements/release.txt
	@$(TELL) "installing the packages for a release" $(BIN)/python $(PIP) requirements/release.txt </dev/null >&2
	@touch $@

# TARGETS=all, or names of platforms such as windows-x86-64, chooses other platforms than this machine's.
kernels: $(VENV)/.play $(if $(TARGETS),$(VENV)/.release)  ## compiles the kernels ahead of time for every processor level
	@$(BIN)/python uci_main.py kernels build $(if $(TARGETS),--target $(TARGETS)) </dev/null >&2

wheel: kernels  ## builds a wheel for this kind of machine, with kernels and network
	@$(TELL) "building a wheel" \
		$(BIN)/python -m pip wheel . --quiet --disable-pip-version-check --no-deps --wheel-dir dist </dev/null >&2
	@ls -l dist/*.whl >&2

# If the kernels of a platform cannot be built, the others are packed, and the last command names the missing ones.
wheels: $(VENV)/.release  ## builds dist/packages: the sources, and a wheel for each platform, with kernels
	@$(BIN)/python -m bench.release --check dist/packages </dev/null >&2
	@$(MAKE) --no-print-directory kernels TARGETS=all || :
	@$(BIN)/python -m bench.release dist/packages </dev/null >&2

# The environment in which the stand-alone program is built. It does not contain Numba.
$(VENV)-standalone/.ready: requirements/standalone.txt | $(VENV)/.play
	@$(CLAIM)
	@{ $(call VENV_IN,$(VENV)-standalone); } </dev/null >&2
	@$(TELL) "installing the packages for the stand-alone program" \
		$(VENV)-standalone/bin/python $(PIP) requirements/standalone.txt </dev/null >&2
	@touch $@

# A fixed order of sets makes two builds equal.
standalone: kernels $(VENV)-standalone/.ready  ## builds a folder with a program that does not need Python
	@PYTHONHASHSEED=0 $(TELL) "building the stand-alone program" $(VENV)-standalone/bin/python -m bench.standalone dist </dev/null >&2

release: $(VENV)/.release  ## builds dist/release: wheels, sources, stand-alone program, checksums, notes
	@$(BIN)/python -m bench.release --check dist/release dist/secateur </dev/null >&2
	@$(MAKE) --no-print-directory kernels TARGETS=all || :
	@$(MAKE) --no-print-directory standalone
	@$(BIN)/python -m bench.release dist/release dist/secateur </dev/null >&2

$(VENV)/.docs: $(VENV)/.play requirements/docs.txt
	@$(TELL) "installing the documentation tools" $(BIN)/python $(PIP) requirements/docs.txt </dev/null >&2
	@touch $@

docs/_build/.ready:
	@$(CLAIM)

docs: $(VENV)/.docs docs/_build/.ready  ## builds the documentation in docs/_build; warnings are errors
	@$(TELL) "building the documentation" \
		$(BIN)/python -m sphinx -b html -W --keep-going -n -q docs docs/_build </dev/null >&2

# The recorded searches that the explorer shows as examples. RECORD takes a name, a FEN and a depth.
RECORD = $(BIN)/python uci_main.py explore --record search/explorer/page/recordings/$(1).json.gz --overwrite \
	--position "$(2)" --depth $(3) --costs </dev/null >&2
recordings: $(VENV)/.play  ## records the chess searches that the explorer shows as examples again
	@$(call RECORD,mate,1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1,9)
	@$(call RECORD,opening,startpos,5)
	@$(call RECORD,endgame,8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1,8)

# A static site with the explorer and the documentation. ADDRESS= names the place where the site will be hosted.
site: docs  ## builds the explorer and the documentation as a static site in dist/site; needs npm once
	@$(TELL) "building the site" $(BIN)/python -m bench.site dist "$(ADDRESS)" </dev/null >&2

LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && PYTHONPATH=. $(BIN)/lint-imports

lint: $(VENV)/.dev  ## runs the linters
	$(LINT)

# The linters leave a core idle. Meanwhile, compile the tracing build, which the tests of recorded searches need.
test: $(EXE) $(VENV)/.dev  ## runs the linters and all tests
	@SECATEUR_TRACING=1 $(BIN)/python uci_main.py warmup </dev/null >/dev/null 2>&1 & \
		$(LINT); status=$$?; wait; exit $$status
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

coverage: $(EXE) $(VENV)/.dev  ## runs all tests and reports the coverage of the Python parts
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --cov --cov-report term:skip-covered

clean:  ## removes the executable, kernel libraries, stand-alone program and static site; names what it leaves
	@$(PYTHON) -m engine.progress "cleaning" $(PYTHON) -m bench.clean "$(EXE)" </dev/null >&2
	@[ -s $(VENV)/.warm ] || rm -f $(VENV)/.warm
	@left=$$(ls -d $(VENV) $(VENV)-standalone docs/_build dist engine/kernels 2>/dev/null | tr '\n' ' '); \
		[ -z "$$left" ] || echo "left in place: $${left}(rm -r deletes them)" >&2
