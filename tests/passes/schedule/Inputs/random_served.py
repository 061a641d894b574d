# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""random_served.py CS_OPT SCHEDULE_DRIVER FIRST COUNT: random steps with parameter servers, as they are scheduled.

Layers, sizes, shapes, costs of updates, links, workers and servers are drawn. What
schedule_driver reads from the module that cs-opt wrote must have the period that cs-opt
recorded, must not be behind any policy that is applied in the same way, and must not be
below a bound. Pushes to a server must have priorities in the order in which the schedule sends them.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile


def program(r):
    """A step of level 0: layers with a parameter or two each; updates by row, or not."""
    ns = lambda: r.choice([0, 1000, 50_000, 300_000, 2_000_000, r.randint(1, 5_000_000)])
    arguments, results, forward, backward, update = [], [], [], [], []
    h = "%x"
    shapes = [r.choice(["4", "1000", "64x3", "100x300", "512x512", "2000x70", "9x40000", "1x500000", "30000x3",
                        f"{r.randint(1, 3000)}x{r.randint(1, 500)}"]) for _ in range(r.randint(1, 7))]
    for i, shape in enumerate(shapes):
        kind = f"tensor<{shape}xf32>"
        arguments.append(f'%p{i}: {kind} {{cs.param = "p{i}"}}')
        forward.append(f'  %h{i} = cs.profiled "forward.{i}" ({h}, %p{i}) cost <flops = 0, bytes = 0, ns = {ns()}>'
                       f' : (tensor<8xf32>, {kind}) -> tensor<8xf32>')
        h = f"%h{i}"
        cost = r.choice([f"flops = 0, bytes = 0, ns = {r.randint(1, 500_000)}",
                         f"flops = {r.randint(1, 10**9)}, bytes = {r.randint(1, 10**8)}, ns = 0"])
        rows = r.choice(["elementwise ", "elementwise ", "elementwise ", ""])
        update += [f'  %m{i} = cs.gradient %g{i} of "p{i}" : {kind}',
                   f'  %u{i} = cs.profiled "update.{i}" {rows}(%p{i}, %m{i}) cost <{cost}> : ({kind}, {kind}) -> {kind}']
        results.append((f"%u{i}", kind, f'p{i}'))
    g = h
    for i in reversed(range(len(shapes))):
        kind = f"tensor<{shapes[i]}xf32>"
        backward.append(f'  %b{i}, %g{i} = cs.profiled "backward.{i}" ({g}, %p{i}) cost <flops = 0, bytes = 0, ns = {ns()}>'
                        f' : (tensor<8xf32>, {kind}) -> (tensor<8xf32>, {kind})')
        g = f"%b{i}"
    typed = ", ".join('%s {cs.updates = "%s"}' % (kind, name) for _, kind, name in results)
    return (f'func.func @step(%x: tensor<8xf32> {{cs.batch = "x"}}, {", ".join(arguments)}) -> ({typed}) attributes {{cs.step}} {{\n'
            + "\n".join(forward + backward + update)
            + f'\n  return {", ".join(v for v, _, _ in results)} : {", ".join(k for _, k, _ in results)}\n}}\n')


START = re.compile(r'cs\.start "[^"]*" priority (\d+) [^\n]*cs\.turn = (\d+)[^\n]*\{\n[^\n]*\n\s*cs\.send ')


def in_turn(module):
    """Whether pushes are as urgent as they are soon; None of fewer than three."""
    pushes = [tuple(map(int, found)) for found in START.findall(module)]  # priority, turn
    return sorted(pushes) == sorted(pushes, key=lambda push: push[1]) if len(pushes) > 2 else None


def main():
    cs_opt, driver, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    cut, turns = 0, []
    for seed in range(first, first + count):
        r = random.Random(seed)
        workers = r.choice([1, 2, 3, 8, 64])
        module = (f"cs.cluster @c nodes = {workers} devices = 1 device = <kind = cuda, gflops = 8000, gb_per_s = 100>\n"
                  "  intra = <mbit_per_s = 80000, latency_ns = 5000>\n"
                  f"  inter = <mbit_per_s = {r.choice([100, 1000, 10_000, 100_000])}, "
                  f"latency_ns = {r.choice([0, 5000, 50_000])}, overhead_ns = {r.choice([0, 1000, 30_000])}>\n" + program(r))
        servers = r.randint(1, 5)
        with tempfile.TemporaryDirectory() as folder:
            before, after = pathlib.Path(folder, "before.mlir"), pathlib.Path(folder, "after.mlir")

            def run(*command, text=None):
                done = subprocess.run(command, input=text, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"seed {seed}: {done.stderr[:2000]}\n{module}")
                return done.stdout

            run(cs_opt, f"--insert-dist-comm=mode=parameter-server servers={servers}", "-", "-o", before, text=module)
            run(cs_opt, f"--schedule-comm=effort={r.choice([1, 20])} turns=true", "--verify-distributed", before, "-o", after)
            found, after_text = json.loads(run(driver, before, after)), after.read_text()
        alone = found["alone"]
        if round(alone["period"]) != found["recorded"]:
            sys.exit(f"seed {seed}: must have the period {found['recorded']}, got: {alone['period']}\n{module}")
        best = min(found["applied"], key=found["applied"].get)
        if alone["period"] > found["applied"][best]:
            sys.exit(f"seed {seed}: {best} takes {found['applied'][best]} ns, got: {alone['period']}\n{module}")
        for problem in (alone, found):
            # Averages of the later steps may be below it.
            if problem["settled"] and problem["period"] < problem["bound"] * (1 - 1e-9):
                sys.exit(f"seed {seed}: must not be below {problem['bound']} ns, got: {problem['period']}\n{module}")
        if alone["settled"] and (ordered := in_turn(after_text)) is not None:
            turns.append(ordered)
        cut += found["messages"] > found["tensors"]
    if 6 * cut < count:
        sys.exit(f"blocks were cut in {cut} of {count} steps only")
    # Where need takes less time it is that.
    if 2 * len(turns) < count or 4 * sum(turns) < 3 * len(turns):
        sys.exit(f"pushes have the order of their turns in {sum(turns)} of {len(turns)} of {count} steps only")


main()
