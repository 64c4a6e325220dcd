#!/usr/bin/env bash
# `tune --backend cuda` with a device, which is the fake driver: time is how many instructions of the PTX its interpreter executed.
# FLASHWRIGHT_FAKE_CUDA: folder of the driver. FLASHWRIGHT_PYTHON: of the interpreter. FLASHWRIGHT_GPU_FAULTS: folder of kernels that fail.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" || exit 1
python=${FLASHWRIGHT_PYTHON:-python3}
real=$(dirname "$FLASHWRIGHT_BIN")/flashwright_generate_gpu
[ -d "${FLASHWRIGHT_FAKE_CUDA:-}" ] || skip "no CUDA in this build"
$python -c 'import numpy' 2>/dev/null || skip "no NumPy for the interpreter"

# tune CODE ARGUMENT...
tune() {
    local expected=$1 code=0
    shift
    "${device[@]}" "$@" >stdout 2>stderr </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "tune $*: exit code $code, expected $expected: $(tail -n 3 stderr)"
}

device=(env "LD_LIBRARY_PATH=${FLASHWRIGHT_FAKE_CUDA:-}" "FAKE_CUDA_INTERPRETER=$python '$here/ptx/serve.py'" FAKE_CUDA_NOISE=0.005
    "$FLASHWRIGHT_BIN" tune --backend cuda)

# configure (TERMS HEAD_DIM BLOCK_K)...: forward kernels.
configure() {
    $python - "$real.json" "$@" <<'PYTHON' || fail "the facts about the generator"
import json, sys
facts = json.load(open(sys.argv[1]))
facts["configuration"] = "configuration.json"
kernels = [
    {"op": "forward", "terms": [t for t in terms.split("+") if t], "assume_finite": not terms, "head_dim": int(head_dim),
     "tiles": {"threads": 32, "rows": 1, "block_k": int(block_k), "tile_d": 4, "tile_v": 16, "threads_per_row": 1}}
    for terms, head_dim, block_k in zip(*[iter(sys.argv[2:])] * 3)]
json.dump(facts, open("fake/generate.json", "w"))
json.dump({"schema_version": 2, "comment": "of a test", "kernels": kernels}, open("fake/configuration.json", "w"))
PYTHON
}

# The real generator, but for what has a fault by its block of keys; of tile_v 8 it makes the code of 16. Predictions are made up:
# the more keys the better.
mkdir fake tools
cat >fake/generate <<FAKE
#!/usr/bin/env bash
real=$real faults=$FLASHWRIGHT_GPU_FAULTS
FAKE
cat >>fake/generate <<'FAKE'
if [[ "$*" == *device_code* ]]; then
    [ -e no_cache ] && rm -rf "$XDG_CACHE_HOME/flashwright" && echo >"$XDG_CACHE_HOME/flashwright"
    echo "$*" >"$2/candidate.device_code"
    exit
fi
keys=$(sed 's/.*block_k=\([0-9]*\).*/\1/' <<<"$*")
case $keys in
    8) exec cp "$faults/2.o" "$2/candidate.o" ;;
    16) exec cp "$faults/4.o" "$2/candidate.o" ;;
    20) exec cp "$faults/6.o" "$2/candidate.o" ;;
    24) [ -e slow ] && [[ "$*" == *head_dim=32* ]] && sleep 20
        echo "error: it does not compile" >&2; exit 1 ;;
esac
exec "$real" "${@/tile_v=8/tile_v=16}"
FAKE
cat >tools/ptxas <<'FAKE'
#!/usr/bin/env bash
[ "$1" = --help ] && { echo "'sm_80','sm_90'"; exit; }
cp "$3" "$5"
echo "ptxas info    : Used 128 registers, used 1 barriers" >&2
FAKE
cat >tools/nvdisasm <<'FAKE'
#!/usr/bin/env bash
keys=$(sed 's/.*block_k=\([0-9]*\).*/\1/' "$2")
channels=$(sed 's/.*head_dim=\([0-9]*\).*/\1/' "$2")
awk -v n="$((keys * channels))" 'BEGIN {
    print ".L_x_0:"
    for (i = 0; i < n; i++) print "/*0000*/ FFMA R" i % 64 ", R100, R101, R" i % 64 " ;"
    for (i = 0; i < 640; i++) print "/*0000*/ MOV R" i % 64 ", R102 ;"
    print "/*0000*/ @P0 BRA `(.L_x_0) ;"
}'
FAKE
chmod +x fake/generate tools/ptxas tools/nvdisasm
export FLASHWRIGHT_GPU_GENERATOR=$work/fake/generate CUDA_TOOLS=$work/tools XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1
few=(--only threads=32 --only rows=1 --only tile_d=4 --only threads_per_row=1 --strategy exhaustive --jobs 1)
shape=(--shape "1,1,1,32,24,32")

