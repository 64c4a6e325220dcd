#!/usr/bin/env python3
"""Runs the PTX of the CUDA backward kernels without a device and compares what they give with exact gradients.

    backward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

Every pass of all of them, of f32 and f16, over grouped heads with tails on every axis and a diagonal from the bottom right; those with
terms over all terms, with a masked key and value of NaN. Gradients in f16 must be rounded once. Needs NumPy.
"""
import sys

from host import entries, lay_out, np, padded, parameters_of, read
from interpreter import Block

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 45
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
MASKED_KEY = 7
TOLERANCE = 1e-5  # of the largest gradient
FIRST, LAST, LSE, DELTA, COLUMNS = range(5)
DTYPES = {"f32": np.float32, "f16": np.float16}


class Problem:
    """Inputs, and gradients in double."""

    def __init__(self, channels, dtype, terms):
        random = np.random.default_rng(1)
        self.channels, self.dtype, self.scale, self.softcap = channels, dtype, channels ** -0.5, 2.0 if terms else 0.0
        self.q, self.dout = random.standard_normal((2, HEADS, SEQLEN_Q, channels)).astype(dtype)
        self.k, self.v = random.standard_normal((2, HEADS_KV, SEQLEN_K, channels)).astype(dtype)
        self.slopes = (2.0 ** -np.arange(2, 2 + HEADS) if terms else np.zeros(HEADS)).astype(np.float32)
        self.bias = (random.standard_normal((HEADS, SEQLEN_Q, SEQLEN_K)) * bool(terms)).astype(dtype)
        self.mask = (random.random((HEADS, SEQLEN_Q, SEQLEN_K)) < (0.8 if terms else 1)).astype(np.uint8)
        if terms:
            self.bias[:, :, 3], self.mask[:, :, MASKED_KEY] = -np.inf, 0
        self.exact = self.gradients()
        if terms:
            self.k[:, MASKED_KEY] = self.v[:, MASKED_KEY] = np.nan

    def gradients(self):
        q, dout = self.q.astype(float), self.dout.astype(float)
        keys, values = (np.repeat(x, GROUP, 0).astype(float) for x in (self.k, self.v))
        diagonal = np.arange(SEQLEN_Q)[:, None] + DIAGONAL
        scores, slope = q @ keys.swapaxes(1, 2) * self.scale, 1.0
        if self.softcap:
            slope = 1 - np.tanh(scores / self.softcap) ** 2
            scores = self.softcap * np.tanh(scores / self.softcap)
        scores = scores - self.slopes[:, None, None].astype(float) * np.abs(np.arange(SEQLEN_K) - diagonal) + self.bias
        scores = np.where((np.arange(SEQLEN_K) <= diagonal) & (self.mask != 0), scores, -np.inf)
        self.lse = np.log(np.exp(scores).sum(-1))
        p = np.exp(scores - self.lse[..., None])
        self.delta = (p @ values * dout).sum(-1)
        dbias = p * (dout @ values.swapaxes(1, 2) - self.delta[..., None])
        ds = dbias * slope * self.scale

        def of_keys(pairs, rows):
            return (pairs.swapaxes(1, 2) @ rows).reshape(HEADS_KV, GROUP, SEQLEN_K, self.channels).sum(1)

        return {"dq": ds @ keys, "dk": of_keys(ds, q), "dv": of_keys(p, dout), "dbias": dbias}


def side(first, second, rows, head_dim):
    """Two operands and four columns a row, as generators/gpu/backward_gpu_generator.cpp has them; all is masked yet."""
    heads, count, channels = first.shape
    table = np.zeros((heads, rows, 2 * head_dim + COLUMNS * 4 // first.itemsize), first.dtype)
    table[:, :count, :channels], table[:, :count, head_dim:head_dim + channels] = first, second
    columns = table[:, :, 2 * head_dim:].view(np.float32)
    columns.view(np.int32)[:, :, LAST] = -1
    return table, columns


def terms_of(problem, rows, keys):
    """What score terms take: bias and mask padded, and of each row its slope and places."""
    pairs = {"bias": np.zeros((HEADS, rows, keys), problem.dtype), "mask": np.zeros((HEADS, rows, keys), np.uint8)}
    pairs["bias"][:, :SEQLEN_Q, :SEQLEN_K], pairs["mask"][:, :SEQLEN_Q, :SEQLEN_K] = problem.bias, problem.mask
    first_key = np.arange(HEADS)[:, None] // GROUP * keys
    row = np.where(np.arange(rows) < SEQLEN_Q, np.arange(rows), 0)
    offset = (np.arange(HEADS)[:, None] * rows * keys + row * keys - first_key).astype(np.int32)
    diagonal = (first_key + np.arange(rows) + DIAGONAL).astype(np.int32)
    return pairs | {"alibi_slope": np.repeat(problem.slopes, rows), "diagonal_key": diagonal, "bias_offset": offset, "mask_offset": offset}


def run_pass(kernel, names, sums, tiles, head_dim, problem):
    """The result, [group, own row, gradient, channel]; of dbias [group, own row, 1, key]."""
    owns_keys, tile = sums not in ("dq", "dbias"), tiles["threads"] * tiles["rows"]
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
    blocks = other // tiles["block_k"]
    plan = np.zeros((HEADS_KV, own // tile, 2), np.int32)
    plan[:, :, 1] = blocks
    of_bias = sums == "dbias"
    result = np.zeros((HEADS_KV, own, len(sums.split("+")), keys if of_bias else head_dim), np.float32 if of_bias else problem.dtype)
    scalars = {"head_rows": other, "heads": GROUP if owns_keys else 1, "plan.stride.1": 2, "plan.stride.2": plan[0].size,
               "result.extent.2": own, "result.stride.2": result[0, 0].size, "result.stride.3": result[0].size,
               "softmax_scale": problem.scale, "softcap": problem.softcap, "softcap or 1": problem.softcap or 1.0,
               "softcap == 0": int(problem.softcap == 0)}
    memory, places = lay_out({"queries": queries, "keys": table, "plan": plan, "result": result} | terms_of(problem, rows, keys))
    parameters = parameters_of(names, places | scalars)
    for group in range(HEADS_KV):
        for block in range(own // tile):
            for index in [(n, block, group) for n in range(blocks)] if of_bias else [(block, group)]:
                Block(kernel, parameters, memory, (tiles["threads"], 1), index).run()
    return memory[places["result"] // 4:][:result.nbytes // 4].view(result.dtype).reshape(result.shape)


def check(name, sums, tiles, head_dim, dtype, terms):
    problem = Problem(head_dim - 3, dtype, terms)
    result = run_pass(*read(name), sums, tiles, head_dim, problem)
    right = True
    for n, gradient in enumerate(sums.split("+")):
        exact = problem.exact[gradient]
        heads, rows, columns = exact.shape
        actual = result[:, :, n, :columns].reshape(heads, -1, columns)[:, :rows]
        allowed = TOLERANCE * np.abs(exact).max()
        print(f"{name}: {gradient} within {np.abs(actual - exact).max() / np.abs(exact).max():.1e}")
        right = right and bool(((actual >= (exact - allowed).astype(actual.dtype)) & (actual <= (exact + allowed).astype(actual.dtype))).all())
    return right


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = [check(f"{name}_{sums.replace('+', '_')}", sums, tiles, head_dim, DTYPES[entry.get("dtype", "f32")], entry["terms"])
               for name, entry, head_dim in entries("backward") for sums, tiles in entry["passes"].items()]
    sys.exit(0 if results and all(results) else "FAILED")


main()
