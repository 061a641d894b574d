# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies to pinned memory and back beside products on a CUDA device: device/cuda_overlap.py, whose arguments it takes, on plans that are
made here. Status 77 without a device. --quick: one turn of each."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from _tools import tool

DEVICE = pathlib.Path(__file__).resolve().parent / "device"
sys.path.insert(0, str(DEVICE))
import overlap_pack  # noqa: E402
from cuda_fragments_device import has_device  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments, more = parser.parse_known_args()
    if not has_device():
        print("cuda_overlap: needs a CUDA device")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        overlap_pack.pack(folder)
        (pathlib.Path(folder) / "bin").mkdir()
        for name in ("cs-run", "cuda_copy_driver"):
            (pathlib.Path(folder) / "bin" / name).symlink_to(pathlib.Path(tool(name)).resolve())
        quick = ["--seconds", "15"] if arguments.quick else []
        sys.exit(subprocess.run([sys.executable, DEVICE / "cuda_overlap.py", folder, *quick, *more]).returncode)


if __name__ == "__main__":
    main()
