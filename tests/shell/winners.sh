#!/usr/bin/env bash
# Configuring with winners files: a good one joins the defaults; one that cannot be used is named once, and the defaults serve.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
cd "$work" || exit 1
[ -n "${FLASHWRIGHT_CMAKE:-}" ] || skip "FLASHWRIGHT_CMAKE names no CMake"
generator=$(dirname "$FLASHWRIGHT_BIN")/flashwright_generate.json

python3 - "$generator" <<'PYTHON'
import copy, json, re, sys
facts = json.load(open(sys.argv[1]))
cpu = open("/proc/cpuinfo").read()
family = "-".join(re.search(rf"^{name}\s*: (.*)$", cpu, re.M).group(1) for name in ("vendor_id", "cpu family", "model"))
tiles = {"block_q": 48, "block_k": 128, "row_vectors": 3, "tile_d": 8, "tile_k": 4, "tile_v": 4}
good = {"schema_version": 1, "machine": {"exact": "here", "family": family},
        "toolchain": {"halide": facts["halide"], "generator_hash": facts["generator_hash"]},
        "kernels": [{"op": "forward", "dtype": "f32", "isa": "avx2", "terms": [],
                     "variants": [{"id": "q48b128r3d8k4v4", "tiles": tiles}], "default": "v0",
                     "table": [{"shape": {"seqlen_q": 96, "seqlen_k": 96, "head_dim": 64, "causal": False},
                                "variant": "q48b128r3d8k4v4", "ratio": 0.9}]},
                    {"op": "backward", "dtype": "f32", "isa": "avx2", "terms": [],
                     "variants": [{"id": "q96b96k4w24t3", "tiles": {"block_q": 96, "block_k": 96, "tile_k": 4, "width": 24, "tile_q": 3}}],
                     "default": "v0",
                     "table": [{"shape": {"seqlen_q": 96, "seqlen_k": 96, "head_dim": 64, "causal": False},
                                "variant": "q96b96k4w24t3", "ratio": 0.9}]}]}
def write(name, spoil=lambda w: None):
    spoilt = copy.deepcopy(good)
    spoil(spoilt)
    json.dump(spoilt, open(name + ".json", "w"))
kernel = lambda w: w["kernels"][0]
write("good")
write("bad_schema", lambda w: w.update(schema_version=2))
write("bad_isa", lambda w: kernel(w).update(isa="mmx"))
write("bad_dtype", lambda w: kernel(w).update(dtype=32))
write("bad_tiles", lambda w: kernel(w)["variants"][0]["tiles"].update(block_q=1000008))
write("bad_lanes", lambda w: kernel(w)["variants"][0]["tiles"].update(block_q=50))
write("bad_width", lambda w: w["kernels"][1]["variants"][0]["tiles"].update(width=12))
write("bad_divisor", lambda w: w["kernels"][1]["variants"][0]["tiles"].update(tile_k=5))
write("bad_type", lambda w: kernel(w)["variants"][0]["tiles"].update(tile_k="many"))
write("bad_causal", lambda w: kernel(w)["table"][0]["shape"].update(causal="no"))
write("bad_ratio", lambda w: kernel(w)["table"][0].update(ratio=-1))
write("bad_zero_ratio", lambda w: kernel(w)["table"][0].update(ratio=0))
write("bad_length", lambda w: kernel(w)["table"][0]["shape"].update(seqlen_q=99999999999999999999))
write("bad_twice", lambda w: kernel(w)["table"].append(kernel(w)["table"][0]))
write("bad_variant", lambda w: kernel(w)["table"][0].update(variant="none"))
write("bad_kernels", lambda w: w.update(kernels=5))
write("bad_machine", lambda w: w["machine"].update(family="other"))
write("bad_generator", lambda w: w["toolchain"].update(generator_hash="other"))
open("bad_cut.json", "w").write(json.dumps(good)[:200])
open("bad_empty.json", "w")
PYTHON

configure() {
    "$FLASHWRIGHT_CMAKE" -S "$FLASHWRIGHT_SOURCE_DIR" -B build -G Ninja "-DCMAKE_MAKE_PROGRAM=$FLASHWRIGHT_NINJA" \
        "-DCMAKE_PREFIX_PATH=$FLASHWRIGHT_PREFIX_PATH" -DFLASHWRIGHT_BUILD_TESTS=OFF "-DFLASHWRIGHT_CONFIG=$1" >log 2>&1 ||
        fail "configuring with $1: $(grep -A 5 'CMake Error' log)"
}

configure "$PWD/good.json"
grep -q "CMake Warning" log && fail "a warning about a good file: $(cat log)"
grep -q forward_f32_avx2_q48b128r3d8k4v4 build/kernels/kernel_registry.cpp || fail "the winner is not built"
grep -q forward_f32_avx2_v0 build/kernels/kernel_registry.cpp || fail "the default is not built"
grep -qF '{Op::backward, FLASHWRIGHT_F32, "avx2", 96, 96, 64, false, "q96b96k4w24t3",' build/kernels/kernel_registry.cpp ||
    fail "the row of backward is not built"
for file in bad_*.json; do
    configure "$PWD/$file"
    [ "$(grep -c 'CMake Warning' log)" -eq 1 ] || fail "$file: expected one warning: $(cat log)"
    grep -qF "$file" log || fail "$file: is not named: $(cat log)"
    grep -q forward_f32_avx2_v0 build/kernels/kernel_registry.cpp || fail "$file: the defaults are not built"
    grep -q q48 build/kernels/kernel_registry.cpp && fail "$file: it is used"
done

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
