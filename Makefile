# Everything is done in .venv, which the first target that needs it sets up from requirements.lock: the demo has what
# evenhand[all] needs, everything else has the rest too.

PYTHON ?= python3
BIN := .venv/bin
OUT ?= out
TESTS := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder
PLAIN := NUMBA_DISABLE_JIT=1 $(TESTS)
COMPILED = $$(grep -rl 'mark\.compiled' tests --include='test_*.py')
SEEDS ?= 1000
FIRST ?= 0
LOWEST_TESTS := tests/service tests/client/test_client.py tests/studies/test_study.py tests/studies/test_store.py
EXTRAS := all dask docs peers ray test
BUILD := editables hatchling hatch-fancy-pypi-readme uv
PINNED := --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --quiet
UV := VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet

.PHONY: help demo test test-quick test-long test-rest nightly test-lowest lint lines check figures docs bench fuzz durability simulate coverage clients wheels lock clean

help:
	@echo "make demo                  a contract of shares: was it kept, what does it cost, and the report to forward"
	@echo "make test                  style, types, layers, tests, documentation"
	@echo "make test-long             the tests that take long: clusters, many processes, repeated simulations"
	@echo "make test-rest             both, without those that have passed in this checkout; EVENHAND_NO_SKIPS=1: none skips"
	@echo "make nightly               every test there is, all kernels compiled, every planted bug found"
	@echo "make test-lowest           the service, its clients and studies with the lowest versions that pyproject.toml names"
	@echo "make lines                 how many lines of code there are, without blanks, comments and docstrings"
	@echo "make check POLICY=NAME     the contract over one registered policy, then the game against its promise"
	@echo "make figures               every paper's figures in full, with verdicts, into $(OUT)/"
	@echo "make docs                  the site of documentation, into $(OUT)/docs/html; its notebooks run"
	@echo "make bench                 the benchmarks, ratios in one run"
	@echo "make fuzz                  the property tests with fifty times as many examples, new ones each time"
	@echo "make durability            studies killed 200 times, 10,000 conversations by four processes"
	@echo "make simulate SEEDS=1000   instances of the service over one study under a seeded scheduler: kills, faults, outages"
	@echo "make coverage              line coverage, kernels as plain Python"
	@echo "make clients               what is generated of the clients: the one without asyncio, TypeScript's types (needs node)"
	@echo "make wheels                the wheel and the sdist, each tried in clean environments of Python 3.11 to 3.13"
	@echo "make lock                  pin and hash the environment anew"

demo: .venv/demo
	@$(BIN)/evenhand demo --out $(OUT)/demo

# The checks of style and types need one core alone, so they run beside the tests.
test: .venv/ready
	@$(MAKE) --no-print-directory -j 2 lint test-quick

# Kernels run as plain Python in most tests: compiling them takes longer than the tests, and gigabytes.
test-quick: .venv/ready
	$(PLAIN) -m "not slow and not compiled and not nightly"
	$(TESTS) --rooms -m "compiled and not slow and not nightly" $(COMPILED)

test-long: .venv/ready
	$(PLAIN) -m "slow and not compiled and not nightly"
	$(TESTS) --rooms -m "slow and compiled and not nightly" $(COMPILED)

# Many of these wait for servers, browsers and processes that are killed: four at a time keep two cores busy.
test-rest: .venv/ready
	$(PLAIN) -n 4 --rest -m "not compiled and not nightly"
	$(TESTS) --rooms --rest -m "compiled and not nightly" $(COMPILED)

nightly: .venv/ready
	EVENHAND_FUZZ=1 $(TESTS)

# What else these versions need is taken as new as it comes, so that warnings of what changes one day say nothing.
test-lowest: .venv/lowest/ready
	.venv/lowest/bin/python -m pytest $(LOWEST_TESTS) -m "not slow" -W ignore::DeprecationWarning \
		-W ignore::FutureWarning

