# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks of emulated steps compute with: bench/_shaped.py."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _shaped  # noqa: E402


def trace(begins):
    """A rank whose steps begin then; each has two fragments, and an update that is late."""
    events = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 0"}}]
    for call, begin in enumerate(begins):
        for name, at in (("compute.1", begin + 30), ("compute.0", begin), ("update.w", begin - 20)):
            events.append({"ph": "X", "cat": "compute", "name": name, "ts": at, "dur": 10, "args": {"call": call}})
        events.append({"ph": "X", "cat": "message", "name": "w", "ts": begin - 50, "dur": 10, "args": {"call": call}})
    return {"traceEvents": events}


def test_a_step_begins_with_its_first_fragment_that_is_no_update():
    assert _shaped.step_begins(trace([1e6, 3e6, 4.5e6])) == [1.0, 3.0, 4.5]


def test_step_time_is_that_of_the_slowest_rank_without_the_first_steps():
    steady = trace([0, 9e6, 10e6, 11e6, 12e6])
    slower = trace([0, 1e6, 2e6, 3.5e6, 4.4e6])
    assert _shaped.step_seconds([steady]) == pytest.approx(1.0)
    assert _shaped.step_seconds([steady, slower]) == pytest.approx(1.2)
    assert _shaped.step_seconds([steady], warm_up=0) == pytest.approx(3.0)


@pytest.fixture
def model(monkeypatch):
    """ResNet-50, of whose program only the times matter here."""
    layers = _shaped._profiles.read_aicb(ROOT / "examples/profiles/resnet50.txt")
    program = "".join(f"cost <flops = 0, bytes = 0, ns = {getattr(layer, field)}>\n" for layer in layers
                      for field in ("forward", "inputs", "weights", "update"))
    monkeypatch.setattr(_shaped, "call", lambda *_: program)
    return _shaped.Model("resnet50")


def test_communication_is_scaled_to_its_share_of_compute(model):
    assert model.bytes == 4 * 25557032
    # Three quarters of the bytes in each half of the all-reduce, at 1448 of 1514 bytes.
    wire = 2 * 0.75 * 4 * 25557032 * 8 / (1e9 * 1448 / 1514)
    assert model.wire_seconds(4, 10**9) == pytest.approx(wire)
    assert model.wire_seconds(4, 2 * 10**9) == pytest.approx(wire / 2)
    for share in (0.5, 1, 2):
        program, layers = model.scaled(model.factor(4, 10**9, share))
        of_program = sum(map(int, _shaped.NS.findall(program)))
        of_layers = sum(layer.forward + layer.inputs + layer.weights + layer.update for layer in layers)
        assert of_program == of_layers
        assert of_program / 1e9 == pytest.approx(wire / share, rel=1e-6)
        assert [layer.tensors for layer in layers] == [layer.tensors for layer in model.layers]


STEP = """func.func @step(%w: tensor<64x32xf32> {cs.param = "w"}) -> (tensor<64x32xf32> {cs.updates = "w"}) attributes {cs.step} {
  %b, %g = cs.profiled "backward" (%w, %w) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<64x32xf32>, tensor<64x32xf32>) -> (tensor<8xf32>, tensor<64x32xf32>)
  %m = cs.gradient %g of "w" : tensor<64x32xf32>
  %u = cs.profiled "update" elementwise (%w, %m) cost <flops = 0, bytes = 0, ns = 1> : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %u : tensor<64x32xf32>
}
"""


@pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
@pytest.mark.parametrize("servers", [0, 2])
@pytest.mark.parametrize("policy", ["solver", "priority", "bytescheduler", "fifo"])
def test_plans_of_both_ways_compile(tmp_path, policy, servers):
    options = "cut-as=solver" if servers and policy != "solver" else ""  # as measured_policies has it
    plan = _shaped.compile_plan(tmp_path, "case", STEP, 2, 10**9, policy, servers=servers, options=options)
    assert plan.path.stat().st_size > 0 and plan.messages > 0 and (plan.bound_ns is None) == (policy == "priority")
