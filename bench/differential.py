# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether plans compute what steps say: random programs against two references.

Random level-0 steps, each in a random mode (workers, devices, servers, schedules,
copies), run as plans beside the reference interpreter (cs-differential): every value
within its bound. And random steps of JAX, transpiled for 1, 2 and 4 workers or for
servers, beside JAX itself in float64 (_jax_steps.py). Exit status 1 if anything was
wrong or crashed.
"""
import argparse
import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import last_json, tool  # noqa: E402


def level0(arguments):
    """The JSON of cs-differential, whose findings and refusals are shown as they come."""
    command = [tool("cs-differential"), "--runs", str(arguments.runs), "--seed", str(arguments.seed),
               "--jobs", str(os.cpu_count()), "--shrink", "30" if arguments.save else "0"]
    if arguments.save:
        command += ["--save", arguments.save]
    if arguments.seconds:
        command += ["--seconds", str(arguments.seconds)]
    return last_json(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=None, help="level-0 programs (default 10000)")
    parser.add_argument("--jax", type=int, default=None, help="steps of JAX (default: one for 500 programs)")
    parser.add_argument("--seconds", type=int, default=0, help="at most, of the level-0 programs")
    parser.add_argument("--save", help="folder for findings, as they were and shrunk")
    parser.add_argument("--quick", action="store_true", help="500 programs, 4 steps of JAX")
    arguments = parser.parse_args()
    if arguments.runs is None:
        arguments.runs = 500 if arguments.quick else 10000
    if arguments.jax is None:
        arguments.jax = 4 if arguments.quick else arguments.runs // 500

    total = collections.Counter()
    refusals = collections.Counter()
    result = {"benchmark": "differential", "seed": arguments.seed}
    if arguments.runs:
        found = level0(arguments)
        total.update({key: found[key] for key in ("programs", "wrong", "refused", "crashed")})
        refusals.update(found["refusals"])
        result["undetermined_percent"] = found["undetermined_percent"]
        result["invalid"] = found["invalid"]
        result["seconds"] = found["seconds"]
    if arguments.jax:
        import _jax_steps
        for outcome, reason in _jax_steps.run(arguments.seed, arguments.jax, arguments.save):
            total["programs"] += 1
            if outcome == "refused":
                refusals[reason] += 1
            if outcome != "equal":
                total[outcome] += 1
    for key in ("programs", "wrong", "refused", "crashed"):
        result[key] = total[key]
    result["jax"] = arguments.jax
    result["refusals"] = dict(sorted(refusals.items(), key=lambda item: -item[1]))
    print(json.dumps(result))
    sys.exit(1 if total["wrong"] or total["crashed"] or result.get("invalid") else 0)


if __name__ == "__main__":
    main()
