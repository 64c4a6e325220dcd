"""Who is measured. Each class imports its library when it is made, knows its version,
and sets up an op on a case's tensors; one without an op cannot do it."""

from typing import Any, Callable, NamedTuple

import numpy as np

from cases import aligned


class Call(NamedTuple):
    run: Callable[[], Any]  # what is timed
    results: Callable[[Any], list]  # of what it returned, as arrays of the case's shape
    variant: str = ""


class Flashwright:
    title = "flashwright"

    def __init__(self, threads, library):
        from flashwright_library import Library

        self.library = Library(library)
        self.version = self.library.version

    def forward(self, case, q, k, v, dout):
        run, (out, _) = self.library.forward(case.causal, q, k, v)
        return [Call(run, lambda _: [out])]

    def backward(self, case, q, k, v, dout):
        run, gradients = self.library.backward(case.causal, q, k, v, dout)
        return [Call(run, lambda _: gradients)]


class OnnxRuntime:
    """Has three operators for it, none of them the fastest everywhere."""

    title = "ONNX Runtime"

    def __init__(self, threads, library):
        import onnx
        import onnxruntime

        self.onnx, self.ort = onnx, onnxruntime
        self.version = onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads

    def forward(self, case, q, k, v, dout):
        heads, causal = case.heads, int(case.causal)
        shape = (case.batch, case.seqlen, heads, case.head_dim)

        def rows(x):
            return aligned(x.swapaxes(1, 2)).reshape(case.batch, case.seqlen, -1)

        def heads_first(out):
            return out.reshape(shape).swapaxes(1, 2)

        inputs = {"q": q, "k": k, "v": v}
        in_rows = {name: rows(array) for name, array in inputs.items()}
        microsoft = {"domain": "com.microsoft", "num_heads": heads}
        multi = {"unidirectional": causal, **microsoft}
        calls = [
            self.call("Attention", inputs, {"is_causal": causal}),
            self.call("MultiHeadAttention", in_rows, multi, heads_first),
        ]
        if case.causal:
            lengths = {
                "past_key": None,
                "past_value": None,
                "seqlens_k": np.full(case.batch, case.seqlen - 1, np.int32),
                "total_sequence_length": np.array(case.seqlen, np.int32),
            }
            cache = {"present_key": k.shape, "present_value": v.shape}
            grouped = {"kv_num_heads": heads, **microsoft}
            calls.append(
                self.call(
                    "GroupQueryAttention",
                    in_rows | lengths,
                    grouped,
                    heads_first,
                    cache,
                )
            )
        return calls

    def call(self, operator, inputs, attributes, results=lambda out: out, more={}):
        """A model of this one operator, its tensors bound to memory once."""
        helper = self.onnx.helper
        given = {name: array for name, array in inputs.items() if array is not None}
        shapes = {"out": inputs["q"].shape} | more
        outputs = {n: aligned(np.zeros(s, np.float32)) for n, s in shapes.items()}

        def declare(arrays):
            return [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
                )
                for name, array in arrays.items()
            ]

        names = [name if name in given else "" for name in inputs]
        node = helper.make_node(operator, names, list(outputs), **attributes)
        graph = helper.make_graph([node], operator, declare(given), declare(outputs))
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        session = self.ort.InferenceSession(
            model.SerializeToString(), self.options, ["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        values = {
            name: self.ort.OrtValue.ortvalue_from_numpy(array)
            for name, array in (given | outputs).items()
        }
        for name in given:
            binding.bind_ortvalue_input(name, values[name])
        for name in outputs:
            binding.bind_ortvalue_output(name, values[name])
        return Call(
            lambda: session.run_with_iobinding(binding),
            lambda _: [results(values["out"].numpy())],
            operator,
        )


class OpenVino:
    title = "OpenVINO"

    def __init__(self, threads, library):
        import openvino
        from openvino import opset13

        self.openvino, self.opset = openvino, opset13
        self.version = openvino.__version__.split("-")[0]
        self.configuration = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
        }

    def forward(self, case, q, k, v, dout):
        inputs = [
            self.opset.parameter(x.shape, self.openvino.Type.f32) for x in (q, k, v)
        ]
        out = self.opset.scaled_dot_product_attention(*inputs, causal=case.causal)
        model = self.openvino.Model([self.opset.result(out)], inputs, "attention")
        compiled = self.openvino.compile_model(model, "CPU", self.configuration)
        request = compiled.create_infer_request()
        for port, array in zip(compiled.inputs, (q, k, v), strict=True):
            request.set_tensor(port, self.openvino.Tensor(array))
        return [Call(request.infer, lambda _: [request.get_output_tensor(0).data])]


class Torch:
    title = "PyTorch"

    def __init__(self, threads, library):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.version = torch.__version__.split("+")[0]

    def forward(self, case, q, k, v, dout):
        inputs = [self.torch.from_numpy(x) for x in (q, k, v)]
        return [
            Call(
                lambda: self.attention(*inputs, case.causal), lambda out: [out.numpy()]
            )
        ]

    def attention(self, q, k, v, causal):
        return self.torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal
        )

    def backward(self, case, q, k, v, dout):
        inputs = [self.torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
        dout = self.torch.from_numpy(dout)
        with self.torch.enable_grad():
            out = self.attention(*inputs, case.causal)

        def run():
            return self.torch.autograd.grad(out, inputs, dout, retain_graph=True)

        return [Call(run, lambda gradients: [x.numpy() for x in gradients])]


class ZenTorch(Torch):
    title = "zentorch"
    backward = None

    def __init__(self, threads, library):
        super().__init__(threads, library)
        import zentorch

        self.version = zentorch.__version__.split("+")[0]

    def attention(self, q, k, v, causal):
        return self.torch.ops.zentorch.zentorch_sdpa(q, k, v, 0.0, causal)[0]


class Jax:
    title = "JAX"

    def __init__(self, threads, library):
        import jax

        self.jax = jax
        self.version = jax.__version__

    def forward(self, case, q, k, v, dout):
        def attention(q, k, v):
            return self.jax.nn.dot_product_attention(q, k, v, is_causal=case.causal)

        inputs = [self.jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v)]
        compiled = self.jax.jit(attention)
        return [
            Call(
                lambda: compiled(*inputs).block_until_ready(),
                lambda out: [np.asarray(out).swapaxes(1, 2)],
            )
        ]


IMPLEMENTATIONS = {
    "flashwright": Flashwright,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "zentorch": ZenTorch,
    "torch": Torch,
    "jax": Jax,
}
