# The front door. Every target installs what it needs and is missing: Debian packages (as root or with sudo) and a
# private Python environment in .venv.
#
#   make          build the program, build/headscope
#   make demo     see it work
#   make test     everything CI runs
#   make bench    measure, and write benchmarks/results.md
#   make fuzz     a minute of fuzzing for every parser (FUZZ_SECONDS=600 for ten)
#   make lint     clang-format and clang-tidy
#   make clean    remove what was built

SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: build demo test bench fuzz lint format clean debian-% venv

BUILD_PACKAGES := g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libhwy-dev zlib1g-dev \
	libopenblas-pthread-dev libstb-dev libpcre2-dev libutf8proc-dev pkg-config
PYTHON_PACKAGES := python3 python3-venv
TEST_PACKAGES := libgtest-dev libgmock-dev

FUZZ_PACKAGES := clang libclang-rt-14-dev
LINT_PACKAGES := clang-format clang-tidy

PYTHON := .venv/bin/python
FUZZ_SECONDS ?= 60

build: debian-build
	cmake --preset release -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset release --target headscope

demo: build venv
	@tools/demo.sh build/headscope $(PYTHON)

test: debian-build debian-test venv
	cmake --preset release -DHEADSCOPE_TESTS=ON -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset release
	ctest --preset release
	cmake --preset asan
	cmake --build --preset asan
	ctest --preset asan
	HEADSCOPE=build/headscope $(PYTHON) -m pytest -q tests/tools tests/cli tests/tokenizers tests/models

bench: debian-build venv .venv-bench/installed
	cmake --preset release -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=ON
	cmake --build --preset release
	$(PYTHON) benchmarks/run.py

fuzz: debian-build debian-fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	tests/fuzz/run.sh build/fuzz/tests/fuzz $(FUZZ_SECONDS)

lint: debian-build debian-test debian-lint
	cmake --preset dev -DHEADSCOPE_BENCHMARKS=ON
	tools/lint.sh build/dev

format: debian-lint
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build .venv .venv-bench

debian-build:
	@tools/install_debian.sh $(BUILD_PACKAGES)
debian-test:
	@tools/install_debian.sh $(TEST_PACKAGES) $(PYTHON_PACKAGES)
debian-fuzz:
	@tools/install_debian.sh $(FUZZ_PACKAGES)
debian-lint:
	@tools/install_debian.sh $(LINT_PACKAGES)

# Made anew when the list of packages changes.
venv: .venv/installed
.venv/installed: tools/requirements.txt
	@tools/install_debian.sh $(PYTHON_PACKAGES)
	@echo "installing Python packages into .venv: $$(tr '\n' ' ' < tools/requirements.txt)"
	python3 -m venv --clear .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r tools/requirements.txt
	@touch $@

# PyTorch and transformers, which the benchmarks compare with; some gigabytes.
.venv-bench/installed: tools/requirements-bench.txt
	@tools/install_debian.sh $(PYTHON_PACKAGES)
	@echo "installing Python packages into .venv-bench: $$(tr '\n' ' ' < tools/requirements-bench.txt)"
	python3 -m venv --clear .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check -r tools/requirements-bench.txt
	@touch $@
