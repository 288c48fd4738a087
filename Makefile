# Each target fills .venv itself; all that is needed is Python 3.11 or newer, and git.
PYTHON ?= python3
VENV := .venv
SEED := $(or $(SEED),$(shell date +%s))
STEPS := $(or $(STEPS),3000)
KILLS := $(or $(KILLS),60)
WORKERS := $(or $(WORKERS),$(shell $(PYTHON) -c 'import os; print(2 + (os.cpu_count() or 1))'))  # half of the time a test waits for others
RUN := $(VENV)/bin/
STAMP := $(VENV)/.filled

.DEFAULT_GOAL := help
.PHONY: help demo test quick explore check-model lint style types types-windows lock package bench profile docs site browser pictures clean

help:  ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1	/' | expand -t 20

demo: $(STAMP)  ## show memsync at work in a temporary repository
	@$(RUN)memsync demo

test: $(STAMP)  ## run every test
	$(RUN)python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

quick: $(STAMP)  ## run the tests that are not slow
	$(RUN)python -m pytest -q -n auto -m "not slow" $(ARGS)

explore: $(STAMP)  ## look for new examples that break a law, and run the slow tests whole; SEED=N repeats a run
	@echo "seed $(SEED); repeat with: make explore SEED=$(SEED)"
	MEMSYNC_EXPLORE=1 $(RUN)python -m pytest -q -n auto -m "hypothesis or slow" --timeout=1800 --hypothesis-seed=$(SEED) $(ARGS)
	MEMSYNC_WALK=200 MEMSYNC_WALK_SEED=$(SEED) $(RUN)python -m pytest -q -n auto tests/property/test_private_stays_private.py

check-model: $(STAMP)  ## let clones meet in STEPS=N random steps, kill them KILLS=N times; SEED=N repeats it, SHORTEN=1 finds why it fails
	@echo "seed $(SEED); repeat with: make check-model STEPS=$(STEPS) KILLS=$(KILLS) SEED=$(SEED)"
	MEMSYNC_CHECK_STEPS=$(STEPS) MEMSYNC_CHECK_KILLS=$(KILLS) MEMSYNC_CHECK_SEED=$(SEED) MEMSYNC_CHECK_SHORTEN=$(SHORTEN) MEMSYNC_CHECK_OLDER=$(abspath $(OLDER)) \
		$(RUN)python -m pytest -q -rP -n auto tests/model tests/processes/test_kill_syncs.py $(ARGS)

lint: style types types-windows  ## check style and types; with -j3 at the same time

style: $(STAMP)
	$(RUN)ruff check .
	$(RUN)ruff format --check .

types: $(STAMP)
	$(RUN)mypy

types-windows: $(STAMP)
	$(RUN)mypy --platform win32 --cache-dir .mypy_cache/win32

package: $(STAMP)  ## build the wheel and the sdist, install each and try it; ARGS=--hub tries a hub too
	$(RUN)python tools/check_package.py $(ARGS)

bench: $(STAMP)  ## measure, as ratios against a baseline in the same run
	$(RUN)python -m pip install --quiet --disable-pip-version-check --group bench
	$(RUN)python -m compileall -q memsync
	$(RUN)python -m benchmarks $(ARGS)

profile: $(STAMP)  ## show where the time of cold commands goes: ARGS="recall list --file memories.jsonl --more"
	$(RUN)python -m compileall -q memsync
	$(RUN)python -m benchmarks.profile $(ARGS)

docs: $(STAMP)  ## write what is generated: the help of groups, docs/cli.md, the plugin, the README's pictures
	$(RUN)python tools/write_docs.py
	$(RUN)python -m tools.build_plugin
	$(RUN)python -m tools.write_action
	$(RUN)python -m tools.record_terminal
	$(RUN)python -m tools.draw_chart
	$(RUN)python -m tools.draw_calibration
	$(RUN)python -m tools.draw_peers
	$(RUN)python -m tools.draw_replay

site: $(STAMP)  ## build the documentation site into .site/html; a link that leads nowhere is an error
	$(RUN)python -m pip install --quiet --disable-pip-version-check --group docs
	$(RUN)python tools/build_site.py

browser:  ## install Chromium for the tests in a browser, where apt-get may
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	{ test "$$(id -u)" = 0 && apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
	|| echo "NO CHROMIUM, and apt-get cannot install it here: nothing will be tested in a browser" >&2

pictures: $(STAMP)  ## take the pictures of the documents from the real desk; needs a browser
	$(RUN)python -m tools.take_pictures

lock:  ## write requirements-dev.lock: every dependency with its hashes, for all platforms (needs uv)
	uv pip compile pyproject.toml --group dev --universal --generate-hashes --python-version 3.11 --no-header -q -o requirements-dev.lock

clean:  ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memsync needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(RUN)python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(RUN)python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	$(RUN)python -m compileall -q memsync  # an editable install compiles nothing, and cold starts are felt
	@touch $@
