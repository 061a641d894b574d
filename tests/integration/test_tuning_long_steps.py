# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--tune where steps take long: few are made that are not asked for, what it says that its trials have cost, and in how many steps, is
what the trace of the run shows, and who is killed or stopped meanwhile ends the others."""
import json
import random
import re
import signal
import statistics
import time

import pytest
from conftest import TIME_LIMIT, addresses, expect_error, finish
from emulated import emulated_plan

WARM_UP, UNDER_WAY = 2, 2  # steps of a turn, before those that are measured, and when it ends
SAID = re.compile(r"tuning: ms of a step: (.*); (\S+) is kept after (\d+) steps, in which trials cost (\S+) s")


def plans_of(folder, ms):
    """Two plans, of which a step takes so many ms."""
    return [emulated_plan(folder / f"{i}.plan", each, f"--cs-all-reduce-pipeline=algorithm=ring schedule={policy}")
            for i, (each, policy) in enumerate(zip(ms, ["fifo", "wfbp"]))]


def changes_of(kept):
    """The calls with which plans began so far. No attempt to change to one was given up."""
    events = list(map(json.loads, (kept / "events.json").read_text().splitlines()))
    assert not [event["text"] for event in events if event["kind"] == "given up"]
    return [event["call"] for event in events if event["kind"] == "switched"]


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["here", "spawned"])
@pytest.mark.parametrize("seed", range(2))
def test_steps_and_cost_are_those_of_the_trace(tmp_path, cluster, seed, how):
    drawn = random.Random(seed)
    fastest, steps_of_turn = drawn.uniform(210, 260), drawn.randint(1, 3)  # ms; steps
    ms = [fastest, fastest * drawn.uniform(1.05, 1.2)]  # none is clearly behind
    drawn.shuffle(ms)
    plans = plans_of(tmp_path, ms)
    process = cluster.start(plans[0], *how, "--emulate", "--steps", 1000, "--metrics-every", 1000, "--tune", plans[1],
                            "--tune-steps", steps_of_turn, "--replan-folder", tmp_path / "kept", "--trace", tmp_path / "trace.json")
    said = next(filter(None, map(SAID.search, process.stdout)), None)
    process.send_signal(signal.SIGTERM)
    assert said, finish(process)
    out, err, status = finish(process)
    assert status == 128 + signal.SIGTERM, err
    times = [float(each.split()[1]) for each in said[1].split(", ")]  # ms, as printed
    steps, cost, kept = int(said[3]), 1e3 * float(said[4]), int(said[2])
    assert ms[kept] == fastest

    changes = changes_of(tmp_path / "kept")
    assert changes[-1] <= steps < changes[-1] + 2 * (WARM_UP + steps_of_turn + UNDER_WAY)
    # A turn of a plan; the first of the run may have more under way, as nothing is known of its steps yet.
    turns = [after - before for before, after in zip(changes, changes[1:])]
    assert len(turns) >= 3 and statistics.median(turns) <= WARM_UP + steps_of_turn + UNDER_WAY

    begins = {}
    for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]:
        if event.get("cat") == "compute" and event["pid"] == 0:
            begins[event["args"]["call"]] = min(begins.get(event["args"]["call"], float("inf")), event["ts"] / 1e3)
    assert cost == pytest.approx(begins[steps] - begins[0] - steps * times[kept], abs=2.5 * fastest)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
@pytest.mark.parametrize("seed", range(2))
def test_who_ends_meanwhile_ends_the_others(tmp_path, cluster, seed, how):
    drawn = random.Random(seed)
    plans, at, ends = plans_of(tmp_path, [240, 250]), addresses(2), drawn.randint(0, 1)
    processes = cluster.join(plans[0], range(2), at, "--emulate", "--deadline", 20, "--steps", 1000, "--metrics-every", 1000, "--tune", plans[1],
                             "--replan-folder", tmp_path / "kept")
    after, until = drawn.randint(0, 2), time.monotonic() + TIME_LIMIT
    while not (tmp_path / "kept" / "events.json").exists() or len(changes_of(tmp_path / "kept")) < after:
        assert time.monotonic() < until and processes[0].poll() is None
        time.sleep(0.02)
    time.sleep(drawn.uniform(0, 0.5))
    processes[ends].send_signal(how)
    if how == signal.SIGKILL:
        expect_error(finish(processes[1 - ends]), f"rank {1 - ends}: ", f"peer {ends} ")
        return
    for process in processes.values():
        out, err, status = finish(process)
        assert status == 128 + how, err
        assert process is not processes[0] or "stopped after step " in out
