#!/usr/bin/env python3
"""Runs the launches of the fake CUDA driver of tests/gpu/fake_cuda: serve.py FILE_OF_ITS_MEMORY. Needs NumPy.

A launch is a line, `BYTES_OF_PTX BLOCKS_X Y Z THREADS_X Y Z ARGUMENT…`, and the PTX; the answer is a line, `done` and how many
instructions of warps that were. Arguments are given by their bits.
"""
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("SKIP: no NumPy")
from interpreter import WARP, Block, Kernel


def blocks(counts):
    return ((x, y, z) for z in range(counts[2]) for y in range(counts[1]) for x in range(counts[0]))


def value(kind, bits):
    return int(bits) if kind == "u64" else np.uint32(bits).view(np.float32 if kind == "f32" else np.int32).item()


def main():
    memory = np.memmap(sys.argv[1], np.uint32, "r+")
    kernels = {}
    while line := sys.stdin.buffer.readline().split():
        ptx = sys.stdin.buffer.read(int(line[0])).decode("ascii")
        counts, threads = ([int(n) for n in line[begin:begin + 3]] for begin in (1, 4))
        if ptx not in kernels:
            kernels[ptx] = Kernel(ptx)
        kernel = kernels[ptx]
        arguments = [value(kind, argument) for kind, argument in zip(kernel.parameters, line[7:])]
        executed = 0
        for index in blocks(counts):
            block = Block(kernel, arguments, memory, threads, index)
            block.run()
            executed += block.executed * -(-block.threads // WARP)
        print("done", executed, flush=True)


main()
