#!/usr/bin/env bash
# demo.sh HEADSCOPE PYTHON : makes a small model of seeded random weights and looks at it.
set -euo pipefail
headscope=$1
python=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "A LLaMA with grouped queries, seeded random weights, in two shards:"
"$python" tools/make_checkpoint.py "$folder/llama" --family llama --layers 4 --d-model 256 --heads 8 --kv-heads 2 \
  --d-mlp 512 --vocab 1000 --dtype BF16 --shard-size 4MB --seed 1
echo
echo "\$ headscope inspect llama"
(cd "$folder" && "$OLDPWD/$headscope" inspect llama --check)
