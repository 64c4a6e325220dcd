#!/usr/bin/env python3
"""Runs the PTX of the CUDA forward kernels without a device and compares what they give with exact attention.

    forward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

All of them, over grouped heads with tails on every axis and a diagonal from the bottom right; those with terms over all terms,
careful ones with a value of NaN that is hidden. ex2.approx is as wrong as it may be, in another way in each head. Needs NumPy.
"""
import sys

from host import entries, lay_out, np, padded, parameters_of, read
from interpreter import Block, exp2

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 85  # the first row sees some blocks of keys whole
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
NOBODYS_KEY = 7  # that a mask hides
TOLERANCE = 1e-5  # of the largest value
FAR = 1 << 30
LSE_COLUMNS = 4
# PTX ISA: ex2.approx.ftz.f32 has a relative error of at most 2^-22.5, and is 1 at 0. The CUDA C++ Programming Guide allows exp2f,
# which is made of it, 2 units in the last place.
POWER_ERROR = 2.0 ** -22
ANY = np.random.default_rng(2)
POWER_ERRORS = {"largest": lambda x: 1, "least": lambda x: -1, "largest or least": lambda x: ANY.choice([-1, 1], x.shape),
                "any": lambda x: ANY.uniform(-1, 1, x.shape)}


def power(error):
    """2^x with an error of that part of the largest."""
    return lambda x: exp2(x) * (1 + np.where(x == 0, 0, POWER_ERROR * error(x)))


class Problem:
    """Inputs, and the outputs in double."""

    def __init__(self, channels, terms, finite_values):
        random = np.random.default_rng(1)
        self.channels, self.scale, self.softcap = channels, channels ** -0.5, 2.0 if terms else 0.0
        self.q = random.standard_normal((HEADS, SEQLEN_Q, channels)).astype(np.float32)
        self.k, self.v = random.standard_normal((2, HEADS_KV, SEQLEN_K, channels)).astype(np.float32)
        self.slopes = (2.0 ** -np.arange(2, 2 + HEADS) if terms else np.zeros(HEADS)).astype(np.float32)
        self.bias = (random.standard_normal((HEADS, SEQLEN_Q, SEQLEN_K)) * bool(terms)).astype(np.float32)
        self.mask = (random.random((HEADS, SEQLEN_Q, SEQLEN_K)) < (0.8 if terms else 1)).astype(np.uint8)
        if not finite_values:
            self.bias[:, :, 3], self.mask[:, :, NOBODYS_KEY] = -np.inf, 0
        self.out, self.lse = self.exact()
        if not finite_values:
            self.v[:, NOBODYS_KEY] = np.nan

    def exact(self):
        keys, values = (np.repeat(x, GROUP, 0).astype(float) for x in (self.k, self.v))
        diagonal = np.arange(SEQLEN_Q)[:, None] + DIAGONAL
        scores = self.q @ keys.swapaxes(1, 2) * self.scale
        if self.softcap:
            scores = self.softcap * np.tanh(scores / self.softcap)
        scores = scores - self.slopes[:, None, None].astype(float) * np.abs(np.arange(SEQLEN_K) - diagonal) + self.bias
        scores = np.where((np.arange(SEQLEN_K) <= diagonal) & (self.mask != 0), scores, -np.inf)
        lse = np.log(np.exp(scores).sum(-1, keepdims=True))
        return np.exp(scores - lse) @ values, lse[..., 0]


def dense(tensor, rows, columns):
    table = np.zeros((len(tensor), rows, columns), tensor.dtype)
    table[:, :tensor.shape[1], :tensor.shape[2]] = tensor
    return table


def plan_of(tile, rows, block, test_all):
    """As runtime/gpu/key_plan: blocks are tested from where a row of the tile stops seeing all of one."""
    whole = 0 if test_all else min(tile * rows + DIAGONAL + 1, SEQLEN_K) // block
    end = (min((tile + 1) * rows + DIAGONAL, SEQLEN_K) + block - 1) // block
    return [0, 0, whole, end]


