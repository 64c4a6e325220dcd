#!/usr/bin/env bash
# The program from outside: its results, exit codes, messages and files.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
cd "$work" || exit 1
data=$FLASHWRIGHT_SOURCE_DIR/examples/data/minilm

# expect CODE ARGUMENT...: runs the program; standard output and error go to ./stdout and ./stderr.
expect() {
    local expected=$1 code=0
    shift
    "$FLASHWRIGHT_BIN" "$@" >stdout 2>stderr </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "$*: exit code $code, expected $expected: $(tail -n 2 stderr)"
    if [ "$expected" -ne 0 ] && ! grep -q '^error: ' stderr; then fail "$*: no 'error:' in: $(cat stderr)"; fi
}

absent() {
    local file
    for file in "$@"; do [ ! -e "$file" ] || fail "$file is there"; done
}

# array FILE DESCR FORTRAN_ORDER SHAPE HEX...: a .npy file of version 1, values as little-endian bytes in hexadecimal.
array() {
    local header values
    header=$(printf "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" "$2" "$3" "$4")
    {
        printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
        values=$(printf '%s' "${@:5}" | sed 's/../\\x&/g')
        printf '%b' "$values"
    } >"$1"
}

# The f64 values 0 to 6 in hexadecimal.
n=(0000000000000000 000000000000f03f 0000000000000040 0000000000000840 0000000000001040 0000000000001440 0000000000001840)
minus_infinity=000000000000f0ff

# values FILE TYPE EXPECTED...: what is in the file, to 1e-9.
values() {
    local file=$1 type=$2
    shift 2
    od -An -v -w8 -j 128 -t "$type" "$file" | tr -s ' \n' ' ' | awk -v expected="$*" '
        { count = split(expected, want, " "); if (NF != count) { print NF " values, expected " count; exit 1 }
          for (i = 1; i <= NF; i++) if ($i != want[i] && ($i - want[i] > 1e-9 || want[i] - $i > 1e-9)) {
              print "value " i " is " $i ", expected " want[i]; exit 1 } }' ||
        fail "values of $file"
}

array q.npy '<f8' False '(2, 2)' "${n[1]}" "${n[0]}" "${n[0]}" "${n[1]}"
array q3.npy '<f8' False '(3, 2)' "${n[1]}" "${n[0]}" "${n[0]}" "${n[1]}" "${n[1]}" "${n[1]}"
array k.npy '<f8' False '(3, 2)' "${n[1]}" "${n[0]}" "${n[0]}" "${n[1]}" "${n[1]}" "${n[1]}"
array v.npy '<f8' False '(3, 2)' "${n[@]:1:6}"
array k_fortran.npy '<f8' True '(3, 2)' "${n[1]}" "${n[0]}" "${n[1]}" "${n[0]}" "${n[1]}" "${n[1]}"
array v_fortran.npy '<f8' True '(3, 2)' "${n[1]}" "${n[3]}" "${n[5]}" "${n[2]}" "${n[4]}" "${n[6]}"
dense_out=(3 4 3.406672556079 4.406672556079)
causal_out=(1 2 2.339523098653 3.339523098653 3.510469530454 4.510469530454)
qkv=(--q q.npy --k k.npy --v v.npy)

# help
for command in "" run "run forward" "run backward" "run merge" "run step" bench info; do
    # shellcheck disable=SC2086
    expect 0 $command --help
    says stdout Example
done
expect 0 --version

# results
expect 0 run forward "${qkv[@]}" --out out.npy --lse lse.npy --verify
says stdout "largest error"
says stderr forward_ _f64_ "q [seqlen_q 2, head_dim 2]" "k [seqlen_k 3, head_dim 2]" "v [seqlen_k 3, head_dim_v 2]"
values out.npy f8 "${dense_out[@]}"
values lse.npy f8 1.620621139057 1.620621139057
for block in 1 2 3 8 100; do
    expect 0 run forward "${qkv[@]}" --out out.npy --key-block $block
    values out.npy f8 "${dense_out[@]}"
