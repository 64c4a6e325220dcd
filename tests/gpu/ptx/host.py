"""What the host's side of a kernel is, for the scripts that run kernels without our library: forward.py and backward.py, whose
arguments are FOLDER_OF_THE_GPU_KERNELS and CONFIGURATION, and wgsl.py, which has no CONFIGURATION.
"""
import json
import re
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)

from interpreter import Kernel


def padded(size, tile):
    return (size + tile - 1) // tile * tile


def entries(op):
    """(name, entry, head_dim) of the CUDA kernels of an operation."""
    for entry in json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))["kernels"]:
        if entry["op"] == op and entry.get("backend", "cuda") == "cuda":
            suffix = [] if entry["assume_finite"] else ["nansafe"]
            name = [op, *entry["terms"], entry.get("dtype", "f32"), "cuda", f"d{entry['head_dim']}", *suffix]
            yield "_".join(name), entry, entry["head_dim"]


def source_of(name):
    return (Path(sys.argv[1]) / f"{name}.device_code").read_text(encoding="ascii").rstrip("\0")


def read(name):
    """The kernel, and the names of what the host passes to it."""
    return Kernel(source_of(name)), parameter_names((Path(sys.argv[1]) / f"{name}.stmt").read_text(errors="ignore"))


def parameters_of(names, values):
    """Their values; a name may be a quotient."""
    return [values[name] if name in values else values[name.split("/")[0]] // divisor(name.split("/")[1], values) for name in names]


def divisor(text, values):
    return int(text) if text.isdigit() else values[text]


def lay_out(arrays):
    """One memory that holds all, and their addresses."""
    words, places = [np.zeros(4, np.uint32)], {}
    for name, array in arrays.items():
        places[name] = 4 * sum(map(len, words))
        own = array.view(np.uint32).ravel()
        words.append(np.resize(own, padded(len(own), 4)))
    return np.concatenate(words), places


def value_name(value):
    """Of what the host computes before the call; quotients are their own names."""
    if re.fullmatch(r"select\(.*, 1\.0+f, \(float32\)softcap\)", value):
        return "softcap or 1"
    return "softcap == 0" if re.fullmatch(r"\(float32\)softcap == 0\.0+f", value) else value


def parameter_names(lowered):
    """What the host's code passes to the kernel, in order."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", lowered)
    call = next(line for line in text.splitlines() if "halide_cuda_run(" in line)
    definitions = {name: value_name(value) for name, value in re.findall(r"let (t\d+) = (.+)$", text, re.MULTILINE)}
    names = re.findall(r"\(void \*\)(?:make_struct\((?:\(float32\))?)?([a-z_]\w*(?:\.[a-z]+)?(?:\.\d)?)\)?[,)]",
                       call[call.index("(void *)make_struct((void *)"):])
    names = [name.removesuffix(".buffer") for name in names if name != "make_struct"]
    return [definitions.get(name, name) for name in names]
