#!/usr/bin/env bash
# The generator program refuses illegal tiles; the tuner refuses the files that the build refuses, and leaves them as they are; every
# configuration in the tree keeps the schema.
set -uo pipefail

# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
cd "$work" || exit 1
generator=$(dirname "$FLASHWRIGHT_BIN")/flashwright_generate

# refused MESSAGE OP NAME=VALUE...: of AVX2 in f32, 8 lanes.
refused() {
    local message=$1 op=$2
    shift 2
    mkdir -p out
    "$generator" -o out -g "$op" -f f -n kernel -e object dtype=float32 target=x86-64-linux-sse41-avx-avx2-f16c-fma-no_runtime "$@" \
        >stdout 2>stderr && fail "$op $*: is taken"
    grep -qF "error: $op: $message" stderr || fail "$op $*: expected '$message', got: $(cat stderr)"
    [ -z "$(ls out)" ] || fail "$op $*: left $(ls out)"
}
rows=(schedule=rows block_q=24 row_vectors=3 tile_d=8 tile_k=4 tile_v=4)
decode=(schedule=decode block_q=4 row_vectors=1 tile_d=8 tile_k=8 tile_v=16)
generic=(schedule=generic block_q=8 row_vectors=1 tile_d=1 tile_k=1 tile_v=1)
blocks=(schedule=blocks tile_k=4 width=16 tile_q=6)
refused "schedule: expected one of rows, decode, generic, got columns" forward "${rows[@]}" schedule=columns
refused "block_q: expected a whole number from 1 to 1024, got 0" forward "${rows[@]}" block_q=0
refused "block_q: expected a whole number from 1 to 1024, got 1032" forward "${rows[@]}" block_q=1032
refused "tile_v: expected a whole number from 1 to 65536, got -1" forward "${rows[@]}" tile_v=-1
refused "block_q: expected a multiple of row_vectors vectors (24 rows), got 20" forward "${rows[@]}" block_q=20
refused "tile_d: expected a power of two that divides block_q (24), got 3" forward "${rows[@]}" tile_d=3
refused "tile_d: expected a power of two that divides block_q (24), got 16" forward "${rows[@]}" tile_d=16
refused "tile_k: expected at most 64 vectors in row_vectors x tile_k, got 22" forward "${rows[@]}" tile_k=22
refused "tile_v: expected at most 64 vectors in row_vectors x tile_v, got 22" forward "${rows[@]}" tile_v=22
refused "block_q: expected less than the 8 lanes of a vector, got 8" forward "${decode[@]}" block_q=8
refused "tile_d: expected at most 64, got 128" forward "${rows[@]}" block_q=384 tile_d=128
refused "tile_d: expected the 8 lanes of a vector, got 4" forward "${decode[@]}" tile_d=4
refused "row_vectors: expected 1 in a decode kernel, got 2" forward "${decode[@]}" row_vectors=2
refused "tile_k: expected a multiple of the 8 lanes of a vector, got 4" forward "${decode[@]}" tile_k=4
refused "tile_v: expected a multiple of the 8 lanes of a vector, got 12" forward "${decode[@]}" tile_v=12
refused "tile_k: expected at most 64 vectors in block_q x tile_k, got 136" forward "${decode[@]}" tile_k=136
refused "tile_v: expected at most 64 vectors in block_q x tile_v, got 136" forward "${decode[@]}" tile_v=136
refused "tile_d: expected 1 in a generic kernel, got 8" forward "${generic[@]}" tile_d=8
refused "tile_k: expected 1 in a generic kernel, got 2" forward "${generic[@]}" tile_k=2
refused "tile_v: expected 1 in a generic kernel, got 2" forward "${generic[@]}" tile_v=2
refused "tile_k: expected a divisor of width (16), got 5" backward "${blocks[@]}" tile_k=5
refused "width: expected a multiple of the 8 lanes of a vector, got 12" backward "${blocks[@]}" width=12
refused "tile_q: expected at most 64 vectors in width x tile_q, got 33" backward "${blocks[@]}" tile_q=33
refused "tile_k: expected at most 64 vectors in width x tile_k, got 72" backward "${blocks[@]}" width=72 tile_k=72
refused "schedule: expected one of blocks, got rows" backward "${blocks[@]}" schedule=rows
refused "block_q: expected a multiple of the 8 lanes of a vector, got 20" merge block_q=20
refused "block_q: expected a multiple of the 8 lanes of a vector, got 20" step block_q=20
refused "tile_k: expected a whole number from 1 to 65536, got 0" step block_q=24 tile_k=0