.venv/lowest/ready: pyproject.toml
	$(PYTHON) -m venv .venv/lowest
	.venv/lowest/bin/python -m pip install -q --disable-pip-version-check uv
	.venv/lowest/bin/uv pip compile pyproject.toml --extra service --extra client --extra interventions --resolution lowest-direct --quiet \
		--no-header --no-annotate --output-file .venv/lowest/requirements.txt
	VIRTUAL_ENV=.venv/lowest .venv/lowest/bin/uv pip install --quiet --requirement .venv/lowest/requirements.txt \
		'pytest>=8.3' 'hypothesis>=6.120' hatchling editables hatch-fancy-pypi-readme
	VIRTUAL_ENV=.venv/lowest .venv/lowest/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lint: .venv/ready
	$(BIN)/mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lines:
	@$(PYTHON) .ci/lines src

check: .venv/ready
	@test -n "$(POLICY)" || { echo "make check: say which, such as make check POLICY=quotas/fair-ucb"; exit 2; }
	$(BIN)/evenhand check $(POLICY)
	$(BIN)/python -m tests.promises.promise_game $(POLICY)

figures: .venv/ready
	for paper in quotas groups sampling similarity interventions; do \
		$(BIN)/evenhand reproduce $$paper --out $(OUT) || exit; done

docs: .venv/ready
	rm -rf docs/reference/generated
	$(BIN)/python -m sphinx -W --keep-going -q -a -j auto -d $(OUT)/docs/doctrees docs $(OUT)/docs/html
	@echo "Open $(OUT)/docs/html/index.html"

bench: .venv/ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks --out $(OUT)/benchmarks

fuzz: .venv/ready
	EVENHAND_FUZZ=50 $(BIN)/python -m pytest tests -n 2 -m "not slow"

durability: .venv/ready
	EVENHAND_KILLS=200 EVENHAND_CONVERSATIONS=10000 $(BIN)/python -m pytest tests/studies/test_processes.py --limits 30 --durations=0

simulate: .venv/ready
	EVENHAND_SEEDS=$(SEEDS) EVENHAND_FIRST=$(FIRST) $(BIN)/python -m pytest -q --limits 100 tests/service/test_simulated.py -k seeds

coverage: .venv/ready
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -n 3 --dist loadfile --limits 5 -m "not nightly"
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

clients: .venv/ready
	$(BIN)/python clients/synchronous.py
	cd clients/typescript && npm ci --ignore-scripts
	$(BIN)/python clients/typescript/generate.py

wheels: .venv/ready
	$(BIN)/python -m tests.wheels python3.11 python3.12 python3.13

# First what evenhand[all] and its installation need, then, below the only comment, what the tests need beside it.
lock:
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/pip install -q uv
	.venv/lock/bin/uv pip compile pyproject.toml $(EXTRAS:%=--extra %) $(PINNED) --generate-hashes \
		--output-file .venv/lock/whole
	sed -e '/^ *--hash=/d' -e 's/ *\\$$//' .venv/lock/whole > .venv/lock/versions
	printf '%s\n' $(BUILD) > .venv/lock/build.in
	.venv/lock/bin/uv pip compile pyproject.toml .venv/lock/build.in --extra all $(PINNED) \
		--constraint .venv/lock/versions --output-file .venv/lock/first
	awk -F '[= ;]' 'NR == FNR {first[$$1]; next} /^[a-z]/ {part = $$1 in first ? "one" : "two"} \
		{print > (".venv/lock/" part)}' .venv/lock/first .venv/lock/whole
	{ cat .venv/lock/one; echo '# What the tests need beside it.'; cat .venv/lock/two; } > requirements.lock

.venv/demo: requirements.lock pyproject.toml
	@echo "Setting up .venv from requirements.lock: once, about a quarter of a minute."
	$(PYTHON) -m venv .venv
	@awk '/^[a-z]/ {on = /^uv==/} on' requirements.lock > .venv/uv.txt
	@sed '/^#/,$$d' requirements.lock > .venv/first.txt
	$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r .venv/uv.txt
	$(UV) --require-hashes --requirement .venv/first.txt
	$(UV) --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

.venv/ready: .venv/demo
	$(UV) --require-hashes --requirement requirements.lock
	@touch $@

clean:
	rm -rf .venv $(OUT) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
