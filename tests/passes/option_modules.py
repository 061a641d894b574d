# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules on which options of passes are tried, and what each has for which some options matter."""
import os


def cluster(nodes=4, devices=1, kind="cpu", mbit=1000, ns=50000, gb=20, intra=80000):
    return (f"cs.cluster @test nodes = {nodes} devices = {devices} device = <kind = {kind}, gflops = 40, gb_per_s = {gb}>\n"
            f"    intra = <mbit_per_s = {intra}, latency_ns = 5000> inter = <mbit_per_s = {mbit}, latency_ns = {ns}>\n")


def fill(name, shape):
    return [f"  %{name}e = tensor.empty() : {shape}",
            f"  %{name} = linalg.fill ins(%zero : f32) outs(%{name}e : {shape}) -> {shape}"]


def regression(sizes, shared=False, norms=False, independent=False):
    """Linear models of these sizes, each of what the one before leaves (independent: of the same), with an op behind each
    gradient. shared: the first two, of equal size, are updated by the sum of their gradients. norms: each gradient is divided by
    the sum of its squares."""
    sample = "tensor<16xf32>"
    arguments, results, values = [f'%y: {sample} {{cs.batch = "y"}}'], [], []
    lines = ["  %zero = arith.constant 0.0 : f32"]
    left = "%y"
    for i, size in enumerate(sizes):
        w, x = f"tensor<{size}xf32>", f"tensor<16x{size}xf32>"
        arguments += [f'%w{i}: {w} {{cs.param = "p{i}"}}', f'%x{i}: {x} {{cs.batch = "x{i}"}}']
        lines += [*fill(f"z{i}", sample),
                  f"  %m{i} = linalg.matvec ins(%x{i}, %w{i} : {x}, {w}) outs(%z{i} : {sample}) -> {sample}",
                  f"  %d{i} = arith.subf %m{i}, {left} : {sample}"]
        left = "%y" if independent else f"%d{i}"
    for i, size in reversed(list(enumerate(sizes))):
        w, x = f"tensor<{size}xf32>", f"tensor<16x{size}xf32>"
        lines += [*fill(f"o{i}", w),
                  f"  %g{i} = linalg.vecmat ins({left}, %x{i} : {sample}, {x}) outs(%o{i} : {w}) -> {w}",
                  f'  %h{i} = cs.gradient %g{i} of "p{i}" : {w}', f"  %b{i} = arith.mulf {left}, {left} : {sample}"]
        left = f"%b{i}"
    for i, size in enumerate(sizes):
        w = f"tensor<{size}xf32>"
        change = f"%h{i}"
        if shared and i < 2:
            lines.append(f"  %s{i} = arith.addf %h0, %h1 : {w}") if i == 0 else None
            change = "%s0"
        if norms:
            lines += [f"  %q{i} = arith.mulf %h{i}, %h{i} : {w}", f"  %a{i}e = tensor.empty() : tensor<f32>",
                      f"  %a{i} = linalg.fill ins(%zero : f32) outs(%a{i}e : tensor<f32>) -> tensor<f32>",
                      f"  %n{i} = linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = [\"reduction\"]}}"
                      f" ins(%q{i} : {w}) outs(%a{i} : tensor<f32>) {{", "  ^bb0(%in: f32, %out: f32):", "    %sum = arith.addf %out, %in : f32",
                      "    linalg.yield %sum : f32", "  } -> tensor<f32>",
                      f"  %v{i} = tensor.extract %n{i}[] : tensor<f32>", f"  %t{i} = tensor.splat %v{i} : {w}",
                      f"  %c{i} = arith.divf %h{i}, %t{i} : {w}"]
            change = f"%c{i}"
        lines += [f"  %r{i} = arith.constant dense<0.1> : {w}", f"  %u{i} = arith.mulf {change}, %r{i} : {w}",
                  f"  %new{i} = arith.subf %w{i}, %u{i} : {w}"]
        results.append(f'{w} {{cs.updates = "p{i}"}}')
        values.append(f"%new{i}")
    types = ", ".join(result.split(" {")[0] for result in results)
    return (f"func.func @step({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{cs.step}} {{\n"
            + "\n".join(line for line in lines if line) + f"\n  return {', '.join(values)} : {types}\n}}\n")