done
expect 0 run forward --q q.npy --k k_fortran.npy --v v_fortran.npy --out fortran.npy
values fortran.npy f8 "${dense_out[@]}"
expect 0 run forward --q q3.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --causal --align top-left
values out.npy f8 "${causal_out[@]}"
values lse.npy f8 0.707106781187 1.107940307657 2.100405301228
expect 0 run forward --q q3.npy --k k.npy --v v.npy --out other.npy --diagonal 0 --causal --threads 2 --isa baseline
values other.npy f8 "${causal_out[@]}"
says stderr baseline
expect 0 run forward --q q3.npy --k k.npy --v v.npy --out out.npy --window 0,0
values out.npy f8 1 2 3 4 5 6
expect 0 run forward "${qkv[@]}" --out out.npy --scale 0
values out.npy f8 3 4 3 4

array mask.npy '|b1' False '(1, 3)' 01 00 01
array bias.npy '<f8' False '(2, 3)' "${n[0]}" $minus_infinity "${n[0]}" "${n[0]}" "${n[0]}" $minus_infinity
array slopes.npy '<f8' False '(1,)' "${n[0]}"
array lengths.npy '<i4' False '(1,)' 02000000
expect 0 run forward "${qkv[@]}" --out out.npy --scale 0 --mask mask.npy
values out.npy f8 3 4 3 4
expect 0 run forward "${qkv[@]}" --out out.npy --scale 0 --bias bias.npy
values out.npy f8 3 4 2 3
expect 0 run forward "${qkv[@]}" --out out.npy --alibi slopes.npy --softcap 1e9
values out.npy f8 "${dense_out[@]}"
expect 0 run forward "${qkv[@]}" --out out.npy --scale 0 --key-lengths lengths.npy --verify
values out.npy f8 2 3 2 3

# backward: the gradient of a sum of outputs, where every value is worth its weights
gradients=(--dq dq.npy --dk dk.npy --dv dv.npy)
array dout.npy '<f8' False '(2, 2)' "${n[1]}" "${n[1]}" "${n[1]}" "${n[1]}"
expect 0 run forward "${qkv[@]}" --out out.npy --lse lse.npy
expect 0 run backward "${qkv[@]}" --out out.npy --lse lse.npy --dout dout.npy "${gradients[@]}" --verify
says stderr backward_ _f64_ "q [seqlen_q 2, head_dim 2]" "k [seqlen_k 3, head_dim 2]" "v [seqlen_k 3, head_dim_v 2]"
values dv.npy f8 0.598887907320 0.598887907320 0.598887907320 0.598887907320 0.802224185360 0.802224185360
expect 2 run backward "${qkv[@]}" --out out.npy --lse lse.npy --dout dout.npy "${gradients[@]}" --dbias dbias.npy
rm dq.npy dk.npy dv.npy
expect 1 run backward "${qkv[@]}" --out out.npy --lse lse.npy --dout q.npy --key-lengths lse.npy "${gradients[@]}"
absent dq.npy dk.npy dv.npy

# merge: keys split 6 | 2
array out_a.npy '<f8' False '(1, 1)' 0000000000000440
array out_b.npy '<f8' False '(1, 1)' 0000000000001a40
array lse_a.npy '<f8' False '(1,)' 02202afa0babfc3f
array lse_b.npy '<f8' False '(1,)' ef39fafe422ee63f
expect 0 run merge --out-a out_a.npy --lse-a lse_a.npy --out-b out_b.npy --lse-b lse_b.npy --out out.npy --lse lse.npy
values out.npy f8 3.5
values lse.npy f8 2.079441541679836
says stderr merge_f64_ "out_a [seqlen_q 1, head_dim_v 1]"

# step: from the empty state
array m.npy '<f8' False '(2,)' $minus_infinity $minus_infinity
array l.npy '<f8' False '(2,)' "${n[0]}" "${n[0]}"
array acc.npy '<f8' False '(2, 2)' "${n[0]}" "${n[0]}" "${n[0]}" "${n[0]}"
array scores.npy '<f8' False '(2, 3)' "${n[2]}" "${n[2]}" "${n[2]}" "${n[1]}" $minus_infinity "${n[1]}"
expect 0 run step --m m.npy --l l.npy --acc acc.npy --scores scores.npy --v v.npy --m-out m2.npy --l-out l2.npy --acc-out acc2.npy
values m2.npy f8 2 1
values l2.npy f8 3 2
values acc2.npy f8 9 12 6 8
says stderr step_f64_ "scores [seqlen_q 2, block 3]" "v [block 3, head_dim_v 2]"

# recorded tensors
recorded=(--q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --key-lengths "$data/key_lengths.npy")
expect 0 run forward "${recorded[@]}" --out real.npy --lse real_lse.npy --verify
cmp -s <(head -c 128 real.npy) <(head -c 128 "$data/out.npy") || fail "the header of real.npy"
for threads in 1 2 3; do
    expect 0 run forward "${recorded[@]}" --out again.npy --threads $threads
    cmp real.npy again.npy || fail "$threads threads give other bytes"
