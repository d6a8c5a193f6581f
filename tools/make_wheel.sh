#!/usr/bin/env bash
# make_wheel.sh PYTHON... : makes a wheel with each Python, from the libraries in build/release, and leaves it in dist/.
#
# 'auditwheel repair' puts the shared libraries that are not on every Linux into the wheel and names the oldest glibc that
# it runs with. 'make wheel' calls this.
set -euo pipefail
cd "$(dirname "$0")/.."

kilobytes_allowed=25000
mkdir -p dist
rm -rf dist/*.whl build/wheel
for python in "$@"; do
  # What builds the wheel is pinned. pip's own build environment would get the newest versions that pyproject.toml allows.
  rm -rf build/venv-wheel
  "$python" -m venv build/venv-wheel
  echo "installing Python packages into build/venv-wheel: $(tr '\n' ' ' < tools/requirements-wheel.in)"
  build/venv-wheel/bin/pip install --quiet --disable-pip-version-check -r tools/requirements-wheel.txt
  build/venv-wheel/bin/pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation \
    --wheel-dir build/wheel \
    --config-settings=build-dir="build/python/{wheel_tag}" \
    --config-settings=cmake.define.HEADSCOPE_BUILT="$PWD/build/release" \
    --config-settings=cmake.define.HEADSCOPE_COLLECT_LICENSES=ON .
done
for wheel in build/wheel/*.whl; do
  PATH="$PWD/.venv-package/bin:$PATH" .venv-package/bin/auditwheel repair --wheel-dir dist "$wheel" 2> build/wheel/repair.log ||
    { cat build/wheel/repair.log >&2; exit 1; }
done
for wheel in dist/*.whl; do
  size=$(du -k "$wheel" | cut -f1)
  [ "$size" -le "$kilobytes_allowed" ] || { echo "make_wheel.sh: $wheel has $size kB, more than $kilobytes_allowed" >&2; exit 1; }
  echo "$wheel, $((size / 1000)) MB"
done
