# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New plans during a run, from Python."""
import functools
import itertools
import json
import os
import shlex
import time
from random import Random
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import commsched
from commsched.costs import Costs
from commsched.replan import Replan, main, merge_calibration
from commsched.strategy import POLICIES
from test_end_to_end import batches_of, digits  # noqa: F401 (a fixture)
from test_examples import make

with_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def calibration(*links, **more):
    return {"format": "commsched calibration", "version": 1, "module": "m",
            "links": [{"from": f"rank {a}", "to": f"rank {b}", "latency_ns": 7, "overhead_ns": 5, "bits_per_s": bits}
                      for a, b, bits in links], "exchanges": [], "compute": [], **more}


def test_measured_rates_replace_those_of_a_calibration():
    base = calibration((0, 1, 1000), (1, 2, 1000), (2, 0, 400), compute=[{"rank": 0, "slowdown_percent": 9}])
    merged = merge_calibration(calibration((0, 1, 100), (1, 2, 300)), base)
    assert [link["bits_per_s"] for link in merged["links"]] == [100, 300, 80]  # as the others: to 0.2
    assert merged["compute"] == base["compute"] and merged["links"][0]["latency_ns"] == 7
    assert base["links"][0]["bits_per_s"] == 1000
    assert merge_calibration(calibration(), base) == base
    assert merge_calibration(calibration(), None) is None
    assert merge_calibration(calibration((0, 1, 5)), None) == calibration((0, 1, 5))


def test_what_makes_no_sense_is_refused():
    for arguments, error in [({}, "every or when_off"), ({"every": 0}, "every must be an integer of at least 1"),
                             ({"every": 5, "window": 0}, "window"),
                             ({"every": 5, "window": 6}, "window must be at most every, 5, as no plan is made before it is over, got: 6"), ({"when_off": -1.0}, "when_off must be a number, finite and positive")]:
        with pytest.raises(ValueError, match=error):
            Replan(**arguments)
    assert Replan.of(None) is None and Replan.of(False) is None and Replan.of(True).when_off == 25.0
    assert commsched.Replan is Replan


@pytest.mark.parametrize("schedule", [None, *POLICIES])
@pytest.mark.parametrize("options", [{"effort": 3}, {"reorder": True, "memory_limit": 4096}, {"schedule": "fixed-buckets", "bucket_bytes": 4096},
                                     {"parts": True}, {"message_bytes": 4096, "algorithm": "ring"}])
def test_plans_of_another_schedule_have_the_options_that_go_with_it(tmp_path, options, schedule):
    """Else the compiler refuses each of them in the middle of the run."""
    strategy = commsched.AllReduce(**options)
    program = SimpleNamespace(strategy=strategy, _level0=lambda workers, cluster: "", _cluster=lambda workers: None,
                              _costs_of=lambda workers: Costs())
    command = commsched.Program._replanning(program, 2, Replan(every=5, schedule=schedule), strategy, SimpleNamespace(name=str(tmp_path)))["command"].decode()
    (pipeline,) = (word.removeprefix("--pipeline=") for word in shlex.split(command) if word.startswith("--pipeline="))
    given = dict(option.split("=") for option in pipeline.partition("=")[2].split())
    schedule = schedule or options.get("schedule", "solver")
    assert given.get("schedule", "solver") == schedule
    known = {"effort": schedule == "solver", "reorder": schedule == "solver", "memory-limit": schedule == "solver",
             "bucket-bytes": schedule == "fixed-buckets", "parts": schedule != "priority", "message-bytes": schedule != "priority", "algorithm": True}
    assert given.keys() - {"schedule"} == {name.replace("_", "-") for name in options if known.get(name.replace("_", "-"))}


