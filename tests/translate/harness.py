# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Level-2 modules of one fragment, and pieces of bodies for them."""
import numpy as np

from plan_reader import DTYPES, Machine, to_bf16, translate

CLUSTER = """cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
NAMES = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4, "i64": 5, "i32": 6, "i8": 7, "i1": 8}
rng = np.random.default_rng(7)


def dtype_of(tensor):
    return DTYPES[NAMES[tensor[7:-1].split("x")[-1]]]


def shape_of(tensor):
    return tuple(int(d) for d in tensor[7:-1].split("x")[:-1])


def module(inputs, results, body, maps=""):
    """One function with one fragment; `inputs` and `results` are tensor types."""
    placed = [f"!cs.placed<{t}, device 0>" for t in inputs]
    out = [f"!cs.placed<{t}, device 0>" for t in results]
    args = ", ".join(f'%p{i}: {t} {{cs.state = "a{i}"}}' for i, t in enumerate(placed))
    names = ", ".join(f"%p{i}" for i in range(len(inputs)))
    block = ", ".join(f"%a{i}: {t}" for i, t in enumerate(inputs))
    returns = ", ".join(f'{t} {{cs.updates = "r{i}"}}' for i, t in enumerate(out))
    values = ", ".join(f"%f#{i}" for i in range(len(out))) if len(out) > 1 else "%f"
    count = f":{len(out)}" if len(out) > 1 else ""
    return f"""{maps}
{CLUSTER}
func.func @f({args}) -> ({returns}) {{
  %f{count} = cs.fragment "f" on 0 ({names}) : ({", ".join(placed)}) -> ({", ".join(out)}) {{
  ^bb0({block}):
{body}
  }}
  return {values} : {", ".join(out)}
}}
"""


def value(tensor, low=-1.0, high=1.0):
    dtype = dtype_of(tensor)
    if tensor.endswith("xbf16>"):
        return to_bf16(rng.uniform(low, high, shape_of(tensor)))
    if dtype == np.bool_:
        return rng.random(shape_of(tensor)) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(int(low * 10), int(high * 10) + 1, shape_of(tensor)).astype(dtype)
    return rng.uniform(low, high, shape_of(tensor)).astype(dtype)


def run(tmp_path, inputs, results, body, maps="", values=None, flags=()):
    """Compiles and runs; returns the inputs, the results, and the kernels called."""
    machine = Machine(translate(module(inputs, results, body, maps), str(tmp_path), *flags))
    values = values or [value(t) for t in inputs]
    before = [np.array(v, copy=True) for v in values]
    machine.slots = {f"a{i}": v for i, v in enumerate(values)}
    machine.run("f")
    for old, new in zip(before, values):
        np.testing.assert_array_equal(old, new, "an input was written")
    return before, [machine.slots[f"r{i}"] for i in range(len(results))], machine.calls


def fill(name, tensor, constant="0.0"):
    element = tensor[7:-1].split("x")[-1]
    return f"""
    %{name}.c = arith.constant {constant} : {element}
    %{name}.e = tensor.empty() : {tensor}
    %{name} = linalg.fill ins(%{name}.c : {element}) outs(%{name}.e : {tensor}) -> {tensor}"""


def contraction(maps, iterators, a, b, out, init="%init"):
    names = ", ".join(f"affine_map<{m}>" for m in maps)
    kinds = ", ".join('"parallel"' if i == "p" else '"reduction"' for i in iterators)
    return f"""
    %r = linalg.generic {{indexing_maps = [{names}], iterator_types = [{kinds}]}}
        ins(%a0, %a1 : {a}, {b}) outs({init} : {out}) {{
    ^bb1(%x: f32, %y: f32, %z: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %z, %m : f32
      linalg.yield %s : f32
    }} -> {out}"""
