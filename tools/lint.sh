#!/usr/bin/env bash
# lint.sh BUILD : runs every gate on the files that git tracks, and names those that failed. BUILD is a configured build
# folder; .venv-lint (tools/requirements-lint.txt) and web/node_modules are installed.
set -uo pipefail
build=$1
tools=.venv-lint/bin
failed=()

gate() {
  local begin=$SECONDS
  if "$@"; then
    echo "lint: $1 found nothing ($((SECONDS - begin)) s)"
  else
    echo "lint: $1 failed ($((SECONDS - begin)) s)" >&2
    failed+=("$1")
  fi
}

clang_format() {
  git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format --dry-run --Werror
}

# Sources that passed are checked again only if they, their headers or .clang-tidy have changed.
clang_tidy() {
  $tools/python tools/tidy.py "$build" && ninja -k 0 -j "$(nproc)" -C "$build/tidy"
}

ruff() {
  git ls-files '*.py' | xargs $tools/ruff check --quiet
}

# One folder at a time: scripts import their neighbors, and some folders have scripts of the same name.
mypy() {
  local status=0
  $tools/mypy --no-error-summary python/headscope || status=1
  for folder in $(git ls-files '*.py' | xargs -n 1 dirname | sort -u | grep -vx python/headscope); do
    $tools/mypy --no-error-summary --follow-imports silent "$folder"/*.py || status=1
  done
  return $status
}

eslint_and_prettier() {
  (cd web && npm run --silent lint)
}

gate clang_format
gate ruff
gate mypy
gate eslint_and_prettier
gate clang_tidy
if ((${#failed[@]})); then
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
fi
