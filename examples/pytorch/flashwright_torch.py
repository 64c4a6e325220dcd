"""flashwright's attention for PyTorch tensors on the CPU, with gradients.

    from flashwright_torch import attention
    out = attention(q, k, v, causal=True)

Compiles attention_op.cpp at the first import, against the library in build/release of this project.
"""
from pathlib import Path

import torch
from torch.utils import cpp_extension

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

cpp_extension.load(
    name="flashwright_torch_ops",
    sources=[str(HERE / "attention_op.cpp")],
    extra_include_paths=[str(ROOT / "runtime/include")],
    extra_cflags=["-O2"],
    extra_ldflags=[str(ROOT / "build/release/lib/libflashwright.a")],
    is_python_module=False,
)


def attention(q, k, v, *, bias=None, mask=None, causal=False, scale=None):
    """softmax(scale * q k^T + bias, masked where mask is false) v.

    q [batch, heads, seqlen_q, head_dim], k and v [batch, heads_kv, seqlen_k, …], or without batch, without heads; any
    strides; float32 or float64. bias (of q's dtype) and mask (bool): [batch|1, heads|1, seqlen_q|1, seqlen_k]. causal: query
    i attends to keys up to i. Rows without an unmasked key give 0. Gradients by q, k, v and bias.
    """
    return torch.ops.flashwright.forward(q, k, v, bias, mask, causal, scale)[0]


def _save(ctx, inputs, output):
    q, k, v, bias, mask, ctx.causal, ctx.scale = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, bias, mask, *output)


def _gradients(ctx, dout, _):
    q, k, v, bias, mask, out, lse = ctx.saved_tensors
    want_dbias = ctx.needs_input_grad[3]
    dq, dk, dv, dbias = torch.ops.flashwright.backward(dout, q, k, v, out, lse, bias, mask, ctx.causal, ctx.scale, want_dbias)
    return dq, dk, dv, dbias if want_dbias else None, None, None, None


def _empty_output(q, v):
    return torch.empty_like(q) if q.shape[-1] == v.shape[-1] else q.new_empty(*q.shape[:-1], v.shape[-1])


# What torch.compile needs to know: shapes and layouts of the results.
@torch.library.register_fake("flashwright::forward")
def _(q, k, v, bias, mask, causal, scale):
    return _empty_output(q, v), q.new_empty(q.shape[:-1])


@torch.library.register_fake("flashwright::backward")
def _(dout, q, k, v, out, lse, bias, mask, causal, scale, want_dbias):
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), q.new_empty(bias.shape if want_dbias else 0)


torch.library.register_autograd("flashwright::forward", _gradients, setup_context=_save)
