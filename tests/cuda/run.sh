#!/usr/bin/env bash
# run.sh TEST_CUDA [--sanitize]: the tests of the CUDA backend; with --sanitize also under compute-sanitizer, which takes
# a minute. Fails where there is no device: a test that was skipped has said nothing.
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
# A full device is meant to fail an allocation, which memcheck would count. Racecheck slows kernels down a thousandfold:
# one test for each kernel.
compute-sanitizer --tool memcheck --error-exitcode 9 "$program" --gtest_brief=1 --gtest_filter='-CudaTrouble.*'
compute-sanitizer --tool racecheck --error-exitcode 9 "$program" --gtest_brief=1 \
  --gtest_filter='*TakesRankDeficient*/fp16:*PreparesTheHeads*/tf32:*HasTheOther*/bf16:*WritesWhere*/float32:CudaTreeDistance.OfEqual*:CudaTreeDistance.DoesNotSee*:CudaTreeDistance.EqualsThat*'
