#!/usr/bin/env bash
# Installs the implementations of compare.py in build/peers/venv; with --zentorch also zentorch, which needs a PyTorch of its
# own, in build/peers/zentorch. PyTorch comes with CUDA, several GB, unless PIP_EXTRA_INDEX_URL names its index of CPU builds.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"

# install VENV REQUIREMENTS
install() {
    say "Installing in $1"
    python3 -m venv "$1"
    "$1/bin/pip" install --disable-pip-version-check --no-input --progress-bar off -r "$2"
}

install build/peers/venv bench/peers/requirements.txt
if [ "${1:-}" = --zentorch ]; then
    install build/peers/zentorch bench/peers/requirements-zentorch.txt
fi
