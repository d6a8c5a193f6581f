#!/usr/bin/env bash
# run.sh PROGRAMS SECONDS : fuzzes every parser for so long, starting from its corpus. New inputs stay in
# PROGRAMS/inputs; whatever crashes, hangs or asks for too much memory stays in PROGRAMS/findings.
set -euo pipefail
programs=$1
seconds=$2
corpus=$(dirname "$0")/corpus
rm -rf "$programs/findings"
mkdir -p "$programs/findings"

# A single allocation over 64 MB cannot be a small multiple of an input of at most 64 kB.
fuzz_one() {
  local parser=$1
  mkdir -p "$programs/inputs/$parser"
  "$programs/fuzz_$parser" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 \
    -malloc_limit_mb=64 -artifact_prefix="$programs/findings/$parser-" -verbosity=0 -print_final_stats=1 \
    "$programs/inputs/$parser" "$corpus/$parser" 2>&1 |
    grep -E 'number_of_executed_units|peak_rss_mb|ERROR|SUMMARY' | sed "s/^/$parser: /"
}
for parser in json csv safetensors gguf npy npz map_description model vocabulary labels image preprocess tokenizer tree \
  run journal; do
  echo "$parser: $seconds seconds"
  fuzz_one "$parser" || true # what it found is counted below
done
if [ -n "$(ls -A "$programs/findings")" ]; then
  echo "findings:" "$programs"/findings/* >&2
  exit 1
fi
echo "fuzz: no finding"