# Every fault is named, and the one candidate that is right and faster wins.
configure "" 32 4
tune 0 --output faults.json "${few[@]}" --only tile_v=16 --only block_k=8,12,16,20,24 "${shape[@]}" --run-limit 40
says stdout "measured: 5 besides the baseline, 1 compile, 1 crash, 1 timeout, 1 wrong" \
    "threads=32 rows=1 block_k=12 tile_d=4 tile_v=16 threads_per_row=1" "Measured on fake (compute capability 8.8, driver for CUDA 12.4)"
says stderr "block_k=8 tile_d=4 tile_v=16 threads_per_row=1: wrong: 1,2,1,67,61,29,27: inf times the tolerance" "block_k=16 tile_d=4 tile_v=16 threads_per_row=1: crash: 1,2,1,67,61,29,27: signal 11" \
    "block_k=20 tile_d=4 tile_v=16 threads_per_row=1: timeout: 1,2,1,67,61,29,27: silent for 40 s" "block_k=24 tile_d=4 tile_v=16 threads_per_row=1: compile: exit code 1: error: it does not compile"
$python - "$FLASHWRIGHT_SOURCE_DIR/docs/schemas/results-2.schema.json" <<'PYTHON' || fail "the files of the fault suite"
import json, sys
file, before, after = (json.load(open(name)) for name in ("faults.t4.json", "fake/configuration.json", "faults.json"))
before["kernels"][0]["tiles"]["block_k"] = 12
evidence = after.pop("evidence")["forward_f32_cuda_d32"]
assert after == before, after
assert evidence["basis"] == "measured" and evidence["verdict"] == "win" and evidence["pairs"] == 40, evidence
assert evidence["device"]["name"] == "fake" and evidence["shapes"] == ["1,1,1,32,24,32"], evidence
assert evidence["ratio"] < evidence["interval"][1] < 0.97 and 0 < evidence["noise_floor"] < 0.02, evidence
measured = {r["configuration"]["block_k"]: r for r in file["results"] if r["x_basis"] == "measured"}
assert {k: (r["invalidity"], r["x_verdict"]) for k, r in measured.items()} == {
    4: ("correct", "ok"), 12: ("correct", "ok"), 8: ("correctness", "wrong"), 16: ("runtime", "crash"), 20: ("timeout", "timeout"),
    24: ("compile", "compile")}, measured
assert all(len(measured[k]["times"]["runtimes"]) == 7 and measured[k]["x_error"] < 1 for k in (4, 12)), measured
assert all(r["x_device"] == "fake" and r["x_kernel"] == "forward_f32_cuda_d32" for r in measured.values()), measured
predicted = [r for r in file["results"] if r["x_basis"] == "predicted"]
assert len(predicted) == 12 and all(r["correctness"] == 0 and not r["times"]["runtimes"] and r["x_arch"] for r in predicted), predicted
comparison, = file["metadata"]["x_comparisons"]
assert comparison["winner"]["block_k"] == 12 and comparison["verdict"] == "win", comparison
try:
    import jsonschema
except ImportError:
    print("[SKIP] jsonschema is not installed: the results are not checked against their schema")
else:
    jsonschema.validate(file, json.load(open(sys.argv[1])))
PYTHON
pgrep -f "$here/ptx/serve.py /proc/self/fd" >/dev/null && fail "a process is left"

# The same code is not timed again; if it is, it ties, over two shapes. JSON says so.
tune 1 --output same.json "${few[@]}" --only tile_v=8,16 --only block_k=4 "${shape[@]}"
says stderr "error: nothing was compared with the baseline"
[ ! -e same.json ] || fail "a file was written though nothing was compared"
tune 0 --output same.json "${few[@]}" --only tile_v=8,16 --only block_k=4 "${shape[@]}" --shape 1,1,1,32,8,20,causal --keep-duplicates --json
$python -c 'import json
kernel, = json.load(open("stdout"))
measured = kernel["measured"]
assert kernel["verdict"] == measured["verdict"] == "tie" and len(measured["shapes"]) == 2 and measured["pairs"] == 40, kernel
assert measured["interval"][1] > 0.99 and 0.98 < measured["ratio"] < 1.02, measured
before = json.load(open("fake/configuration.json"))
assert json.load(open("same.json"))["kernels"] == before["kernels"]' || fail "a tie"

# The driver fails in the paired comparison: that candidate is out, the other wins. It fails at once: nothing is known.
FAKE_CUDA_FAULT=30 tune 0 --output late.json "${few[@]}" --only tile_v=8,16 --only block_k=12,28 "${shape[@]}"
says stdout "1 crash" "win:"
grep -q '"x_duplicate_of"' late.t4.json || fail "nothing says that code is the same"
says stderr "crash: while it was compared: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)"
old='{"schema_version": 2, "kernels": []}'
echo "$old" >early.json
FAKE_CUDA_FAULT=1 tune 1 --output early.json "${few[@]}" --only tile_v=16 --only block_k=12 "${shape[@]}"
says stderr "error: the baseline of forward_f32_cuda_d32 failed: crash: 1,1,1,32,24,32: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)"
says stdout "nothing was compared; the baseline stays"
[ "$(cat early.json)" = "$old" ] || fail "a file was written without a measurement"

