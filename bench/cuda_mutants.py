# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the machine without a device (docs/cuda.md) finds every fault in the order of a step's ops, and nothing else.

--graphs random steps from --seed on, of 1 to 3 ranks, 4 rounds each: as they are planned, in --orders random orders, and
with faults, one at a time, in one order: each wait left out; each two collectives in each other's place on one rank;
staging buffers in smaller rings than waits were planned for. Whether a fault does any harm is decided by brute force
over the ops: who can be reached from whom. Those that do none have to stay without a finding. Exit status 1 if a fault is
not found, or something is found where nothing is wrong.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import last_json, tool  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", type=int, default=None, help="steps (default 5000)")
    parser.add_argument("--orders", type=int, default=8, help="of each step as it is")
    parser.add_argument("--quick", action="store_true", help="200 steps")
    arguments = parser.parse_args()
    graphs = arguments.graphs or (200 if arguments.quick else 5000)
    result = {"benchmark": "cuda_mutants", "seed": arguments.seed}
    result.update(last_json([tool("cuda_mutants_driver"), arguments.seed, graphs, arguments.orders]))
    print(json.dumps(result))
    sys.exit(1 if result["wrong"] else 0)


if __name__ == "__main__":
    main()
