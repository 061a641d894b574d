# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a plan and runs its functions in this process, in list order.

Independent of the runtime and of any protobuf library: a wire-format parser,
the fragments through ctypes, the library kernels in NumPy from their
descriptions. A communication is the identity (all ranks hold the same). What
goes to and from parameter servers is the caller's: see Machine.execute and
parameter_servers.py."""
import ctypes
import os
import struct
import subprocess
import tempfile

import numpy as np

from built import tool

# The fields of plan/plan.proto that are used here: number -> (name, kind).
# Kinds: "u" unsigned, "s" zigzag, "b" bytes, "t" text, "d" double, "m:<type>"
# message, "o" an unsigned one that is None if it is not there; a trailing "*" repeats.
SCHEMA = {
    "Plan": {1: ("schema_version", "u"), 2: ("required_features", "x"), 5: ("cluster", "m:Cluster"),
             6: ("slots", "m:Slot*"), 7: ("functions", "m:Function*"), 8: ("objects", "m:CodeObject*"),
             9: ("kernels", "m:Kernel*"), 10: ("locations", "t*"), 11: ("roles", "m:Role*"),
             12: ("parameter_servers", "m:ParameterServers")},
    "Role": {1: ("name", "t"), 2: ("count", "u"), 3: ("functions", "u*"), 4: ("slots", "u*")},
    "Cluster": {2: ("nodes", "u")},
    "TensorType": {1: ("element", "u"), 2: ("shape", "u*")},
    "Slot": {1: ("name", "t"), 2: ("kind", "u"), 3: ("type", "m:TensorType"), 4: ("part_of", "t"),
             5: ("row_begin", "u"), 6: ("internal", "u")},
    "Function": {1: ("name", "t"), 2: ("is_step", "u"), 3: ("arena_bytes", "u"), 4: ("scratch_bytes", "u"),
                 5: ("buffers", "m:Buffer*"), 6: ("instructions", "m:Instruction*"),
                 7: ("outputs", "m:Output*"), 8: ("global_batch", "u")},
    "Buffer": {1: ("kind", "u"), 2: ("type", "m:TensorType"), 3: ("offset", "u"), 4: ("slot", "u"),
               5: ("batch", "t"), 6: ("name", "t"), 8: ("parent", "u")},
    "Output": {1: ("metric", "t"), 2: ("buffer", "u")},
    "Dependence": {1: ("instruction", "u"), 2: ("distance", "u"), 3: ("part", "o")},
    "Instruction": {1: ("name", "t"), 2: ("dependences", "m:Dependence*"), 4: ("deferred", "u"),
                    6: ("device", "u"), 10: ("run", "m:Run"), 11: ("communicate", "m:Communicate"),
                    12: ("copy", "m:CopyBuffer"), 13: ("delay", "m:Delay"), 14: ("push", "m:Message"),
                    15: ("pull", "m:Message")},
    "Message": {1: ("key", "t"), 2: ("server", "u"), 3: ("block", "u"), 4: ("buffer", "u")},
    "ParameterServers": {1: ("mode", "u"), 2: ("merge", "u"), 3: ("mean", "u"), 4: ("servers", "m:Server*")},
    "Server": {1: ("role", "u"), 2: ("blocks", "m:ServerBlock*"), 3: ("has_schedule", "u"), 4: ("schedule", "u")},
    "ServerBlock": {1: ("key", "t"), 2: ("pull_key", "t"), 3: ("function", "u"), 4: ("slot", "u"),
                    8: ("more_slots", "u*")},
    "Run": {1: ("object", "u"), 2: ("symbol", "t"), 3: ("inputs", "u*"), 4: ("outputs", "u*")},
    "CopyBuffer": {1: ("source", "u"), 2: ("target", "u")},
    "Delay": {1: ("nanoseconds", "u"), 2: ("inputs", "u*"), 3: ("outputs", "u*")},
    "Communicate": {1: ("key", "t"), 2: ("source_op", "t"), 3: ("buffer", "u"), 5: ("has_input", "u"),
                    6: ("input", "u"), 7: ("input_is_shard", "u"), 8: ("has_output", "u"), 9: ("output", "u"),
                    14: ("part_bytes", "u*")},
    "CodeObject": {1: ("target", "t"), 2: ("elf", "b")},
    "Kernel": {1: ("kind", "t"), 2: ("operands", "m:KernelTensor*"), 3: ("attributes", "m:Entry*"),
               4: ("accumulate", "u")},
    "Entry": {1: ("key", "t"), 2: ("value", "m:Int64List")},
    "KernelTensor": {1: ("element", "u"), 2: ("dims", "u*"), 3: ("strides", "u*")},
    "Int64List": {1: ("values", "u*")},
}
DEFAULTS = {"u": 0, "x": 0, "b": b"", "t": "", "d": 0.0}
BF16 = 4
DTYPES = {1: np.float64, 2: np.float32, 3: np.float16, 4: np.uint16, 5: np.int64, 6: np.int32, 7: np.int8, 8: np.bool_}


class Message:
    pass


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at


def parse(data, name):
    """The message `name` in `data`; missing fields have their defaults."""
    result = Message()
    for field, kind in SCHEMA[name].values():
        single = kind.rstrip("*")
        setattr(result, field, [] if kind.endswith("*") else DEFAULTS.get(single))
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert wire == 2, f"wire type {wire}"
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        if tag >> 3 not in SCHEMA[name]:
            continue
        field, kind = SCHEMA[name][tag >> 3]
        if kind.startswith("m:"):
            value = parse(value, kind[2:].rstrip("*"))
        elif kind.startswith("t"):
            value = value.decode()
        elif kind == "u*" and wire == 2:
            packed, i = [], 0
            while i < len(value):
                v, i = varint(value, i)
                packed.append(v)
            getattr(result, field).extend(packed)
            continue
        if kind.endswith("*"):
            getattr(result, field).append(value)
        else:
            setattr(result, field, value)
    return result


def read_plan(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"CSPLAN\0\1", "not a plan"
    assert struct.unpack_from("<Q", data, 8)[0] == len(data) - 24
    return parse(data[24:], "Plan")


def strided(address, tensor):
    """The kernel operand at `address` as a NumPy view; bf16 as its bits."""
    dtype = np.dtype(DTYPES[tensor.element])
    extent = 1 + sum((d - 1) * s for d, s in zip(tensor.dims, tensor.strides))
    flat = np.frombuffer((ctypes.c_char * (extent * dtype.itemsize)).from_address(address), dtype)
    return np.lib.stride_tricks.as_strided(flat, tensor.dims, [dtype.itemsize * s for s in tensor.strides])


def run_kernel(kernel, operands):
    """Kernel descriptions by their definition, in float64."""
    a, b, c = (strided(p, t) for p, t in zip(operands, kernel.operands))
    if kernel.kind == "matmul":
        check_matmul(kernel)
    if kernel.operands[0].element == BF16:
        a, b = from_bf16(a), from_bf16(b)
    attributes = {e.key: e.value.values for e in kernel.attributes}
    if kernel.kind == "matmul":
        result = np.matmul(a.astype(np.float64), b.astype(np.float64))
    else:
        result = convolution(kernel.kind, a, b, c.shape, attributes)
    assert result.shape == c.shape, (kernel.kind, result.shape, c.shape)
    bf16 = kernel.operands[2].element == BF16
    result = (from_bf16(c) if bf16 else c) + result if kernel.accumulate else result
    c[...] = to_bf16(result) if bf16 else result.astype(np.float32)


def check_matmul(kernel):
    """The contract of ops/onednn/matmul.h."""
    a, b, c = (t.dims for t in kernel.operands)
    assert a[:-2] == b[:-2] == c[:-2] and len(a) <= 5, (a, b, c)


def to_bf16(x):
    """Bits of the nearest bf16, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (np.asarray(bits, np.uint32) << 16).view(np.float32)


