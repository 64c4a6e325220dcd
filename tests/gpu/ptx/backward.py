#!/usr/bin/env python3
"""Runs the PTX of the CUDA backward kernels without a device and compares what they give with exact gradients.

    backward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

Every pass of the kernels without terms, over grouped heads with tails on every axis and a diagonal from the bottom right.
Needs NumPy.
"""
import json
import re
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)

from interpreter import Block, Kernel

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 45
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
TOLERANCE = 1e-5  # of the largest gradient
FIRST, LAST, LSE, DELTA, COLUMNS = range(5)


def padded(size, tile):
    return (size + tile - 1) // tile * tile


class Problem:
    """Inputs, and gradients in double."""

    def __init__(self, channels):
        random = np.random.default_rng(1)
        self.channels = channels
        self.q, self.dout = random.standard_normal((2, HEADS, SEQLEN_Q, channels)).astype(np.float32)
        self.k, self.v = random.standard_normal((2, HEADS_KV, SEQLEN_K, channels)).astype(np.float32)
        self.scale = channels ** -0.5
        keys, values = (np.repeat(x, GROUP, 0).astype(float) for x in (self.k, self.v))
        seen = np.arange(SEQLEN_K) <= np.arange(SEQLEN_Q)[:, None] + DIAGONAL
        scores = np.where(seen, self.q @ keys.swapaxes(1, 2) * self.scale, -np.inf)
        self.lse = np.log(np.exp(scores).sum(-1))
        p = np.exp(scores - self.lse[..., None])
        self.delta = (p @ values * self.dout).sum(-1)
        ds = p * (self.dout @ values.swapaxes(1, 2) - self.delta[..., None])

        def of_keys(pairs, rows):
            return (pairs.swapaxes(1, 2) @ rows).reshape(HEADS_KV, GROUP, SEQLEN_K, channels).sum(1)

        self.exact = {"dq": self.scale * ds @ keys, "dk": self.scale * of_keys(ds, self.q), "dv": of_keys(p, self.dout)}


def side(first, second, rows, head_dim):
    """Two operands and four columns a row, as generators/gpu/backward_gpu_generator.cpp has them; nothing is seen yet."""
    heads, count, channels = first.shape
    table = np.zeros((heads, rows, 2 * head_dim + COLUMNS), np.float32)
    table[:, :count, :channels], table[:, :count, head_dim:head_dim + channels] = first, second
    table.view(np.int32)[:, :, 2 * head_dim + LAST] = -1
    return table, table[:, :, 2 * head_dim:]


def run_pass(kernel, names, sums, tiles, head_dim, problem):
    """The result, [group, own row, gradient, channel]."""
    owns_keys, tile = sums != "dq", tiles["threads"] * tiles["rows"]
    rows, keys = (padded(SEQLEN_Q, tiles["block_k"]), padded(SEQLEN_K, tile)) if owns_keys else \
        (padded(SEQLEN_Q, tile), padded(SEQLEN_K, tiles["block_k"]))
    queries, of_rows = side(problem.q, problem.dout, rows, head_dim)
    of_rows.view(np.int32)[:, :SEQLEN_Q, LAST] = np.minimum(np.arange(SEQLEN_Q) + DIAGONAL, SEQLEN_K - 1)
    of_rows[:, :, LSE] = np.inf
    of_rows[:, :SEQLEN_Q, LSE], of_rows[:, :SEQLEN_Q, DELTA] = problem.lse, problem.delta
    table, of_keys = side(problem.k, problem.v, keys, head_dim)
    of_keys.view(np.int32)[:, :SEQLEN_K, FIRST] = np.maximum(np.arange(SEQLEN_K) - DIAGONAL, 0)
    of_keys.view(np.int32)[:, :SEQLEN_K, LAST] = SEQLEN_Q - 1
    own, other = (keys, rows) if owns_keys else (rows * GROUP, keys)
    plan = np.zeros((HEADS_KV, own // tile, 2), np.int32)
    plan[:, :, 1] = other // tiles["block_k"]
    result = np.zeros((HEADS_KV, own, len(sums.split("+")), head_dim), np.float32)
    scalars = {"head_rows": other, "heads": GROUP if owns_keys else 1, "plan.stride.1": 2, "plan.stride.2": plan[0].size,
               "result.extent.2": own, "result.stride.3": result[0].size, "softmax_scale": problem.scale,
               f"head_rows/{tiles['block_k']}": other // tiles["block_k"]}
    memory, places = lay_out({"queries": queries, "keys": table, "plan": plan, "result": result})
    parameters = [(places | scalars)[name] for name in names]
    for group in range(HEADS_KV):
        for block in range(own // tile):
            Block(kernel, parameters, memory, tiles["threads"], (block, group)).run()
    return memory[places["result"] // 4:][:result.size].view(np.float32).reshape(result.shape)


def lay_out(arrays):
    """One memory that holds all, and their addresses."""
    words, places = [np.zeros(4, np.uint32)], {}
    for name, array in arrays.items():
        places[name] = 4 * sum(map(len, words))
        words.append(np.resize(array.view(np.uint32), padded(array.size, 4)))
    return np.concatenate(words), places


def parameter_names(lowered):
    """What the host's code passes to the kernel, in order."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", lowered)
    call = next(line for line in text.splitlines() if "halide_cuda_run(" in line)
    definitions = dict(re.findall(r"let (t\d+) = (\S+)$", text, re.MULTILINE))
    names = re.findall(r"\(void \*\)(?:make_struct\((?:\(float32\))?)?([a-z_]\w*(?:\.[a-z]+)?(?:\.\d)?)\)?[,)]",
                       call[call.index("(void *)make_struct((void *)"):])
    names = [name.removesuffix(".buffer") for name in names if name != "make_struct"]
    return [definitions.get(name, name) for name in names]


def check(folder, name, sums, tiles, head_dim):
    problem = Problem(head_dim - 3)
    kernel = Kernel((folder / f"{name}.device_code").read_text(encoding="ascii").rstrip("\0"))
    names = parameter_names((folder / f"{name}.stmt").read_text(errors="ignore"))
    result = run_pass(kernel, names, sums, tiles, head_dim, problem)
    right = True
    for n, gradient in enumerate(sums.split("+")):
        exact = problem.exact[gradient]
        rows = result[:, :, n, :problem.channels].reshape(exact.shape[0], -1, problem.channels)[:, :exact.shape[1]]
        error = np.abs(rows - exact).max() / np.abs(exact).max()
        print(f"{name}: {gradient} within {error:.1e}")
        right = right and error < TOLERANCE
    return right


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    right = True
    for entry in json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))["kernels"]:
        if entry["op"] != "backward" or entry["terms"]:
            continue
        for sums, tiles in entry["passes"].items():
            name = f"backward_f32_cuda_d{entry['head_dim']}_{sums.replace('+', '_')}"
            right = check(Path(sys.argv[1]), name, sums, tiles, entry["head_dim"]) and right
    sys.exit(0 if right else "FAILED")


main()
