# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cuda_overlap.py runs: plans of one device in whose step large buffers go to pinned memory and back while products are computed.

    python bench/device/overlap_pack.py FOLDER [--small] [--modules]      # FOLDER/overlap gets it

Three kinds of plan: the copies alone, products alone, and both, of which neither depends on the other. There are plans of several numbers of
products, as how fast a device is shows when it runs. Every step copies what the step before it has copied, so a byte that is lost
once stays lost: the function @check counts the elements that are not what they were. The products are of a matrix with Householder's reflection
I - 2/n 1 1', so their values stay as large as they are, and two of them give back what was there."""
import argparse
import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin"))
# Buffers, rows and columns of each, in int32; rows of a product's matrices; numbers of products. The first number is measured to choose another.
FULL = {"buffers": 8, "rows": 4096, "columns": 4096, "size": 3072, "products": [8, 4, 5, 6, 7, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32]}
SMALL = {"buffers": 3, "rows": 64, "columns": 96, "size": 64, "products": [2, 1, 3, 4]}  # for tests

HEAD = """cs.cluster @one nodes = 1 devices = 1 device = <kind = cuda, gflops = 45000, gb_per_s = 3000>
    intra = <mbit_per_s = 400000, latency_ns = 2000> inter = <mbit_per_s = 100000, latency_ns = 10000>
!b = tensor<{rows}x{columns}xi32>
!m = tensor<{size}x{size}xf32>
!bd = !cs.placed<!b, device 0>
!bh = !cs.placed<!b, device 0 host>
!md = !cs.placed<!m, device 0>
!s = !cs.placed<tensor<f32>, device 0>
"""
MAP = "affine_map<(i, j) -> (i, j)>"
# The bits of element i, j of buffer b: all 32 are used, and neighbours differ.
BITS = """      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %columns = arith.constant {columns} : index
      %row = arith.muli %i, %columns : index
      %at = arith.addi %row, %j : index
      %at32 = arith.index_cast %at : index to i32
      %factor = arith.constant 1664525 : i32
      %seed = arith.constant {seed} : i32
      %mixed = arith.muli %at32, %factor : i32
      %bits = arith.addi %mixed, %seed : i32
"""
# Between -1 and 1, of the same bits.
NUMBER = """      %mask = arith.constant 65535 : i32
      %low = arith.andi %bits, %mask : i32
      %whole = arith.sitofp %low : i32 to f32
      %scale = arith.constant 3.0517578125e-05 : f32
      %one = arith.constant 1.0 : f32
      %scaled = arith.mulf %whole, %scale : f32
      %number = arith.subf %scaled, %one : f32
"""


def generic(body, inputs=(), element="f32", shape="!m"):
    """An elementwise linalg.generic; inputs: (operand, argument, element type)."""
    ins = f"ins({', '.join(o for o, _, _ in inputs)} : {', '.join(shape for _ in inputs)}) " if inputs else ""
    arguments = ", ".join(f"{argument}: {kind}" for _, argument, kind in inputs)
    return f"""linalg.generic {{indexing_maps = [{', '.join([MAP] * (len(inputs) + 1))}], iterator_types = ["parallel", "parallel"]}}
        {ins}outs(%e : {{out}}) {{
    ^bb1({arguments}{', ' if inputs else ''}%unused: {element}):
{body}    }} -> {{out}}"""


def bits(sizes, b):
    return BITS.format(columns=sizes["columns"] if b >= 0 else sizes["size"], seed=(1013904223 * (b + 7)) % 2**31)


def fill(name, kind, out, body, result):
    """A fragment of @init."""
    element = "i32" if kind == "!b" else "f32"
    return f"""  %{name} = cs.fragment "fill.{name}" on 0 () : () -> {out} {{
    %e = tensor.empty() : {kind}
    %r = {generic(body + f'      linalg.yield {result} : {element}' + chr(10), element=element).replace('{out}', kind)}
    cs.return %r : {kind}
  }}
"""


def wrong(name, kind, place, element, body):
    """A fragment of @check: how many elements of %name are not right; body: of %x to %bad, an i1."""
    shape = "tensor<{rows}x{columns}xf32>" if kind == "!b" else "tensor<{size}x{size}xf32>"
    text = generic(f"""{body}      %count = arith.uitofp %bad : i1 to f32
      linalg.yield %count : f32
""", [("%v", "%x", element)], shape=kind).replace("{out}", shape)
    return f"""  %wrong.{name} = cs.fragment "check.{name}" on 0 (%{name}) : ({place}) -> !s {{
  ^bb0(%v: {kind}):
    %e = tensor.empty() : {shape}
    %each = {text}
    %zero = arith.constant 0.0 : f32
    %n = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%n : tensor<f32>) -> tensor<f32>
    %sum = linalg.reduce {{arith.addf}} ins(%each : {shape}) outs(%start : tensor<f32>) dimensions = [0, 1]
    cs.return %sum : tensor<f32>
  }}
"""


def function(name, arguments, results, body, attributes=""):
    """results: (value, type, attribute)."""
    types = ", ".join(f"{kind} {{{attribute}}}" for _, kind, attribute in results)
    return (f"func.func @{name}({', '.join(arguments)}) -> ({types}){attributes} {{\n{body}"
            f"  return {', '.join(v for v, _, _ in results)} : {', '.join(t for _, t, _ in results)}\n}}\n")


