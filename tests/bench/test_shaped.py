# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks of emulated steps compute with: bench/_shaped.py."""
import json
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


@pytest.mark.parametrize("rate, kib", [(10**8, 64), (25 * 10**7, 64), (10**9, 256), (2 * 10**9, 512), (10**10, 1024)])
def test_packets_take_four_milliseconds_at_most(rate, kib):
    assert _shaped.packet_bytes(rate) == kib << 10


def test_rounds_on_a_busy_network_wait_for_what_cannot_be_overtaken(tmp_path):
    measured = {"links": [{"latency_ns": 5}], "exchanges": [{"rank": 0, "round_ns": 300, "message_ns": 9}]}
    loaded = json.loads(_shaped.under_load(measured, 10**9, tmp_path).read_text())
    # 640 KiB at 956 Mbit/s are 5.48 ms, 1152 KiB at 1913 are 4.93.
    assert 5.4e6 < loaded["exchanges"][0]["round_ns"] < 5.6e6
    twice = json.loads(_shaped.under_load(measured, 2 * 10**9, tmp_path).read_text())
    assert 4.85e6 < twice["exchanges"][0]["round_ns"] < 5.0e6
    assert loaded["exchanges"][0]["message_ns"] == 9 and loaded["links"] == measured["links"]
    assert measured["exchanges"][0]["round_ns"] == 300
