#!/usr/bin/env bash
# `tune --backend cuda` against code that spills, and against programs that crash, hang and refuse; then, where ptxas and
# nvdisasm are, on real code.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
cd "$work" || exit 1
tools=${CUDA_TOOLS:-}
bin=$(dirname "$FLASHWRIGHT_BIN")
real=$bin/flashwright_generate_gpu
[ -x "$real" ] || skip "no CUDA in this build"
python=python3
[ -x "$FLASHWRIGHT_SOURCE_DIR/build/venv/bin/python" ] && python=$FLASHWRIGHT_SOURCE_DIR/build/venv/bin/python

# tune CODE ARGUMENT...
tune() {
    local expected=$1 code=0
    shift
    "$FLASHWRIGHT_BIN" tune --backend cuda "$@" >stdout 2>stderr </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "tune $*: exit code $code, expected $expected: $(tail -n 3 stderr)"
}

# One forward kernel, head_dim 32, and one that is not tuned.
$python - "$real.json" <<'PYTHON' || fail "the facts about the generator"
import json, os, sys
facts = json.load(open(sys.argv[1]))
configuration = json.load(open(os.path.join(os.path.dirname(sys.argv[1]), facts["configuration"])))
kernels = configuration["kernels"]
forward = next(k for k in kernels if k["op"] == "forward" and k["head_dim"] == 32 and not k["terms"])
forward["tiles"] = {"threads": 64, "rows": 2, "block_k": 16, "tile_d": 4, "tile_v": 16, "threads_per_row": 1}
other = next(k for k in kernels if k["op"] == "backward")
configuration["kernels"] = [other, forward]
configuration["comment"] = "é; [x]"
configuration["machine"] = {"family": "any", "more": [1, {"a": None}]}
facts["configuration"] = "configuration.json"
json.dump(facts, open("facts.json", "w"))
json.dump(configuration, open("configuration.json", "w"))
PYTHON

# What the fakes hand on is the generator's command line. Of block_k 4 the code spills, of 8 ptxas crashes, of 12 it hangs, 20 it
# refuses; 24 is better than 16. Files called fail and spill break all, or the baseline alone.
mkdir fake tools
cp facts.json fake/generate.json
cp configuration.json fake
cat >fake/generate <<'FAKE'
#!/usr/bin/env bash
echo "$*" >"$2/candidate.device_code"
FAKE
cat >tools/ptxas <<FAKE
#!/usr/bin/env bash
work=$work
FAKE
cat >>tools/ptxas <<'FAKE'
[ "$1" = --help ] && { echo "'sm_80','sm_90'"; exit; }
code=$(<"$3")
keys=$(sed 's/.*block_k=\([0-9]*\).*/\1/' <<<"$code")
spilled=0
[ -e "$work/fail" ] && keys=20
[ "$keys" = 16 ] && [ -e "$work/spill" ] && spilled=64
case $keys in
    4) spilled=8 ;;
    8) kill -SEGV $$ ;;
    12) exec -a "hang of $work" sleep 4321 ;;
    20) echo "ptxas fatal: no" >&2; exit 255 ;;
esac
echo "$code" >"$5"
echo "    0 bytes stack frame, $spilled bytes spill stores, 0 bytes spill loads" >&2
echo "ptxas info    : Used 128 registers, used 1 barriers" >&2
FAKE
cat >tools/nvdisasm <<FAKE
#!/usr/bin/env bash
work=$work
FAKE
cat >>tools/nvdisasm <<'FAKE'
keys=$(sed 's/.*block_k=\([0-9]*\).*/\1/' "$2")
awk -v keys="$keys" 'BEGIN {
    print ".L_x_0:"
    for (i = 0; i < 2 * 32 * keys; i++) print "/*0000*/ FFMA R" i % 64 ", R100, R101, R" i % 64 " ;"
    for (i = 0; i < 640; i++) print "/*0000*/ MOV R" i % 64 ", R102 ;"
    print "/*0000*/ @P0 BRA `(.L_x_0) ;"
}'
echo "$keys" >>"$work/listed"
FAKE
chmod +x fake/generate tools/ptxas tools/nvdisasm
export FLASHWRIGHT_GPU_GENERATOR=$work/fake/generate CUDA_TOOLS=$work/tools
export CUDA_VISIBLE_DEVICES=-1  # where there is a device, too
few=(--only threads=64 --only rows=2 --only tile_d=4 --only tile_v=16 --only threads_per_row=1 --strategy exhaustive --jobs 4)

tune 0 --output faults.json "${few[@]}" --only block_k=4,8,12,20,24 --compile-limit 20
says stdout "6 of 6 candidates tried, 2 compile, 1 spill, 1 timeout" "win: threads=64 rows=2 block_k=24" \
    "No device was used" "-DFLASHWRIGHT_GPU_CONFIG=$work/faults.json" "sm_80, sm_90,"
