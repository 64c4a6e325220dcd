#!/usr/bin/env bash
# From a fresh clone to attention on real data. The script sets up, builds the library and the program, runs attention on recorded
# tensors of a sentence encoder, compares with the reference, measures the speed of this machine, tunes two shapes for it and
# builds with the winners. It takes about 9 minutes of CPU time and 1 GB in build/, most of both for Halide and the kernels.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

scripts/setup.sh
build release flashwright_program flashwright_shared example_minilm

bin=build/release/bin
data=examples/data/minilm
out=build/quickstart
mkdir -p $out

say "Attention forward on tensors recorded from all-MiniLM-L6-v2, checked against reference attention in double"
$bin/flashwright run forward --q $data/q.npy --k $data/k.npy --v $data/v.npy --key-lengths $data/key_lengths.npy \
    --out $out/out.npy --lse $out/lse.npy --verify

say "The same call from a small application of the library, compared with the recorded result"
$bin/minilm $data

say "Speed: one thread, f32, three shapes"
$bin/flashwright bench --threads 1 --shape 1,8,8,1024,1024,64 --shape 1,8,8,1024,1024,128 \
    --shape 1,8,8,1024,1024,64,causal

shapes=(--shape "1,8,8,1024,1024,64,causal" --shape "8,12,12,197,197,64")
say "Tuning two shapes for this machine, which takes about two minutes"
$bin/flashwright tune --output $out/winners.json --dtype f32 "${shapes[@]}" --budget 2m
$bin/flashwright report $out/winners.t4.json -o $out/report.html

if ! grep -q '"verdict": "win"' $out/winners.json; then
    say "Done: no tiles are faster here than the baseline. Results, with report.html, are in $out; try $bin/flashwright --help"
    exit
fi

say "Building with the winners in build/tuned"
"$cmake" --preset release -B build/tuned -DFLASHWRIGHT_CONFIG="$PWD/$out/winners.json"
"$cmake" --build build/tuned --parallel "$jobs" --target flashwright_program

say "Before and after"
$bin/flashwright bench --threads 1 "${shapes[@]}"
build/tuned/bin/flashwright bench --threads 1 "${shapes[@]}"

say "Done. Results, with report.html, are in $out; try $bin/flashwright --help"
