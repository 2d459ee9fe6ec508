# The front door for people: `make help`. The build itself is CMake; see CMakePresets.json.

JOBS ?= $(shell nproc)
FUZZ_ARGS ?=
BENCH_ARGS ?=
FUZZ_SECONDS ?= 60
FUZZ_GRAPHS ?= 10000
PYTHON = PYTHONPATH=build/release/python .venv/bin/python
FORMATTED = git ls-files -co --exclude-standard '*.h' '*.hpp' '*.cpp' '*.c' | xargs -r ls -d 2>/dev/null

.PHONY: help demo build test format check-format check-source sanitize ctest python-test conformance fuzz fuzz-graphs drill bench bench-kernels bench-operators bench-tune

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

demo: build/.setup-demo build   ## build, then read the text in a picture with two real models
	@PYTHONPATH=build/release/python .venv/bin/python examples/read_text.py

test: check-format check-source sanitize ctest python-test   ## everything that must hold before a merge

build: build/.setup   ## the product, in build/release
	@cmake --preset release -Wno-dev >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS)

ctest: build
	ctest --preset release -j $(JOBS)

python-test: build
	$(PYTHON) tools/operators_doc.py
	$(PYTHON) -m pytest -q tests/python
	$(PYTHON) tests/conformance/run.py --sample 300 --jobs $(JOBS) --expect tests/conformance/not_passing.txt
	$(PYTHON) tests/fuzz_graphs/run.py --count 200 --jobs $(JOBS)

conformance: build   ## every case of the ONNX package; what does not pass must be on the list
	$(PYTHON) tests/conformance/run.py --jobs $(JOBS) --expect tests/conformance/not_passing.txt

# The parts that read untrusted bytes, under sanitizers (TW_UNTRUSTED in cmake/Tests.cmake).
sanitize: build/.setup
	@cmake --preset sanitize -Wno-dev >build/configure-sanitize.log 2>&1 || { cat build/configure-sanitize.log; exit 1; }
	@cmake --build --preset sanitize -j $(JOBS) --target untrusted_tests
	ctest --preset sanitize -j $(JOBS) -R '^(support|ir|module|runtime|frontend|images)\.'

format: build/.setup         ## rewrite the C++ files in the project's format
	@$(FORMATTED) | xargs -r clang-format-22 -i

check-format: build/.setup   ## fail when a file is not formatted
	@$(FORMATTED) | xargs -r clang-format-22 --dry-run -Werror

check-source: build/.setup
	@python3 tools/check_layers.py
	@python3 tools/check_sizes.py
	@python3 tools/check_error_codes.py
	@python3 tools/steps_doc.py
	@python3 tools/planted_bugs.py --check

fuzz: fuzz-graphs      ## long random testing; FUZZ_ARGS, FUZZ_SECONDS and FUZZ_GRAPHS reach the programs
	@for p in build/release/fuzz/*; do [ -x $$p ] || continue; echo $$p $(FUZZ_ARGS); $$p $(FUZZ_ARGS) || exit 1; done
	@cmake --preset fuzz -Wno-dev >build/configure-fuzz.log 2>&1 || { cat build/configure-fuzz.log; exit 1; }
	@cmake --build --preset fuzz -j $(JOBS) --target guided_fuzzers
	@for p in build/fuzz/fuzz-guided/*; do [ -x $$p ] || continue; \
	   corpus=build/fuzz/corpus/$$(basename $$p); mkdir -p $$corpus; \
	   seeds=$$(ls -d tests/fuzz/corpus/$$(basename $$p | sed s/^fuzz_//) 2>/dev/null); \
	   echo $$p; $$p -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$$corpus/ $$corpus $$seeds || exit 1; done

fuzz-graphs: build   ## random graphs against ONNX Runtime
	$(PYTHON) tests/fuzz_graphs/run.py --count $(FUZZ_GRAPHS) --jobs $(JOBS)

drill: build/.setup   ## plant known bugs one by one; do the tests of their layer catch them?
	@tools/planted_bugs.py

bench-kernels: build build/.setup-bench   ## kernels against the peers; results go to a file
	@cmake --build --preset release -j $(JOBS) --target bench_programs
	@.venv/bin/python bench/kernel_bench.py

# BENCH_ARGS="--only dqn resnet18 --threads 1 --rounds 3 --part race,kernels" for less than all of it
bench: build build/.setup-peers   ## models against other engines, kernels against the machine's limit; results go to files
	@cmake --build --preset release -j $(JOBS) --target bench_programs
	@.venv-bench/bin/python bench/models.py $(BENCH_ARGS)

# BENCH_ARGS="--only Pad Tile --limit 600" for some operators, or for some minutes
bench-operators: build   ## every operator at three sizes against ONNX Runtime; results go to a file; goes on where it stopped
	@$(PYTHON) bench/operators.py $(BENCH_ARGS)

bench-tune: build   ## trials that searches need, what they find; goes on where it stopped; TUNE_ARGS reach the program
	@cmake --build --preset release -j $(JOBS) --target bench_tune
	@.venv/bin/python bench/tune.py $(TUNE_ARGS)

build/.setup: tools/setup.sh
	@tools/setup.sh && mkdir -p build && touch $@

build/.setup-demo: tools/setup.sh
	@tools/setup.sh --demo && mkdir -p build && touch $@

build/.setup-bench: tools/setup.sh
	@tools/setup.sh --bench && mkdir -p build && touch $@

build/.setup-peers: tools/setup.sh
	@tools/setup.sh --peers && mkdir -p build && touch $@
