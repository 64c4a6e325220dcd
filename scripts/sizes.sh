#!/usr/bin/env bash
# sizes.sh [BUILD]: bytes of the libraries in a build folder (build/release): of the runtime, of the kernels of each instruction set, and
# of each kernel, largest first. Code and constants, without symbols for debuggers.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

build=${1:-build/release}
archive=$build/lib/libflashwright.a
shared=$build/lib/libflashwright.so
if [ ! -f "$archive" ] || [ ! -f "$shared" ]; then
    echo "error: expected $archive and $shared; build flashwright and flashwright_shared" >&2
    exit 1
fi

stripped=$(mktemp)
strip -o "$stripped" "$shared"
printf '%10d          shared library, stripped\n' "$(stat -c %s "$stripped")"
rm "$stripped"

# Members of the archive: "name  (ex archive):", then one section a line.
size --format=sysv "$archive" | awk '
    function row(rank, bytes, name) { printf "%d %10d %6.1f %% %s\n", rank, bytes, 100 * bytes / total, name }
    /\(ex .*\):/ { member = $1; sub(/(\.cpp)?\.o$/, "", member) }
    $1 ~ /^\.(text|rodata|data|eh_frame|gcc_except_table|init_array)/ { bytes[member] += $2; total += $2 }
    END {
        row(0, total, "static library")
        for (member in bytes) {
            if (member !~ /_f(32|64)_/) {
                runtime += bytes[member]
                continue
            }
            isa = member
            sub(/.*_f(32|64)_/, "", isa)
            sub(/_.*/, "", isa)
            of_isa[isa] += bytes[member]
            row(2, bytes[member], member)
        }
        for (isa in of_isa) row(1, of_isa[isa], "kernels of " isa)
        row(1, runtime, "runtime")
    }' | sort -k1,1n -k2,2nr | cut -d' ' -f2-
