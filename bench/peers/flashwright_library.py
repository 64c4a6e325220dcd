"""flashwright's shared library through ctypes; the structures are flashwright.h's."""

import ctypes
from ctypes import c_char, c_double, c_int, c_int32, c_int64, c_void_p

import numpy as np

from cases import aligned


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int),
        ("rank", c_int32),
        ("shape", c_int64 * 4),
        ("strides", c_int64 * 4),
    ]


class Status(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", c_char * 316)]


class ScoreOptions(ctypes.Structure):
    _fields_ = [
        ("softmax_scale", c_void_p),
        ("causal", c_int32),
        ("align", c_int),
        ("diagonal", c_void_p),
        ("window_left", c_int64),
        ("window_right", c_int64),
        ("softcap", c_double),
        ("key_lengths", c_void_p),
        ("bias", c_void_p),
        ("mask", c_void_p),
        ("alibi_slopes", c_void_p),
    ]


FORWARD = ("q", "k", "v", "out", "softmax_lse")
BACKWARD = FORWARD + ("dout", "dq", "dk", "dv", "dbias")


class ForwardArgs(ctypes.Structure):
    _fields_ = [(name, Tensor) for name in FORWARD] + [("score", ScoreOptions)]


class BackwardArgs(ctypes.Structure):
    _fields_ = [(name, Tensor) for name in BACKWARD] + [("score", ScoreOptions)]


def view(array):
    rank = array.ndim
    strides = [stride // array.itemsize for stride in array.strides]
    four = c_int64 * 4
    return Tensor(array.ctypes.data, 0, rank, four(*array.shape), four(*strides))


def zeros(shape):
    return aligned(np.zeros(shape, np.float32))


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.flashwright_version.restype = ctypes.c_char_p
        self.version = self.c.flashwright_version().decode()

    def call(self, op, args_type, causal, arrays):
        """A function that runs op on these arrays, with as many threads as cores."""
        args = args_type()
        getattr(self.c, f"flashwright_{op}_args_init")(ctypes.byref(args))
        args.score.causal = causal
        for name, array in arrays.items():
            setattr(args, name, view(array))
        function = getattr(self.c, f"flashwright_{op}")
        function.restype = Status

        def run():
            status = function(ctypes.byref(args), None)
            if status.code:
                raise RuntimeError(status.message.decode())

        run.arrays = arrays  # args holds addresses alone
        return run

    def forward(self, causal, q, k, v):
        out, lse = zeros(q.shape), zeros(q.shape[:3])
        arrays = dict(zip(FORWARD, (q, k, v, out, lse), strict=True))
        return self.call("forward", ForwardArgs, causal, arrays), [out, lse]

    def backward(self, causal, q, k, v, dout):
        forward, (out, lse) = self.forward(causal, q, k, v)
        forward()
        gradients = [zeros(q.shape) for _ in range(3)]
        arrays = dict(zip(BACKWARD, (q, k, v, out, lse, dout, *gradients)))
        return self.call("backward", BackwardArgs, causal, arrays), gradients
