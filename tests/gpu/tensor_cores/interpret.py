#!/usr/bin/env python3
"""Runs the PTX of the tile of scores, thread by thread, and compares what it stores with Q K^T.

    interpret.py TILE.ptx

It knows the few instructions that this PTX has, and mma.sync by the layout of fragments in the PTX ISA. So it tells, without
a device, whether every thread loads, multiplies and stores the right elements.
"""
import re
import struct
import sys

TILES, ROWS, KEYS, HEAD_DIM = 2, 16, 64, 64
BASES = {"k": 1 << 40, "q": 2 << 40, "scores": 3 << 40}  # addresses, in the order of the kernel's parameters
LANES = [(lane % 4, lane // 4) for lane in range(32)]  # threads (x, y) of a warp


def value(row, channel, seed):
    return ((37 * row + 11 * channel + seed) % 33 - 16) / 8


def words(rows, seed):
    """Rows of f16, two to a word."""
    halves = b"".join(struct.pack("<e", value(r, c, seed)) for r in range(rows) for c in range(HEAD_DIM))
    return list(struct.unpack(f"<{len(halves) // 4}I", halves))


def halves_of(word):
    return struct.unpack("<2e", struct.pack("<I", word))


def multiply(lanes, results, a, b, before):
    """D = A B + C of m16n8k16: the fragments of a warp to matrices, their product, and back."""
    left = [[0.0] * 16 for _ in range(16)]
    right = [[0.0] * 8 for _ in range(16)]
    for lane, registers in enumerate(lanes):
        group, thread = lane // 4, lane % 4
        for n, name in enumerate(a):
            for half, x in enumerate(halves_of(registers[name])):
                left[group + 8 * (n % 2)][2 * thread + half + 8 * (n // 2)] = x
        for n, name in enumerate(b):
            for half, x in enumerate(halves_of(registers[name])):
                right[2 * thread + half + 8 * n][group] = x
    for lane, registers in enumerate(lanes):
        group, thread = lane // 4, lane % 4
        for n, (name, start) in enumerate(zip(results, before)):
            row, column = group + 8 * (n // 2), 2 * thread + n % 2
            registers[name] = registers[start] + sum(left[row][k] * right[k][column] for k in range(16))


def operand(registers, text):
    if text.startswith("0f"):
        return struct.unpack(">f", bytes.fromhex(text[2:]))[0]
    return registers[text] if not re.fullmatch(r"-?\d+", text) else int(text)


def address(registers, text):
    base, _, offset = text.strip("[]").partition("+")
    return registers[base] + int(offset or 0)


def step(opcode, arguments, registers, memory):
    """One instruction of one thread."""
    name = opcode.split(".")[0]
    target, *sources = arguments
    if name == "ld" and opcode.startswith("ld.param"):
        registers[target] = list(BASES.values())[int(sources[0][-2])]
    elif name == "ld":
        registers[target] = memory[address(registers, sources[0])]
    elif name == "st":
        memory[address(registers, target)] = registers[sources[0]]
    elif name in ("mov", "cvta"):
        registers[target] = operand(registers, sources[0])
    elif name in ("add", "mul", "shl"):
        x, y = (operand(registers, s) for s in sources)
        registers[target] = {"add": x + y, "mul": x * y, "shl": x << y if name == "shl" else 0}[name]
    else:
        sys.exit(f"error: {opcode}: not an instruction that is known here")


def run(ptx, block, memory):
    lanes = [{"%ctaid.x": block, "%tid.x": x, "%tid.y": y} for x, y in LANES]
    for line in ptx[ptx.index("\n{"):].splitlines():
        line = line.split("//")[0].strip(" \t;")
        if not line or line in "{}" or line.startswith((".", "ret")):
            continue
        opcode, rest = re.match(r"(\S+)\s+(.*)", line).groups()
        if opcode.startswith("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"):
            results, a, b, before = (group.split(", ") for group in re.findall(r"\{(.*?)\}", rest))
            multiply(lanes, results, a, b, before)
        else:
            for registers in lanes:
                step(opcode, rest.split(", "), registers, memory)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        ptx = file.read()
    memory = {}
    for name, rows, seed in (("q", TILES * ROWS, 5), ("k", KEYS, 21)):
        memory.update({BASES[name] + 4 * n: word for n, word in enumerate(words(rows, seed))})
    for block in range(TILES):
        run(ptx, block, memory)
    for row in range(TILES * ROWS):
        for key in range(KEYS):
            expected = sum(value(row, c, 5) * value(key, c, 21) for c in range(HEAD_DIM))
            actual = memory.get(BASES["scores"] + 4 * (row * KEYS + key))
            if actual != expected:
                sys.exit(f"error: score of row {row} and key {key}: expected {expected}, got {actual}")
    print(f"{TILES * ROWS * KEYS} scores are right")


main()
