#!/usr/bin/env bash
# The tuner against candidates that are wrong, crash, hang or eat memory, against kill -9, and against itself.
# FLASHWRIGHT_FAULTS: folder of the faulty kernels' objects.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
[ -d "${FLASHWRIGHT_FAULTS:-}" ] || skip "built with a sanitizer; the release preset runs this"
cd "$work" || exit 1
real=$(dirname "$FLASHWRIGHT_BIN")/flashwright_generate
export XDG_CACHE_HOME=$work/cache

# tune CODE ARGUMENT...
tune() {
    local expected=$1 code=0
    shift
    "$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --shape 1,2,2,64,64,40 "$@" >stdout 2>stderr </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "tune $*: exit code $code, expected $expected: $(tail -n 3 stderr)"
}

# A generator program whose nth kernel after the baseline has the nth fault; the list is in $work/faults.
mkdir generator
sed 's/"generator_hash": "/"generator_hash": "faulty-/' "$real.json" >generator/generate.json
cat >generator/generate <<SCRIPT
#!/usr/bin/env bash
real=$real work=$work objects=$FLASHWRIGHT_FAULTS
SCRIPT
cat >>generator/generate <<'SCRIPT'
arguments="$*"
out=$(sed 's/.*-o \([^ ]*\).*/\1/' <<<"$arguments")
kind=kernel
[[ $arguments == *"-g backward"* ]] && kind=gradient
if [[ $arguments == *"block_q=24 row_vectors=3 tile_d=8 tile_k=4 tile_v=4"* || $arguments == *"tile_k=4 width=16 tile_q=6"* ]]; then
    [ -e "$work/spoil-baseline" ] || exec "$real" "$@"
    exec cp "$objects/${kind}_1.o" "$out/candidate.o"
fi
exec 9>"$work/lock"
flock 9
fault=$(head -n 1 "$work/faults")
sed -i 1d "$work/faults"
flock -u 9
case $fault in
    "") exec "$real" "$@" ;;
    sleep) exec sleep 1000 ;;
    garbage) echo "no object" >"$out/candidate.o" ;;
    fail) echo "error: it does not compile" >&2; exit 1 ;;
    late)
        "$real" "$@" && objcopy --redefine-sym flashwright_candidate=real_candidate "$out/candidate.o" &&
            ld -r -o "$out/late.o" "$out/candidate.o" "$work/late.o" && mv "$out/late.o" "$out/candidate.o"
        exit ;;
    *) exec cp "$objects/${kind}_$fault.o" "$out/candidate.o" ;;
esac
SCRIPT
chmod +x generator/generate
export FLASHWRIGHT_GENERATOR=$work/generator/generate

"$FLASHWRIGHT_BIN" info --json >info.json
grep -q '"name": "avx2"' info.json || skip "this build has no avx2"

# Every fault: the run ends with a right winner, or the baseline, and reports each.
printf '%s\n' 1 2 3 4 5 6 7 8 sleep garbage fail >faults
# Generous enough for a busy machine; the endless ones last that long.
limits=(--compile-limit 40 --run-limit 15 --jobs 2 --budget 2h --strategy random)
tune 0 --output winners.json "${limits[@]}" --candidates 14
[ -s winners.json ] || fail "no winners file"
[ ! -s faults ] || fail "not all faults were tried: $(tr '\n' ' ' <faults)"
python3 - <<'PYTHON' || fail "the results of the fault suite"
import collections, json
results = json.load(open("winners.t4.json"))["results"]
by = collections.Counter((r["invalidity"], r["x_verdict"]) for r in results)
assert by["correctness", "wrong"] == 4, by   # wrong scale, half written, NaN, beside the output
assert by["runtime", "crash"] == 2, by       # segfault, abort
assert by["timeout", "timeout"] == 1, by     # endless kernel
assert by["runtime", "out of memory"] == 1, by
assert by["compile", "timeout"] == 1, by     # endless compilation
assert by["compile", "compile"] == 2, by     # garbage, failure
assert by["correct", "ok"] >= 3, by
for result in results:
    assert result["invalidity"] == "correct" or result["x_detail"], result
