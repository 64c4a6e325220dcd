#!/usr/bin/env python3
"""Runs the PTX of the CUDA forward kernels without a device and compares what they give with exact attention.

    forward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

Every exponential is the processor's but that of the soft cap. All kernels, of f32 and f16, over grouped heads with tails on every axis and a diagonal from the bottom right; those with terms over all terms,
NaN-safe ones with a masked value of NaN. ex2.approx has the largest error that it may have, another one in each head. Needs NumPy.
"""
import sys
from functools import partial

from host import entries, lay_out, np, padded, parameters_of, read, source_of
from interpreter import Block, exp2

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 85  # the first row attends to some blocks of keys whole
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
MASKED_KEY = 7
TOLERANCE = 1e-5  # of the largest value
HALF_STEP = 2.0 ** -11  # of numbers in f16
FAR = 1 << 30
LSE_BYTES = 16
DTYPES = {"f32": np.float32, "f16": np.float16}
# PTX ISA: ex2.approx.ftz.f32 has a relative error of at most 2^-22.5, and is 1 at 0. The CUDA C++ Programming Guide allows exp2f,
# which is made of it, 2 units in the last place.
POWER_ERROR = 2.0 ** -22
POLYNOMIAL = "0f4B40007F"  # 1.5 2^23 + 127, by which algorithm/scalar_math.cpp rounds the exponent
ANY = np.random.default_rng(2)
POWER_ERRORS = [lambda x: 1, lambda x: -1, lambda x: ANY.choice([-1, 1], x.shape), lambda x: ANY.uniform(-1, 1, x.shape)]


def power(error):
    """2^x with an error of that part of the largest."""
    return lambda x: exp2(x) * (1 + np.where(x == 0, 0, POWER_ERROR * error(x)))


class Problem:
    """Inputs, and the outputs in double."""

    def __init__(self, channels, dtype, terms, assume_finite):
        random = np.random.default_rng(1)
        self.dtype, self.channels, self.scale, self.softcap = dtype, channels, channels ** -0.5, 2.0 if terms else 0.0
        self.q = random.standard_normal((HEADS, SEQLEN_Q, channels)).astype(dtype)
        self.k, self.v = random.standard_normal((2, HEADS_KV, SEQLEN_K, channels)).astype(dtype)
        self.slopes = (2.0 ** -np.arange(2, 2 + HEADS) if terms else np.zeros(HEADS)).astype(np.float32)
        self.bias = (random.standard_normal((HEADS, SEQLEN_Q, SEQLEN_K)) * bool(terms)).astype(dtype)
        self.mask = (random.random((HEADS, SEQLEN_Q, SEQLEN_K)) < (0.8 if terms else 1)).astype(np.uint8)
        if not assume_finite:
            self.bias[:, :, 3], self.mask[:, :, MASKED_KEY] = -np.inf, 0
        self.out, self.lse = self.exact()
        if not assume_finite:
            self.v[:, MASKED_KEY] = np.nan

    def exact(self):
        keys, values = (np.repeat(x, GROUP, 0).astype(float) for x in (self.k, self.v))
        diagonal = np.arange(SEQLEN_Q)[:, None] + DIAGONAL
        scores = self.q.astype(float) @ keys.swapaxes(1, 2) * self.scale
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
    """As runtime/gpu/key_plan: blocks are tested from where a key of one is masked for a row of the tile."""
    whole = 0 if test_all else min(tile * rows + DIAGONAL + 1, SEQLEN_K) // block
    end = (min((tile + 1) * rows + DIAGONAL, SEQLEN_K) + block - 1) // block
    return [0, 0, whole, end]


def columns_of(tiles, head_dim, lse_columns):
    """Where the result has the channels, and softmax_lse: each of the threads that share a row has some channels in turn."""
    threads_per_row, turn = tiles["threads_per_row"], tiles["tile_d"]
    channels_per_thread = head_dim // threads_per_row
    channels = np.arange(head_dim)
    thread, place = channels // turn % threads_per_row, channels // (turn * threads_per_row) * turn + channels % turn
    return thread * (channels_per_thread + lse_columns) + place, channels_per_thread


