# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --tune says that its trials have cost, and in how many steps, is what the trace of the run shows; and of steps that take long,
few are made that are not asked for."""
import json
import random
import re
import statistics
import subprocess

import pytest
from conftest import TIME_LIMIT, tool
from emulated import emulated_plan

WARM_UP, UNDER_WAY = 2, 2  # steps of a turn, before those that are measured, and when it ends
SAID = re.compile(r"tuning: ms of a step: (.*); (\S+) is kept after (\d+) steps, in which trials cost (\S+) s")


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["here", "spawned"])
@pytest.mark.parametrize("seed", range(2))
def test_steps_and_cost_are_those_of_the_trace(tmp_path, seed, how):
    drawn = random.Random(seed)
    fastest, steps_of_turn = drawn.uniform(210, 260), drawn.randint(1, 3)  # ms; steps
    ms = [fastest, fastest * drawn.uniform(1.05, 1.2)]  # none is clearly behind
    drawn.shuffle(ms)
    plans = [emulated_plan(tmp_path / f"{i}.plan", each, f"--cs-all-reduce-pipeline=algorithm=ring schedule={policy}")
             for i, (each, policy) in enumerate(zip(ms, ["fifo", "wfbp"]))]
    done = subprocess.run(list(map(str, [tool("cs-run"), plans[0], *how, "--emulate", "--steps", 55, "--metrics-every", 55, "--tune", plans[1],
                                         "--tune-steps", steps_of_turn, "--replan-folder", tmp_path / "kept", "--trace", tmp_path / "trace.json"])),
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    said = SAID.search(done.stdout)
    assert said, done.stdout + done.stderr
    steps, cost, kept = int(said[3]), 1e3 * float(said[4]), int(said[2])
    assert ms[kept] == fastest

    events = map(json.loads, (tmp_path / "kept" / "events.json").read_text().splitlines())
    changes = [event["call"] for event in events if event["kind"] == "switched"]
    assert changes[-1] <= steps < changes[-1] + 2 * (WARM_UP + steps_of_turn + UNDER_WAY)
    # A turn of a plan; the first of the run may have more under way, as nothing is known of its steps yet.
    turns = [after - before for before, after in zip(changes, changes[1:])]
    assert len(turns) >= 3 and statistics.median(turns) <= WARM_UP + steps_of_turn + UNDER_WAY

    begins = {}
    for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]:
        if event.get("cat") == "compute" and event["pid"] == 0:
            begins[event["args"]["call"]] = min(begins.get(event["args"]["call"], float("inf")), event["ts"] / 1e3)
    assert cost == pytest.approx(begins[steps] - begins[0] - steps * fastest, abs=2.5 * fastest)
