#!/usr/bin/env bash
# run.sh BUILD [--sanitize]: the tests of the CUDA backend in a build tree; with --sanitize also under compute-sanitizer,
# which takes some minutes. Fails where there is no device: a test that was skipped has said nothing.
set -euo pipefail
build=$1
here=$(dirname "$0")
model=$here/../../models/demo
program=$build/tests/test_cuda
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$program" --gtest_brief=1 | tee "$log"
if grep -q SKIPPED "$log"; then
  echo "tests were skipped: no usable device" >&2
  exit 1
fi
"$here/drivers.sh" "$build/headscope" "$model"
if [ -x "$build/mpi/headscope" ] && command -v mpirun > /dev/null; then
  "$here/ranks.sh" "$build/headscope" "$build/mpi/headscope" "$model"
else
  echo "no mpirun, or built without -DHEADSCOPE_MPI=ON: ranks on a device are not tested"
fi
[ "${2:-}" = --sanitize ] || exit 0
# A full device is meant to fail an allocation, which memcheck would count; large layers take long, and only TF32 has
# kernels of its own for them. Racecheck slows kernels down a thousandfold: one test for each kernel.
# (Its choice of kernels by name is of no use: cuBLAS's for half make it fail with an "internal sanitizer error".)
compute-sanitizer --tool memcheck --error-exitcode 9 "$program" --gtest_brief=1 \
  --gtest_filter='-CudaTrouble.*:*OfLargeLayers*/float32:*OfLargeLayers*/fp16:*OfLargeLayers*/bf16'
compute-sanitizer --tool racecheck --error-exitcode 9 "$program" --gtest_brief=1 \
  --gtest_filter='*TakesRankDeficient*/fp16:*PreparesTheHeads*/tf32:*HasTheOther*/bf16:*WritesWhere*/float32:Strassen.*:CudaTreeDistance.OfEqual*:CudaTreeDistance.DoesNotSee*:CudaTreeDistance.EqualsThat*'
