#!/usr/bin/env bash
# A reduced table of the tests under emulated older processors: the kernels those can run are right, the widest of them is
# chosen, and what the processor lacks is an error text, never SIGILL.
set -euo pipefail
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"

qemu=$(command -v qemu-x86_64 || command -v qemu-x86_64-static || true)
[ -n "$qemu" ] || skip "qemu-x86_64 is not installed"

# Sanitizers cannot run under emulation.
if grep -qa __asan_init "$FLASHWRIGHT_TESTS" || grep -qa __tsan_init "$FLASHWRIGHT_TESTS"; then
    skip "built with a sanitizer; the release preset runs this"
fi

data=$FLASHWRIGHT_SOURCE_DIR/examples/data/minilm

# check CPU EXPECTED_ISA BETTER_ISA...
check() {
    local cpu=$1 expected=$2 isa code
    shift 2
    echo "== $cpu: expects $expected"
    FLASHWRIGHT_EXPECT_ISA=$expected "$qemu" -cpu "$cpu" "$FLASHWRIGHT_TESTS" --gtest_brief=1 \
        --gtest_filter="$FLASHWRIGHT_EMULATED_TESTS" 2>"$work/errors" || fail "$cpu: tests, exit code $?: $(grep -v 'TCG doesn' "$work/errors" | head -5)"
    for isa in "$@"; do
        code=0
        "$qemu" -cpu "$cpu" "$FLASHWRIGHT_BIN" run forward --q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" \
            --out "$work/out.npy" --isa "$isa" 2>"$work/errors" || code=$?
        [ "$code" -eq 1 ] || fail "$cpu: --isa $isa: exit code $code, expected 1"
        grep -q "^error: .*$isa" "$work/errors" || fail "$cpu: --isa $isa: $(cat "$work/errors")"
        [ ! -e "$work/out.npy" ] || fail "$cpu: --isa $isa: an output was written"
    done
    "$qemu" -cpu "$cpu" "$FLASHWRIGHT_BIN" info --json >"$work/info.json" 2>/dev/null || fail "$cpu: info"
    python3 - "$work/info.json" "$expected" <<'PYTHON' || fail "$cpu: info does not name $expected as chosen"
import json, sys
isas = json.load(open(sys.argv[1]))["isas"]
sys.exit([isa["name"] for isa in isas if isa["chosen"]] != [sys.argv[2]])
PYTHON
}

check Nehalem sse41 avx2 avx512
check Haswell avx2 avx512
[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
