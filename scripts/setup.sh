#!/usr/bin/env bash
# Installs what the build needs: missing Debian or Ubuntu packages, and Halide, CMake and Ninja in build/venv.
# It is quick if nothing is missing. --tests adds the tools that analyse CUDA code, --checks the tools of the static checks,
# --targets the compilers and emulators of other targets.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

packages=(build-essential binutils python3-venv libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev
    libbenchmark-dev libhwloc-dev libxxhash-dev libutf8proc-dev pkgconf procps qemu-user g++-aarch64-linux-gnu
    ocl-icd-libopencl1 pocl-opencl-icd)
if [ "${1:-}" = --checks ]; then
    packages+=(clang clang-format clang-tidy cppcheck doxygen shellcheck git)
elif [ "${1:-}" = --targets ]; then
    packages+=(g++-riscv64-linux-gnu clang-14 lld-14 llvm-14 wasi-libc libc++-14-dev-wasm32 libclang-rt-14-dev-wasm32 nodejs
        libvulkan1 mesa-vulkan-drivers spirv-tools)
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "error: these packages are missing; install them as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    say "Installing packages: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q -o Acquire::Retries=3 update
    apt-get -q -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"
fi

# install_in_venv REQUIREMENTS COMMAND...: runs the command and installs the requirements, unless the venv already has them.
install_in_venv() {
    local requirements=$1 stamp=$venv/${1%.txt}.stamp wanted
    shift
    wanted=$(printf '%s\n' "$PWD" "$(sha256sum "$requirements")")
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "Installing $requirements in $venv"
    "$@"
    $venv/bin/pip install --disable-pip-version-check --no-input --progress-bar off -r "$requirements"
    printf '%s\n' "$wanted" >"$stamp"
}

install_in_venv requirements.txt python3 -m venv --clear $venv
[ "${1:-}" != --tests ] || install_in_venv requirements-tests.txt :
say "Set up: $($cmake --version | head -n 1), Ninja $($venv/bin/ninja --version)"