# One mistake in each file. block_k is not compiled in, so that only a configuration can have it wrong.
entry='{"op": "forward", "dtype": "f32", "isa": "avx2", "terms": [], "default": "v0", "variants": [{"id": "v9", "schedule": "rows", "tiles":
 {"block_q": 24, "block_k": 64, "row_vectors": 3, "tile_d": 8, "tile_k": 4, "tile_v": 4}}]}'
good="{\"schema_version\": 2, \"machine\": {\"family\": \"any\", \"note\": \"a )config\"}, \"kernels\": [$entry]}"
echo "$good" >good.json
echo "{ // tuned here
${good#\{}" >comment.json
echo "$good $good" >two.json
echo "${good%\}}, }" >comma.json
echo "${good%\}}, \"kernels\": []}" >duplicate.json
echo "${good%\}}, \"notes\": []}" >unknown.json
echo "${good/\"block_k\": 64/\"block_k\": 2}" >block_k.json
echo "${good/\"rows\"/\"lines\"}" >schedule.json
bad="comment two comma duplicate unknown block_k schedule"
for name in $bad; do
    cp "$name.json" before
    "$FLASHWRIGHT_BIN" tune --dtype f32 --output "$name.json" --candidates 1 >stdout 2>stderr </dev/null
    [ $? -eq 1 ] || fail "tune --output $name.json: expected exit code 1: $(cat stderr)"
    grep -qE "error: $name.json:[0-9]+:[0-9]+: .*expected" stderr || fail "tune, $name.json: $(cat stderr)"
    cmp -s before "$name.json" || fail "tune changed $name.json"
    sed -n 's/.*json:\([0-9]*:[0-9]*: .*\)/\1/p' stderr >"$name.tuner"
done

# configure OPTION...
configure() {
    "$FLASHWRIGHT_CMAKE" -S "$FLASHWRIGHT_SOURCE_DIR" -B build -G Ninja "-DCMAKE_MAKE_PROGRAM=$FLASHWRIGHT_NINJA" \
        "-DCMAKE_PREFIX_PATH=$FLASHWRIGHT_PREFIX_PATH" -DFLASHWRIGHT_BUILD_TESTS=OFF "$@" >log 2>&1
}

if [ -n "${FLASHWRIGHT_CMAKE:-}" ]; then
    for name in good $bad; do
        configure "-DFLASHWRIGHT_CONFIG=$PWD/$name.json" || fail "configuring with $name.json: $(tail log)"
        if [ "$name" = good ]; then
            grep -q "CMake Warning" log && fail "a warning about a good file: $(cat log)"
            c++ -std=c++17 -fsyntax-only -I "$FLASHWRIGHT_SOURCE_DIR" -I "$FLASHWRIGHT_SOURCE_DIR/runtime/include" \
                build/kernels/kernel_registry.cpp || fail "the registry does not compile"
        else
            tr -s ' \n' ' ' <log | grep -qF "$(cat "$name.tuner")" ||
                fail "$name.json: the build says something else than the tuner: $(cat "$name.tuner" log)"
        fi
    done
fi

# The same for files of GPU kernels, of which each mistake stops the build. The tuner takes the file that the build took.
gpu_tiles='"threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 8, "threads_per_row": 1'
gpu_good="{\"schema_version\": 2, \"comment\": \"one kernel\", \"kernels\": [
{\"op\": \"forward\", \"terms\": [], \"assume_finite\": true, \"head_dim\": 64, \"tiles\": {$gpu_tiles}}
]}"
gpu_refused() {
    local name=$1 text=$2
    echo "$text" >"$name.json"
    echo "{\"generator_hash\": \"\", \"halide\": \"\", \"targets\": {\"cuda\": \"\"}, \"configuration\": \"$PWD/$name.json\"}" >generate.json
    FLASHWRIGHT_GPU_GENERATOR=$PWD/generate "$FLASHWRIGHT_BIN" tune --backend cuda --output out.json >stdout 2>stderr </dev/null
    [ $? -eq 1 ] || fail "tune with $name.json: expected exit code 1: $(cat stderr)"
    sed -n 's/^error: //p' stderr >"$name.tuner"
    grep -qE "^$PWD/$name.json:[0-9]+:[0-9]+: .*expected" "$name.tuner" || fail "tune with $name.json: $(cat stderr)"
    [ ! -e out.json ] || fail "tune with $name.json wrote a file"
    [ -n "${FLASHWRIGHT_CMAKE:-}" ] || return 0
    configure "-DFLASHWRIGHT_CONFIG=" "-DFLASHWRIGHT_GPU_CONFIG=$PWD/$name.json" && fail "configuring with $name.json succeeded"
    tr -s ' \n' ' ' <log | grep -qF "$(cat "$name.tuner")" ||
        fail "$name.json: the build says something else than the tuner: $(cat "$name.tuner" log)"
}
printf '#!/bin/sh\n' >generate
chmod +x generate
if "$FLASHWRIGHT_BIN" tune --help | grep -q -- --backend && [ -x "${generator}_gpu" ]; then
    export CUDA_VISIBLE_DEVICES=-1
    gpu_refused gpu_comment "{ // tuned here
