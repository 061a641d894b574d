# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long cs-opt takes on large programs, and how much memory.

Generates a training step of 10,000, 100,000 and 1,000,000 level-0 ops (--quick:
without the last), runs the whole pipeline over it, and `mlir-opt --cse
--canonicalize` on the same file in turn. Times are medians of the wall clock,
memory is the child's peak resident set.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("COMMSCHED_ROOT", "."))
BATCH, WIDTH = 16, 32
ACTIVATION = f"tensor<{BATCH}x{WIDTH}xf32>"
WEIGHT = f"tensor<{WIDTH}x{WIDTH}xf32>"
BIAS = f"tensor<{WIDTH}xf32>"
CLUSTER = """cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""


class Body:
    """Text of a function body; every op has one result and a name of its own."""

    def __init__(self, out):
        self.out = out
        self.count = 0

    def op(self, text):
        name = f"%v{self.count}"
        self.count += 1
        self.out.write(f"  {name} = {text}\n")
        return name

    def constant(self, value, type_):
        return self.op(f"arith.constant dense<{value:e}> : {type_}")

    def binary(self, name, a, b, type_=ACTIVATION):
        return self.op(f"arith.{name} {a}, {b} : {type_}")

    def empty(self, type_):
        return self.op(f"tensor.empty() : {type_}")

    def filled(self, zero, type_):
        empty = self.empty(type_)
        return self.op(f"linalg.fill ins({zero} : f32) outs({empty} : {type_}) -> {type_}")

    def matmul(self, zero, a, a_type, b, b_type, type_):
        init = self.filled(zero, type_)
        return self.op(f"linalg.matmul ins({a}, {b} : {a_type}, {b_type}) outs({init} : {type_}) -> {type_}")

    def transpose(self, a, type_, result):
        init = self.empty(result)
        return self.op(f"linalg.transpose ins({a} : {type_}) outs({init} : {result}) permutation = [1, 0]")


def layer_forward(f, k, i, x):
    """A dense layer with a smooth activation. Returns its output and what its gradient needs."""
    h = f.matmul(k["zero"], x, ACTIVATION, f"%w{i}", WEIGHT, ACTIVATION)
    init = f.empty(ACTIVATION)
    b = f.op(f"linalg.broadcast ins(%b{i} : {BIAS}) outs({init} : {ACTIVATION}) dimensions = [0]")
    h = f.binary("addf", h, b)
    cube = f.binary("mulf", f.binary("mulf", h, h), h)
    inner = f.binary("addf", h, f.binary("mulf", cube, k["c0"]))
    tanh = f.op(f"math.tanh {f.binary('mulf', inner, k['c1'])} : {ACTIVATION}")
    gate = f.binary("addf", tanh, k["one"])
    y = f.binary("mulf", f.binary("mulf", h, gate), k["half"])
    return y, (x, h, tanh, gate)


def layer_backward(f, k, i, saved, dy):
    """Returns the gradients of input, weight and bias."""
    x, h, tanh, gate = saved
    dy = f.binary("mulf", dy, k["half"])
    sech = f.binary("subf", k["one"], f.binary("mulf", tanh, tanh))
    slope = f.binary("addf", k["one"], f.binary("mulf", k["c3"], f.binary("mulf", h, h)))
    inner = f.binary("mulf", f.binary("mulf", sech, slope), k["c1"])
    dh = f.binary("mulf", dy, f.binary("addf", gate, f.binary("mulf", h, inner)))
    xt_type = f"tensor<{WIDTH}x{BATCH}xf32>"
    xt = f.transpose(x, ACTIVATION, xt_type)
    dw = f.matmul(k["zero"], xt, xt_type, dh, ACTIVATION, WEIGHT)
    init = f.filled(k["zero"], BIAS)
    db = f.op(f"linalg.reduce {{ arith.addf }} ins({dh} : {ACTIVATION}) outs({init} : {BIAS}) dimensions = [0]")
    wt = f.transpose(f"%w{i}", WEIGHT, WEIGHT)
    dx = f.matmul(k["zero"], dh, ACTIVATION, wt, WEIGHT, ACTIVATION)
    return dx, dw, db


def update(f, k, name, i, gradient, type_, suffix):
    """Adam without bias correction. Returns the new parameter and its two moments."""
    g = f.op(f'cs.gradient {gradient} of "{name}{i}" : {type_}')
    m = f.binary("mulf", f"%{name}m{i}", k["beta1" + suffix], type_)
    m = f.binary("addf", m, f.binary("mulf", g, k["rest1" + suffix], type_), type_)
    v = f.binary("mulf", f"%{name}v{i}", k["beta2" + suffix], type_)
    v = f.binary("addf", v, f.binary("mulf", f.binary("mulf", g, g, type_), k["rest2" + suffix], type_), type_)
    root = f.op(f"math.sqrt {f.binary('addf', v, k['eps' + suffix], type_)} : {type_}")
    move = f.binary("mulf", f.binary("divf", m, root, type_), k["rate" + suffix], type_)
    return f.binary("subf", f"%{name}{i}", move, type_), m, v


def constants(f):
    k = {"zero": f.op("arith.constant 0.000000e+00 : f32")}
    for name, value in (("one", 1.0), ("half", 0.5), ("c0", 0.044715), ("c1", 0.797885), ("c3", 0.134145)):
        k[name] = f.constant(value, ACTIVATION)
    for suffix, type_ in (("w", WEIGHT), ("b", BIAS)):
        for name, value in (("beta1", 0.9), ("rest1", 0.1), ("beta2", 0.999), ("rest2", 0.001),
                            ("eps", 1e-8), ("rate", 1e-3)):
            k[name + suffix] = f.constant(value, type_)
    return k


def arguments_and_results(layers):
    arguments, results = [], []
    for i in range(layers):
        for name, type_ in (("w", WEIGHT), ("b", BIAS)):
            arguments.append(f'%{name}{i}: {type_} {{cs.param = "{name}{i}"}}')
            results.append(f'{type_} {{cs.updates = "{name}{i}"}}')
            for moment in "mv":
                arguments.append(f'%{name}{moment}{i}: {type_} {{cs.state = "{name}{moment}{i}"}}')
                results.append(f'{type_} {{cs.updates = "{name}{moment}{i}"}}')
    arguments.append(f'%x: {ACTIVATION} {{cs.batch = "x"}}')
    arguments.append(f'%target: {ACTIVATION} {{cs.batch = "target"}}')
    results.append('tensor<f32> {cs.metric = "loss"}')
    return ",\n    ".join(arguments), ",\n    ".join(results)


def write_program(path, layers):
    """Writes a training step of so many layers; returns its number of ops."""
    with open(path, "w") as out:
        arguments, results = arguments_and_results(layers)
        out.write(f"{CLUSTER}\nfunc.func @step(\n    {arguments})\n    -> ({results})\n    attributes {{cs.step}} {{\n")
        f = Body(out)
        k = constants(f)
        saved, value = [], "%x"
        for i in range(layers):
            value, keep = layer_forward(f, k, i, value)
            saved.append(keep)
        error = f.binary("subf", value, "%target")
        init = f.filled(k["zero"], "tensor<f32>")
        loss = f.op(f"linalg.reduce {{ arith.addf }} ins({f.binary('mulf', error, error)} : {ACTIVATION}) "
                    f"outs({init} : tensor<f32>) dimensions = [0, 1]")
        new = [None] * layers
        for i in reversed(range(layers)):
            error, dw, db = layer_backward(f, k, i, saved[i], error)
            new[i] = update(f, k, "w", i, dw, WEIGHT, "w") + update(f, k, "b", i, db, BIAS, "b")
        types = ([WEIGHT] * 3 + [BIAS] * 3) * layers + ["tensor<f32>"]
        values = [v for layer in new for v in layer] + [loss]
        out.write(f"  return {', '.join(values)} : {', '.join(types)}\n}}\n")
        return f.count + 1


def generate(path, ops):
    """A program with at least `ops` ops, and less than one layer more."""
    one = write_program(path, 1)
    per_layer = write_program(path, 2) - one
    return write_program(path, 1 + -(-(ops - one) // per_layer))


def measure(command):
    """Wall-clock seconds, peak GiB and processor seconds of a command, which must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"error: '{' '.join(map(str, command))}' ended with {process.returncode}:\n{errors[-2000:]}")
    return seconds, usage.ru_maxrss / 2**20, usage.ru_utime + usage.ru_stime


