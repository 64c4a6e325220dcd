#!/usr/bin/env bash
# flashwright_gpu_facts, of which scripts/gpu_table.py makes a table: a forward kernel and the passes of backward, on each architecture.
# Needs ptxas and nvdisasm.
set -euo pipefail
program=$(dirname "$FLASHWRIGHT_BIN")/flashwright_gpu_facts
if [ ! -x "$program" ]; then
    echo "SKIP: no CUDA kernels in this build"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
configuration=$out/gpu.json
python3 - "$FLASHWRIGHT_SOURCE_DIR/configs/gpu.json" >"$configuration" <<'END'
import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
chosen = [k for k in kernels if k["head_dim"] == 32 and not k["terms"] and k.get("backend", "cuda") == "cuda"]
print(json.dumps({"schema_version": 2, "kernels": chosen}))
END
if ! "$program" "$FLASHWRIGHT_KERNEL_DIR/gpu" "$configuration" >"$out/facts.json" 2>"$out/error"; then
    cat "$out/error"
    if grep -q '^error: \(ptxas\|nvdisasm\): expected' "$out/error"; then
        echo "SKIP: no ptxas or nvdisasm"
        exit 77
    fi
    exit 1
fi
python3 - "$out/facts.json" <<'END'
import json, sys
facts = json.load(open(sys.argv[1]))
kernels = {fact["kernel"] for fact in facts}
assert kernels == {"forward_f32_cuda_d32", "backward_f32_cuda_d32_dk_dv", "backward_f32_cuda_d32_dq"}, kernels
for fact in facts:
    assert 32 < fact["registers"] <= 255 and fact["spilled_bytes"] == 0, fact
    assert 0 < fact["occupancy"] <= 1 and 0.5 < fact["multiply_add_share"] < 1, fact
    assert fact["shared_bytes"] == 64 * 2 * (36 if "forward" in fact["kernel"] else 68) * 4, fact
print(f"{len(facts)} facts of {len(kernels)} kernels")
END
