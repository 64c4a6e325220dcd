"""What is computed: the cases, their tensors, and exact attention in double."""

from dataclasses import dataclass

import numpy as np

OPS = ("forward", "backward")


@dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    seqlen: int
    head_dim: int
    causal: bool = False

    @classmethod
    def parse(cls, text):
        numbers = text.removesuffix(",causal").split(",")
        if len(numbers) != 4 or not all(n.isdecimal() and int(n) for n in numbers):
            raise ValueError(f"expected BATCH,HEADS,SEQLEN,HEAD_DIM[,causal]: {text}")
        return cls(*map(int, numbers), causal=text.endswith(",causal"))

    def __str__(self):
        causal = ",causal" if self.causal else ""
        return f"{self.batch},{self.heads},{self.seqlen},{self.head_dim}{causal}"

    @property
    def label(self):
        causal = ", causal" if self.causal else ""
        return f"{self.batch} × {self.heads}, {self.seqlen}, {self.head_dim}{causal}"

    def flops(self, op):
        """Of the matrix products alone; only unmasked pairs count."""
        pairs = self.seqlen * (self.seqlen + 1) / 2 if self.causal else self.seqlen**2
        products = {"forward": 2, "backward": 5}[op]
        return 2 * products * self.batch * self.heads * pairs * self.head_dim

    def tensors(self):
        """q, k, v and dout, [batch, heads, seqlen, head_dim]."""
        shape = (self.batch, self.heads, self.seqlen, self.head_dim)
        random = np.random.default_rng(1)
        return [
            aligned(random.standard_normal(shape, dtype=np.float32)) for _ in range(4)
        ]


def aligned(array):
    """A copy at the start of a cache line, where NumPy alone would not put it."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def exact(op, case, tensors):
    """The results of one head (seqlen, head_dim) in double, from its q, k, v, dout."""
    q, k, v, dout = (tensor.astype(np.float64) for tensor in tensors)
    scale = case.head_dim**-0.5
    scores = scale * q @ k.T
    if case.causal:
        scores[np.triu_indices_from(scores, 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    out = p @ v
    if op == "forward":
        return [out]
    ds = p * (dout @ v.T - (dout * out).sum(axis=1, keepdims=True))
    return [scale * ds @ k, scale * ds.T @ q, p.T @ dout]


def error(op, case, tensors, results):
    """The largest error of the last head, relative to its largest value."""
    head = [tensor[-1, -1] for tensor in tensors]
    return max(
        np.abs(result[-1, -1] - right).max() / np.abs(right).max()
        for result, right in zip(results, exact(op, case, head), strict=True)
    )
