#!/usr/bin/env python3
"""Registers, shared memory, occupancy and share of multiply-adds of a build's CUDA kernels, as a Markdown table.

    scripts/gpu_table.py BUILD_FOLDER [--write FILE]

With --write, the table replaces what is between the markers of FILE: <!-- register table: begin -->, <!-- register table: end -->.
The build's program flashwright_gpu_facts finds the facts. It needs ptxas (CUDA toolkit) and nvdisasm (PyPI:
nvidia-cuda-nvdisasm) on the PATH, in /usr/local/cuda/bin or in the folder that CUDA_TOOLS names.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

BEGIN, END = "<!-- register table: begin -->", "<!-- register table: end -->"
HEADER = """| kernel | tiles | architecture | registers | spilled | shared memory | occupancy | FFMA |
|---|---|---|---|---|---|---|---|"""


def facts_of(build):
    """As tests/gpu/facts/kernel_facts.cpp prints them."""
    program = build / "bin/flashwright_gpu_facts"
    if not program.exists():
        sys.exit(f"error: {program}: expected the program, a target of builds with CUDA and tests, found none")
    configuration = Path(__file__).parent.parent / "configs/gpu.json"
    done = subprocess.run([program, build / "kernels/gpu", configuration], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)  # it has said why
    return json.loads(done.stdout)


def row_of(fact):
    tiles = " ".join(f"{name} {value}" for name, value in fact["tiles"].items())
    share = "–" if fact["multiply_add_share"] is None else f"{fact['multiply_add_share']:.3f}"
    return (f"| `{fact['kernel']}` | {tiles} | {fact['architecture']} | {fact['registers']} | {fact['spilled_bytes']} B "
            f"| {fact['shared_bytes'] / 1024:.1f} KB | {fact['occupancy']:.1%} | {share} |")


def write(path, table):
    old = path.read_text(encoding="utf-8")
    new, found = re.subn(f"{BEGIN}\n.*?{END}", lambda _: f"{BEGIN}\n{table}\n{END}", old, flags=re.DOTALL)
    if found != 1:
        sys.exit(f"error: {path}: expected {BEGIN} and {END} once, found them {found} times")
    path.write_text(new, encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--write"):
        sys.exit(__doc__)
    table = "\n".join([HEADER, *map(row_of, facts_of(Path(arguments[0])))])
    if len(arguments) == 3:
        write(Path(arguments[2]), table)
    else:
        print(table)


main()
