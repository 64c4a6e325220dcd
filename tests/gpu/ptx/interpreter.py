"""Runs PTX by NumPy: the threads of a block together, one instruction after the other, as far as our kernels use it.

Branches must be taken by all threads or none, so shuffles meet whole warps. Registers of up to 32 bits are arrays of uint32, one element a thread; memory
is an array of words. Fused multiply-adds round once, by way of double.
"""
import re

import numpy as np

COMPARE = {"lt": np.less, "gt": np.greater, "le": np.less_equal, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
           "neu": np.not_equal, "nan": lambda x, y: np.isnan(x) | np.isnan(y)}
LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "neg": np.negative, "abs": np.abs,
              "rem": np.fmod, "rcp": np.reciprocal, "div": lambda x, y: np.trunc(x / y), "fma": lambda x, y, z: x.astype(np.float64) * y + z, "mad": lambda x, y, z: x * y + z,
              "shl": np.left_shift, "shr": np.right_shift}
WARP = 32
TYPES = {"f32": np.float32, "s32": np.int32, "u32": np.uint32, "b32": np.uint32, "b16": np.uint32, "s64": np.int64, "u64": np.uint64, "b64": np.uint64}


def split(text):
    """Operands, of which braces hold several together."""
    return re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", text)


class Kernel:
    """Instructions as (predicate, parts of the opcode, operands), and where labels stand."""

    def __init__(self, ptx):
        self.instructions, self.labels = [], {}
        for line in ptx[ptx.index("\n{"):].splitlines():
            line = line.split("//")[0].strip(" \t;")
            if label := re.match(r"(\$\w+):", line):
                self.labels[label[1]] = len(self.instructions)
            elif instruction := re.match(r"(?:@(!?%p\d+)\s+)?([a-z][\w.:]*)\s*(.*)", line):
                self.instructions.append((instruction[1], instruction[2].split("."), split(instruction[3])))


def exp2(x):
    """ex2.approx without error, but for its own rounding."""
    return np.exp2(x.astype(np.float64))


