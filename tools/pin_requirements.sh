#!/usr/bin/env bash
# pin_requirements.sh [--upgrade] : writes requirements*.txt from requirements*.in: the exact version of every package, also of
# those that the named ones need, with the hashes of all its files. pip then installs nothing else. 'make pins' calls this.
#
# Versions that a .txt file already has are kept where they fit; --upgrade takes the newest ones. One file serves all
# systems and all Pythons from the one named below on.
set -euo pipefail
cd "$(dirname "$0")/.."

for input in tools/requirements*.in tests/python/requirements.in; do
  options=(--python-version 3.11)
  case $input in
    # Wheels are made for older Pythons, too.
    tools/requirements-wheel.in) options=(--python-version 3.10) ;;
    # tracr-pypi asks for JAX and Haiku, which the compiler alone does not need (benchmarks/truth/compiler.py).
    tools/requirements-truth.in) options+=(--no-deps) ;;
    # .venv-python gets these on top of its own ('make python-torch').
    tools/requirements-bench.in) options+=(--constraints tests/python/requirements.in) ;;
  esac
  .venv-pin/bin/uv --no-config pip compile --quiet --universal --generate-hashes --no-annotate \
    --custom-compile-command "make pins" "${options[@]}" "$@" --output-file "${input%.in}.txt" "$input"
  echo "${input%.in}.txt: $(grep -c '^[a-zA-Z].*==' "${input%.in}.txt") packages"
done
