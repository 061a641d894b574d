# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes examples/transformer.mlir; with --data also its parameters and batches (not shipped).

python examples/transformer/make.py [--data FOLDER]
FOLDER gets transformer.init.safetensors (13 MB with Adam's state: 39 MB) and transformer.train.npz.
"""

import argparse
import pathlib
import sys

import jax
import numpy as np

import commsched

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import transformer  # noqa: E402


def program(workers=4, strategy=commsched.AllReduce()):
    params = transformer.init()
    return commsched.transpile(transformer.step, params, transformer.optimizer.init(params),
                               transformer.batches(1)[0], cluster=workers, location_root=HERE.parents[1],
                               strategy=strategy)


def level0(made):
    """The text without a cluster: the compiler chooses one from the batch sizes."""
    return f"// A Transformer on bytes: made by examples/transformer/make.py with JAX {jax.__version__}.\n" + made.mlir(cluster=False)


def write_data(made, folder, steps):
    """Initial values, and batches in one array in the order of the steps."""
    from safetensors.numpy import save_file
    folder.mkdir(parents=True, exist_ok=True)
    save_file(made.slots(), folder / "transformer.init.safetensors")
    tokens = transformer.batches(steps)
    np.savez(folder / "transformer.train.npz", tokens=tokens.reshape(-1, tokens.shape[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, help="folder for parameters and batches")
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    made = program()
    (HERE.parent / "transformer.mlir").write_text(level0(made))
    if arguments.data:
        write_data(made, arguments.data, arguments.steps)


if __name__ == "__main__":
    main()
