"""Runs PTX by NumPy: the threads of a block together, one instruction after the other, as far as our kernels use it.

Branches must be taken by all threads or none, so shuffles meet whole warps, but for branches to the end, where some may go earlier.
Registers of up to 16, 32 and 64 bits are arrays of uint16, uint32 and uint64, one element a thread; memory is an array of words.
Fused multiply-adds round once, by way of double.
"""
import re

import numpy as np

COMPARE = {"lt": np.less, "gt": np.greater, "le": np.less_equal, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
           "neu": np.not_equal, "geu": lambda x, y: ~(x < y), "nan": lambda x, y: np.isnan(x) | np.isnan(y)}
LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "neg": np.negative,
              "rem": np.fmod, "abs": np.abs, "rcp": np.reciprocal, "div": lambda x, y: x / y if x.dtype == np.float32 else np.trunc(x / y), "fma": lambda x, y, z: x.astype(np.float64) * y + z, "mad": lambda x, y, z: x * y + z,
              "shl": np.left_shift, "shr": np.right_shift}
TYPES = {"f16": np.float16, "b16": np.uint16, "f32": np.float32, "f64": np.float64, "s32": np.int32, "u32": np.uint32, "b32": np.uint32, "s64": np.int64, "u64": np.uint64, "b64": np.uint64}
HALF = {"b32": "b16", "b64": "b32"}
REGISTER = {1: np.bool_, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by bytes
WARP = 32
SMALL = {"b8": np.uint8, "b16": np.uint16}  # what memory has that is smaller than words


def split(text):
    """Operands, of which braces hold several together."""
    return re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", text)


class Kernel:
    """Instructions as (predicate, parts of the opcode, operands), where labels stand, and the types of the parameters."""

    def __init__(self, ptx):
        self.instructions, self.labels = [], {}
        self.parameters = re.findall(r"\.param \.(\w+) ", ptx)
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
    """One thread block of so many `threads` along x and y. `parameters` are addresses and scalars in the kernel's order;
    `memory` is words, at address 0; `power` is what ex2.approx computes, in double.
    """

    def __init__(self, kernel, parameters, memory, threads, index, power=exp2):
        self.kernel, self.parameters, self.power, self.threads = kernel, parameters, power, threads[0] * threads[1]
        self.memory = {"global": memory, "shared": np.zeros(1 << 14, np.uint32)}
        self.lanes = np.arange(self.threads, dtype=np.uint32)
        self.registers = {"%tid.x": self.lanes % threads[0], "%tid.y": self.lanes // threads[0]}
        self.registers |= {f"%ctaid.{axis}": np.full(self.threads, n, np.uint32) for axis, n in zip("xyz", index)}
        self.active = np.ones(self.threads, bool)
        self.executed = 0  # instructions

    def run(self):
        with np.errstate(all="ignore"):
            self.run_to_the_end()

    def run_to_the_end(self):
        at = 0
        while self.kernel.instructions[at][1][0] != "ret":
            predicate, opcode, operands = self.kernel.instructions[at]
            at += 1
            self.executed += 1
            if predicate and not self.all_or_none(predicate, opcode, operands, at):
                continue
            if opcode[0] == "bra":
                at = self.kernel.labels[operands[0]]
            elif opcode[0] != "bar":
                self.step(opcode, operands)

    def all_or_none(self, predicate, opcode, operands, following):
        taken = self.registers[predicate.strip("!")] ^ predicate.startswith("!")
        if opcode[0] == "bra":
            # Those that part from the others by going to the end are done.
            if self.at_the_end(self.kernel.labels[operands[0]]):
                self.active &= ~taken | taken[self.active].all()
            elif self.at_the_end(following):
                self.active &= taken | ~taken[self.active].any()
        mine = taken[self.active]
        if mine.any() and not mine.all():
            raise ValueError(f"{predicate}: threads of a block part ways")
        return mine.all()

    def at_the_end(self, at):
        predicate, opcode, operands = self.kernel.instructions[at]
        return opcode[0] == "ret" or (opcode[0] == "bra" and not predicate and self.at_the_end(self.kernel.labels[operands[0]]))

    def value(self, operand, kind):
        if operand in self.registers:
            value = self.registers[operand]
        elif operand.startswith("{"):
            halves = [self.value(half, HALF[kind]) for half in split(operand.strip("{}"))]
            value = np.stack(halves, axis=-1).view(TYPES[kind])[:, 0]
        elif operand.startswith("0f"):
            value = np.full(self.threads, int(operand[2:], 16), np.uint32)
        elif operand.startswith("0d"):
            value = np.full(self.threads, int(operand[2:], 16), np.uint64)
        else:
            value = np.full(self.threads, int(operand, 0)).astype(np.bool_ if kind == "pred" else TYPES[kind])
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
            self.registers[target] = chosen.view(REGISTER[chosen.itemsize])
        elif name == "mov" and target.startswith("{"):
            halves = self.value(operands[1], kind).copy().view(TYPES[HALF[kind]]).reshape(-1, 2).T
            self.registers.update(zip(split(target.strip("{}")), halves.copy()))
        elif name in ("mov", "cvta"):
            self.registers[target] = self.value(operands[1], kind).copy()
        elif name == "cvt" and "f16x2" in opcode:
            high, low = (self.value(operand, kind).astype(np.float16) for operand in operands[1:])
            self.registers[target] = np.stack([low, high], axis=-1).view(np.uint32)[:, 0]
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
        if opcode[:3] != ["shfl", "sync", "bfly"] or (last, members) != ("31", "-1") or self.threads % WARP or not self.active.all():
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
        result = ARITHMETIC[name](*values).astype(np.int64 if wide else TYPES[kind])
        self.registers[operands[0]] = result.view(REGISTER[result.itemsize])

    def move(self, opcode, operands):
        load, wide = opcode[0] == "ld", opcode[-1].endswith("64")
        place, names = (operands[1], operands[0]) if load else operands
        if opcode[1] == "param":
            value = self.parameter(self.parameters[int(re.search(r"_(\d+)]", place)[1])], wide)
            self.registers[names] = value.astype(np.uint16) if opcode[-1] in SMALL else value
            return
        base, _, offset = place.strip("[]").partition("+")
        address = np.where(self.active, self.value(base, "b64").astype(np.int64) + int(offset or 0), 0)
        memory, word = self.memory["shared" if "shared" in opcode else "global"], address // 4
        if opcode[-1] in SMALL:
            small = memory.view(SMALL[opcode[-1]])
            for n, name in enumerate(split(names.strip("{}"))):
                place = address // small.itemsize + n
                if load:
                    self.registers[name] = small[place].astype(np.uint32 if re.match(r"%r\d", name) else np.uint16)  # zeros before it
                else:
                    self.store(small, place, self.value(name, "b16"))
            return
        for n, name in enumerate(split(names.strip("{}"))):
            if load and wide:
                pair = np.stack([memory[word + 2 * n], memory[word + 2 * n + 1]], axis=-1)
                self.registers[name] = pair.view(np.uint64)[:, 0]
            elif load:
                self.registers[name] = memory[word + n].copy()
            elif wide:
                halves = self.registers[name].copy().view(np.uint32).reshape(-1, 2)
                self.store(memory, word + 2 * n, halves[:, 0])
                self.store(memory, word + 2 * n + 1, halves[:, 1])
            else:
                self.store(memory, word + n, self.value(name, "b32"))

    def store(self, memory, place, values):
        memory[place[self.active]] = values[self.active]

    def parameter(self, value, wide):
        if isinstance(value, float):
            return np.full(self.threads, value, np.float32).view(np.uint32)
        return np.full(self.threads, value, np.int64).view(np.uint64) if wide else np.full(self.threads, value, np.int32).view(np.uint32)
