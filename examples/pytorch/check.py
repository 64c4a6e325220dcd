"""flashwright_torch against PyTorch's scaled_dot_product_attention: results, gradients, layouts, errors, time."""
import sys
import time

import torch
from flashwright_torch import attention
from torch.nn.functional import scaled_dot_product_attention

TOLERANCES = {torch.float32: 4e-5, torch.float64: 1e-11}  # of the largest value, as in the project's tests
failures = 0


def expect(condition, what):
    global failures
    if not condition:
        print(f"FAILED: {what}")
        failures += 1


def error(actual, expected):
    return ((actual - expected).abs().max() / expected.abs().max()).item() if expected.numel() else 0.0


def problem(shape_q, shape_kv, head_dim_v=None, dtype=torch.float32, layout="bhsd"):
    """Random leaves, and views of them as attention takes them."""
    head_dim_v = head_dim_v or shape_q[-1]
    shapes = shape_q, shape_kv, (*shape_kv[:-1], head_dim_v)
    if layout == "bhsd":
        leaves = views = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    elif layout == "bshd":
        leaves = [torch.randn(b, s, h, d, dtype=dtype, requires_grad=True) for b, h, s, d in shapes]
        views = [leaf.transpose(1, 2) for leaf in leaves]
    else:  # q, k and v of a token side by side
        b, h, s, d = shape_q
        leaves = [torch.randn(b, s, 3, h, d, dtype=dtype, requires_grad=True)]
        views = leaves[0].permute(2, 0, 3, 1, 4).unbind(0)
    return leaves, views


def compare(name, leaves, views, bias=None, mask=None, causal=False, scale=None):
    attn_mask = bias if mask is None else mask
    grouped = views[0].shape[-3] != views[1].shape[-3]
    leaves = leaves + [bias] * (bias is not None and bias.requires_grad)
    expected = scaled_dot_product_attention(*views, attn_mask=attn_mask, is_causal=causal, scale=scale, enable_gqa=grouped)
    actual = attention(*views, bias=bias, mask=mask, causal=causal, scale=scale)
    dout = torch.randn_like(expected)
    pairs = [("out", actual, expected)]
    pairs += zip(["gradient"] * len(leaves), torch.autograd.grad(actual, leaves, dout), torch.autograd.grad(expected, leaves, dout))
    errors = [error(a, e) for _, a, e in pairs]
    print(f"{name:40} {views[0].dtype}: " + ", ".join(f"{e:.1e}" for e in errors))
    for (what, *_), e in zip(pairs, errors):
        expect(e <= TOLERANCES[views[0].dtype], f"{name}: {what} differs by {e:.2e} of the largest value")


def compare_with_pytorch():
    for dtype in TOLERANCES:
        square = (2, 6, 77, 40)
        for layout in ("bhsd", "bshd", "packed"):
            compare(f"[{layout}]", *problem(square, square, dtype=dtype, layout=layout))
            compare(f"[{layout}] causal", *problem(square, square, dtype=dtype, layout=layout), causal=True)
        compare("other lengths and value channels, scale", *problem((2, 6, 33, 40), (2, 6, 90, 40), 24, dtype), scale=0.3)
        compare("grouped heads", *problem((2, 6, 50, 32), (2, 2, 70, 32), dtype=dtype))
        compare("mask", *problem(square, square, dtype=dtype), mask=torch.rand(2, 1, 77, 77) > 0.3)
        for shape in ((2, 6, 77, 77), (1, 6, 77, 77), (2, 1, 1, 77)):
            bias = torch.randn(shape, dtype=dtype, requires_grad=True)
            compare(f"bias {list(shape)}", *problem(square, square, dtype=dtype), bias=bias)


def check_formulas():
    leaves, views = problem((1, 2, 5, 3), (1, 2, 7, 3), dtype=torch.float64)
    bias = torch.randn(1, 1, 5, 7, dtype=torch.float64, requires_grad=True)
    expect(torch.autograd.gradcheck(lambda *x: attention(*x[:3], bias=x[3]), (*leaves, bias)), "gradcheck")
    results = torch.library.opcheck(torch.ops.flashwright.forward, (*views, bias, None, False, None))
    expect(set(results.values()) == {"SUCCESS"}, f"opcheck: {results}")


def check_no_copies():
    _, views = problem((2, 6, 77, 40), (2, 6, 77, 40), layout="packed")
    q, k, v = (view.detach() for view in views)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        out, lse = torch.ops.flashwright.forward(q, k, v, None, None, False, None)
        torch.ops.flashwright.backward(torch.ones(()).expand(out.shape), q, k, v, out, lse, None, None, False, None, False)
    names = {event.key for event in profile.key_averages()}
    expect({"flashwright::forward", "flashwright::backward"} <= names, f"the operators are not in the profile: {names}")
    copies = names & {"aten::copy_", "aten::clone", "aten::contiguous", "aten::to"}
    expect(not copies, f"copies: {copies}")


def check_zero_sizes():
    for batch, length_q, length_k in ((0, 5, 5), (2, 0, 5), (2, 5, 0)):
        leaves, views = problem((batch, 3, length_q, 8), (batch, 3, length_k, 8))
        out = attention(*views)
        out.sum().backward()
        expect(out.shape == (batch, 3, length_q, 8) and not out.any(), f"zero size {batch}, {length_q}, {length_k}")
        expect(all(leaf.grad.shape == leaf.shape and not leaf.grad.any() for leaf in leaves), "gradients of zero size")


def check_errors():
    q = torch.randn(1, 2, 4, 8)
    for name, words, call in (
        ("half precision", "q: expected float32 or float64", lambda: attention(q.half(), q.half(), q.half())),
        ("two dtypes", "k: expected dtype f32", lambda: attention(q, q.double(), q.double())),
        ("two head dimensions", "k: expected head_dim 8 (as q), got 4", lambda: attention(q, q[..., :4], q)),
        ("no channels", "q: expected head_dim from 1", lambda: attention(q[..., :0], q[..., :0], q)),
        ("five axes", "q: expected 1 to 4 axes, got 5", lambda: attention(q[None], q[None], q[None])),
        ("a float mask", "mask: expected dtype bool", lambda: attention(q, q, q, mask=torch.ones(4, 4))),
    ):
        try:
            call()
            expect(False, f"{name}: no error")
        except RuntimeError as raised:
            expect(words in str(raised), f"{name}: expected '{words}' in: {raised}")


def seconds(call):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def show_time():
    leaves, views = problem((1, 8, 1024, 64), (1, 8, 1024, 64))
    dout = torch.randn(1, 8, 1024, 64)
    for name, function in (("flashwright", lambda: attention(*views, causal=True)),
                           ("PyTorch", lambda: scaled_dot_product_attention(*views, is_causal=True))):
        both = seconds(lambda: torch.autograd.grad(function(), leaves, dout))
        with torch.no_grad():
            alone = seconds(function)
        print(f"1 x 8 x 1024 x 64 causal, {torch.get_num_threads()} threads, {name}: forward {1e3 * alone:.1f} ms, "
              f"with backward {1e3 * both:.1f} ms")


torch.manual_seed(1)
compare_with_pytorch()
check_formulas()
check_no_copies()
check_zero_sizes()
check_errors()
show_time()
print(f"{failures} failures")
sys.exit(1 if failures else 0)
