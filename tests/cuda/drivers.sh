#!/usr/bin/env bash
# drivers.sh HEADSCOPE MODEL: what a build with CUDA says on a machine with a driver that is too old, and on one without a
# driver: one line, exit code 5, nothing written. Needs a C compiler, no device.
set -euo pipefail
program=$1
model=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old" "$work/none"
"${CC:-cc}" -shared -fPIC -o "$work/old/libcuda.so.1" "$(dirname "$0")/old_driver.c"
: > "$work/none/libcuda.so.1"  # cannot be loaded

fails() {  # DRIVER LINE COMMAND...: the line is a pattern
  local driver=$1 line=$2 status=0
  shift 2
  LD_LIBRARY_PATH=$work/$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program" "$@" -o "$work/run" --device cuda \
    > "$work/out" 2> "$work/err" || status=$?
  if [ "$status" != 5 ] || [ "$(wc -l < "$work/err")" != 1 ] || ! grep -Eq "^headscope: $line" "$work/err" ||
    [ -s "$work/out" ] || [ -e "$work/run" ]; then
    echo "$driver driver, $1: exit code $status (expected 5), expected one line '$line' and no files, found:" >&2
    cat "$work/out" "$work/err" >&2
    ls -d "$work/run"/* >&2 || true
    exit 1
  fi
}

maps=$work/maps.npy
printf '\x93NUMPY\x01\x00v\x00%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 2), }" > "$maps"
printf '\1\2\3\4\5\6\7\1' >> "$maps"
for words in "relate $model" "organize $maps"; do
  # shellcheck disable=SC2086
  fails old 'cuda: the driver is for CUDA 11\.0, expected 1[2-9]\.[0-9] or later; update it, or use the CPU$' $words
  # shellcheck disable=SC2086
  fails none 'cuda: no NVIDIA driver on this machine; install one, or use the CPU$' $words
done
echo "drivers too old and absent: as they should be"
