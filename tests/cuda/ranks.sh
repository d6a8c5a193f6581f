#!/usr/bin/env bash
# ranks.sh HEADSCOPE HEADSCOPE_OF_RANKS MODEL: ranks that share the first device give the bytes of one process, and one
# that has no device ends the job with its line and code 5. Needs a device and mpirun.
set -euo pipefail
program=$1
of_ranks=$2
model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# All files but the manifest, which says how long it took.
contents() {
  (cd "$1" && find . -type f ! -name manifest.json -print0 | sort -z | xargs -0 sha256sum)
}

on_ranks() {  # COUNT WORDS...
  local count=$1
  shift
  mpirun --oversubscribe --bind-to none -n "$count" "$of_ranks" "$@" --quiet
}

same() {  # NAME WORDS...
  local name=$1
  shift
  "$program" "$@" --device cuda -o "$work/$name-one" --quiet > "$work/out"
  for ranks in 1 2 3; do
    on_ranks "$ranks" "$@" --device cuda:0 -o "$work/$name-$ranks" > "$work/out"
    if ! diff <(contents "$work/$name-one") <(contents "$work/$name-$ranks") >&2; then
      echo "$name: $ranks ranks give other files than one process" >&2
      exit 1
    fi
  done
}

same pk relate "$model"
same all-pairs relate "$model" --pairs all --null isotropic --precision fp16 --tokens-for none
same metrics relate "$model" --metric pk,cs,cka --earlier-only --precision float32 --tokens-for none
"$program" capture "$model" -o "$work/maps" --text-file "$model/samples.txt" --max-tokens 60 --quiet > "$work/out"
same organize organize "$work/maps/pattern.npy" --draws 2

# One device more than there are: the last rank finds none.
devices=$(nvidia-smi --list-gpus | wc -l)
status=0
on_ranks $((devices + 1)) relate "$model" --device cuda -o "$work/none" > "$work/out" 2> "$work/err" || status=$?
line="^headscope: rank $devices on .*: cuda:$devices: no such device; this machine has $devices, counted from 0\$"
if [ "$status" != 5 ] || [ "$(grep -c '^headscope: ' "$work/err")" != 1 ] || ! grep -q "$line" "$work/err" ||
  [ -e "$work/none" ]; then
  echo "a rank without a device: exit code $status (expected 5), expected '$line', found:" >&2
  cat "$work/err" >&2
  exit 1
fi
echo "1, 2 and 3 ranks on one device: the files of one process"