winners = json.load(open("winners.json"))
row, = winners["kernels"][0]["table"]
right = [r["configuration"] for r in results if r["invalidity"] == "correct"]
tiles = {v["id"]: v["tiles"] for v in winners["kernels"][0]["variants"]}[row["variant"]]
assert tiles in right, row
PYTHON

# The same of backward, into the same file.
printf '%s\n' 1 3 4 5 6 7 sleep garbage >faults
tune 0 --op backward --output winners.json --results gradient.t4.json "${limits[@]}" --candidates 11 \
    --only block_q=60 --only block_k=96
[ ! -s faults ] || fail "backward: not all faults were tried: $(tr '\n' ' ' <faults)"
python3 - <<'PYTHON' || fail "the results of the fault suite of backward"
import collections, json
results = json.load(open("gradient.t4.json"))["results"]
by = collections.Counter((r["invalidity"], r["x_verdict"]) for r in results)
assert by["correctness", "wrong"] == 2, by  # nothing added, NaN
assert by["runtime", "crash"] == 2, by      # segfault, abort
assert by["timeout", "timeout"] == 1, by    # endless kernel
assert by["runtime", "out of memory"] == 1, by
assert by["compile", "timeout"] == 1 and by["compile", "compile"] == 1, by
assert by["correct", "ok"] >= 2, by
assert {r["x_op"] for r in results} == {"backward"}
kernels = {kernel["op"]: kernel for kernel in json.load(open("winners.json"))["kernels"]}
assert set(kernels) == {"forward", "backward"}, kernels
row, = kernels["backward"]["table"]
tiles = {v["id"]: v["tiles"] for v in kernels["backward"]["variants"]}[row["variant"]]
assert tiles in [r["configuration"] for r in results if r["invalidity"] == "correct"], row
PYTHON

# What others read of it: schemas, page, caches; and our own replay.
venv=$FLASHWRIGHT_SOURCE_DIR/build/venv/bin/python
python=python3
[ ! -x "$venv" ] || python=$venv
if $python -c 'import jsonschema' 2>/dev/null; then
    $python - "$FLASHWRIGHT_SOURCE_DIR/docs/schemas" <<'PYTHON' || fail "the schemas"