def test_command_quotes_what_it_is_given(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/some where")
    command = Replan(every=5, schedule="fifo").command("/it's/step.mlir", "--cs-all-reduce-pipeline=schedule=solver")
    assert "'/it'\"'\"'s/step.mlir'" in command and command.endswith("--plan {plan}") and "--schedule fifo" in command


@with_tools
def test_errors_of_the_compiler_are_passed_on(tmp_path, capsys):
    (tmp_path / "m.mlir").write_text("module {")
    (tmp_path / "c.json").write_text(json.dumps(calibration()))
    assert main([str(tmp_path / "m.mlir"), "--profile", str(tmp_path / "c.json"), "--calibration", str(tmp_path / "c.json"), "--plan",
                 str(tmp_path / "plan")]) == 1
    assert "commsched.replan: cs-opt failed" in capsys.readouterr().err
    assert not (tmp_path / "plan").exists()


@with_tools
def test_plan_changes_and_the_training_does_not(digits, tmp_path):  # noqa: F811
    few = batches_of(digits, 4)
    with_replan = make("digits").program(2, commsched.AllReduce(schedule="fifo"))
    switched, steps = [], 0

    def until_switched():
        for step, batch in enumerate(itertools.cycle(few)):
            kinds = [event["kind"] for event in with_replan.replans]
            if "switched" in kinds:
                switched.append(step)
            # Steps are called ahead of what is yielded here.
            if len(switched) > 20 or step == 60000:
                return
            time.sleep(0.01)  # or tens of thousands of steps are made, which the new plan waits for
            yield batch

    losses = [metrics["loss"] for metrics in with_replan.run(
        until_switched(), replan=Replan(every=20, window=10, schedule="solver", folder=str(tmp_path / "kept")))]
    steps = len(losses)
    assert switched, with_replan.replans
    first = next(event for event in with_replan.replans if event["kind"] == "switched")
    assert 20 < first["call"] < steps
    assert not [event for event in with_replan.replans if event["kind"] == "given up"]
    values = {name: value.tobytes() for name, value in with_replan.slots().items()}
    with_replan.close()
    assert with_replan.replans[0]["kind"] == "begun"  # still known
    profile = json.loads((tmp_path / "kept" / "profile.1.json").read_text())
    assert [process["index"] for process in profile["processes"]] == [0, 1]

    without = make("digits").program(2, commsched.AllReduce(schedule="fifo"))
    assert [metrics["loss"] for metrics in without.run(itertools.islice(itertools.cycle(few), steps))] == losses
    assert {name: value.tobytes() for name, value in without.slots().items()} == values
    without.close()


@with_tools
@pytest.mark.parametrize("calibrated", [False, True])
def test_plans_for_nodes_of_several_devices_fit(tmp_path, calibrated):
    """Of what links cost, how many shards a gradient has depends too: new plans have those of the first."""
    slow = {**calibration((0, 1, 10**9), (1, 0, 10**9)), "transport": "grpc", "ranks": 2, "servers": 0, "module": "", "exchanges": [
        {"rank": rank, "round_ns": 2 * 10**6, "message_ns": 10**6, "busy_message_ns": 10**6} for rank in range(2)]}
    for link in slow["links"]:
        link.update(latency_ns=10**6, overhead_ns=10**6, round_trip_ns=2 * 10**6)
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    values = np.random.default_rng(1).normal(size=(4, 300000)).astype(np.float32)

    def step(params, x):
        loss, grads = jax.value_and_grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
        return {"w": params["w"] - 1e-7 * grads["w"]}, loss
    program = commsched.transpile(
        step, {"w": np.ones(300000, np.float32)}, values, cluster=commsched.Cluster(2, devices=2, intra_mbit_per_s=4000),
        calibration=str(tmp_path / "slow.json") if calibrated else None)
    assert (b".shard" in program.plan) != calibrated

    def until_decided():
        for step in range(60000):
            if {"switched", "given up"} & {event["kind"] for event in program.replans}:
                return
            time.sleep(0.01)  # the command has the least priority
            yield values
    for _ in program.run(until_decided(), replan=Replan(every=20, window=10)):
        pass
    kinds = [event["kind"] for event in program.replans]
    assert "switched" in kinds and "given up" not in kinds, program.replans


@with_tools
def test_what_servers_cannot_do_is_refused(digits):  # noqa: F811
    program = make("digits").program(2, commsched.ParameterServers())
    with pytest.raises(ValueError, match="replan must go with AllReduce, or be a Tune"):
        program.run(batches_of(digits, 1), replan=True)
    program = make("digits").program(2, commsched.ParameterServers(mode="async"))
    with pytest.raises(ValueError, match="replan must go with mode='sync', got: mode='async'"):
        program.run(batches_of(digits, 1), replan=commsched.Tune())


def test_what_tune_tries():
    strategies = commsched.Tune().strategies(commsched.AllReduce(effort=3, reorder=True))
    assert list(strategies) == ["bytescheduler", "priority", "fixed-buckets", "fifo"]
    assert all(s.schedule == name and s.effort is None and s.reorder is None for name, s in strategies.items())
    assert list(commsched.Tune(("solver", "priority", "fifo")).strategies(
        commsched.AllReduce(schedule="fifo", message_bytes=4096))) == ["solver"]
    for arguments, error in [({"schedules": ("best",)}, "schedules must be some of solver, .*, got: 'best'"),
                             ({"schedules": ("tuned",)}, "got: 'tuned'"), ({"steps": 0}, "steps must be an integer of at least 1, got: 0")]:
        with pytest.raises(ValueError, match=error):
            commsched.Tune(**arguments)
    # Servers go on with their blocks, which are those of the plan that a run begins with.
    servers = commsched.Tune().strategies(commsched.ParameterServers(effort=3))
    assert all((s.schedule, s.cut_as, s.effort) == (name, "solver", 3) for name, s in servers.items())
    with pytest.raises(commsched.FrontEndError, match="schedule='tuned' must go with mode='sync', got: mode='async'"):
        commsched.ParameterServers(schedule="tuned", mode="async")
    assert commsched.Replan.of(commsched.Tune(steps=5)) == commsched.Tune(steps=5) != commsched.Tune()


def test_tune_makes_strategies_of_every_strategy():
    """Whatever options the program has: each policy can be tried, or is left out."""
    values = {"effort": [3], "reorder": [True, False], "memory_limit": [4096], "message_bytes": [4096], "copies": ["overlap"],
              "staging_bytes": [1 << 20], "assign_devices": [False],
              "bucket_bytes": [4096], "first_bucket_bytes": [512], "schedule": list(POLICIES)}
    own = {commsched.AllReduce: {"algorithm": ["ring"], "parts": [True, False], "combine": [False], "hierarchical": [False], "spread_sums": [True],
                                 "sparse": [0.01]},
           commsched.ParameterServers: {"by_block": [True], "cut_as": list(POLICIES), "servers": [2], "mode": ["sync"], "sparse": [0.01]}}
    random, made = Random(7), 0
    for _ in range(4000):
        kind = random.choice(list(own))
        options = {name: random.choice(some) for name, some in {**values, **own[kind]}.items() if random.random() < 0.3}
        try:
            strategy = kind(**options)
        except commsched.FrontEndError:
            continue
        made += 1
        tried = commsched.Tune(POLICIES).strategies(strategy)
        assert set(POLICIES) - {strategy.schedule or "solver", "priority"} <= tried.keys()
        for other in tried.values():
            assert all(getattr(other, name) == getattr(strategy, name) for name in options
                       if name not in ("schedule", "effort", "reorder", "memory_limit", "bucket_bytes", "first_bucket_bytes", "cut_as", "parts"))
            # Plans of one run have the same blocks.
            assert kind is commsched.AllReduce or other.cut_as == (strategy.cut_as or strategy.schedule or "solver")
            assert kind is commsched.AllReduce or other.cut_as != "fixed-buckets" or other.bucket_bytes == strategy.bucket_bytes
            assert other.schedule == "priority" or getattr(other, "parts", None) == getattr(strategy, "parts", None)
    assert made > 400


@with_tools
@pytest.mark.parametrize("strategy", [commsched.AllReduce, functools.partial(commsched.ParameterServers, servers=2)])
def test_tuned_schedule_trains_on_as_if_nothing_had_happened(digits, strategy):  # noqa: F811
    few = batches_of(digits, 4)
    tuned = make("digits").program(2, strategy(schedule="tuned"))

    def until_kept():
        for step, batch in enumerate(itertools.cycle(few)):
            if step == 60000 or any(event["kind"] == "kept" for event in tuned.replans):
                return
            time.sleep(0.002)
            yield batch

    losses = [metrics["loss"] for metrics in tuned.run(until_kept())]
    events = tuned.replans
    assert not [event for event in events if event["kind"] == "given up"], events
    assert [event["kind"] for event in events].count("kept") == 1 and events[-1]["kind"] == "kept"
    text = events[-1]["text"]
    for name in ("solver", "bytescheduler", "priority"):
        assert f"{name} " in text, text
    assert " is kept after " in text and "trials cost" in text
    values = {name: value.tobytes() for name, value in tuned.slots().items()}
    # Nothing is tried any more.
    tuned.run(itertools.islice(itertools.cycle(few), 100))
    assert tuned.replans == events
    tuned.close()

    without = make("digits").program(2, strategy())
    assert [metrics["loss"] for metrics in without.run(itertools.islice(itertools.cycle(few), len(losses)))] == losses
    assert {name: value.tobytes() for name, value in without.slots().items()} == values
    without.close()
