# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process that has a plan, first values and batches, and no framework. Usage: _plan_alone.py FOLDER STEPS

FOLDER: plan; slots.npz; batch0.npz, ...; rates.npz: of each step the slots to set before it. Writes result.npz."""
import ctypes
import pathlib
import sys


class _Refused:
    """PyTorch, PaddlePaddle and JAX cannot be imported here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "paddle", "jax", "jaxlib"):
            raise ImportError(f"{name} is not to be had in this process")


sys.meta_path.insert(0, _Refused)

import numpy as np  # noqa: E402

from commsched.native import Session  # noqa: E402


def main():
    folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for name in ("torch", "paddle", "jax"):
        try:
            __import__(name)
        except ImportError:
            continue
        sys.exit(f"{name} was imported")
    slots, rates = dict(np.load(folder / "slots.npz")), dict(np.load(folder / "rates.npz"))
    session = Session((folder / "plan").read_bytes())
    for name, value in slots.items():
        session.set_slot(name, value)
    number = ctypes.c_uint64()
    for step in range(steps):
        for name, values in rates.items():
            session.set_slot(name, values[step])
        session.call(None, dict(np.load(folder / f"batch{step}.npz")), number)
    session.wait()
    np.savez(folder / "result.npz", **{name: session.get_slot(name, value) for name, value in slots.items()})
    session.close()


if __name__ == "__main__":
    main()
