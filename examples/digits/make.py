# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes examples/digits.mlir and its data: run after a change of digits.py."""

import pathlib
import sys

import jax
import numpy as np

import commsched

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import digits  # noqa: E402


def program(workers=4, strategy=commsched.AllReduce(), **options):
    """options: of commsched.transpile."""
    params = digits.init()
    momentum = jax.tree.map(np.zeros_like, params)
    x, y, test_x, test_y = digits.data()
    n = digits.GLOBAL_BATCH
    return commsched.transpile(
        digits.step, params, momentum, x[:n], y[:n], batch=(2, 3), cluster=workers,
        functions={"eval": (digits.evaluate, params, test_x, test_y)}, location_root=HERE.parents[1],
        strategy=strategy, **options)


def level0(made):
    """The text without a cluster: the compiler chooses one from the batch sizes."""
    return f"// The digits net: made by examples/digits/make.py with JAX {jax.__version__}.\n" + made.mlir(cluster=False)


def main():
    out = HERE.parent
    made = program()
    (out / "digits.mlir").write_text(level0(made))
    x, y, test_x, test_y = digits.data()
    np.savez_compressed(out / "digits.train.npz", x=x, y=y)
    np.savez_compressed(out / "digits.test.npz", x=test_x, y=test_y)
    from safetensors.numpy import save_file
    save_file(made.slots(), out / "digits.init.safetensors")


if __name__ == "__main__":
    main()