def convolution(kind, a, b, shape, attributes):
    groups = attributes.get("groups", [1])[0]
    if groups > 1:
        # Group by group, along the channels of each operand.
        axes = {"convolution_forward": (1, 0, 1), "convolution_backward_weights": (1, 1, 0),
                "convolution_backward_data": (1, 0, 1)}[kind]
        one = {**attributes, "groups": [1]}
        part = list(shape)
        part[axes[2]] //= groups
        return np.concatenate([convolution(kind, p, q, part, one) for p, q in zip(
            np.split(a, groups, axes[0]), np.split(b, groups, axes[1]))], axes[2])
    low, high = attributes["pad_low"], attributes["pad_high"]
    strides, dilations = attributes["strides"], attributes["dilations"]
    space = len(low)
    sides = {"convolution_forward": ("x", "w", "g"), "convolution_backward_weights": ("x", "g", "w"),
             "convolution_backward_data": ("g", "w", "x")}[kind]
    t = dict(zip(sides, (a.astype(np.float64), b.astype(np.float64), np.zeros(shape))))
    padded = [n + lo + hi for n, lo, hi in zip(t["x"].shape[2:], low, high)]
    x = np.zeros(t["x"].shape[:2] + tuple(padded))
    inner = (slice(None),) * 2 + tuple(slice(lo, lo + n) for lo, n in zip(low, t["x"].shape[2:]))
    x[inner] = t["x"]
    image = t["g"].shape[2:]
    for q in np.ndindex(*t["w"].shape[2:]):
        window = (slice(None),) * 2 + tuple(
            slice(q[i] * dilations[i], q[i] * dilations[i] + (image[i] - 1) * strides[i] + 1, strides[i])
            for i in range(space))
        at = (slice(None),) * 2 + q
        if kind == "convolution_forward":
            t["g"] += np.einsum("nc...,oc->no...", x[window], t["w"][at])
        elif kind == "convolution_backward_weights":
            t["w"][at] = np.einsum("nci,noi->oc", x[window].reshape(*x.shape[:2], -1),
                                   t["g"].reshape(*t["g"].shape[:2], -1))
        else:
            x[window] += np.einsum("no...,oc->nc...", t["g"], t["w"][at])
    return x[inner] if kind == "convolution_backward_data" else t[sides[2]]


