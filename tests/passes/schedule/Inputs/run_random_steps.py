# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run_random_steps.py CS_OPT COUNT: schedules the first COUNT steps of random_steps.py by several policies.

Fails if a step is refused, falls back to priorities, or is not verified afterwards;
or if the solver, in the order of the program, is predicted to be clearly behind another policy.
"""
import pathlib
import re
import subprocess
import sys

POLICIES = ["policy=solver", "policy=p3", "policy=fixed-buckets", "policy=dear",
            "policy=solver reorder=true memory-limit=100000000"]


def main():
    cs_opt, count = sys.argv[1], int(sys.argv[2])
    generator = pathlib.Path(__file__).with_name("random_steps.py")
    packs = 0
    for seed in range(1, count + 1):
        step = subprocess.run([sys.executable, generator, str(seed)], capture_output=True, text=True, check=True).stdout
        periods = {}
        for policy in POLICIES:
            done = subprocess.run([cs_opt, f"--schedule-comm={policy}", "--expand-collectives", "--verify-distributed", "-"],
                                  input=step, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"seed {seed}, {policy}: {done.stderr[:2000]}")
            record = re.search(r"period_ns = (\d+), bound_ns = (\d+), any_order_bound_ns = (\d+)", done.stdout)
            if not record:
                sys.exit(f"seed {seed}, {policy}: only priorities")
            period, bound, any_order = map(int, record.groups())
            if not period + 1 >= bound >= any_order - 1:
                sys.exit(f"seed {seed}, {policy}: a period of {period} with bounds of {bound} and {any_order}")
            periods[policy] = period
            packs += done.stdout.count("cs.pack")
        # It gives up a two-hundredth for fewer messages, and a five-hundredth for plain priorities.
        if periods["policy=solver"] > 1.0071 * min(periods[policy] for policy in POLICIES if "reorder" not in policy):
            sys.exit(f"seed {seed}: {periods}")
    if not packs:
        sys.exit("no step was cut or fused")


main()
