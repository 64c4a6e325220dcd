#!/usr/bin/env bash
# pkg_config.sh PREFIX WORK: a C program against the installed package by pkg-config, shared and static.
set -euo pipefail
prefix=$1 work=$2
if ! command -v pkg-config >/dev/null; then
    echo "skipped: pkg-config is not installed"
    exit 77
fi
mkdir -p "$work"
config=$(find "$prefix" -name flashwright.pc -printf '%h\n' -quit)
export PKG_CONFIG_PATH=$config
libraries=$(pkg-config --variable=libdir flashwright)
source=$(dirname "$0")/consumer.c

# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Werror "$source" -o "$work/shared" $(pkg-config --cflags --libs flashwright)
LD_LIBRARY_PATH=$libraries "$work/shared"
# shellcheck disable=SC2046
cc -std=c11 "$source" -o "$work/static" $(pkg-config --cflags flashwright) "$libraries/libflashwright.a" -lstdc++ -lm -lpthread
"$work/static"
if ldd "$work/static" | grep -q flashwright; then
    echo "FAILED: the static program needs the shared library"
    exit 1
fi