def memory_of(problem, entry, head_dim):
    """The kernel's buffers, of which the result is [head, row, column], and scalars by name."""
    tiles = entry["tiles"]
    tile = tiles["threads"] // tiles["threads_per_row"] * tiles["rows"]
    rows, keys = padded(SEQLEN_Q, tile), padded(SEQLEN_K, tiles["block_k"])
    plan = [plan_of(n, tile, tiles["block_k"], not entry["assume_finite"]) for n in range(rows // tile)]
    columns = head_dim + tiles["threads_per_row"] * (LSE_BYTES // problem.q.itemsize)
    arrays = {"q": dense(problem.q, rows, head_dim), "k": dense(problem.k, keys, head_dim), "v": dense(problem.v, keys, head_dim),
              "bias": dense(problem.bias, rows, keys), "mask": dense(problem.mask, rows, keys), "alibi_slopes": problem.slopes,
              "result": np.zeros((HEADS, rows, columns), problem.dtype), "plan": np.array(plan, np.int32)}
    for name, value in (("lo_offset", -FAR), ("hi_offset", DIAGONAL), ("key_count", SEQLEN_K), ("diagonal_offset", DIAGONAL)):
        arrays[name] = np.full(1, value, np.int32)
    scalars = {"softmax_scale": problem.scale, "softcap": problem.softcap, "softcap or 1": problem.softcap or 1.0,
               "softcap == 0": int(problem.softcap == 0), "k.extent.1": keys, "q.extent.2": HEADS, "k.extent.2": HEADS_KV,
               "bias.stride.1": keys, "mask.stride.1": keys, "plan.stride.1": 4, "plan.stride.2": arrays["plan"].size}
    for name in ("q", "k", "v", "result", "bias", "mask"):
        scalars[f"{name}.stride.2"], scalars[f"{name}.stride.3"] = arrays[name][0].size, arrays[name].size
    return arrays, scalars


def run(kernel, names, entry, head_dim, problem):
    """The result; in each head ex2.approx is wrong in another way."""
    threads_per_row, threads = entry["tiles"]["threads_per_row"], entry["tiles"]["threads"]
    shape = (threads_per_row, threads // threads_per_row) if threads_per_row > 1 else (threads, 1)
    arrays, scalars = memory_of(problem, entry, head_dim)
    memory, places = lay_out(arrays)
    parameters = parameters_of(names, places | scalars)
    for head, error in enumerate(POWER_ERRORS):
        for block in range(len(arrays["plan"])):
            Block(kernel, parameters, memory, shape, (block, head, 0), power(error)).run()
    result = arrays["result"]
    return memory[places["result"] // 4:][:result.nbytes // 4].view(result.dtype).reshape(result.shape)


def check(name, entry, head_dim, run_kernel):
    """`run_kernel` gives the result of an entry, a head_dim and a problem."""
    problem = Problem(head_dim - 3, DTYPES[entry.get("dtype", "f32")], entry["terms"], entry["assume_finite"])
    result = run_kernel(entry, head_dim, problem)[:, :SEQLEN_Q]
    lse_columns = LSE_BYTES // result.itemsize
    channels, lse_at = columns_of(entry["tiles"], head_dim, lse_columns)
    out = result[..., channels[:problem.channels]]
    lse = np.ascontiguousarray(result[..., lse_at:lse_at + lse_columns]).view(np.float32)[..., 0]
    of_out, of_lse = np.abs(out - problem.out).max() / np.abs(problem.out).max(), np.abs(lse - problem.lse).max()
    print(f"{name}: out within {of_out:.1e}, lse within {of_lse:.1e}")
    return of_out < TOLERANCE + (HALF_STEP if problem.dtype == np.float16 else 0) and of_lse < TOLERANCE


def exponentials_are_of_the_processor(name, entry):
    """A weight for each pair of a block, and two factors of the state, once for each code path. The soft cap's are polynomials."""
    ptx = source_of(name)
    code_paths, rows, keys = (3 if entry["assume_finite"] else 1), entry["tiles"]["rows"], entry["tiles"]["block_k"]
    found = ptx.count("ex2.approx.ftz.f32"), ptx.count(POLYNOMIAL)
    expected = code_paths * rows * (keys + 2), code_paths * rows * keys * ("softcap" in entry["terms"])
    if found != expected:
        print(f"{name}: expected {expected} ex2.approx and polynomials, got {found}")
    return found == expected


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kernels = list(entries("forward"))
    results = [check(*kernel, partial(run, *read(kernel[0]))) for kernel in kernels]
    results += [exponentials_are_of_the_processor(name, entry) for name, entry, _ in kernels]
    sys.exit(0 if results and all(results) else "FAILED")


if __name__ == "__main__":
    main()