import json, jsonschema, sys
for file, schema in (("winners.json", "configuration-2"), ("winners.t4.json", "results-2"), ("gradient.t4.json", "results-2")):
    schema = json.load(open(f"{sys.argv[1]}/{schema}.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.load(open(file)), schema)
schema = json.load(open(f"{sys.argv[1]}/journal-2.schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
for line in open("winners.t4.json.journal"):
    jsonschema.validate(json.loads(line), schema)
PYTHON
else
    echo "[SKIP] jsonschema is not installed: files are not checked against their schemas"
fi
"$FLASHWRIGHT_BIN" report winners.t4.json -o report.html --kernel-tuner caches || fail "report"
for text in '<svg' 'Winners' 'out of memory' 'signal 11'; do
    grep -qF "$text" report.html || fail "'$text' is not in the report"
done
"$FLASHWRIGHT_BIN" report gradient.t4.json -o report.html || fail "report of backward"
grep -qF 'tile_q=' report.html || fail "tile_q is not in the report of backward"
"$FLASHWRIGHT_BIN" replay winners.t4.json --seeds 1 --strategy random >stdout || fail "replay"
says stdout "sees all of them"
"$FLASHWRIGHT_BIN" replay winners.t4.json --seeds 3 --candidates 5 --json >stdout || fail "replay"
python3 - <<'PYTHON' || fail "caches or replay"
import glob, json
file, = glob.glob("caches/*.json")
cache = json.load(open(file))
assert set(cache) >= {"device_name", "kernel_name", "problem_size", "tune_params_keys", "tune_params", "cache"}
errors = [c["time"] for c in cache["cache"].values() if isinstance(c["time"], str)]
assert errors.count("CompilationFailedConfig") == 2 and "RuntimeFailedConfig" in errors, errors
for key, entry in cache["cache"].items():
    assert key == ",".join(str(entry[name]) for name in cache["tune_params_keys"])
assert {row["strategy"] for row in json.load(open("stdout"))} == {"auto", "random", "local"}
PYTHON
"$FLASHWRIGHT_BIN" tune --verify winners.json >stdout 2>stderr || fail "tune --verify: $(tail -n 2 stderr)"
echo '{"schema_version": 1' >cut.json
"$FLASHWRIGHT_BIN" tune --verify cut.json >stdout 2>stderr && fail "tune --verify of a file that is cut"
says stderr "error: cut.json"

# A second run skips them: they would be real now, and are not built again.
before=$(wc -l <winners.t4.json.journal)
tune 0 --output winners.json "${limits[@]}" --candidates 14 --resume
says stderr "known from the journal"
grep -c '"entry":"candidate"' winners.t4.json.journal >count
[ "$(cat count)" -le 15 ] || fail "--resume tried candidates again: $(cat count) candidates, before $before lines"

# Nothing but faults: an error, and the winners file is not touched.
cp winners.json before.json
for _ in $(seq 8); do printf '%s\n' 1 2 3; done >faults
XDG_CACHE_HOME=$work/cache2 tune 1 --output winners.json "${limits[@]}" --candidates 5
says stderr "error: " "no candidate was correct"
cmp -s winners.json before.json || fail "a run that failed changed the winners file"
touch spoil-baseline
XDG_CACHE_HOME=$work/cache3 tune 1 --output none.json "${limits[@]}" --candidates 3
says stderr "error: " "the baseline"
[ ! -e none.json ] || fail "a winners file without a right candidate"
rm spoil-baseline
: >faults

# A candidate that crashes in the final selection is reported, and the others go on. On another shape it is tried again.
cat >late.s <<ASSEMBLER
.globl flashwright_candidate
flashwright_candidate:
    push %rdi; push %rsi; push %rdx; push %rcx; push %r11
    mov \$21, %eax
    lea path(%rip), %rdi
    xor %esi, %esi
    syscall                 # access(path, F_OK)
    pop %r11; pop %rcx; pop %rdx; pop %rsi; pop %rdi
    test %rax, %rax
    jnz real_candidate
    ud2
path: .asciz "$work/final"
.section .note.GNU-stack,"",@progbits
ASSEMBLER
# The file tells the candidate that the final selection has begun.
final_tune() {
    rm -f final
    : >stderr
    "$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --output final.json --candidates 4 --strategy random "$@" \
        >stdout 2>stderr </dev/null &
    local pid=$!
    until grep -q "final selection on" stderr; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
    touch final
    wait $pid || fail "final_tune $*: $(tail -n 3 stderr)"
}
if as late.s -o late.o && command -v objcopy >/dev/null; then
    echo late >faults
    export XDG_CACHE_HOME=$work/cache4
    final_tune --shape 1,2,2,64,64,40
    final_tune --shape 1,2,2,64,96,40 --resume
    python3 - <<'PYTHON' || fail "a crash in the final selection"
import json
crashes = [r["x_shape"] for r in json.load(open("final.t4.json"))["results"] if r["x_verdict"] == "crash"]
assert sorted(crashes) == ["1,2,2,64,64,40", "1,2,2,64,96,40"], crashes
assert all(row["pairs"] > 0 for row in json.load(open("final.json"))["kernels"][0]["table"])
PYTHON
    export XDG_CACHE_HOME=$work/cache
else
    echo "[SKIP] no binutils: a crash in the final selection is not tested"
fi
: >faults

# Nothing was compared: an error, and what an earlier run measured stays.
tune 1 --output winners.json --candidates 1
says stderr "budget was too short for 1,2,2,64,64,40" "nothing was compared"
cmp -s winners.json before.json || fail "a run that compared nothing changed the winners file"

# Entries of the build cache that were cut are built again.
for part in candidate.so build.json; do
    for entry in "$XDG_CACHE_HOME"/flashwright/*; do truncate -s 20 "$entry/$part"; done
    rm -f cut.json*
    tune 0 --output cut.json --candidates 2 --strategy random
    grep -q '"pairs": 40' cut.json || fail "a cache whose every $part is cut: nothing was compared"
done

# A second run into the same files while one writes them.
exec 8>>winners.t4.json.journal
flock 8
tune 1 --output winners.json --candidates 1
says stderr "winners.t4.json.journal" "another run"
exec 8>&-

# Interrupted: what was found is kept, exit code 130.
rm -f late.json*
"$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --shape 1,2,2,64,64,40 --output late.json --budget 2h >stdout 2>stderr </dev/null &
pid=$!
until grep -qs '"entry":"candidate"' late.t4.json.journal; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
sleep 1
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "an interrupted run: exit code $code, expected 130"
[ -s late.t4.json ] || fail "an interrupted run left no results"

# kill -9 of whole runs at random moments: each leaves no winners file, the one before or a whole one, and no process; the
# run that goes on ends right.
killed=(tune --dtype f32 --isa avx2 --shape "1,2,2,64,64,40" --output killed.json --candidates 10 --only row_vectors=3
        --only block_q=24 --only tile_d=8 --only tile_k=4 --only tile_v=4 --resume)
whole() {
    python3 - killed.json <<'PYTHON'
import json, sys
winners = json.load(open(sys.argv[1]))
kernel, = winners["kernels"]
row, = kernel["table"]
assert winners["evidence"] and row["variant"] in {variant["id"] for variant in kernel["variants"]}
PYTHON
}
for kill in $(seq "${FLASHWRIGHT_TEST_KILLS:-8}"); do
    "$FLASHWRIGHT_BIN" "${killed[@]}" >stdout 2>stderr </dev/null &
    pid=$!
    sleep $((RANDOM % 4)).$((RANDOM % 10))$((RANDOM % 10))
    { kill -KILL $pid && wait $pid; } 2>/dev/null
    [ ! -e killed.json ] || whole || fail "kill $kill left part of a winners file"
done
# They die with their parent, but a busy machine needs time for it.
for _ in $(seq 600); do pgrep -f "$work/cache" >/dev/null || break; sleep 0.1; done
pgrep -f "$work/cache" >/dev/null && fail "killed runs left processes: $(pgrep -af "$work/cache")"
"$FLASHWRIGHT_BIN" "${killed[@]}" >stdout 2>stderr </dev/null || fail "the run after the kills: $(tail -n 3 stderr)"
whole || fail "the winners after the kills"
says stderr "known from the journal"
python3 - <<'PYTHON' || fail "the results after the kills"
import json
results = json.load(open("killed.t4.json"))["results"]
assert len(results) >= 9 and all(r["invalidity"] == "correct" for r in results), results
PYTHON

# Folders that cannot be written to, also not by root, and wrong command lines.
mkdir read-only
cat >read-only.sh <<'SCRIPT'
mount -t tmpfs -o ro none read-only || exit 77
exec "$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --shape 1,2,2,64,64,40 --output "$1" --results "$2" 2>stderr
SCRIPT
for files in "read-only/winners.json winners.t4.json" "w.json read-only/winners.t4.json"; do
    code=0
    # shellcheck disable=SC2086 # two words
    unshare --mount --map-root-user bash read-only.sh $files >stdout 2>stderr || code=$?
    if [ $code -eq 77 ] || ! unshare --mount --map-root-user true 2>/dev/null; then
        echo "[SKIP] no folder can be mounted here: a read-only one is not tested"
        break
    fi
    [ $code -eq 1 ] || fail "a read-only folder: exit code $code, expected 1"
    says stderr "error: " "read-only" "Read-only file system"
done
tune 1 --output none/winners.json
says stderr "none"
tune 2
tune 2 --output w.json --strategy best
tune 1 --output w.json --budget soon
says stderr budget
tune 1 --output w.json --isa mmx
says stderr isa
tune 1 --output w.json --only block_x=1
says stderr only block_x block_k
tune 1 --output w.json --only tile_d=7
says stderr only forward
tune 2 --output w.json --op merge
tune 2 --output w.json --compile-limit nan
tune 2 --output w.json --candidates -3
tune 2 --output w.json --patience -3
tune 1 --output w.json --shape 2,4,4,64,64,40
says stderr "1,2,2,64,64,40 and 2,4,4,64,64,40 are the same row"
tune 1 --output w.json --shape 1,2,2,64,64,40,48
says stderr "1,2,2,64,64,40,48" DV
tune 1 --output w.json --shape 1,1,1,8,2,64
says stderr "1,1,1,8,2,64" tile_k

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
