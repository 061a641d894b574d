# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs level-0 text with the stock MLIR tools alone: the reference for the front end.

Nothing of CommSched's compiler or runtime is used: cs.gradient is the identity, the
worker's index is 0 and the attributes are dropped, what is left is upstream MLIR.
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np

PIPELINE = ",".join([
    "canonicalize", "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true}", "func.func(convert-linalg-to-loops)",
    "expand-strided-metadata", "lower-affine", "convert-scf-to-cf",
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}", "arith-expand{include-bf16=true}",
    "convert-math-to-llvm", "convert-math-to-libm", "canonicalize", "convert-index-to-llvm",
    "convert-arith-to-llvm", "finalize-memref-to-llvm", "convert-func-to-llvm", "convert-cf-to-llvm",
    "reconcile-unrealized-casts"])

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
         "i8": np.int8, "i1": np.bool_}


def tool(name):
    folder = os.environ.get("LLVM_BIN", "/usr/lib/llvm-22/bin")
    return shutil.which(name, path=folder) or shutil.which(f"{name}-22") or shutil.which(name)


available = all(tool(t) for t in ("mlir-opt", "mlir-translate", "llc", "cc"))


def upstream(text):
    """The text without anything of the cs dialect."""
    text = re.sub(r"cs\.gradient (%\S+) of \"[^\"]*\" : (tensor<\S+>)", r"tensor.cast \1 : \2 to \2", text)
    text = text.replace("cs.worker_index : tensor<i32>", "arith.constant dense<0> : tensor<i32>")
    text = re.sub(r" \{cs\.\w+ = \"[^\"]*\"\}", "", text)
    text = re.sub(r" attributes \{cs\.[^}]*\}", "", text)
    return re.sub(r"^cs\.cluster .*\n(    intra = .*\n)?", "", text, flags=re.M)


def signature(text, name):
    """(argument types, result types) of a function, as (shape, dtype)."""
    head = re.search(rf"func.func @{name}\((.*?)\) -> \((.*?)\n  \)", text, flags=re.S)

    def types(part):
        return [(tuple(int(x) for x in t.split("x")[:-1]), TYPES.get(t.split("x")[-1], np.uint16))
                for t in re.findall(r"tensor<([^>]+)>", part)]
    return types(head[1]), types(head[2])


def _descriptor(rank):
    class Memref(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return Memref


def check(text):
    """Verifies the upstream part with mlir-opt."""
    done = subprocess.run([tool("mlir-opt"), "-o", os.devnull], input=upstream(text).encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[:3000]


class Compiled:
    """A function of a level-0 module, callable with NumPy arrays."""

    def __init__(self, text, name="step"):
        self.folder = tempfile.TemporaryDirectory()
        self.arguments, self.results = signature(text, name)
        text = upstream(text)
        text = re.sub(rf"(func.func @{name}\(.*?\n  \)) \{{", r"\1 attributes {llvm.emit_c_interface} {", text,
                      flags=re.S)
        lowered = self._run([tool("mlir-opt"), f"--pass-pipeline=builtin.module({PIPELINE})"], text.encode())
        llvm = self._run([tool("mlir-translate"), "--mlir-to-llvmir"], lowered)
        path = pathlib.Path(self.folder.name) / "code.so"
        library = pathlib.Path(tool("mlir-opt")).resolve().parents[1] / "lib"
        self._run([tool("llc"), "-O1", "-filetype=obj", "-relocation-model=pic", "-o", f"{path}.o"], llvm)
        self._run([tool("cc"), "-shared", "-Wl,-Bsymbolic", f"{path}.o", "-o", str(path), "-lm", f"-L{library}",
                   f"-Wl,-rpath,{library}", "-lmlir_c_runner_utils", "-lmlir_float16_utils"], b"")
        self.function = getattr(ctypes.CDLL(str(path)), f"_mlir_ciface_{name}")
        self.function.restype = None

    @staticmethod
    def _run(command, data):
        done = subprocess.run(command, input=data, capture_output=True)
        assert done.returncode == 0, f"{command[0]}: {done.stderr.decode()[:3000]}"
        return done.stdout

    def __call__(self, *arrays):
        kept, pointers = [], []
        for array, (shape, dtype) in zip(arrays, self.arguments, strict=True):
            array = np.array(array, order="C", copy=True)
            if array.dtype != dtype:
                array = array.view(dtype)
            assert array.shape == shape, (array.shape, shape)
            ref = _descriptor(array.ndim)()
            ref.base = ref.data = array.ctypes.data
            for i in range(array.ndim):
                ref.sizes[i], ref.strides[i] = array.shape[i], array.strides[i] // array.itemsize
            kept.append((array, ref))
            pointers.append(ctypes.byref(ref))

        class Out(ctypes.Structure):
            _fields_ = [(f"r{i}", _descriptor(len(s))) for i, (s, _) in enumerate(self.results)]
        out = Out()
        self.function(ctypes.byref(out), *pointers)
        found = []
        for i, (shape, dtype) in enumerate(self.results):
            ref = getattr(out, f"r{i}")
            size = np.dtype(dtype).itemsize
            count = 1 + sum((n - 1) * s for n, s in zip(ref.sizes, ref.strides)) if 0 not in shape else 0
            raw = np.ctypeslib.as_array(ctypes.cast(ref.data + ref.offset * size, ctypes.POINTER(ctypes.c_uint8)),
                                        (count * size,)).view(dtype)
            strides = [s * size for s in ref.strides]
            found.append(np.lib.stride_tricks.as_strided(raw, shape, strides).copy())
        return found