# Nothing can be built: no prediction replaces what was to be measured.
touch no_cache
echo "$old" >unbuilt.json
tune 1 --output unbuilt.json "${few[@]}" --only tile_v=16 --only block_k=12 "${shape[@]}"
rm -r no_cache cache/flashwright
says stderr "error: filesystem error: " "$work/cache/flashwright"
says stdout "best predicted: threads=32 rows=1 block_k=12" "nothing was measured; the baseline stays"
grep -q "Measured on" stdout && fail "it says that it measured: $(cat stdout)"
[ "$(cat unbuilt.json)" = "$old" ] || fail "a prediction was shipped though there is a device"
[ -s unbuilt.t4.json ] || fail "what was predicted is not kept"

# However long the one kernel is measured, the other's search has its time; without any it says so.
configure "" 32 24 "" 64 24
touch slow
tune 1 --output two.json "${few[@]}" --only tile_v=16 --only block_k=12 --budget 20
rm slow
says stderr "error: the baseline of forward_f32_cuda_d32 failed: compile" "; the baseline of forward_f32_cuda_d64 failed: compile"
says stdout "forward_f32_cuda_d32: 2 of 2 candidates tried" "forward_f32_cuda_d64: 2 of 2 candidates tried"
tune 1 --output two.json "${few[@]}" --only tile_v=16 --only block_k=12 --budget 0.001 --only head_dim=64
says stderr "warning: forward_f32_cuda_d64: no time was left to try a candidate (--budget)"
says stdout "forward_f32_cuda_d64: 1 of 2 candidates tried"
configure "" 32 4

# Interrupted while a candidate hangs: what is known is kept, and nothing is shipped by prediction.
"${device[@]}" --output stopped.json "${few[@]}" --only tile_v=16 --only block_k=8,12,20 "${shape[@]}" --run-limit 3600 >stdout 2>stderr </dev/null &
pid=$!
until grep -q "checking threads=32 rows=1 block_k=20" stderr; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "an interrupted run: exit code $code, expected 130"
[ -s stopped.t4.json ] || fail "an interrupted run did not keep what it knew"
[ ! -e stopped.json ] || fail "an interrupted run shipped what was not measured"

# Every term, values that are not finite, another head dimension: all is right, and then the driver fails.
configure softcap+alibi+bias+mask 64 4
FAKE_CUDA_FAULT=1 tune 1 --output terms.json "${few[@]}" --only tile_v=16 --only block_k=12 --shape 1,1,1,32,24,64
says stderr "error: the baseline of forward_softcap_alibi_bias_mask_f32_cuda_d64_nansafe failed: crash: 1,1,1,32,24,64: cuEventSynchronize:"

# A driver that crashes while it is asked is named, and nothing is measured.
mkdir broken
if echo 'int cuInit(unsigned flags) { (void)flags; __builtin_trap(); }' | cc -shared -fPIC -o broken/libcuda.so.1 -xc -; then
    LD_LIBRARY_PATH=$work/broken "$FLASHWRIGHT_BIN" tune --backend cuda --output broken.json "${few[@]}" --only tile_v=16 --only block_k=12 >stdout 2>stderr </dev/null ||
        fail "a driver that crashes: exit code $?: $(cat stderr)"
    says stderr "warning: asking the driver: signal" "; nothing is measured"
    says stdout "No device was used"
else
    fail "no driver that crashes could be made"
fi

# Without ptxas nothing is predicted, and where a search would start is measured.
configure "" 32 4
if command -v nvdisasm >/dev/null || [ -x /usr/local/cuda/bin/nvdisasm ]; then
    echo "[SKIP] nvdisasm is installed: a run without it is not tried"
else
    CUDA_TOOLS='' tune 0 --output counted.json --only threads=32 --only rows=2 --only tile_d=4 --only tile_v=4 "${shape[@]}" --jobs 1
    says stderr "warning:" "without predictions, only the starting points of the search are measured"
    says stdout "measured: 1 besides the baseline" "Nothing was predicted"
    grep -q '"basis": "measured"' counted.json || fail "no evidence without a prediction"
    grep -q predicted counted.t4.json && fail "something was predicted without the programs for it"
fi

tune 1 --output w.json --shape 1,1,1,8,8,128
says stderr "error: shape: expected one that a tuned kernel takes, got 1,1,1,8,8,128"
tune 1 --output w.json --resume
says stderr "error: resume: expected none with --backend cuda, got one"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