def module(sizes, copies, products):
    """The level-2 module: with the copies or without, and with so many products."""
    buffers = range(sizes["buffers"] if copies else 0)
    carried = [(f"%s{b}", "!bd", f'cs.state = "s{b}"') for b in buffers]
    if products:
        carried += [("%a", "!md", 'cs.param = "a"'), ("%w", "!md", 'cs.state = "w"')]
    arguments = [f"{value}: {kind} {{{attribute}}}" for value, kind, attribute in carried]
    starts = "".join(f"""  %h{b}.f = cs.start "s{b}.to_host" (%s{b}) : (!bd) -> !cs.future<!bh> {{
  ^bb0(%x: !bd):
    %y = cs.copy %x : !bd -> !bh
    cs.return %y : !bh
  }}
  %h{b} = cs.await %h{b}.f : !cs.future<!bh>
  %d{b}.f = cs.start "s{b}.to_device" (%h{b}) : (!bh) -> !cs.future<!bd> {{
  ^bb0(%x: !bh):
    %y = cs.copy %x : !bh -> !bd
    cs.return %y : !bd
  }}
""" for b in buffers)
    chain = "".join(f"""  %p{i + 1} = cs.fragment "product" on 0 ({f'%p{i}' if i else '%a'}, %w) : (!md, !md) -> !md {{
  ^bb0(%x: !m, %y: !m):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : !m
    %o = linalg.fill ins(%zero : f32) outs(%e : !m) -> !m
    %r = linalg.matmul ins(%x, %y : !m, !m) outs(%o : !m) -> !m
    cs.return %r : !m
  }}
""" for i in range(products))
    awaits = "".join(f"  %d{b} = cs.await %d{b}.f : !cs.future<!bd>\n" for b in buffers)
    results = [(f"%d{b}", "!bd", f'cs.updates = "s{b}"') for b in buffers]
    init, made, checks, counts = "", [], "", []
    for b in buffers:
        init += fill(f"s{b}", "!b", "!bd", bits(sizes, b), "%bits")
        made.append((f"%s{b}", "!bd", f'cs.updates = "s{b}"'))
        checks += wrong(f"s{b}", "!b", "!bd", "i32", bits(sizes, b) + "      %bad = arith.cmpi ne, %x, %bits : i32\n")
        counts.append((f"%wrong.s{b}", "!s", f'cs.metric = "wrong_s{b}"'))
    if products:
        results.append((f"%p{products}", "!md", 'cs.updates = "a"'))
        reflection = f"""      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %same = arith.cmpi eq, %i, %j : index
      %diagonal = arith.constant {1 - 2 / sizes["size"]:.9e} : f32
      %other = arith.constant {-2 / sizes["size"]:.9e} : f32
      %w = arith.select %same, %diagonal, %other : f32
"""
        init += fill("a", "!m", "!md", bits(sizes, -1) + NUMBER, "%number") + fill("w", "!m", "!md", reflection, "%w")
        made += [("%a", "!md", 'cs.updates = "a"'), ("%w", "!md", 'cs.updates = "w"')]
        # Behind an even number of products; NaN is wrong, too.
        checks += wrong("a", "!m", "!md", "f32", bits(sizes, -1) + NUMBER + """      %off = arith.subf %x, %number : f32
      %size = math.absf %off : f32
      %most = arith.constant 5.0e-02 : f32
      %bad = arith.cmpf ugt, %size, %most : f32
""")
        counts.append(("%wrong.a", "!s", 'cs.metric = "wrong_a"'))
    checked = [argument for argument in arguments if not argument.startswith("%w:")]
    text = HEAD + function("step", arguments, results, starts + chain + awaits, " attributes {cs.step}") \
        + function("init", [], made, init) + function("check", checked, counts, checks)
    for name in ("rows", "columns", "size"):
        text = text.replace(f"{{{name}}}", str(sizes[name]))
    return text


def pack(folder, small=False, modules=False):
    """modules: also their text, for cuda_kernels_writer."""
    sizes, folder = SMALL if small else FULL, pathlib.Path(folder) / "overlap"
    folder.mkdir(parents=True, exist_ok=True)
    plans = {"copies": (True, 0)}
    for count in sizes["products"]:
        plans[f"compute{count}"], plans[f"both{count}"] = (False, count), (True, count)
    for name, (copies, products) in plans.items():
        text = module(sizes, copies, products)
        checked = subprocess.run([BIN / "cs-opt", "--verify-distributed"], input=text.encode(), capture_output=True)
        if checked.returncode:
            raise RuntimeError(f"{name}: {checked.stderr.decode()[:2000]}")
        made = subprocess.run([BIN / "cs-translate", "--mlir-to-plan"], input=text.encode(), capture_output=True)
        if made.returncode:
            raise RuntimeError(f"{name}: {made.stderr.decode()[:2000]}")
        (folder / f"{name}.plan").write_bytes(made.stdout)
        if modules:
            (folder / f"{name}.mlir").write_text(text)
    told = {**sizes, "buffer_bytes": 4 * sizes["rows"] * sizes["columns"], "small": small}
    (folder / "overlap.json").write_text(json.dumps(told) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--modules", action="store_true")
    arguments = parser.parse_args()
    pack(arguments.folder, arguments.small, arguments.modules)


if __name__ == "__main__":
    main()
