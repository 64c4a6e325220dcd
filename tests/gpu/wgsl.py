#!/usr/bin/env python3
"""Runs the WebGPU forward kernels by Python's wgpu and compares what they give with exact attention.

    wgsl.py FOLDER_OF_THE_GPU_KERNELS

As ptx/forward.py does. Needs NumPy, and wgpu (PyPI) with an adapter, which Mesa's llvmpipe is.
"""
import re
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "ptx"))
from forward import HEADS, check, memory_of  # noqa: E402
from host import np, parameters_of  # noqa: E402

try:
    import wgpu
    DEVICE = wgpu.gpu.request_adapter_sync(power_preference="low-power").request_device_sync()
except Exception as error:  # pylint: disable=broad-except
    print(f"SKIP: no wgpu with an adapter: {str(error).splitlines()[0]}")
    sys.exit(77)


class Kernel:
    """The source, what its bindings and the members of its uniform block are called, and what its host's code says of those."""

    def __init__(self, path):
        self.source = path.with_suffix(".device_code").read_bytes().rstrip(b"\0").decode("ascii")
        self.entry = re.search(r"@compute[^\n]*\nfn (\w+)\(", self.source)[1]
        self.buffers = re.findall(rf"var<storage, read_write> {self.entry}_(\w+) :", self.source)
        members = re.search(r"struct ArgsStruct\w+ \{(.*?)\n\}", self.source, re.DOTALL)[1]
        lowered = re.sub(r"\x1b\[[0-9;]*m", "", path.with_suffix(".stmt").read_text(errors="ignore"))
        definitions = dict(re.findall(r"let (t\d+) = (\S+)$", lowered, re.MULTILINE))
        named = {re.sub(r"\W", "_", name): name for name in re.findall(r"\w+\.(?:stride|extent)\.\d", lowered)}
        names = re.findall(r"_(\w+) :", members)
        self.scalars = [definitions.get(name, named.get(name, name)) for name in names]


def run(kernel, entry, head_dim, problem):
    tiles = entry["tiles"]
    arrays, scalars = memory_of(problem, entry, head_dim)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffers = {name: DEVICE.create_buffer_with_data(data=arrays[name].tobytes(), usage=usage) for name in kernel.buffers}
    values = b"".join(np.float32(x).tobytes() if isinstance(x, float) else np.int32(x).tobytes()
                      for x in parameters_of(kernel.scalars, scalars))
    uniform = DEVICE.create_buffer_with_data(data=values, usage=wgpu.BufferUsage.UNIFORM)
    # As constants of the pipeline, which Halide's runtime makes them, this wgpu takes them for an invalid entry point.
    constants = {"wgsize_x": tiles["threads"], "wgsize_y": 1, "wgsize_z": 1, "workgroup_mem_bytes": 0}
    source = re.sub(r"override (\w+) : u32;", lambda found: f"const {found[1]} : u32 = {constants[found[1]]}u;", kernel.source)
    pipeline = DEVICE.create_compute_pipeline(layout="auto", compute={
        "module": DEVICE.create_shader_module(code=source), "entry_point": kernel.entry})
    encoder = DEVICE.create_command_encoder()
    steps = encoder.begin_compute_pass()
    steps.set_pipeline(pipeline)
    for group, bound in enumerate(([buffers[name] for name in kernel.buffers], [uniform])):
        entries = [{"binding": n, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}} for n, buffer in enumerate(bound)]
        steps.set_bind_group(group, DEVICE.create_bind_group(layout=pipeline.get_bind_group_layout(group), entries=entries))
    steps.dispatch_workgroups(len(arrays["plan"]), HEADS, 1)
    steps.end()
    DEVICE.queue.submit([encoder.finish()])
    result = arrays["result"]
    return np.frombuffer(DEVICE.queue.read_buffer(buffers["result"]), result.dtype).reshape(result.shape)


def entry_of(path):
    """As cmake/gpu_libraries.cmake has it."""
    text = path.with_suffix(".tiles").read_text(encoding="ascii")
    tiles = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", text)}
    return {"terms": [], "assume_finite": True, "tiles": tiles | {"threads_per_row": 1}}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = [check(path.stem, entry_of(path), int(path.stem.rpartition("_d")[2]), partial(run, Kernel(path)))
               for path in sorted(Path(sys.argv[1]).glob("forward_f32_webgpu_d*.a"))]
    sys.exit(0 if results and all(results) else "FAILED")


main()
