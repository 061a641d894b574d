# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler says of a schedule, against cs-run --simulate of its plan: two programs that share the rule of packets
(plan/packets.h) and nothing else. Random steps on two ranks, with tensors of up to 50 MB, by every policy."""

import json
import random
import re

import pytest

from built import tool
from test_simulation import CLUSTER, call

POLICIES = ["pace", "dear", "tictac", "fifo", "mg-wfbp", "solver", "bytescheduler", "p3", "fixed-buckets", "wfbp", "latency-hiding"]
RUNS = 4  # random steps by each policy
NEAR, WAITS = 0.002, 3  # of a step; and packets that something urgent waits for once more or less
SOCKET = 128 << 10
CLOCK = 1e-4  # of a step: the simulator's nanoseconds are rounded
PACKETS = {1000: 64 << 10, 2000: 128 << 10, 5000: 1 << 20, 10000: 1 << 20, 25000: 1 << 20}  # by Mbit/s


def random_profile(rng):
    """In the form of examples/profiles: layers that take 30 us to 30 ms, with gradients of 1 kB to 50 MB."""
    lines = []
    for layer in range(rng.randint(3, 25)):
        forward = int(10 ** rng.uniform(4.5, 7.5))
        inputs, weights = (int(forward * rng.uniform(0.5, 1.5)) for _ in range(2))
        lines.append("\t".join(map(str, [f"l{layer}", -1, forward, "NONE", 0, inputs, "NONE", 0, weights, "ALLREDUCE",
                                         int(10 ** rng.uniform(3, 7.7)) // 4 * 4, 100])))
    return f"random step\tparameters: 0\n{len(lines)}\n" + "\n".join(lines) + "\n"


def predictions(folder, seed, policy):
    """The nanoseconds of a step by the compiler and by the simulator, and what a step may wait for packets."""
    rng = random.Random(seed)
    profile, program, cluster, schedule, plan, result = (
        folder / name for name in ("step.txt", "step.mlir", "cluster.mlir", "schedule.mlir", "step.plan", "result.json"))
    profile.write_text(random_profile(rng))
    program.write_text(call(tool("cs-translate"), "--import-aicb", profile))
    rate = rng.choice(list(PACKETS))
    cluster.write_text(CLUSTER.format(nodes=2, rate=rate))
    parts = rng.choice(["true", "false"])
    call(tool("cs-opt"), program, f"--cs-all-reduce-pipeline=cluster={cluster} schedule={policy} parts={parts}", "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    call(tool("cs-run"), plan, "--simulate", "--metrics-json", result)
    text = schedule.read_text()
    waits = WAITS * (SOCKET + PACKETS[rate]) * 8 / rate * 1e3
    return int(re.search(r"\bperiod_ns = (\d+)", text)[1]), json.loads(result.read_text())["step_ns"], waits


@pytest.mark.parametrize("policy", POLICIES)
def test_it_agrees_with_the_simulator(tmp_path, policy):
    for run in range(RUNS):
        seed = f"{policy} {run}"
        period, step, waits = predictions(tmp_path, seed, policy)
        assert abs(period - step) <= NEAR * step + waits, seed


@pytest.mark.parametrize("seed", range(40))
def test_no_step_is_below_its_bound(tmp_path, seed):
    """On clusters of any size, where sums of a node's devices and updates take long: the simulator does them when a device has time."""
    rng = random.Random(f"bound {seed}")
    profile, program, cluster, schedule, plan, result = (
        tmp_path / name for name in ("step.txt", "step.mlir", "cluster.mlir", "schedule.mlir", "step.plan", "result.json"))
    profile.write_text(random_profile(rng))
    program.write_text(call(tool("cs-translate"), "--import-aicb", profile))
    rate = rng.choice(list(PACKETS))
    cluster.write_text(f"cs.cluster @nodes nodes = {rng.choice([2, 3, 4, 6, 8])} devices = {rng.choice([1, 2, 4, 8])}"
                       f" device = <kind = cpu, gflops = 4000, gb_per_s = {rng.choice([5, 50, 500])}>"
                       f" intra = <mbit_per_s = {rate * rng.choice([2, 10, 50])}, latency_ns = 5000>"
                       f" inter = <mbit_per_s = {rate}, latency_ns = 20000, overhead_ns = {rng.choice([1, 20000])}>\n")
    pipeline, options = rng.choice([
        ("all-reduce", f"hierarchical={rng.choice(['true', 'false'])} algorithm={rng.choice(['auto', 'ring', 'halving-doubling'])}"),
        ("parameter-server", f"servers={rng.randint(1, 3)} copies={rng.choice(['none', 'overlap'])}"
                             f" sync-mode={rng.choice(['sync', 'async', 'half-async merge=3'])}")])
    options = f"--cs-{pipeline}-pipeline=cluster={cluster} schedule={rng.choice(POLICIES)} {options}"
    call(tool("cs-opt"), program, options, "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    call(tool("cs-run"), plan, "--simulate", "--metrics-json", result)
    bound, step = int(re.search(r"\bbound_ns = (\d+)", schedule.read_text())[1]), json.loads(result.read_text())["step_ns"]
    assert step >= bound * (1 - CLOCK), options


@pytest.mark.parametrize("seed", range(40))
def test_no_step_of_few_bytes_is_below_its_bound(tmp_path, seed):
    """Where latencies and what a message costs are all: few bytes go by other algorithms than many do, on any number of nodes, and
    steps of asynchronous servers wait for nobody."""
    rng = random.Random(f"few bytes {seed}")
    rows = [("l", -1, rng.randint(1, 20000), "NONE", 0, rng.randint(1, 20000), "NONE", 0, rng.randint(1, 20000), "ALLREDUCE",
             4 * rng.choice([1, 3, 64, 1000, 5000]), rng.randint(1, 2000)) for _ in range(rng.randint(1, 6))]
    (tmp_path / "step.txt").write_text("few bytes\n" + f"{len(rows)}\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    (tmp_path / "step.mlir").write_text(call(tool("cs-translate"), "--import-aicb", tmp_path / "step.txt"))
    (tmp_path / "cluster.mlir").write_text(
        f"cs.cluster @nodes nodes = {rng.randint(2, 9)} devices = 1 device = <kind = cpu, gflops = 4000, gb_per_s = 50>"
        f" intra = <mbit_per_s = 80000, latency_ns = 5000>"
        f" inter = <mbit_per_s = {rng.choice([1000, 25000])}, latency_ns = {rng.choice([0, 1000, 50000, 1000000])},"
        f" overhead_ns = {rng.choice([0, 1, 20000, 300000])}>\n")
    pipeline, options = rng.choice([
        ("all-reduce", f"algorithm={rng.choice(['auto', 'ring', 'halving-doubling'])}"),
        ("parameter-server", f"servers={rng.randint(1, 3)} sync-mode={rng.choice(['sync', 'async', 'half-async merge=4'])}")])
    options = f"--cs-{pipeline}-pipeline=cluster={tmp_path / 'cluster.mlir'} schedule={rng.choice(['solver', 'fifo', 'pace', 'p3'])} {options}"
    call(tool("cs-opt"), tmp_path / "step.mlir", options, "-o", tmp_path / "schedule.mlir")
    call(tool("cs-translate"), "--mlir-to-plan", tmp_path / "schedule.mlir", "-o", tmp_path / "step.plan")
    call(tool("cs-run"), tmp_path / "step.plan", "--simulate", "--metrics-json", tmp_path / "result.json")
    bound = int(re.search(r"\bbound_ns = (\d+)", (tmp_path / "schedule.mlir").read_text())[1])
    step = json.loads((tmp_path / "result.json").read_text())["step_ns"]
    assert step >= bound * (1 - CLOCK) - 10, options


@pytest.mark.parametrize("policy", ["fifo", "wfbp", "fixed-buckets", "latency-hiding"])
def test_servers_are_sent_to_in_the_order_of_the_policy(tmp_path, policy):
    """What comes first goes first: a connection to a server would send blocks in their own order, the parameters', where nothing is said."""
    for run in range(RUNS):
        rng = random.Random(f"servers {policy} {run}")
        profile, program, cluster, schedule = (tmp_path / name for name in ("step.txt", "step.mlir", "cluster.mlir", "schedule.mlir"))
        profile.write_text(random_profile(rng))
        program.write_text(call(tool("cs-translate"), "--import-aicb", profile))
        cluster.write_text(CLUSTER.format(nodes=2, rate=rng.choice(list(PACKETS))))
        call(tool("cs-opt"), program, f"--cs-parameter-server-pipeline=cluster={cluster} servers={rng.randint(1, 3)} schedule={policy}",
             "-o", schedule)
        of = {key: int(priority or 0) for key, priority in re.findall(r'= cs\.start "(\S+)"(?: priority (\d+))?', schedule.read_text())}
        pushed = [priority for key, priority in of.items() if not key.endswith(".new")]
        assert pushed == sorted(pushed) and pushed[0] < pushed[-1], f"{policy} {run}: {of}"
        assert all(of[key] == of[key.removesuffix(".new")] for key in of), f"{policy} {run}: {of}"
