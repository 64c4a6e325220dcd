#!/usr/bin/env bash
# The tuner against candidates that are wrong, crash, hang or eat memory, against kill -9, and against itself.
# FLASHWRIGHT_FAULTS: folder of the faulty kernels' objects.
set -uo pipefail

[ -d "${FLASHWRIGHT_FAULTS:-}" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
real=$(dirname "$FLASHWRIGHT_BIN")/flashwright_generate
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# tune CODE ARGUMENT...
tune() {
    local expected=$1 code=0
    shift
    "$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --shape 1,2,2,64,64,40 "$@" >stdout 2>stderr </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "tune $*: exit code $code, expected $expected: $(tail -n 3 stderr)"
}

says() {
    local file=$1 text
    shift
    for text in "$@"; do grep -qF -- "$text" "$file" || fail "'$text' is not in $file: $(tail -n 20 "$file")"; done
}

# A generator program whose nth kernel after the default has the nth fault; the list is in $work/faults.
mkdir generator
sed 's/"generator_hash": "/"generator_hash": "faulty-/' "$real.json" >generator/generate.json
cat >generator/generate <<SCRIPT
#!/usr/bin/env bash
real=$real work=$work objects=$FLASHWRIGHT_FAULTS
SCRIPT
cat >>generator/generate <<'SCRIPT'
arguments="$*"
out=$(sed 's/.*-o \([^ ]*\).*/\1/' <<<"$arguments")
[[ $arguments == *"block_q=24 row_vectors=3 tile_d=8 tile_k=4 tile_v=4"* && ! -e $work/spoil-default ]] && exec "$real" "$@"
[[ $arguments == *"block_q=24 row_vectors=3 tile_d=8 tile_k=4 tile_v=4"* ]] && exec cp "$objects/faulty_kernel_1.o" "$out/candidate.o"
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
    *) exec cp "$objects/faulty_kernel_$fault.o" "$out/candidate.o" ;;
esac
SCRIPT
chmod +x generator/generate
export FLASHWRIGHT_GENERATOR=$work/generator/generate

"$FLASHWRIGHT_BIN" info --json >info.json
grep -q '"name": "avx2"' info.json || exit 77

# Every fault: the run ends with a right winner, or the default, and names each.
printf '%s\n' 1 2 3 4 5 6 7 8 sleep garbage fail >faults
limits=(--compile-limit 10 --run-limit 4 --jobs 2 --budget 4m --strategy random)
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

# A second run skips them: they would be real now, and are not built again.
before=$(wc -l <winners.t4.json.journal)
tune 0 --output winners.json "${limits[@]}" --candidates 14 --resume
says stderr "known from the journal"
grep -c '"trial"' winners.t4.json.journal >count
[ "$(cat count)" -le 15 ] || fail "--resume tried candidates again: $(cat count) trials, before $before lines"

# Nothing but faults: an error, and the winners file is not touched.
cp winners.json before.json
for _ in $(seq 8); do printf '%s\n' 1 2 3; done >faults
XDG_CACHE_HOME=$work/cache2 tune 1 --output winners.json "${limits[@]}" --candidates 5
says stderr "error: " "no candidate was right"
cmp -s winners.json before.json || fail "a run that failed changed the winners file"
touch spoil-default
XDG_CACHE_HOME=$work/cache3 tune 1 --output none.json "${limits[@]}" --candidates 3
says stderr "error: " "the default"
[ ! -e none.json ] || fail "a winners file without a right candidate"
rm spoil-default
: >faults

# Interrupted: what was found is kept, exit code 130.
rm -f late.json*
"$FLASHWRIGHT_BIN" tune --dtype f32 --isa avx2 --shape 1,2,2,64,64,40 --output late.json --budget 2m >stdout 2>stderr </dev/null &
pid=$!
for _ in $(seq 300); do grep -qs '"trial"' late.t4.json.journal && break; sleep 0.1; done
sleep 1
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "an interrupted run: exit code $code, expected 130"
[ -s late.t4.json ] || fail "an interrupted run left no results"

# Folders that cannot be written to, and wrong command lines.
tune 1 --output none/winners.json
says stderr "none"
tune 2
tune 2 --output w.json --strategy best
tune 1 --output w.json --budget soon
says stderr budget
tune 1 --output w.json --isa mmx
says stderr isa

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