says stderr "block_k=8 tile_d=4 tile_v=16 threads_per_row=1: ptxas for sm_80: signal 11" "block_k=12 tile_d=4 tile_v=16 threads_per_row=1: ptxas for sm_80: not done" \
    "block_k=20 tile_d=4 tile_v=16 threads_per_row=1: ptxas for sm_80: exit code 255: ptxas fatal: no"
$python - <<'PYTHON' || fail "the files of the fault suite"
import collections, json
before, after = json.load(open("configuration.json")), json.load(open("faults.json"))
before["kernels"][1]["tiles"]["block_k"] = 24
evidence = after.pop("evidence")["forward_f32_cuda_d32"]
assert after == before, after
assert evidence.pop("ratio") < 0.995 and evidence == {"basis": "predicted", "verdict": "win", "model": "static-1", "architectures": ["sm_80", "sm_90"]}, evidence
results = json.load(open("faults.t4.json"))["results"]
by = {(r["configuration"]["block_k"], r["x_arch"]): (r["invalidity"], r["x_verdict"]) for r in results}
assert by == {(16, "sm_80"): ("correct", "ok"), (16, "sm_90"): ("correct", "ok"), (24, "sm_80"): ("correct", "ok"),
              (24, "sm_90"): ("correct", "ok"), (4, "sm_80"): ("constraints", "spill"), (8, "sm_80"): ("compile", "compile"),
              (12, "sm_80"): ("compile", "timeout"), (20, "sm_80"): ("compile", "compile")}, by
assert all("x_detail" in r for r in results if r["x_verdict"] != "ok")
assert all(r["x_basis"] == "predicted" for r in results)
PYTHON
pgrep -f "hang of $work" >/dev/null && fail "a process is left"

# A tie keeps the baseline, also in JSON.
tune 0 --output tie.json "${few[@]}" --only block_k=4,16 --only tile_v=16,32 --json
$python -c 'import json
kernel, = json.load(open("stdout"))
assert kernel["verdict"] == "tie" and kernel["backend"] == "cuda" and kernel["failures"] == {"spill": 2}, kernel
after = json.load(open("tie.json"))
assert after.pop("evidence")["forward_f32_cuda_d32"]["verdict"] == "tie"
assert after == json.load(open("configuration.json"))' || fail "a tie"

# No prediction replaces tiles that a device chose, nor what says so.
$python - <<'PYTHON'
import json
configuration = json.load(open("configuration.json"))
configuration["evidence"] = {"forward_f32_cuda_d32": {"basis": "measured", "verdict": "win"}}
json.dump(configuration, open("fake/configuration.json", "w"))
PYTHON
for keys in 4,16 24; do
    tune 0 --output kept.json "${few[@]}" --only block_k=$keys --only tile_v=16,32
    $python -c 'import json
assert json.load(open("kept.json")) == json.load(open("fake/configuration.json"))' || fail "a measurement was forgotten for a prediction"
done
says stdout "best predicted: threads=64 rows=2 block_k=24" "the baseline was chosen on a device and stays"
says stderr "warning: forward_f32_cuda_d32: its tiles were chosen on a device, so no prediction replaces them"
cp configuration.json fake

# A baseline that spills is replaced by a candidate that does not, whatever is predicted.
touch spill
tune 0 --output spill.json "${few[@]}" --only block_k=24
grep -q '"block_k": 24' spill.json || fail "the baseline that spills stayed"
rm spill

# Nothing right: the files stay as they were.
old='{"schema_version": 2, "kernels": []}'
echo "$old" >none.json
tune 1 --output none.json "${few[@]}" --only block_k=4
says stderr "error: nothing was compared with the baseline" "none.t4.json"
[ "$(cat none.json)" = "$old" ] || fail "a file was written without a candidate that is right"
touch fail
tune 1 --output all.json "${few[@]}" --only block_k=4,24
says stderr "error: forward_f32_cuda_d32: the baseline cannot be analyzed: ptxas for sm_80: exit code 255: ptxas fatal: no"
[ ! -e all.json ] || fail "a file was written though all failed"
rm fail

# Interrupted: what is known is kept.
rm -f listed
"$FLASHWRIGHT_BIN" tune --backend cuda --output late.json "${few[@]}" --only block_k=12,24 --compile-limit 3600 >stdout 2>stderr </dev/null &
pid=$!
# 24 is listed for two architectures while 12 hangs.
until [ "$(grep -cs '^24$' listed)" = 2 ] && pgrep -f "hang of $work" >/dev/null; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
sleep 2
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "an interrupted run: exit code $code, expected 130"
grep -q '"block_k": 24' late.json || fail "an interrupted run did not keep what it knew"

