#!/usr/bin/env bash
# Builds the PyTorch operator and compares it with PyTorch. PYTHON names a Python that has PyTorch; without it PyTorch is
# installed in build/pytorch: with CUDA, several GB, unless PIP_EXTRA_INDEX_URL names PyTorch's index of CPU builds.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"

scripts/setup.sh
build release flashwright
if [ -z "${PYTHON:-}" ]; then
    PYTHON=build/pytorch/bin/python
    if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
        say "Installing PyTorch in build/pytorch"
        python3 -m venv --clear build/pytorch
        build/pytorch/bin/pip install --disable-pip-version-check --no-input --progress-bar off torch==2.15.0 numpy==2.4.6 setuptools
    fi
fi
say "Comparing with PyTorch"
# PyTorch compiles with the Ninja on the path.
PATH=$PWD/$venv/bin:$PATH "$PYTHON" examples/pytorch/check.py