def check_share(tools, folder, program, pipeline, repeats):
    """Percent of the time of cs-translate that checks of memory take; without a program, of 3,000 ops."""
    name = "3,000 ops" if program is None else program.name
    if program is None:
        program = os.path.join(folder, "program.mlir")
        generate(program, 3000)
    schedule, plan = (os.path.join(folder, end) for end in ("schedule.mlir", "plan"))
    subprocess.run([tools / "cs-opt", pipeline, program, "-o", schedule], check=True, stderr=subprocess.DEVNULL)
    shares = []
    for _ in range(repeats):
        start = time.perf_counter()
        done = subprocess.run([tools / "cs-translate", "--mlir-to-plan", "--plan-summary", schedule, "-o", plan],
                              capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
        spent = float(re.search(r"checks of memory: ([0-9.]+) ms", done.stderr)[1]) / 1e3
        shares.append(100 * spent / (seconds - spent))
    share = round(statistics.median(shares), 2)
    print(f"{name}: cs-translate {seconds:.2f} s, {share} % more by checks of memory", flush=True)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 100,000 ops only")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pipeline", default="--cs-all-reduce-pipeline")
    arguments = parser.parse_args()
    tools = pathlib.Path(os.environ["COMMSCHED_BIN"])
    plugin = tools.parent / "lib" / "CommSchedPlugin.so"
    mlir_opt = os.environ.get("MLIR_OPT", "/usr/lib/llvm-22/bin/mlir-opt")

    sizes = [10_000, 100_000] + ([] if arguments.quick else [1_000_000])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.mlir")
        for size in sizes:
            ops = generate(path, size)
            ours = [tools / "cs-opt", arguments.pipeline, path, "-o", "/dev/null"]
            # The plugin only to know the cs ops of level 0.
            peer = [mlir_opt, f"--load-dialect-plugin={plugin}", "--cse", "--canonicalize", path, "-o", "/dev/null"]
            repeats = 1 if size >= 1_000_000 else arguments.repeats
            runs = [(measure(ours), measure(peer)) for _ in range(repeats)]
            row = {
                "ops": ops,
                "megabytes": round(os.path.getsize(path) / 1e6, 1),
                "seconds": statistics.median(a[0] for a, _ in runs),
                "peak_gib": max(a[1] for a, _ in runs),
                "cpu_seconds": statistics.median(a[2] for a, _ in runs),
                "mlir_opt_seconds": statistics.median(b[0] for _, b in runs),
                "mlir_opt_peak_gib": max(b[1] for _, b in runs),
                "mlir_opt_cpu_seconds": statistics.median(b[2] for _, b in runs),
            }
            row = {key: round(value, 3) for key, value in row.items()}
            rows.append(row)
            print(f"{ops} ops: cs-opt {row['seconds']} s, {row['peak_gib']} GiB; "
                  f"mlir-opt {row['mlir_opt_seconds']} s, {row['mlir_opt_peak_gib']} GiB", flush=True)

    last = rows[-1]
    full = not arguments.quick

    with tempfile.TemporaryDirectory() as folder:
        checks = [check_share(tools, folder, path, arguments.pipeline, arguments.repeats)
                  for path in (ROOT / "examples/digits.mlir", ROOT / "examples/transformer.mlir", None)]

    def growth(key):
        return round(max(b[key] / a[key] for a, b in zip(rows, rows[1:])), 2)

    print(json.dumps({
        "benchmark": "compile_time",
        "seconds_1m": last["seconds"] if full else None,
        "growth_per_10x": growth("seconds"),
        "mlir_opt_growth_per_10x": growth("mlir_opt_seconds"),
        "over_mlir_opt": round(last["seconds"] / last["mlir_opt_seconds"], 2),
        "peak_gib_1m": last["peak_gib"] if full else None,
        "check_percent": max(checks),
        "sizes": rows,
    }))


if __name__ == "__main__":
    main()
