#!/usr/bin/env bash
# run.sh TEST_CUDA [--sanitize]: the tests of the CUDA backend; with --sanitize also under compute-sanitizer, which takes
# minutes. Fails where there is no device: a test that was skipped has said nothing.
set -euo pipefail
program=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$program" --gtest_brief=1 | tee "$log"
if grep -q SKIPPED "$log"; then
  echo "tests were skipped: no usable device" >&2
  exit 1
fi
[ "${2:-}" = --sanitize ] || exit 0
# A full device is no error here, but compute-sanitizer counts the failed allocation.
for tool in memcheck racecheck; do
  compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" --gtest_brief=1 --gtest_filter=-CudaTrouble.*:*JoinsItsTiles*
done
