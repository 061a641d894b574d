# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole training step on one CUDA device against jax.jit and torch.compile of the same step: device/cuda_fragments.py, whose
arguments it takes, on plans that are made here. Status 77 without a device. --quick: small networks, one round."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from _tools import tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "device"))
import cuda_fragments_pack  # noqa: E402
from cuda_fragments_device import has_device  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments, more = parser.parse_known_args()
    if "--cpu" not in more and not has_device():
        print("cuda_fragments: needs a CUDA device")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        cuda_fragments_pack.pack(folder, cuda_fragments_pack.TINY if arguments.quick else None)
        (pathlib.Path(folder) / "bin").mkdir()
        (pathlib.Path(folder) / "bin/cs-run").symlink_to(pathlib.Path(tool("cs-run")).resolve())
        quick = ["--rounds", "1"] if arguments.quick else []
        program = pathlib.Path(__file__).resolve().parent / "device/cuda_fragments.py"
        sys.exit(subprocess.run([sys.executable, program, folder, *quick, *more]).returncode)


if __name__ == "__main__":
    main()