def layers(sizes, forward, backward):
    """Layers of so many parameters each, which take so many nanoseconds."""
    sample = "tensor<1xi8>"
    arguments = [f'%w{i}: tensor<{size}xf32> {{cs.param = "p{i}"}}' for i, size in enumerate(sizes)]
    lines, left = [], "%x"
    for i, size in enumerate(sizes):
        lines.append(f'  %h{i} = cs.profiled "forward.{i}" ({left}, %w{i}) cost <flops = 0, bytes = 0, ns = {forward}> : ({sample}, tensor<{size}xf32>) -> {sample}')
        left = f"%h{i}"
    for i, size in reversed(list(enumerate(sizes))):
        w = f"tensor<{size}xf32>"
        lines += [f'  %g{i}:2 = cs.profiled "backward.{i}" ({left}, %h{i}) cost <flops = 0, bytes = 0, ns = {backward}> : ({sample}, {sample}) -> ({w}, {sample})',
                  f'  %d{i} = cs.gradient %g{i}#0 of "p{i}" : {w}']
        left = f"%g{i}#1"
    for i, size in enumerate(sizes):
        w = f"tensor<{size}xf32>"
        lines.append(f'  %u{i} = cs.profiled "update.{i}" elementwise (%w{i}, %d{i}) cost <flops = 0, bytes = 0, ns = 1000> : ({w}, {w}) -> {w}')
    results = ", ".join(f'tensor<{size}xf32> {{cs.updates = "p{i}"}}' for i, size in enumerate(sizes))
    values, types = ", ".join(f"%u{i}" for i in range(len(sizes))), ", ".join(f"tensor<{size}xf32>" for size in sizes)
    return (f'func.func @step({", ".join(arguments)}, %x: {sample} {{cs.batch = "x"}}) -> ({results}) attributes {{cs.step}} {{\n'
            + "\n".join(lines) + f"\n  return {values} : {types}\n}}\n")


GATHERS = """!t = !cs.placed<tensor<4xf32>, device 0>
!all = !cs.placed<tensor<16xf32>, device 0>
func.func @step(%a: !t {cs.state = "a"}, %b: !t {cs.state = "b"}) -> (!all {cs.metric = "x"}, !all {cs.metric = "y"}) attributes {cs.step} {
  %x = cs.all_gather "x" %a : !t -> !all
  %y = cs.all_gather "y" %b : !t -> !all
  return %x, %y : !all, !all
}
"""
# The gradient of "a" is wanted first and comes last; what "b" needs is large.
KEPT = """!t = !cs.placed<tensor<512x1024xf32>, device 0>
!m = !cs.placed<tensor<1024x1024xf32>, device 0>
func.func @step(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}, %x: !t {cs.batch = "x"})
    -> (!t {cs.updates = "a"}, !t {cs.updates = "b"}) attributes {cs.step} {
  %ha = cs.fragment "forward.a" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 5000000> : (!t, !t) -> !t
  %hb = cs.fragment "forward.b" on 0 (%b, %ha) cost <flops = 0, bytes = 0, ns = 20000000> : (!t, !t) -> !t
  %k = cs.fragment "keep" on 0 (%hb) cost <flops = 0, bytes = 0, ns = 1000> : (!t) -> !m
  %gb = cs.fragment "gradient.b" on 0 (%hb, %k) cost <flops = 0, bytes = 0, ns = 20000000> : (!t, !m) -> !t
  %rb = cs.all_reduce "b" mean %gb : !t
  %ga, %s = cs.fragment "gradient.a" on 0 (%hb, %ha) cost <flops = 0, bytes = 0, ns = 5000000> : (!t, !t) -> (!t, !m)
  %ra = cs.all_reduce "a" mean %ga : !t
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t) -> !t
  return %a1, %b1 : !t, !t
}
"""
SIZES = [64, 20000, 300, 50000]
# By name: what it has, the cluster, and the step.
TEXTS = {
    "plain": ({"messages", "collectives", "blocks", "cpu"}, cluster(), regression(SIZES)),
    "independent": ({"messages", "cpu"}, cluster(), regression([40000, 30000, 20000, 10000, 5000], independent=True)),
    "kept": ({"messages"}, cluster(nodes=2), KEPT),
    "small": ({"small", "cpu"}, cluster(), regression([64, 64, 64])),
    "devices": ({"devices", "device blocks", "collectives", "cpu"}, cluster(nodes=2, devices=2), regression(SIZES)),
    "shards": ({"shards", "cpu"}, cluster(nodes=2, devices=2, intra=1), regression([64, 50000])),
    "sums": ({"sums", "cpu"}, cluster(), regression([5000, 5000], shared=True)),
    "norms": ({"norms", "cpu"}, cluster(gb=1, mbit=100000, ns=100), regression([1000000, 2000000], norms=True)),
    "unpaid norms": ({"unpaid norms", "cpu"}, cluster(), regression([2000, 3000], norms=True)),
    "cuda": ({"cuda"}, cluster(kind="cuda"), regression([64, 20000, 300])),
    # What is wanted first comes last and is small, while the largest is on its way.
    "urgent": ({"messages"}, cluster(), layers([4096, 250000, 250000, 250000, 1250000], forward=12000000, backward=17000000)),
    "gathers": ({"gathers"}, cluster(), GATHERS),
}
MODULES = {name: has for name, (has, _, _) in TEXTS.items()}


def write(folder):
    for name, (_, of, step) in TEXTS.items():
        with open(os.path.join(folder, name.replace(" ", "-") + ".mlir"), "w") as file:
            file.write(of + step)
