# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comparisons of a framework with its plan have in common."""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def by_plan(program, rates, batches):
    """Slots after the steps, of the process without a framework. rates: of each step, in the order of the description's."""
    import numpy as np
    description = program._description(program.workers)
    with tempfile.TemporaryDirectory(prefix="commsched-") as folder:
        folder = pathlib.Path(folder)
        (folder / "plan").write_bytes(program.plan)
        slots = program.slots()
        np.savez(folder / "slots.npz", **slots)
        np.savez(folder / "rates.npz", **{name: np.array([r[i] for r in rates], slots[name].dtype) for i, name in enumerate(description.rates)})
        for i, batch in enumerate(batches):
            np.savez(folder / f"batch{i}.npz", **description.flatten("step", batch))
        done = subprocess.run([sys.executable, str(ROOT / "bench" / "_plan_alone.py"), str(folder), str(len(batches))], capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f"the process with the plan failed ({done.returncode}): {done.stderr.strip()}")
        return dict(np.load(folder / "result.npz"))


def reduced_bytes(program, names):
    """Of all-reduces of these tensors."""
    found = re.findall(r'cs\.all_reduce "([^"]*)" mean .*: !cs\.placed<tensor<((?:\d+x)*)f(32|64)>', program.mlir(1))
    return sum(int(bits) // 8 * math.prod(int(n) for n in shape.split("x") if n) for name, shape, bits in found if name in names)
