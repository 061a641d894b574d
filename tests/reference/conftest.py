# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for the interpreter, and their values."""
import pathlib
import subprocess
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT / "python_api", ROOT / "tests", pathlib.Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
from built import tool  # noqa: E402
TYPES = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", np.dtype(np.float16): "f16",
         np.dtype(np.int64): "i64", np.dtype(np.int32): "i32", np.dtype(np.int8): "i8", np.dtype(bool): "i1"}


def tensor(array):
    array = np.asarray(array)
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{TYPES[array.dtype]}>"


def interpret(folder, text, values=None, batches=None, steps=1, workers=1, options=(), fails=None):
    """What --interpret-output has; or its error, which must have the text `fails`."""
    files = {name: str(folder / f"{name}.safetensors") for name in ("values", "batches", "output")}
    save_file({k: np.array(v, order="C") for k, v in (values or {}).items()}, files["values"])
    save_file({k: np.array(v, order="C") for k, v in (batches or {}).items()}, files["batches"])
    done = subprocess.run([tool("cs-opt"), "-", f"--interpret={steps}", f"--interpret-workers={workers}", *options,
                           *(f"--interpret-{name}={path}" for name, path in files.items())],
                          input=text, text=True, capture_output=True, timeout=300)
    if fails is not None:
        assert done.returncode == 1 and fails in done.stderr, done.stderr
        return done.stderr
    assert done.returncode == 0, done.stderr[:4000]
    return load_file(files["output"])


def function(body, inputs, results, helpers=""):
    """A step over states x0, x1, ... whose results, of these types, are named %r0, %r1, ...: floats are
    metrics, the others new values of states y0, y1, ..."""
    arguments = [f'%x{i}: {tensor(x)} {{cs.state = "x{i}"}}' for i, x in enumerate(inputs)]
    outs = []
    for i, result in enumerate(results):
        if result.rstrip(">").split("x")[-1].split("<")[-1].startswith("f"):
            outs.append(f'{result} {{cs.metric = "y{i}"}}')
        else:
            arguments.append(f'%y{i}: {result} {{cs.state = "y{i}"}}')
            outs.append(f'{result} {{cs.updates = "y{i}"}}')
    returned = ", ".join(f"%r{i}" for i in range(len(results)))
    return (f"{helpers}\nfunc.func @f({', '.join(arguments)}) -> ({', '.join(outs)}) attributes {{cs.step}} {{\n{body}\n"
            f"  return {returned} : {', '.join(results)}\n}}\n")


def evaluate(folder, body, inputs, results, helpers=""):
    """(value, bound) of each result."""
    values = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    names = []
    kinds = {v: k for k, v in TYPES.items()}
    for i, result in enumerate(results):
        *shape, element = result[len("tensor<"):-1].split("x")
        dtype = kinds[element]
        names.append(f"1:metric:y{i}" if dtype.kind == "f" else f"1:y{i}")
        if dtype.kind != "f":
            values[f"y{i}"] = np.zeros([int(n) for n in shape], dtype)
    found = interpret(folder, function(body, inputs, results, helpers), values)
    return [(found[n], found[n + ".bound"]) for n in names]
