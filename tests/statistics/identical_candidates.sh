#!/usr/bin/env bash
# How often the tuner selects candidates whose code is the baseline's: at most one run in forty, beside a busy core.
# identical_candidates.sh PROGRAM [RUNS]
set -euo pipefail
program=$1 runs=${2:-40}
work=$(mktemp -d)
yes >/dev/null &
trap 'kill %1; rm -rf "$work"' EXIT

# From 128 keys on one block holds them all: these block_k differ in name alone.
only=(--only "block_k=256,384,512,1024")
tiles=$("$program" info --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
isa = next(isa["name"] for isa in info["isas"] if isa["chosen"])
print(next(json.dumps(k["tiles"]) for k in info["kernels"]
           if k["name"] == f"forward_f32_{isa}_v0"))')
for parameter in block_q row_vectors tile_d tile_k tile_v; do
    only+=(--only "$parameter=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$tiles" $parameter)")
done
wins=0
for run in $(seq "$runs"); do
    "$program" tune --op forward --dtype f32 --shape 1,8,8,128,128,64 "${only[@]}" --keep-duplicates --seed "$run" \
        --output "$work/$run.json" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    grep -E '^  1,8' "$work/log"
    ! grep -qE '^  1,8,8,128,128,64 +win' "$work/log" || wins=$((wins + 1))
done
echo "$wins of $runs runs selected a copy of the baseline"
[ $((wins * 40)) -le "$runs" ]
