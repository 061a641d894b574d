# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two examples as the benchmarks want them."""
import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ.get("COMMSCHED_ROOT", pathlib.Path(__file__).resolve().parents[1]))


class Example:
    """One example: its program, its JAX step, its first state and global batches.

    batches(count): tuples of the step's batch arguments, in the order of the steps.
    batch_names: of these arguments.
    """

    def __init__(self, name):
        self.name = name
        folder = ROOT / "examples" / name
        spec = importlib.util.spec_from_file_location(f"make_{name}", folder / "make.py")
        self._make = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._make)
        self.module = sys.modules[name]
        self.step = self.module.step

    def program(self, workers, *strategy):
        """strategy: nothing, or the one of transpile()."""
        return self._make.program(workers, *strategy)

    def state(self):
        import jax
        import numpy as np
        params = self.module.init()
        if self.name == "digits":
            return params, jax.tree.map(np.zeros_like, params)
        return params, self.module.optimizer.init(params)

    @property
    def batch_names(self):
        return ("x", "y") if self.name == "digits" else ("tokens",)

    def batches(self, count):
        import numpy as np
        if self.name == "transformer":
            return [(tokens,) for tokens in self.module.batches(count)]
        x, y, _, _ = self.module.data()
        n, result, epoch = self.module.GLOBAL_BATCH, [], 0
        while len(result) < count:
            order = np.random.default_rng(epoch).permutation(len(x))
            result += [(x[order[i:i + n]], y[order[i:i + n]]) for i in range(0, len(x) - n + 1, n)]
            epoch += 1
        return result[:count]


def unpacked(batches):
    """Batches as Program.run takes them: no tuple around a single argument."""
    return [b[0] if len(b) == 1 else b for b in batches]
