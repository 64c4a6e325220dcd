# Sourced by the tests in tests/shell: a folder of their own, which goes with them, and failures that are counted.
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# says FILE TEXT...
says() {
    local file=$1 text
    shift
    for text in "$@"; do grep -qF -- "$text" "$file" || fail "'$text' is not in $file: $(cat "$file")"; done
}

# skip REASON
skip() {
    echo "skipped: $*"
    exit 77
}
