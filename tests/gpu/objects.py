#!/usr/bin/env python3
"""Looks at the form of GPU kernels that may have no device here: Vulkan, Metal, WebGPU, Direct3D 12.

    objects.py FOLDER_OF_THE_GPU_KERNELS

SPIR-V is validated where spirv-val is (Debian: spirv-tools), WGSL where Python's wgpu has an adapter (PyPI: wgpu).
"""
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FORMS = {  # of the library's object, and what its source must hold
    "metal": (b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01", b"kernel void ", b"#include <metal_stdlib>"),
    "webgpu": (b"\0asm\1\0\0\0", b"@compute @workgroup_size(", b"var<workgroup> "),
    "d3d12compute": (b"`\n\x64\x86", b"[ numthreads( ", b"RWBuffer<float> _result"),
}
SPIRV_MAGIC, SPIRV_HEADER, FUNCTION_END = struct.pack("<I", 0x07230203), 20, 56


def spirv_in(data):
    """The module in an object: from its magic number to the end of its last function."""
    if data.count(SPIRV_MAGIC) != 1:
        return b""
    start = data.index(SPIRV_MAGIC)
    at = end = start + SPIRV_HEADER
    while at + 4 <= len(data):
        instruction, = struct.unpack_from("<I", data, at)
        words, opcode = instruction >> 16, instruction & 0xffff
        if words == 0 or opcode == 0:
            break
        at += 4 * words
        end = at if opcode == FUNCTION_END else end
    return data[start:end]


def check_spirv(path):
    module = spirv_in(path.read_bytes())
    if not module or len(module) == SPIRV_HEADER:
        return "no SPIR-V module"
    if not shutil.which("spirv-val"):
        return "SKIP: no spirv-val"
    with tempfile.NamedTemporaryFile() as file:
        file.write(module)
        file.flush()
        found = subprocess.run(["spirv-val", "--target-env", "vulkan1.1", file.name], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else found.stdout + found.stderr


def check_library(path, api):
    object_start, *words = FORMS[api]
    data, source = path.read_bytes(), path.with_suffix(".device_code").read_bytes()
    name = path.stem
    if not data.startswith(b"!<arch>\n") or object_start not in data:
        return "no object of its machine"
    if f"int flashwright_{name}(" not in path.with_suffix(".h").read_text(encoding="ascii"):
        return "its header does not declare it"
    missing = [word.decode() for word in words if word not in source or word not in data]
    return f"no '{missing[0]}'" if missing else check_wgsl(source) if api == "webgpu" else ""


def check_wgsl(source):
    try:
        import wgpu
        device = wgpu.gpu.request_adapter_sync(power_preference="low-power").request_device_sync()
    except Exception as error:  # pylint: disable=broad-except
        return f"SKIP: no wgpu with an adapter: {str(error).splitlines()[0]}"
    try:
        device.create_shader_module(code=source.rstrip(b"\0").decode())
    except wgpu.GPUError as error:
        return str(error)
    return ""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder, results = Path(sys.argv[1]), {}
    for path in sorted(folder.glob("*_vulkan_*.o")):
        results[path.name] = check_spirv(path)
    for api in FORMS:
        for path in sorted(folder.glob(f"*_{api}_d*.*")):
            if path.suffix in (".a", ".lib"):
                results[path.name] = check_library(path, api)
    for name, problem in results.items():
        print(f"{name}: {problem or 'right'}")
    if any(problem and not problem.startswith("SKIP") for problem in results.values()):
        sys.exit("FAILED")
    if not results or any(results.values()):
        print("SKIP: not all could be looked at")
        sys.exit(77)


main()
