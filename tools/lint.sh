#!/usr/bin/env bash
# lint.sh BUILD : checks the format of every source and runs clang-tidy over the compilation database in BUILD.
set -euo pipefail
build=$1
git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
# What the build leaves out (MPI or CUDA where they are missing) has no command to be read with.
git ls-files 'src/*.cpp' 'cli/*.cpp' | grep -F -f <(sed -n "s|^ *\"file\": \"$PWD/\(.*\)\".*|\1|p" "$build/compile_commands.json") | xargs -P "$(nproc)" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p "$build" 2>/dev/null
echo "lint: no fault"