class Block:
    """One thread block of shape (x, y). `parameters` are addresses and scalars in the kernel's order; `memory` is words, at
    address 0; `power` is what ex2.approx computes, in double."""

    def __init__(self, kernel, parameters, memory, shape, index, power=exp2):
        self.kernel, self.parameters, self.power = kernel, parameters, power
        self.threads = threads = shape[0] * shape[1]
        self.memory = {"global": memory, "shared": np.zeros(1 << 14, np.uint32)}
        self.lanes = np.arange(threads, dtype=np.uint32)
        self.registers = {"%tid.x": self.lanes % shape[0], "%tid.y": self.lanes // shape[0]} | {f"%ctaid.{axis}": np.full(threads, n, np.uint32) for axis, n in zip("xyz", index)}

    def run(self):
        with np.errstate(all="ignore"):
            self.run_to_the_end()

    def run_to_the_end(self):
        at = 0
        while self.kernel.instructions[at][1][0] != "ret":
            predicate, opcode, operands = self.kernel.instructions[at]
            at += 1
            if predicate and not self.all_or_none(predicate):
                continue
            if opcode[0] == "bra":
                at = self.kernel.labels[operands[0]]
            elif opcode[0] != "bar":
                self.step(opcode, operands)

    def all_or_none(self, predicate):
        taken = self.registers[predicate.strip("!")] ^ predicate.startswith("!")
        if taken.any() and not taken.all():
            raise ValueError(f"{predicate}: threads of a block part ways")
        return taken.all()

    def value(self, operand, kind):
        if operand in self.registers:
            value = self.registers[operand]
        elif operand.startswith("{"):
            value = np.stack([self.value(half, "b32") for half in split(operand.strip("{}"))], axis=-1).view(np.uint64)[:, 0]
        elif operand.startswith("0f"):
            value = np.full(self.threads, int(operand[2:], 16), np.uint32)
        else:
            value = np.full(self.threads, int(operand)).astype(np.bool_ if kind == "pred" else TYPES[kind])
        return value if kind == "pred" else value.view(TYPES[kind])

    def step(self, opcode, operands):
        name, kind, target = opcode[0], opcode[-1], operands[0]
        if name in ("ld", "st"):
            self.move(opcode, operands)
        elif name == "setp":
            x, y = (self.value(operand, kind) for operand in operands[1:])
            self.registers[target] = COMPARE[opcode[1]](x, y)
        elif name == "selp":
            x, y = (self.value(operand, kind) for operand in operands[1:3])
            chosen = np.where(self.registers[operands[3]], x, y)
            self.registers[target] = chosen.view(np.uint64 if chosen.itemsize == 8 else np.uint32)
        elif name == "mov" and target.startswith("{"):
            halves = self.value(operands[1], kind).copy().view(np.uint32).reshape(-1, 2).T
            self.registers.update(zip(split(target.strip("{}")), halves.copy()))
        elif name in ("mov", "cvta"):
            self.registers[target] = self.value(operands[1], kind).copy()
        elif name == "cvt":
            self.registers[target] = self.value(operands[1], kind).astype(TYPES[opcode[-2]])
        elif name == "shfl":
            self.registers[target] = self.value(operands[1], kind)[self.partners(opcode, operands)].copy()
        elif name == "ex2":
            self.registers[target] = self.power_of(self.value(operands[1], kind)).view(np.uint32)
        elif name in LOGIC:
            self.registers[target] = LOGIC[name](*(self.value(operand, kind) for operand in operands[1:]))
        else:
            self.compute(opcode, operands)

    def partners(self, opcode, operands):
        """Whose value each thread gets: an exchange within whole warps, of which every thread takes part."""
        lane, last, members = operands[2:]
        if opcode[:3] != ["shfl", "sync", "bfly"] or (last, members) != ("31", "-1") or self.threads % WARP:
            raise ValueError(f"{'.'.join(opcode)} {operands}: expected an exchange within whole warps")
        return self.lanes ^ self.value(lane, "u32")

    def power_of(self, x):
        """ex2.approx.ftz: what is below the smallest normal number is 0, at both ends."""
        smallest = np.finfo(np.float32).tiny
        result = self.power(np.where(np.abs(x) < smallest, np.float32(0), x)).astype(np.float32)
        return np.where(result < smallest, np.float32(0), result)

    def compute(self, opcode, operands):
        name, kind = opcode[0], opcode[-1]
        # A shift counts in 32 bits, whatever it shifts.
        kinds = [kind, "u32" if name in ("shl", "shr") else kind, kind]
        values = [self.value(operand, which) for operand, which in zip(operands[1:], kinds)]
        wide = "wide" in opcode
        if wide:
            values = [value.astype(np.int64) for value in values]
        if name in ("shl", "shr"):
            values[1] = values[1].astype(values[0].dtype)
        if name in ("min", "max") and kind == "b32":
            raise ValueError(f"{'.'.join(opcode)}: expected a sign")
        operation = np.divide if opcode[:2] == ["div", "full"] else ARITHMETIC[name]
        result = operation(*values).astype(np.int64 if wide else TYPES[kind])
        self.registers[operands[0]] = result.view(np.uint64 if result.itemsize == 8 else np.uint32)

    def move(self, opcode, operands):
        load, wide = opcode[0] == "ld", opcode[-1].endswith("64")
        place, names = (operands[1], operands[0]) if load else operands
        if opcode[1] == "param":
            self.registers[names] = self.parameter(self.parameters[int(re.search(r"_(\d+)]", place)[1])], wide)
            return
        base, _, offset = place.strip("[]").partition("+")
        address = self.value(base, "b64").astype(np.int64) + int(offset or 0)
        word, memory = address // 4, self.memory["shared" if "shared" in opcode else "global"]
        if opcode[-1] == "b8":
            self.registers[names] = memory[word] >> (8 * (address % 4)).astype(np.uint32) & 0xFF
            return
        for n, name in enumerate(split(names.strip("{}"))):
            if load and wide:
                pair = np.stack([memory[word + 2 * n], memory[word + 2 * n + 1]], axis=-1)
                self.registers[name] = pair.view(np.uint64)[:, 0]
            elif load:
                self.registers[name] = memory[word + n].copy()
            elif wide:
                memory[word + 2 * n], memory[word + 2 * n + 1] = self.registers[name].copy().view(np.uint32).reshape(-1, 2).T
            else:
                memory[word + n] = self.value(name, "b32")

    def parameter(self, value, wide):
        if isinstance(value, float):
            return np.full(self.threads, value, np.float32).view(np.uint32)
        return np.full(self.threads, value, np.int64).view(np.uint64) if wide else np.full(self.threads, value, np.int32).view(np.uint32)
