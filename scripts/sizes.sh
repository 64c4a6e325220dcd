#!/usr/bin/env bash
# sizes.sh [BUILD]: lists the bytes of the libraries in a build folder (build/release): the runtime, the kernels of each instruction set
# or GPU backend, and each kernel, largest first. The numbers are code and constants, without debug symbols.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

build=${1:-build/release}
if [ ! -f "$build/lib/libflashwright.a" ]; then
    echo "error: expected $build/lib/libflashwright.a; build the target flashwright" >&2
    exit 1
fi

# `size` prints a member of an archive as "name  (ex archive):", then one section in each line.
list_members() {
    printf '\n%s\n' "$(basename "$1")"
    size --format=sysv "$1" | awk '
        function row(rank, bytes, name) { printf "%d %10d %6.1f %% %s\n", rank, bytes, 100 * bytes / total, name }
        /\(ex .*\):/ { member = $1; sub(/(\.cpp)?\.o$/, "", member) }
        $1 ~ /^\.(text|rodata|data|eh_frame|gcc_except_table|init_array)/ { bytes[member] += $2; total += $2 }
        END {
            row(0, total, "all")
            for (member in bytes) {
                if (member !~ /_f[0-9]+_/) {
                    runtime += bytes[member]
                    continue
                }
                isa = member
                sub(/.*_f[0-9]+_/, "", isa)
                sub(/_.*/, "", isa)
                of_isa[isa] += bytes[member]
                row(2, bytes[member], member)
            }
            for (isa in of_isa) row(1, of_isa[isa], "kernels of " isa)
            row(1, runtime, "runtime")
        }' | sort -k1,1n -k2,2nr | cut -d' ' -f2-
}

for archive in "$build"/lib/libflashwright.a "$build"/lib/libflashwright_gpu.a; do
    [ ! -f "$archive" ] || list_members "$archive"
done
shared=$build/lib/libflashwright.so
if [ -f "$shared" ]; then
    stripped=$(mktemp)
    strip -o "$stripped" "$shared"
    printf '\n%s\n%10d stripped file\n' "$(basename "$shared")" "$(stat -c %s "$stripped")"
    rm "$stripped"
fi
