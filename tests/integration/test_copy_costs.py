# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What copies between the devices of a node cost, in the simulator and in the problem of a schedule, reckoned by hand."""
import json
import math
import random
import re
import subprocess

import pytest
from conftest import TIME_LIMIT, expect_success, run, tool

STEP = """
cs.cluster @node nodes = {nodes} devices = {devices} device = <kind = cuda, gflops = 1000, gb_per_s = 100>
    intra = <mbit_per_s = {mbit}, latency_ns = {latency}> inter = <mbit_per_s = 1000000, latency_ns = 0, overhead_ns = 1>
!t = !cs.placed<tensor<{rows}x{columns}xf32>, device 0>
func.func @step(%w: !t {{cs.param = "w"}}, %x: !t {{cs.batch = "x"}}) -> (!t {{cs.updates = "w"}}) attributes {{cs.step}} {{
  %g = cs.fragment "f" on 0 (%w, %x) cost <flops = 0, bytes = 0, ns = {compute}> : (!t, !t) -> !t
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred cost <flops = 0, bytes = 0, ns = {update}> : (!t, !t) -> !t
  return %n : !t
}}
"""


def lower(step, hierarchical, *passes):
    given = [tool("cs-opt"), f"--replicate-devices=hierarchical={hierarchical}", "--assign-devices", *passes]
    done = subprocess.run(given, input=step, text=True, capture_output=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def case(seed):
    draw = random.Random(seed)
    devices = draw.randint(2, 4)
    return {"devices": devices, "mbit": draw.choice([1, 8, 100]), "latency": draw.choice([0, 1000, 70001]),
            "rows": devices, "columns": draw.randint(1000, 20000), "compute": draw.randint(10**4, 10**6),
            "update": draw.randint(100, 5000)}


def sum_ns(devices, elements):
    """Of a mean over the devices: by the device's rates."""
    return max(math.ceil(elements * devices / 1000), math.ceil(4 * elements * (devices + 1) / 100))


@pytest.mark.parametrize("hierarchical", ["false", "true"])
@pytest.mark.parametrize("seed", range(6))
def test_a_step_of_one_node_takes_compute_and_copies(tmp_path, seed, hierarchical):
    """One after the other to the engine of an owner, and at once from it to others; or a shard's to each."""
    c = case(seed)
    schedule = lower(STEP.format(nodes=1, **c), hierarchical, "--schedule-comm", "--expand-collectives",
                     "--overlap-rpc-memcpy=mode=none", "--verify-distributed")
    assert ("sum.w.shard0" in schedule) == (hierarchical == "true")
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", tmp_path / "plan"], input=schedule, text=True, check=True,
                   timeout=TIME_LIMIT)
    expect_success(run(tmp_path / "plan", "--simulate", "--metrics-json", tmp_path / "json"))
    elements, others = c["columns"] * c["rows"], c["devices"] - 1
    back = 1
    if hierarchical == "true":
        elements, back = c["columns"], others
    copy = c["latency"] + math.ceil(4 * elements * 8000 / c["mbit"])
    want = c["compute"] + others * copy + sum_ns(c["devices"], elements) + back * copy + c["update"]
    assert json.loads((tmp_path / "json").read_text())["step_ns"] == pytest.approx(want, abs=2)


@pytest.mark.parametrize("hierarchical", ["false", "true"])
@pytest.mark.parametrize("seed", range(6))
def test_the_problem_has_all_bytes_of_copies(seed, hierarchical):
    """Where copies take longer than the network, all are on the common link: their bytes, and latencies in bytes."""
    c = case(seed)
    problem = lower(STEP.format(nodes=2, **c), hierarchical, "--extract-problem")
    link, rate = re.search(r'(%\S+) = cs.problem.link "devices" bytes_per_second (\d+)', problem).groups()
    assert int(rate) == c["mbit"] * 125000 * c["devices"]
    count = 2 * (c["devices"] - 1) * (c["devices"] if hierarchical == "true" else 1)
    bytes_of_copies = 2 * (c["devices"] - 1) * 4 * c["columns"] * c["rows"]
    want = bytes_of_copies + count * (c["mbit"] * 125000 * c["latency"] // 10**9)
    found = 0
    for whole, stages in re.findall(r"problem.communication .* bytes (\d+) from .* through \(([^)]*)\)", problem):
        for stage in stages.split(", "):
            if stage.split()[0] == link:  # no bytes: those of the communication
                found += int((re.search(r"bytes (\d+)", stage) or [None, whole])[1])
    assert found == want, problem
