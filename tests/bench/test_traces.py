# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces of ranks whose clocks differ: bench/net/traces.py."""
import copy
import json
import pathlib
import random
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from net import traces  # noqa: E402

DELAY = 80.0  # us, the least of each way
PER_BYTE = 0.008  # us: 1 Gbit/s


def run_of(ranks, ways, steps=20, rounds=3, length=2000.0, seed=1):
    """Traces on one clock: in each round of each step, a message on all of `ways`, which
    takes the delay, its bytes, and some more."""
    chosen = random.Random(seed)
    result = []
    for rank in range(ranks):
        events = [{"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}]
        peers = sorted({b for a, b in ways if a == rank} | {a for a, b in ways if b == rank})
        for peer in peers:
            for base, name in ((0, "send to"), (100, "receive from")):
                events.append({"ph": "M", "name": "thread_name", "pid": rank, "tid": base + peer,
                               "args": {"name": f"{name} {peer}"}})
        result.append({"displayTimeUnit": "ms", "otherData": {"dropped_spans": 1}, "traceEvents": events})
    for step in range(steps):
        for key, size in (("small", 64), ("large", 1 << 16)):
            for number in range(rounds):
                for a, b in ways:
                    sent = step * length * 3 + number * length + chosen.random() * 100
                    # Every third is as fast as can be.
                    late = chosen.choice([0, chosen.expovariate(1 / 300), chosen.expovariate(1 / 300)])
                    end = sent + DELAY + PER_BYTE * size + late
                    args = {"call": step, "bytes": size}
                    result[a]["traceEvents"].append({
                        "ph": "X", "name": key, "cat": "message", "pid": a, "tid": b, "ts": sent,
                        "dur": end - sent + 30, "args": args})
                    result[b]["traceEvents"].append({
                        "ph": "X", "name": key, "cat": "message", "pid": b, "tid": 100 + a, "ts": sent - 10,
                        "dur": end - sent + 10, "args": args})
    return result


def on_other_clocks(original, clocks):
    """The traces as ranks with clocks (offset, speed) against the first would write them."""
    result = copy.deepcopy(original)
    for trace, (offset, speed) in zip(result, clocks):
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                end = (event["ts"] + event["dur"]) * (1 + speed) + offset
                event["ts"] = event["ts"] * (1 + speed) + offset
                event["dur"] = end - event["ts"]
    return result


def spans(trace):
    return [(e["pid"], e["name"], e["args"]["call"], e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X"]


def worst_error(original, merged):
    wanted = [span for trace in original for span in spans(trace)]
    got = spans(merged)
    assert [span[:3] for span in got] == [span[:3] for span in wanted]
    return max(abs(g[3] - w[3]) for g, w in zip(got, wanted))


RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
PAIRS = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2)]
STAR = [(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0)]


@pytest.mark.parametrize("ways", [RING, PAIRS, STAR])
@pytest.mark.parametrize("offsets", [(0, 0, 0, 0), (0, 1234.5, -987654.25, 7e9)])
def test_shifted_clocks_are_found(ways, offsets):
    original = run_of(4, ways)
    shifted = on_other_clocks(original, [(offset, 0) for offset in offsets])
    clocks = traces.align(shifted)
    assert [clock.offset for clock in clocks] == pytest.approx([-offset for offset in offsets], abs=3)
    assert all(clock.speed == 0 for clock in clocks)
    assert worst_error(original, traces.merge(shifted, clocks)) < 3


def test_clocks_of_different_speed_are_followed():
    original = run_of(4, RING, steps=400, length=30000.0)  # 36 s
    # 50 ppm are 1.8 ms over the run.
    shifted = on_other_clocks(original, [(0, 0), (500, 50e-6), (-2500, -30e-6), (9, 0)])
    clocks = traces.align(shifted)
    assert clocks[1].speed == pytest.approx(-50e-6, abs=1e-6)
    assert clocks[2].speed == pytest.approx(30e-6, abs=1e-6)
    assert worst_error(original, traces.merge(shifted, clocks)) < 30
    # Offsets alone would be off by the half of 1.8 ms and more.
    straight = [traces.Clock(clock.offset) for clock in clocks]
    assert worst_error(original, traces.merge(shifted, straight)) > 500


def test_nothing_arrives_before_it_is_sent():
    shifted = on_other_clocks(run_of(4, RING), [(0, 0), (5000, 0), (-5000, 0), (1e6, 0)])
    merged = traces.merge(shifted)
    sends, arrived = {}, {}
    for event in merged["traceEvents"]:
        if event["ph"] == "X":
            of, a, b = ((sends, event["pid"], event["tid"]) if event["tid"] < 100
                        else (arrived, event["tid"] - 100, event["pid"]))
            time = event["ts"] if of is sends else event["ts"] + event["dur"]
            of.setdefault((a, b, event["name"], event["args"]["call"]), []).append(time)
    assert sends.keys() == arrived.keys()
    for key, times in sends.items():
        for sent, end in zip(sorted(times), sorted(arrived[key])):
            assert end > sent


@pytest.mark.parametrize("ways", [[(0, 1), (1, 0)], [(0, 1), (1, 2), (0, 2), (2, 3)], [(1, 0), (2, 0), (3, 0)]])
def test_ranks_that_are_not_connected_there_and_back_are_an_error(ways):
    with pytest.raises(traces.TraceError, match="messages do not connect all ranks"):
        traces.align(run_of(4, ways))


def test_one_rank_needs_no_messages():
    assert traces.align(run_of(1, [])) == [traces.Clock()]


def test_messages_of_a_run_that_ended_early_do_not_count():
    original = run_of(2, [(0, 1), (1, 0)])
    shifted = on_other_clocks(original, [(0, 0), (700, 0)])
    # The last receive of a step is missing.
    events = shifted[1]["traceEvents"]
    events.remove(next(e for e in reversed(events) if e["ph"] == "X" and e["tid"] >= 100))
    assert traces.align(shifted)[1].offset == pytest.approx(-700, abs=3)


def test_the_command_writes_one_trace(tmp_path):
    original = run_of(2, [(0, 1), (1, 0)])
    paths = []
    for rank, trace in enumerate(on_other_clocks(original, [(0, 0), (-250, 0)])):
        paths.append(tmp_path / f"{rank}.json")
        paths[-1].write_text(json.dumps(trace))
    tool = [sys.executable, str(ROOT / "bench/net/traces.py"), str(tmp_path / "all.json")]
    done = subprocess.run([*tool, *paths], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rank 0: +0.0 us")
    merged = json.loads((tmp_path / "all.json").read_text())
    assert merged["otherData"]["dropped_spans"] == 2
    assert worst_error(original, merged) < 3
    paths[1].write_text("{")
    failed = subprocess.run([*tool, *paths], capture_output=True, text=True)
    assert failed.returncode == 1 and failed.stderr.startswith("traces: ")
