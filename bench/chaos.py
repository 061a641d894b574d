# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether jobs end as they must under any fault: random jobs as the machines that run, on a virtual clock.

Runs --runs jobs from --seed on (cs-chaos), with connections that break, servers that are killed and begin again from
their checkpoints, and processes that are stopped or killed. Then builds faults into the machines one at a time
(bench/machine_mutants.py): each must be found; --no-mutants leaves that out. Exit status 1 if anything was found, or a
fault was not. `cs-chaos --seed S --runs 1 --trace` shows one run.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import last_json, tool  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=None, help="jobs (default 100000)")
    parser.add_argument("--no-mutants", action="store_true")
    parser.add_argument("--quick", action="store_true", help="2000 jobs, 3 faults")
    arguments = parser.parse_args()
    runs = arguments.runs or (2000 if arguments.quick else 100000)
    result = {"benchmark": "chaos", "seed": arguments.seed}
    result.update(last_json([tool("cs-chaos"), "--seed", str(arguments.seed), "--runs", str(runs)]))
    if not arguments.no_mutants:
        here = pathlib.Path(__file__).resolve().parent
        found = last_json([sys.executable, str(here / "machine_mutants.py")] + ["--quick"] * arguments.quick)
        result["mutants"], result["mutants_found"] = found["mutants"], found["found"]
    print(json.dumps(result))
    sys.exit(1 if result["findings"] or result.get("mutants") != result.get("mutants_found") else 0)


if __name__ == "__main__":
    main()
