# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fragments of whole training steps for CUDA devices, assembled for sm_90 by ptxas: the digits net, the Transformer, ResNet-50
(batch 128 of 224 x 224) and BERT-base (batch 32 of length 128) in JAX, on 4 devices, gradients summed by NCCL. Registers that are
spilled, functions of libdevice that are left, and whether two runs of the compiler give the same bytes. It runs nothing on a
device. --quick: 8 images of 32 x 32 and 8 sequences of 16, the same graphs. Needs ptxas, else status 77."""
import argparse
import json
import sys
import tempfile
import time

from _cuda_assembly import MODELS, assemble, assembler, level2, translate


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--quick", action="store_true", help="small batches of small images and short sequences")
    arguments = parser.parse_args()
    if assembler() is None:
        print("cuda_assembly: needs ptxas")
        sys.exit(77)
    total = {"fragments": 0, "spills": 0, "libdevice": 0, "byte_equal": True}
    cases = {}
    print(f"{'':12} fragments kernels library registers spilled libdevice    PTX  code  byte-equal")
    for name in arguments.models:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            text = level2(name, arguments.quick)
            first, second = translate(text, folder), translate(text, folder)
            code = assemble(first.ptx, folder)
        if code.kernels != len(first.kernels):
            sys.exit(f"cuda_assembly: {name}: ptxas has assembled {code.kernels} of {len(first.kernels)} kernels")
        equal = (first.ptx, first.plan) == (second.ptx, second.plan)
        spilled = code.stack + code.spills
        print(f"{name:12} {first.fragments:9} {len(first.kernels):7} {len(first.library_kernels):7} {code.registers:9} {spilled:7} "
              f"{len(first.calls):9} {len(first.ptx) >> 10:4} KiB {code.bytes >> 10:4} KiB {'yes' if equal else 'no'}", flush=True)
        print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
        total["fragments"] += first.fragments
        total["spills"] += spilled
        total["libdevice"] += len(first.calls)
        total["byte_equal"] &= equal
        cases[name] = {"fragments": first.fragments, "kernels": len(first.kernels), "library_kernels": len(first.library_kernels),
                       "registers": code.registers, "spills": spilled, "libdevice": first.calls, "byte_equal": equal}
    print(json.dumps({**total, "cases": cases}))
    sys.exit(1 if total["spills"] or total["libdevice"] or not total["byte_equal"] else 0)


if __name__ == "__main__":
    main()