CALL_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Context(ctypes.Structure):
    """CsFragmentContext of plan/fragment_abi.h."""
    _fields_ = [("call_kernel", CALL_KERNEL), ("scratch", ctypes.c_void_p), ("user", ctypes.c_void_p)]


def aligned(size):
    """Bytes at a 64-byte boundary, not zero, so that a missing fill shows."""
    memory = np.full(size + 64, 0x7b, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size]


class Machine:
    """One rank that runs a plan."""

    def __init__(self, path):
        self.plan = read_plan(path)
        self.calls = []  # kinds of the kernels that ran
        self.slots = {}
        if self.plan.objects:
            with tempfile.NamedTemporaryFile(suffix=".so", delete=False) as file:
                file.write(self.plan.objects[0].elf)
            self.library = ctypes.CDLL(file.name)
            os.unlink(file.name)

    def _kernel(self, context, index, operands):
        kernel = self.plan.kernels[index]
        self.calls.append(kernel.kind)
        run_kernel(kernel, [operands[i] for i in range(len(kernel.operands))])

    def function(self, name):
        return next(f for f in self.plan.functions if f.name == name)

    def run(self, name, batch=None):
        """Runs function `name`; returns its metrics. Values of slots are in
        `slots`, by name."""
        try:
            next(self.execute(name, batch))
        except StopIteration as end:
            return end.value
        raise AssertionError(f"{name} needs parameter servers")

    def execute(self, name, batch=None):
        """The same, as a generator: yields ("push", message, value), and
        ("pull", message), to which the value is sent."""
        function = self.function(name)
        arena, scratch = aligned(function.arena_bytes), aligned(function.scratch_bytes)
        guard = aligned(64)
        values, after = [], {}
        for buffer in function.buffers:
            dtype, shape = DTYPES[buffer.type.element], tuple(buffer.type.shape)
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            if buffer.kind == 0:
                assert buffer.offset % 64 == 0 and buffer.offset + size <= function.arena_bytes
                value = arena[buffer.offset:buffer.offset + size].view(dtype).reshape(shape)
            elif buffer.kind == 1:
                value = np.ascontiguousarray(self.slots[self.plan.slots[buffer.slot].name], dtype).reshape(shape)
            elif buffer.kind == 2:
                value = after[self.plan.slots[buffer.slot].name] = aligned(size).view(dtype).reshape(shape)
            elif buffer.kind == 4:
                whole = values[buffer.parent].reshape(-1).view(np.uint8)
                assert function.buffers[buffer.parent].kind != 4 and buffer.offset + size <= len(whole)
                value = whole[buffer.offset:buffer.offset + size].view(dtype).reshape(shape)
                assert np.shares_memory(value, whole)
            else:
                value = np.ascontiguousarray(batch[buffer.batch], dtype).reshape(shape)
            values.append(value)
        callback = CALL_KERNEL(self._kernel)
        context = Context(callback, scratch.ctypes.data if len(scratch) else guard.ctypes.data, None)
        for instruction in function.instructions:
            if instruction.run:
                used = list(instruction.run.inputs) + list(instruction.run.outputs)
                pointers = (ctypes.c_void_p * max(1, len(used)))(*[values[i].ctypes.data for i in used])
                getattr(self.library, instruction.run.symbol)(ctypes.byref(context), pointers)
            elif instruction.copy:
                values[instruction.copy.target].reshape(-1)[...] = values[instruction.copy.source].reshape(-1)
            elif instruction.communicate and instruction.communicate.has_input:
                values[instruction.communicate.buffer][...] = values[instruction.communicate.input]
            elif instruction.push:
                yield "push", instruction.push, values[instruction.push.buffer].copy()
            elif instruction.pull:
                values[instruction.pull.buffer][...] = yield "pull", instruction.pull
        self.slots.update(after)
        return {o.metric: values[o.buffer].copy() for o in function.outputs}


def translate(text, directory, *flags):
    """Level-2 text to a plan file; returns its path."""
    source, target = os.path.join(directory, "in.mlir"), os.path.join(directory, "out.plan")
    with open(source, "w") as file:
        file.write(text)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", source, "-o", target, *flags], check=True, timeout=300)
    return target
