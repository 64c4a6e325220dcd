#!/usr/bin/env python3
"""Runs the PTX of the CUDA backward kernels without a device and compares what they give with exact gradients.

    backward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

Every pass of the kernels without terms, over grouped heads with tails on every axis and a diagonal from the bottom right.
Needs NumPy.
"""
import sys

from host import entries, lay_out, np, padded, parameters_of, read
from interpreter import Block

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 45
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
TOLERANCE = 1e-5  # of the largest gradient
FIRST, LAST, LSE, DELTA, COLUMNS = range(5)


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
               "result.extent.2": own, "result.stride.3": result[0].size, "softmax_scale": problem.scale}
    memory, places = lay_out({"queries": queries, "keys": table, "plan": plan, "result": result})
    parameters = parameters_of(names, places | scalars)
    for group in range(HEADS_KV):
        for block in range(own // tile):
            Block(kernel, parameters, memory, (tiles["threads"], 1), (block, group)).run()
    return memory[places["result"] // 4:][:result.size].view(np.float32).reshape(result.shape)


def check(name, sums, tiles, head_dim):
    problem = Problem(head_dim - 3)
    result = run_pass(*read(name), sums, tiles, head_dim, problem)
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
    passes = [(name, *each, head_dim) for name, entry, head_dim in entries("backward") if not entry["terms"] for each in entry["passes"].items()]
    results = [check(f"{name}_{sums.replace('+', '_')}", sums, tiles, head_dim) for name, sums, tiles, head_dim in passes]
    sys.exit(0 if results and all(results) else "FAILED")


main()
