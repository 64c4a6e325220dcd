#!/usr/bin/env bash
# pkg_config.sh PREFIX WORK: C programs against the installed package by pkg-config, shared and static, and with the GPU library
# where it is installed.
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
programs=("$work/static")

if pkg-config --exists flashwright_gpu; then
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror "$(dirname "$0")/gpu_consumer.c" -o "$work/gpu" $(pkg-config --cflags --libs flashwright_gpu)
    "$work/gpu"
    programs+=("$work/gpu")
elif [ -n "$(find "$prefix" -name libflashwright_gpu.a)" ]; then
    echo "FAILED: no flashwright_gpu.pc beside the library"
    exit 1
fi
for program in "${programs[@]}"; do
    if ldd "$program" | grep -q flashwright; then
        echo "FAILED: $program needs the shared library"
        exit 1
    fi
done
