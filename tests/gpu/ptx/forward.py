#!/usr/bin/env python3
"""Runs the PTX of the CUDA forward kernels without a device and compares what they give with exact attention.

    forward.py FOLDER_OF_THE_GPU_KERNELS CONFIGURATION

Those without terms, of f32 and f16, over grouped heads with tails on every axis and a diagonal from the bottom right. Needs NumPy.
"""
import sys
from functools import partial

from host import entries, lay_out, np, padded, parameters_of, read
from interpreter import Block

HEADS, HEADS_KV, SEQLEN_Q, SEQLEN_K = 4, 2, 37, 85  # the first row sees some blocks of keys whole
GROUP, DIAGONAL = HEADS // HEADS_KV, SEQLEN_K - SEQLEN_Q
TOLERANCE = 1e-5  # of the largest value
HALF_STEP = 2 ** -11  # of numbers in f16
FAR = 1 << 30
LSE_BYTES = 16


def exact(q, k, v, scale):
    keys, values = (np.repeat(x, GROUP, 0).astype(float) for x in (k, v))
    seen = np.arange(SEQLEN_K) <= np.arange(SEQLEN_Q)[:, None] + DIAGONAL
    scores = np.where(seen, q @ keys.swapaxes(1, 2) * scale, -np.inf)
    lse = np.log(np.exp(scores).sum(-1, keepdims=True))
    return np.exp(scores - lse) @ values, lse[..., 0]


def dense(tensor, rows, head_dim):
    table = np.zeros((len(tensor), rows, head_dim), tensor.dtype)
    table[:, :tensor.shape[1], :tensor.shape[2]] = tensor
    return table


def plan_of(tile, rows, block):
    """As runtime/gpu/key_plan: blocks are tested from where a row of the tile stops seeing all of one."""
    whole = min(tile * rows + DIAGONAL + 1, SEQLEN_K) // block
    end = (min((tile + 1) * rows + DIAGONAL, SEQLEN_K) + block - 1) // block
    return [0, 0, whole, end]


def host_side(tiles, head_dim, q, k, v, scale):
    """The kernel's buffers and scalars by name, of which the result is [head, row, channel], of the type of q; after the channels comes
    lse in f32.
    """
    tile = tiles["threads"] * tiles["rows"]
    rows, keys = padded(SEQLEN_Q, tile), padded(SEQLEN_K, tiles["block_k"])
    arrays = {"q": dense(q, rows, head_dim), "k": dense(k, keys, head_dim), "v": dense(v, keys, head_dim),
              "result": np.zeros((HEADS, rows, head_dim + LSE_BYTES // q.itemsize), q.dtype),
              "plan": np.array([plan_of(n, tile, tiles["block_k"]) for n in range(rows // tile)], np.int32)}
    for name, value in (("lo_offset", -FAR), ("hi_offset", DIAGONAL), ("key_count", SEQLEN_K)):
        arrays[name] = np.full(1, value, np.int32)
    scalars = {"softmax_scale": scale, "k.extent.1": keys, "q.extent.2": HEADS, "k.extent.2": HEADS_KV, "plan.stride.1": 4}
    for name in ("q", "k", "v", "result", "plan"):
        scalars[f"{name}.stride.2"], scalars[f"{name}.stride.3"] = arrays[name][0].size, arrays[name].size
    scalars["plan.stride.2"] = arrays["plan"].size
    return arrays, scalars


def run(kernel, names, tiles, *problem):
    arrays, scalars = host_side(tiles, *problem)
    memory, places = lay_out(arrays)
    parameters = parameters_of(names, places | scalars)
    for head in range(HEADS):
        for block in range(len(arrays["plan"])):
            Block(kernel, parameters, memory, tiles["threads"], (block, head, 0)).run()
    result = arrays["result"]
    return memory[places["result"] // 4:][:result.nbytes // 4].view(result.dtype).reshape(result.shape)


def check(name, dtype, tiles, head_dim, run_kernel):
    """`run_kernel` takes the tiles and what host_side does."""
    channels = head_dim - 3
    random = np.random.default_rng(1)
    q = random.standard_normal((HEADS, SEQLEN_Q, channels)).astype(dtype)
    k, v = random.standard_normal((2, HEADS_KV, SEQLEN_K, channels)).astype(dtype)
    out, lse = exact(q, k, v, channels ** -0.5)
    result = run_kernel(tiles, head_dim, q, k, v, channels ** -0.5)[:, :SEQLEN_Q]
    of_out = np.abs(result[..., :channels] - out).max() / np.abs(out).max()
    of_lse = np.abs(np.ascontiguousarray(result[..., head_dim:]).view(np.float32)[..., 0] - lse).max()
    print(f"{name}: out within {of_out:.1e}, lse within {of_lse:.1e}")
    return of_out < TOLERANCE + (HALF_STEP if dtype == np.float16 else 0) and of_lse < TOLERANCE


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    dtypes = {"f32": np.float32, "f16": np.float16}
    results = [check(name, dtypes[entry.get("dtype", "f32")], entry["tiles"], head_dim, partial(run, *read(name)))
               for name, entry, head_dim in entries("forward")]
    sys.exit(0 if results and all(results) else "FAILED")


if __name__ == "__main__":
    main()