done

# wrong command lines
absent_options=("" run "run forward" "run backward" "run merge" "run step" "info --nothing" "bench --shape" "fly")
for command in "${absent_options[@]}"; do
    # shellcheck disable=SC2086
    expect 2 $command
done
all=("${qkv[@]}" --out never.npy)
expect 2 run forward "${all[@]}" --align middle
expect 2 run forward "${all[@]}" --align top-left --diagonal 1
expect 2 run forward "${all[@]}" --key-block 0
expect 2 run forward "${all[@]}" --key-block 4 --kernel forward_f64_baseline_v0
expect 2 run forward "${all[@]}" --window 3
expect 2 run forward "${all[@]}" --threads -1
expect 2 run forward "${all[@]}" --threads two
expect 2 run forward "${all[@]}" --softcap
expect 2 run forward "${all[@]}" --dtype f9
expect 2 run forward "${all[@]}" --unknown
expect 2 run forward "${all[@]}" left over
expect 2 run forward "${all[@]}" --lse ""
expect 2 run forward --q "" --k k.npy --v v.npy --out never.npy
for option in --diagonal=99999999999999999999 --diagonal=-9223372036854775809 --window=9223372036854775808,0 \
    --window=0,-9223372036854775809 --key-block=9223372036854775808; do
    expect 2 run forward "${all[@]}" $option
done
for option in --isa --kernel --lse --key-lengths --bias --mask --alibi; do
    expect 2 run forward "${all[@]}" $option ''
done
expect 2 info --explain ''
expect 2 bench --isa ''
expect 2 bench --kernel ''
absent never.npy
expect 0 run forward "${qkv[@]}" --out out.npy --diagonal 9223372036854775807 --window 9223372036854775807,-1

# failures
expect 1 run forward --q none.npy --k k.npy --v v.npy --out never.npy
says stderr none.npy
array wide.npy '<f8' False '(1, 3)' "${n[1]}" "${n[1]}" "${n[1]}"
expect 1 run forward --q wide.npy --k k.npy --v v.npy --out never.npy
says stderr head_dim
array single.npy '<f4' False '(1, 2)' 0000803f 0000803f
expect 1 run forward --q single.npy --k k.npy --v v.npy --out never.npy
says stderr k f32 f64
array big.npy '>f8' False '(1, 1)' 3ff0000000000000
expect 1 run forward --q big.npy --k k.npy --v v.npy --out never.npy
says stderr big.npy
echo "no array" >text.npy
head -c 140 k.npy >short.npy
: >empty.npy
array negative.npy '<f8' False '(-3, 2)' "${n[1]}"
array huge.npy '<f8' False '(4611686018427387904, 4611686018427387904)' "${n[1]}"
array nothing.npy '<c16' False '(1, 1)' "${n[1]}" "${n[1]}"
for file in text short empty negative huge nothing; do
    expect 1 run forward --q q.npy --k $file.npy --v v.npy --out never.npy
    says stderr $file.npy
done
expect 1 run forward --q . --k k.npy --v v.npy --out never.npy
# Outputs far larger than the inputs: the library's message, not an allocation that fails.
array tall.npy '<f8' False '(1073741824, 0)'
array no_keys.npy '<f8' False '(0, 0)'
array wide.npy '<f8' False '(0, 1048576)'
expect 1 run forward --q tall.npy --k no_keys.npy --v wide.npy --out never.npy
says stderr "q: expected head_dim"
expect 1 run forward "${all[@]}" --isa mmx
says stderr isa mmx baseline
expect 1 run forward "${all[@]}" --kernel forward_f64_none
says stderr kernel forward_f64_none
expect 1 run forward "${all[@]}" --scale nan
says stderr softmax_scale
expect 1 run forward "${all[@]}" --window -2,3
says stderr window_left
expect 1 run forward "${all[@]}" --mask bias.npy
says stderr mask
expect 1 run forward "${all[@]}" --backend cuda --isa avx2
says stderr isa cuda
expect 1 run forward "${all[@]}" --dtype f32
array lengths_long.npy '<i4' False '(1,)' 09000000
expect 1 run forward "${all[@]}" --key-lengths lengths_long.npy
says stderr key_lengths
FLASHWRIGHT_THREADS=many expect 1 run forward "${all[@]}"
says stderr FLASHWRIGHT_THREADS
FLASHWRIGHT_ISA=mmx expect 1 run forward "${all[@]}"
says stderr FLASHWRIGHT_ISA mmx
absent never.npy