${gpu_good#\{}"
    gpu_refused gpu_two "$gpu_good $gpu_good"
    gpu_refused gpu_duplicate "${gpu_good%\}}, \"kernels\": []}"
    gpu_refused gpu_unknown "${gpu_good/\"head_dim\"/\"head_dims\"}"
    gpu_refused gpu_term "${gpu_good/\"terms\": []/\"terms\": [\"slope\"]}"
    gpu_refused gpu_type "${gpu_good/true/\"true\"}"
    gpu_refused gpu_rule "${gpu_good/\"tile_d\": 4/\"tile_d\": 6}"
    gpu_refused gpu_backend "${gpu_good/\"terms\"/\"backend\": \"metal\", \"terms\"}"
else
    echo "[SKIP] no CUDA in this build: files of GPU kernels are not tried"
fi

venv=$FLASHWRIGHT_SOURCE_DIR/build/venv/bin/python
python=python3
[ ! -x "$venv" ] || python=$venv
if $python -c 'import jsonschema' 2>/dev/null; then
    $python - "$FLASHWRIGHT_SOURCE_DIR" <<'PYTHON' || fail "a configuration does not keep the schema"
import json, jsonschema, pathlib, re, sys
root = pathlib.Path(sys.argv[1])
check = jsonschema.Draft202012Validator(json.loads((root / "docs/schemas/configuration-2.schema.json").read_text())).validate
files = [*root.glob("configs/*.json"), *root.glob("tests/**/*.json"), *root.glob("examples/**/*.json")]
texts = [(file, file.read_text()) for file in files]
for page in [*root.glob("*.md"), *root.glob("docs/**/*.md")]:
    texts += [(page, block) for block in re.findall(r"^```json\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)]
checked = 0
for place, text in texts:
    if '"schema_version"' in text and '"kernels"' in text:
        try:
            check(json.loads(text))
        except Exception as error:
            sys.exit(f"{place}: {error}")
        checked += 1
assert checked >= 6, checked
PYTHON
else
    echo "[SKIP] jsonschema is not installed: configurations are not checked against their schema"
fi

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
