#!/usr/bin/env python3
"""Times of the GPU kernels beside attention by PyTorch, as a Markdown table.

    tests/device/compare.py PATH/TO/flashwright_gpu_bench [--backend cuda|opencl] [--shape SHAPE]...

Of PyTorch, in f32 without TF32, on tensors that are on the device: `math`, which is cuBLAS products and a softmax between
them, and what it chooses by itself, which is a fused kernel where it has one. Without PyTorch, or where it sees no GPU, the
table has our times alone and says so.
"""
import argparse
import json
import subprocess
import sys

SHAPES = ["1,8,8,1024,1024,64", "1,8,8,4096,4096,64", "4,16,16,2048,2048,64,causal", "4,16,16,2048,2048,128",
          "4,16,16,2048,2048,128,causal", "4,32,8,2048,2048,128,causal", "8,16,16,1000,1000,80"]
PATHS = ["math", "chosen"]


def pytorch():
    """The module, or why there is none to compare with."""
    try:
        import torch
    except ImportError:
        return None, "no PyTorch here"
    if not torch.cuda.is_available():
        return None, "PyTorch sees no GPU"
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return torch, f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}"


def milliseconds(torch, call):
    for _ in range(3):
        call()
    times = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(10):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return sorted(times)[len(times) // 2]


def peers(torch, shape):
    """{(op, path): milliseconds} of one shape; what a path cannot do is left out."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    batch, heads, heads_kv, seqlen_q, seqlen_k, head_dim, *rest = shape.split(",")
    causal = rest[-1:] == ["causal"]
    head_dim_v = rest[0] if rest and rest[0] != "causal" else head_dim

    def tensor(*extents):
        return torch.randn(*map(int, extents), device="cuda", requires_grad=True)

    q, k = tensor(batch, heads, seqlen_q, head_dim), tensor(batch, heads_kv, seqlen_k, head_dim)
    v, dout = tensor(batch, heads_kv, seqlen_k, head_dim_v), tensor(batch, heads, seqlen_q, head_dim_v)
    every = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    times = {}
    for path, backends in zip(PATHS, [[SDPBackend.MATH], every]):
        with sdpa_kernel(backends):
            def attention():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                        enable_gqa=heads != heads_kv)
            try:
                times["forward", path] = milliseconds(torch, attention)
                out = attention()
                times["backward", path] = milliseconds(
                    torch, lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True))
            except (torch.cuda.OutOfMemoryError, RuntimeError) as error:
                print(f"{shape} by {path}: {str(error).splitlines()[0]}", file=sys.stderr)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--shape", action="append", help="B,HQ,HKV,TQ,TK,D[,DV][,causal]")
    options = parser.parse_args()
    torch, with_whom = pytorch()
    print(f"Milliseconds, f32; {with_whom}\n")
    print("| operation | shape | flashwright | GFLOP/s | " + " | ".join(PATHS) + " |")
    print("|---|---|---|---|---|---|")
    for shape in options.shape or SHAPES:
        bench = subprocess.run([options.bench, options.backend, shape], stdout=subprocess.PIPE, text=True, check=False)
        if bench.returncode != 0:
            sys.exit(1)
        theirs = peers(torch, shape) if torch else {}
        for ours in map(json.loads, bench.stdout.splitlines()):
            cells = [f"{theirs[ours['op'], path]:.3f}" if (ours["op"], path) in theirs else "" for path in PATHS]
            print(f"| {ours['op']} | {shape} | {ours['milliseconds']:.3f} | {ours['gflops']:.0f} | " + " | ".join(cells) + " |",
                  flush=True)


main()