# A file that is no configuration of GPU kernels is not replaced.
echo '{"schema_version": 2, "kernels": [], "more": 1}' >unknown.json
tune 1 --output unknown.json "${few[@]}"
says stderr "error: unknown.json:1:46: expected any of the members" 'got "more"'
grep -q more unknown.json || fail "a file that could not be read was replaced"

# Wrong command lines.
for option in --resume "--isa avx2" "--warm-start F" "--max-variants 2"; do
    # shellcheck disable=SC2086 # a word or two
    tune 1 --output w.json $option
    name=${option#--}
    says stderr "error: ${name%% *}: expected none with --backend cuda"
done
echo '["1,1,1,8,8,32"]' >shapes
for option in "--shape 1,1,1,8,8,32" "--shapes shapes" "--run-limit 1" --keep-duplicates; do
    # shellcheck disable=SC2086 # a word or two
    tune 1 --output w.json $option
    name=${option#--}
    says stderr "error: ${name%% *}: expected none without a CUDA device, got one; "
done
tune 1 --verify F
says stderr "error: verify: expected none"
tune 1 --output w.json --dtype f64
says stderr "error: dtype: expected f32 with --backend cuda, got f64"
tune 1 --output w.json --op backward
says stderr "error: op: expected forward"
tune 1 --output w.json --only block_q=8
says stderr "error: only: expected one of head_dim, threads, rows, block_k, tile_d, tile_v, threads_per_row, got block_q"
tune 1 --output w.json --only head_dim=48
says stderr "error: only: expected a head_dim of some kernel (32), got 48"
tune 1 --output w.json --only rows=7
says stderr "besides the baseline"
tune 1 --output none/w.json
says stderr "none"
"$FLASHWRIGHT_BIN" tune --output w.json --backend opencl 2>stderr && fail "OpenCL was tuned"
says stderr "error: backend: expected cpu or cuda, got opencl" "without running"
"$FLASHWRIGHT_BIN" tune --output w.json --backend metal 2>stderr
[ $? -eq 2 ] || fail "a backend that there is not: $(cat stderr)"
FLASHWRIGHT_GPU_GENERATOR=/nowhere tune 1 --output w.json
says stderr "error: /nowhere: expected the generator program of GPU kernels"
mkdir empty
CUDA_TOOLS='' PATH=$work/empty tune 1 --output w.json
grep -q "error: [a-z]*: expected the [a-z]* of the CUDA toolkit, in the folder that CUDA_TOOLS names" stderr ||
    [ -x /usr/local/cuda/bin/nvdisasm ] || fail "no tools: $(cat stderr)"

# Real code: two candidates besides the baseline.
export CUDA_TOOLS=$tools
[ $failures -eq 0 ] || exit 1
for tool in ptxas nvdisasm; do
    PATH=$tools:$PATH:/usr/local/cuda/bin command -v $tool >/dev/null || skip "no $tool: the fakes passed, no real code was looked at"
done
mkdir some
ln -s "$real" some/generate
cp facts.json some/generate.json
cp configuration.json some
export FLASHWRIGHT_GPU_GENERATOR=$work/some/generate
tune 0 --output real.json --only threads=64 --only rows=2 --only block_k=4,8 --only tile_d=4 --only tile_v=16 --only threads_per_row=1 --candidates 3
says stdout "3 of 3 candidates tried" "0 bytes spilled" "No device was used"
$python - "$FLASHWRIGHT_SOURCE_DIR/docs/schemas/results-2.schema.json" <<'PYTHON' || fail "the results of real code"
import json, sys
file = json.load(open("real.t4.json"))
for result in file["results"]:
    seen = {m["name"]: m["value"] for m in result["measurements"]}
    assert result["invalidity"] == "correct" and result["x_kernel"] == "forward_f32_cuda_d32", result
    assert 32 < seen["registers"] <= 255 and seen["spilled"] == 0 and seen["shared_memory"] == 128 * 36 * 4, seen
    assert 0.3 < seen["ffma_share"] < 1 and 0 < seen["occupancy"] <= 1, seen
    assert seen["predicted_cycles"] >= 1 / seen["ffma_share"] - 1e-3, seen
    assert seen["ratio"] == 1 if result.get("x_baseline") else 0.5 < seen["ratio"] < 2, seen
try:
    import jsonschema
except ImportError:
    print("[SKIP] jsonschema is not installed: the results are not checked against their schema")
else:
    jsonschema.validate(file, json.load(open(sys.argv[1])))
    jsonschema.validate(json.load(open("faults.t4.json")), json.load(open(sys.argv[1])))
PYTHON

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
