# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that needs a CUDA device, for a machine that has one and cannot build: --pack FILE.tar.xz packs programs with their libraries,
plans, and what is expected of them; there, `tar xf FILE.tar.xz && python3 cuda_device/suite.py` runs all of it within ten minutes and
writes one file. Without --pack: packs, and runs it here; status 77 without a device."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "device")]
from _tools import tool  # noqa: E402
from cuda_fragments_device import has_device  # noqa: E402

BINARIES = ("cs-run", "cuda_values_driver", "cuda_times_driver", "ops_cuda_test", "top_k_cuda_driver", "nccl_driver", "cuda_copy_driver", "cuda_nccl_driver")
# What every machine has, in a version of its own that fits its loader.
OF_THE_LOADER = ("libc.so", "libm.so", "ld-linux", "libdl.so", "libpthread.so", "librt.so")


def pack(folder):
    import cuda_fragments_pack
    import nccl_pack
    import overlap_pack
    import values_pack
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    for name in BINARIES:
        if not os.path.exists(tool(name)):
            sys.exit(f"cuda_device: {tool(name)} is missing: a build with CUDA has it")
        shutil.copy(tool(name), folder / "bin" / name)
        subprocess.run(["strip", folder / "bin" / name], check=True)
        for line in subprocess.run(["ldd", tool(name)], check=True, capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if "=>" in words and not words[0].startswith(OF_THE_LOADER) and not (folder / "lib" / words[0]).exists():
                shutil.copy(words[2], folder / "lib" / words[0])
    for script in (HERE / "device").glob("*.py"):
        if not script.stem.endswith("_pack"):
            shutil.copy(script, folder)
    shutil.copy(HERE / "top_k_cuda.py", folder)
    for each in (values_pack, nccl_pack, overlap_pack, cuda_fragments_pack):
        each.pack(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=pathlib.Path, metavar="FILE.tar.xz")
    parser.add_argument("--quick", action="store_true", help="without peers, sanitizers, and what needs long steps")
    arguments = parser.parse_args()
    if arguments.pack is None and not has_device():
        print("cuda_device: needs a CUDA device; --pack packs it for a machine that has one")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "cuda_device"
        pack(folder)
        if arguments.pack:
            subprocess.run(["tar", "--sort=name", "-caf", arguments.pack.resolve(), folder.name], cwd=temporary, check=True)
            print(f"{arguments.pack}: {arguments.pack.stat().st_size >> 20} MiB")
            return
        only = ["--only", "machine", "values", "gpu_tests", "jobs"] if arguments.quick else []
        sys.exit(subprocess.run([sys.executable, folder / "suite.py", *only]).returncode)


if __name__ == "__main__":
    main()
