#!/usr/bin/env python3
"""Registers, shared memory, predicted occupancy and instruction mix of the CUDA kernels of a build, as a Markdown table.

    scripts/gpu_table.py BUILD_FOLDER

Needs ptxas (CUDA toolkit) and nvdisasm (PyPI: nvidia-cuda-nvdisasm) on the PATH, in /usr/local/cuda/bin or in the folder
that CUDA_TOOLS names.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ARCHITECTURES = {  # shared memory of a multiprocessor in bytes, of which each block takes 1 KB more than it asks for
    "sm_80": 164 * 1024,
    "sm_90": 228 * 1024,
    "sm_100": 228 * 1024,
}
# As tuner/tuning/gpu/gpu_model.cpp has them, from the CUDA C++ Programming Guide and the occupancy calculator.
REGISTERS, WARPS, BLOCKS = 65536, 64, 32
REGISTER_UNIT, SCHEDULERS = 256, 4  # registers are given out to warps by 256, warps to the schedulers by four


def tool(name):
    places = os.pathsep.join([os.environ.get("CUDA_TOOLS", ""), os.environ["PATH"], "/usr/local/cuda/bin"])
    found = shutil.which(name, path=places)
    if not found:
        sys.exit(f"error: {name}: expected on the PATH, in /usr/local/cuda/bin or in CUDA_TOOLS")
    return found


def assemble(ptx, architecture, cubin):
    """Registers of a thread and bytes spilled."""
    report = subprocess.run([tool("ptxas"), "-v", f"-arch={architecture}", ptx, "-o", cubin],
                            capture_output=True, text=True, check=True).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", report)))
    return int(re.search(r"Used (\d+) registers", report)[1]), spilled


def instructions_and_loops(cubin):
    """Opcodes in order, and (first, last) of each loop."""
    text = subprocess.run([tool("nvdisasm"), "-c", cubin], capture_output=True, text=True, check=True).stdout
    opcodes, labels, loops = [], {}, []
    for line in text.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(opcodes)
        elif instruction := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*);", line):
            target = re.search(r"`\((\.L_x_\d+)\)", instruction[2])
            if instruction[1].startswith("BRA") and target and labels.get(target[1], len(opcodes)) < len(opcodes):
                loops.append((labels[target[1]], len(opcodes)))
            opcodes.append(instruction[1].split(".")[0])
    return opcodes, loops


def within(inner, outer):
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def multiply_add_share(cubin, products):
    """Of the best loop over blocks, which is the one without tests. A loop over channels in it, if there is any left, counts as
    often as it takes for the `products` of a block. None without such a loop."""
    opcodes, loops = instructions_and_loops(cubin)
    shares = []
    for outer in loops:
        inside = [loop for loop in loops if within(loop, outer)]
        over_heads = any(within(a, b) for a in inside for b in inside)
        if over_heads or (not inside and outer[1] - outer[0] < 1000):
            continue
        body = opcodes[outer[0]:outer[1] + 1]
        for first, last in inside:
            each = opcodes[first:last + 1].count("FFMA")
            trips = max(1, round(products / each)) if each else 1
            body += (trips - 1) * opcodes[first:last + 1]
        shares.append(body.count("FFMA") / len(body))
    return max(shares, default=None)


def occupancy(architecture, registers, shared, threads):
    warps = threads // 32
    of_warp = (registers * 32 + REGISTER_UNIT - 1) // REGISTER_UNIT * REGISTER_UNIT
    by_registers = REGISTERS // of_warp // SCHEDULERS * SCHEDULERS // warps
    by_shared = ARCHITECTURES[architecture] // (shared + 1024)
    return min(by_registers, by_shared, WARPS // warps, BLOCKS) * warps / WARPS


def programs(kernels):
    """Name, tiles, channels of a thread and its rows of shared memory in elements: of each kernel, or of each pass of one."""
    for kernel in kernels:
        if kernel.get("backend", "cuda") != "cuda":
            continue
        head_dim = kernel["head_dim"]
        careful = [] if kernel["assume_finite"] else ["careful"]
        name = "_".join([kernel["op"], *kernel["terms"], kernel.get("dtype", "f32"), "cuda", f"d{head_dim}", *careful])
        if "tiles" in kernel:
            own = head_dim // kernel["tiles"]["parts"]
            yield name, kernel["tiles"], own, own + 4
        for sums, tiles in kernel.get("passes", {}).items():
            yield f"{name}_{sums.replace('+', '_')}", tiles, head_dim, 2 * head_dim + 4


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kernels = json.loads((Path(__file__).parent.parent / "configs/gpu.json").read_text())["kernels"]
    print("| kernel | tiles | architecture | registers | spilled | shared memory | occupancy | FFMA |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, tiles, channels, shared_row in programs(kernels):
            ptx = Path(sys.argv[1]) / "kernels/gpu" / f"{name}.device_code"
            shared = tiles["threads"] * tiles["rows"] * shared_row * 4
            shown = " ".join(f"{key} {value}" for key, value in tiles.items())
            for architecture in ARCHITECTURES:
                cubin = f"{folder}/kernel.cubin"
                registers, spilled = assemble(ptx, architecture, cubin)
                share = multiply_add_share(cubin, tiles["rows"] * tiles["block_k"] * channels)
                shown_share = "–" if share is None else f"{share:.3f}"
                busy = occupancy(architecture, registers, shared, tiles["threads"])
                print(f"| `{name}` | {shown} | {architecture} | {registers} | {spilled} B | {shared / 1024:.1f} KB "
                      f"| {busy:.1%} | {shown_share} |")


main()