# environment
FLASHWRIGHT_ISA=sse41 expect 0 run forward "${qkv[@]}" --out out.npy
says stderr sse41
FLASHWRIGHT_ISA=baseline expect 0 run forward "${qkv[@]}" --out out.npy
says stderr baseline
FLASHWRIGHT_THREADS=3 expect 0 run forward "${qkv[@]}" --out out.npy
general=softcap_alibi_bias_mask_f64_baseline
FLASHWRIGHT_KERNEL=forward_${general}_generic expect 0 run forward "${qkv[@]}" --out out.npy
says stderr "forward_${general}_generic"
values out.npy f8 "${dense_out[@]}"
FLASHWRIGHT_KERNEL=forward_${general}_generic expect 0 info --explain 1,1,1,64,64,32
says stdout "forward f64: forward_${general}_generic: asked for by FLASHWRIGHT_KERNEL" "backward f64: backward_f64"
grep -q 'f32: .*FLASHWRIGHT_KERNEL' stdout && fail "FLASHWRIGHT_KERNEL touches another dtype"
FLASHWRIGHT_KERNEL=forward_f32_baseline_v0 expect 0 run forward "${qkv[@]}" --out out.npy
FLASHWRIGHT_KERNEL=backward_f64_baseline_v0 expect 0 run forward "${qkv[@]}" --out out.npy
FLASHWRIGHT_KERNEL=forward_f64_baseline_v0 expect 0 run forward "${qkv[@]}" --out out.npy --kernel forward_${general}_generic
says stderr "forward_${general}_generic"
FLASHWRIGHT_KERNEL='' expect 0 run forward "${qkv[@]}" --out out.npy
FLASHWRIGHT_KERNEL=forward_f64_none expect 1 run forward "${qkv[@]}" --out never.npy
says stderr FLASHWRIGHT_KERNEL forward_f64_none
FLASHWRIGHT_KERNEL=forward_f64_baseline_v0 expect 1 run forward "${qkv[@]}" --bias bias.npy --out never.npy
says stderr FLASHWRIGHT_KERNEL "cannot take this call"
FLASHWRIGHT_KERNEL=forward_f64_baseline_v0 expect 1 run forward "${qkv[@]}" --isa sse41 --out never.npy
says stderr FLASHWRIGHT_KERNEL "isa sse41"
absent never.npy

# files are whole or absent, and a failure leaves the old one
mkdir files
expect 1 run forward "${recorded[@]}" --out files/none/out.npy
echo old >files/out.npy
expect 1 run forward --q wide.npy --k k.npy --v v.npy --out files/out.npy
[ "$(cat files/out.npy)" = old ] || fail "the old output is gone"
if (trap '' XFSZ && ulimit -f 100 && "$FLASHWRIGHT_BIN" run forward "${recorded[@]}" --out files/out.npy 2>stderr); then
    fail "a file past the size limit was no error"
fi
says stderr error: files/out.npy
[ "$(cat files/out.npy)" = old ] || fail "a write that failed took the old output"
expect 1 run forward "${recorded[@]}" --out files/first.npy --lse files/none/lse.npy
absent files/first.npy
for delay in 0.001 0.003 0.005 0.01 0.02 0.03; do
    { timeout -s KILL $delay "$FLASHWRIGHT_BIN" run forward "${recorded[@]}" --out files/out.npy; } >/dev/null 2>&1
    [ "$(head -c 3 files/out.npy)" = old ] || cmp -s files/out.npy real.npy || fail "a killed run left part of a file"
done
rm -f files/.flashwright-*.tmp
expect 0 run forward "${recorded[@]}" --out files/out.npy
cmp files/out.npy real.npy || fail "the output was not replaced"
(for i in 0 1 2; do echo left >files/.flashwright-$BASHPID-$i.tmp; done && exec "$FLASHWRIGHT_BIN" run forward "${qkv[@]}" --out files/same_pid.npy 2>stderr) ||
    fail "what a killed run left is in the way: $(cat stderr)"