def columns_of(tiles, head_dim):
    """Where the result has the channels, and softmax_lse: each of the threads that share a row has some channels in turn."""
    parts, turn = tiles["parts"], tiles["tile_d"]
    own = head_dim // parts
    channels = np.arange(head_dim)
    part, place = channels // turn % parts, channels // (turn * parts) * turn + channels % turn
    return part * (own + LSE_COLUMNS) + place, own


def memory_of(problem, entry, head_dim, rows, keys):
    """All arrays, and scalars by name."""
    tiles = entry["tiles"]
    tile = tiles["threads"] // tiles["parts"] * tiles["rows"]
    plan = [plan_of(n, tile, tiles["block_k"], not entry["finite_values"]) for n in range(rows // tile)]
    arrays = {"q": dense(problem.q, rows, head_dim), "k": dense(problem.k, keys, head_dim), "v": dense(problem.v, keys, head_dim),
              "bias": dense(problem.bias, rows, keys), "mask": dense(problem.mask, rows, keys), "alibi_slopes": problem.slopes,
              "result": np.zeros((HEADS, rows, head_dim + tiles["parts"] * LSE_COLUMNS), np.float32), "plan": np.array(plan, np.int32)}
    for name, value in (("lo_offset", -FAR), ("hi_offset", DIAGONAL), ("key_count", SEQLEN_K), ("diagonal_offset", DIAGONAL)):
        arrays[name] = np.full(1, value, np.int32)
    scalars = {"softmax_scale": problem.scale, "softcap": problem.softcap, "softcap or 1": problem.softcap or 1.0,
               "softcap == 0": int(problem.softcap == 0), "k.extent.1": keys, "q.extent.2": HEADS, "k.extent.2": HEADS_KV,
               "bias.stride.1": keys, "mask.stride.1": keys, "plan.stride.1": 4, "plan.stride.2": arrays["plan"].size}
    for name in ("q", "k", "v", "result", "bias", "mask"):
        scalars[f"{name}.stride.2"], scalars[f"{name}.stride.3"] = arrays[name][0].size, arrays[name].size
    return arrays, scalars, tile


def run(kernel, names, entry, head_dim, problem):
    """Output and softmax_lse."""
    tiles = entry["tiles"]
    parts, threads = tiles["parts"], tiles["threads"]
    shape = (parts, threads // parts) if parts > 1 else (threads, 1)
    rows, keys = padded(SEQLEN_Q, threads // parts * tiles["rows"]), padded(SEQLEN_K, tiles["block_k"])
    arrays, scalars, tile = memory_of(problem, entry, head_dim, rows, keys)
    memory, places = lay_out(arrays)
    parameters = parameters_of(names, places | scalars)
    for head, error in enumerate(POWER_ERRORS.values()):
        for block in range(rows // tile):
            Block(kernel, parameters, memory, shape, (block, head, 0), power(error)).run()
    result = arrays["result"]
    result = memory[places["result"] // 4:][:result.size].view(np.float32).reshape(result.shape)[:, :SEQLEN_Q]
    channels, lse = columns_of(tiles, head_dim)
    return result[..., channels], result[..., lse]


def check(name, entry, head_dim):
    problem = Problem(head_dim - 3, entry["terms"], entry["finite_values"])
    out, lse = run(*read(name), entry, head_dim, problem)
    out_errors = np.abs(out[..., :problem.channels] - problem.out).max((1, 2)) / np.abs(problem.out).max()
    lse_errors = np.abs(lse - problem.lse).max(1)
    for error, *errors in zip(POWER_ERRORS, out_errors, lse_errors):
        print(f"{name}, error of ex2 {error}: out within {errors[0]:.1e}, lse within {errors[1]:.1e}")
    return max(*out_errors, *lse_errors) < TOLERANCE


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = [check(*kernel) for kernel in entries("forward")]
    sys.exit(0 if results and all(results) else "FAILED")


main()
