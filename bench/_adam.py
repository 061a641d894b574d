# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that is nearly all update: Adam on `count` tensors of `rows` x 1000,
whose gradient is the parameter times the one number of the batch. Every element
of a parameter has the same value, which NumPy can follow."""

COLUMNS = 1000
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
START = 0.5

_HEAD = """#all = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (0)>
#scalar = affine_map<(i, j) -> ()>
#none = affine_map<() -> ()>
cs.cluster @bench nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 10000, latency_ns = 50000>
"""


def module(count, rows):
    """Level-0 text for one trainer."""
    t = f"tensor<{rows}x{COLUMNS}xf32>"
    arguments, results, values = [], [], []
    for i in range(count):
        arguments += [f'%w{i}: {t} {{cs.param = "w{i}"}}', f'%m{i}: {t} {{cs.state = "m{i}"}}',
                      f'%v{i}: {t} {{cs.state = "v{i}"}}']
        results += [f'{t} {{cs.updates = "{name}{i}"}}' for name in "wmv"]
        values += [f"%u{i}#{k}" for k in range(3)]
    arguments += ['%n: tensor<i32> {cs.state = "count"}', '%x: tensor<1xf32> {cs.batch = "x"}']
    results.append('tensor<i32> {cs.updates = "count"}')
    lines = [_HEAD, f"func.func @init() -> ({', '.join(results)}) {{",
             f"  %w = arith.constant dense<{START}> : {t}", f"  %z = arith.constant dense<0.0> : {t}",
             "  %n = arith.constant dense<0> : tensor<i32>",
             f"  return {', '.join(['%w, %z, %z'] * count + ['%n'])} : {', '.join([t] * 3 * count + ['tensor<i32>'])}",
             "}", f"func.func @step({', '.join(arguments)})", f"    -> ({', '.join(results)}) attributes {{cs.step}} {{",
             "  %one = arith.constant dense<1> : tensor<i32>", "  %n1 = arith.addi %n, %one : tensor<i32>",
             "  %es = tensor.empty() : tensor<f32>", f"  %e = tensor.empty() : {t}"]
    for name, beta in (("c1", BETA1), ("c2", BETA2)):
        lines.append(f"""  %{name} = linalg.generic {{indexing_maps = [#none, #none], iterator_types = []}}
      ins(%n1 : tensor<i32>) outs(%es : tensor<f32>) {{
    ^bb0(%a: i32, %o: f32):
      %beta = arith.constant {beta} : f32
      %1 = arith.constant 1.0 : f32
      %t = arith.sitofp %a : i32 to f32
      %p = math.powf %beta, %t : f32
      %c = arith.subf %1, %p : f32
      linalg.yield %c : f32
  }} -> tensor<f32>""")
    parallel = 'iterator_types = ["parallel", "parallel"]'
    for i in range(count):
        lines.append(f"""  %r{i} = linalg.generic {{indexing_maps = [#all, #one, #all], {parallel}}}
      ins(%w{i}, %x : {t}, tensor<1xf32>) outs(%e : {t}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %c = arith.mulf %a, %b : f32
      linalg.yield %c : f32
  }} -> {t}
  %g{i} = cs.gradient %r{i} of "w{i}" : {t}
  %u{i}:3 = linalg.generic {{indexing_maps = [#all, #all, #all, #all, #scalar, #scalar, #all, #all, #all], {parallel}}}
      ins(%w{i}, %m{i}, %v{i}, %g{i}, %c1, %c2 : {t}, {t}, {t}, {t}, tensor<f32>, tensor<f32>)
      outs(%e, %e, %e : {t}, {t}, {t}) {{
    ^bb0(%w: f32, %m: f32, %v: f32, %g: f32, %d1: f32, %d2: f32, %o0: f32, %o1: f32, %o2: f32):
      %b1 = arith.constant {BETA1} : f32
      %b2 = arith.constant {BETA2} : f32
      %a1 = arith.constant {1 - BETA1:.8f} : f32
      %a2 = arith.constant {1 - BETA2:.8f} : f32
      %rate = arith.constant {RATE:.8f} : f32
      %epsilon = arith.constant {EPSILON:.10f} : f32
      %ma = arith.mulf %b1, %m : f32
      %mb = arith.mulf %a1, %g : f32
      %mn = arith.addf %ma, %mb : f32
      %gg = arith.mulf %g, %g : f32
      %va = arith.mulf %b2, %v : f32
      %vb = arith.mulf %a2, %gg : f32
      %vn = arith.addf %va, %vb : f32
      %mh = arith.divf %mn, %d1 : f32
      %vh = arith.divf %vn, %d2 : f32
      %root = math.sqrt %vh : f32
      %below = arith.addf %root, %epsilon : f32
      %q = arith.divf %mh, %below : f32
      %u = arith.mulf %rate, %q : f32
      %wn = arith.subf %w, %u : f32
      linalg.yield %wn, %mn, %vn : f32, f32, f32
  }} -> ({t}, {t}, {t})""")
    types = ", ".join([t] * 3 * count + ["tensor<i32>"])
    return "\n".join([*lines, f"  return {', '.join([*values, '%n1'])} : {types}", "}", ""])


def expected(x):
    """The value of a parameter after a step for each number in `x`."""
    w, m, v = START, 0.0, 0.0
    for step, number in enumerate(x, 1):
        g = w * float(number)
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g * g
        w -= RATE * (m / (1 - BETA1 ** step)) / ((v / (1 - BETA2 ** step)) ** 0.5 + EPSILON)
    return w