cat files/.flashwright-*.tmp | grep -v left && fail "a file of another run was changed"
rm files/.flashwright-*.tmp files/same_pid.npy
long=files/$(printf '%0251d' 0).npy
expect 0 run forward "${qkv[@]}" --out "$long"
values "$long" f8 "${dense_out[@]}"
chmod 604 files/out.npy
(umask 077 && expect 0 run forward "${qkv[@]}" --out files/out.npy --lse files/lse.npy)
[ "$(stat -c %a files/out.npy files/lse.npy | xargs)" = "604 600" ] || fail "permissions: $(stat -c %a files/*.npy | xargs)"
ln -s second files/first
ln -s ../target.npy files/second
expect 0 run forward "${qkv[@]}" --out files/first
values target.npy f8 "${dense_out[@]}"
if [ ! -L files/first ] || [ ! -L files/second ]; then fail "a symbolic link was replaced"; fi
ln -s loop files/loop
expect 1 run forward "${all[@]:0:6}" --out files/loop
expect 1 run forward "${qkv[@]}" --out files/twice.npy --lse files/../files/twice.npy
expect 1 run forward "${qkv[@]}" --out files
find files -name '.*' -type f | grep . && fail "temporary files were left"
expect 0 run forward --q q.npy --k k.npy --v v.npy --out q.npy # an output may replace its input
values q.npy f8 "${dense_out[@]}"

# messages that nobody can read
no_stderr() { # CODE REDIRECTION ARGUMENT...
    local expected=$1 redirection=$2 code=0
    shift 2
    eval '"$FLASHWRIGHT_BIN" "$@" >stdout </dev/null' "$redirection" || code=$?
    [ $code -eq "$expected" ] || fail "$* $redirection: exit code $code, expected $expected"
}
for redirection in '2>/dev/full' '2>&-' '2>&- <&-'; do
    rm -f unread.npy
    no_stderr 0 "$redirection" run forward "${recorded[@]}" --out unread.npy
    cmp unread.npy real.npy || fail "the result without messages"
    no_stderr 1 "$redirection" run forward --q none.npy --k k.npy --v v.npy --out never.npy
    no_stderr 2 "$redirection" run forward --nothing
    no_stderr 0 "$redirection" bench --shape 1,1,1,8,8,8 --threads 1
done
no_stderr 1 '>/dev/full' info
no_stderr 1 '>&-' info
absent never.npy

# info and bench
expect 0 info
expect 0 info --json
python3 - <<'PYTHON' || fail "info --json"
import json
info = json.load(open("stdout"))
assert [isa["name"] for isa in info["isas"]] == ["baseline", "sse41", "avx2", "avx512"]
for isa in info["isas"]:
    assert set(isa) >= {"name", "features", "usable", "chosen"}
assert sum(isa["chosen"] for isa in info["isas"]) == 1
for kernel in info["kernels"]:
    assert set(kernel) >= {"name", "op", "dtype", "isa", "tiles"} and isinstance(kernel["tiles"], dict)
assert "cpu" in info and "config" in info
PYTHON
expect 0 info --explain 1,8,8,1024,1024,64,causal
says stdout forward_f32
expect 0 bench --op backward --shape 1,2,1,40,50,16,24,causal --threads 1 --json
says stdout '"op": "backward"' backward_f32
expect 0 bench --shape 1,1,1,64,64,32 --shape 1,2,1,40,50,16,24,causal --threads 1 --json
python3 - <<'PYTHON' || fail "bench --json"
import json
rows = json.load(open("stdout"))
assert {row["shape"] for row in rows} == {"1,1,1,64,64,32", "1,2,1,40,50,16,24,causal"}
for row in rows:
    assert set(row) >= {"shape", "op", "dtype", "isa", "kernel", "threads", "seconds", "gflops", "peak_gflops", "fraction_of_peak"}
    assert set(row["seconds"]) >= {"median", "q25", "min", "runs"} and row["seconds"]["min"] > 0
PYTHON
for shape in 1,2 1,1,1,64,64,32,nonsense 1,3,2,8,8,8 -1,1,1,8,8,8 1,1,1,8,8,99999999999999999999; do
    "$FLASHWRIGHT_BIN" bench --shape=$shape >stdout 2>stderr </dev/null && fail "bench --shape=$shape succeeded"
    says stderr error:
done

# an interrupted benchmark
"$FLASHWRIGHT_BIN" bench --threads 1 >stdout 2>stderr </dev/null &
pid=$!
sleep 1
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 130 ] || fail "an interrupted benchmark: exit code $code, expected 130"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
