# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real plans that take the place of each other in a run: any schedule of a program
fits, and trains on bit for bit (see test_schedules.py); another program does not."""
import json
import re
import subprocess

import pytest

from conftest import EXAMPLES, TIME_LIMIT, tool
from test_schedules import POLICIES, compiled, expect_same, train

DATA = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--steps", "800"]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A plan of four nodes, and what it trains to."""
    folder = tmp_path_factory.mktemp("first")
    plan = compiled(folder, "digits", 4, "fifo")[1]
    return plan, train(plan, folder / "saved", *DATA)


def replan(command, folder):
    return ["--replan", command, "--replan-every", "20", "--replan-window", "5", "--replan-folder", folder]


@pytest.mark.parametrize("policy", POLICIES)
def test_any_schedule_takes_over(tmp_path, first, policy):
    plan, expected = first
    other = compiled(tmp_path, "digits", 4, policy)[1]
    kept = tmp_path / "kept"
    # Now one, now the other.
    command = f"n=$(ls {kept}/plan.* 2>/dev/null | wc -l); [ $((n % 2)) = 0 ] && cp {other} {{plan}} || cp {plan} {{plan}}"
    spawn = ["--spawn"] if policy in ("solver", "dear") else []
    expect_same(train(plan, tmp_path / "saved", *DATA, *spawn, *replan(command, kept)), expected)
    events = [json.loads(line) for line in (kept / "events.json").read_text().splitlines()]
    assert "switched" in [event["kind"] for event in events]
    assert "given up" not in [event["kind"] for event in events], [event for event in events if event["kind"] == "given up"]


@pytest.mark.parametrize("options, spawn", [("--replan", []), ("--replan", ["--spawn"]), ("--tune", [])])
def test_one_worker_is_told_that_nothing_is_to_change(tmp_path, options, spawn):
    """And goes on: a script for many may be tried with one."""
    plans = {}
    for nodes in (1, 2):
        (folder := tmp_path / str(nodes)).mkdir()
        plans[nodes] = compiled(folder, "digits", nodes, "fifo")[1]
    for nodes, plan in plans.items():
        given = replan(f"cp {plan} {{plan}}", tmp_path / "kept") if options == "--replan" else ["--tune", plan]
        done = subprocess.run([tool("cs-run"), plan, *DATA[:-1], "40", *spawn, *given], capture_output=True, text=True, timeout=TIME_LIMIT)
        said = [line for line in done.stderr.splitlines() if "with one worker" in line]
        assert done.returncode == 0, done.stderr
        assert said == [f"cs-run: warning: {options} changes nothing with one worker, which sends nothing that could be sent by another plan"] * (nodes == 1)


@pytest.mark.parametrize("spawn", [[], ["--spawn"]])
@pytest.mark.parametrize("steps", ["1", "9", "3000"])
def test_who_ends_before_a_plan_is_kept_is_told(tmp_path, first, steps, spawn):
    plan, _ = first
    other = compiled(tmp_path, "digits", 4, "solver")[1]
    done = subprocess.run([tool("cs-run"), plan, *DATA[:-1], steps, *spawn, "--tune", other, "--tune-steps", "3"],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    told = "warning: tuning: the run has ended before it was known which plan is the fastest" in done.stderr
    kept = re.search(r"\w+ is kept after \d+ steps", done.stdout) is not None
    assert told != kept and kept == (steps == "3000"), done.stdout + done.stderr


@pytest.mark.parametrize("every", [1, 2, 3, 5, 7])
def test_steps_take_as_long_where_the_model_is_evaluated_between(tmp_path, first, every):
    """After an evaluation the next steps are called at once, before one of them ends. None is done in a tenth of what all take on average."""
    plan, _ = first
    other = compiled(tmp_path, "digits", 4, "solver")[1]
    done = subprocess.run([tool("cs-run"), plan, *DATA[:-1], "200"],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    all_take = re.search(r"step time (\S+) ms", done.stdout)
    assert all_take, done.stdout
    done = subprocess.run([tool("cs-run"), plan, *DATA, "--tune", other, "--tune-steps", "10", "--eval", "eval", "--eval-batch", EXAMPLES / "digits.test.npz",
                           "--eval-every", str(every)], capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    said = re.search(r"ms of a step: (.*); \w+ is kept", done.stdout + done.stderr)
    assert said, done.stdout + done.stderr
    for plan_takes in said[1].split(", "):
        assert float(plan_takes.split()[1]) > float(all_take[1]) / 10, said[0]


def test_another_program_does_not(tmp_path, first):
    plan, _ = first
    other = compiled(tmp_path, "linear", 4, "fifo")[1]
    done = subprocess.run([tool("cs-run"), plan, *DATA, "--save-params", tmp_path / "saved",
                           *replan(f"cp {other} {{plan}}", tmp_path / "kept")],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    assert "going on with the old plan: the new plan has no \"conv1.b\" on device 0" in done.stderr
    assert done.stderr.count("\n") <= 3


def test_another_rate_does_not(tmp_path, first):
    plan, expected = first
    text = (EXAMPLES / "digits.mlir").read_text()
    rate = re.search(r"arith\.constant (?:dense<)?((?!0\.0+e|1\.0+e)\d\.\d+e-\d+)", text)[1]
    (tmp_path / "digits.mlir").write_text(text.replace(rate, "7.500000e-02"))
    other = compiled(tmp_path, tmp_path / "digits", 4, "fifo")[1]
    assert other.read_bytes() != plan.read_bytes()
    kept = tmp_path / "kept"
    expect_same(train(plan, tmp_path / "saved", *DATA, *replan(f"cp {other} {{plan}}", kept)), expected)
    given_up = [json.loads(line)["text"] for line in (kept / "events.json").read_text().splitlines()
                if '"given up"' in line]
    assert len(given_up) == 3 and "its code is not the same" in given_up[0]
