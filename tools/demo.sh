#!/usr/bin/env bash
# demo.sh HEADSCOPE PYTHON : looks at two models: one of random weights, and one that was trained to copy.
set -euo pipefail
headscope=$(realpath "$1")
python=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "A LLaMA with grouped queries, seeded random weights, in two shards:"
"$python" tools/make_checkpoint.py "$folder/llama" --family llama --layers 4 --d-model 256 --heads 8 --kv-heads 2 \
  --d-mlp 512 --vocab 1000 --dtype BF16 --shard-size 4MB --seed 1
echo
echo "\$ headscope inspect llama --check"
(cd "$folder" && "$headscope" inspect llama --check)
echo
echo "A model of two layers that was trained to copy (models/induction). Ablation says: L0H6 carries it, and L1H0, L1H3"
echo "and L1H7 attend to what followed the last time. The weights alone say:"
echo
echo "\$ headscope relate models/induction -o build/demo --top 3"
"$headscope" relate models/induction -o build/demo --top 3 --force
