# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data for examples/linear.mlir, and the check of what was learnt from it."""
import pathlib
import sys

import numpy as np

WEIGHTS = np.arange(8, dtype=np.float32)


def make(folder):
    x = np.random.default_rng(0).standard_normal((6400, 8)).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=x @ WEIGHTS)
    np.savez(folder / "init.npz", w=np.zeros(8, np.float32))


def check(path):
    from safetensors.numpy import load_file
    learnt = load_file(path)["w"]
    assert np.allclose(learnt, WEIGHTS, atol=1e-4), learnt


{"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
