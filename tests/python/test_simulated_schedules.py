# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler says of a schedule, against cs-run --simulate of its plan: two programs that share the rule of packets
(plan/packets.h) and nothing else. Random steps on two ranks and more, with tensors of up to 50 MB, by every policy."""

import json
import random
import re

import pytest

from built import tool
from cases import cases
from test_simulation import CLUSTER, call

POLICIES = ["pace", "dear", "tictac", "fifo", "mg-wfbp", "solver", "bytescheduler", "p3", "fixed-buckets", "wfbp", "latency-hiding"]
RUNS = 4  # random steps by each policy
WAITS = 3  # packets that something urgent waits for once more or less
# Of a step: where a node's one device copies what is reduced, or what goes to servers; where copies between devices are beside those; in line.
COPIED, COPIED_TO_SERVERS, BESIDE, IN_LINE = 0.01, 0.1, 0.25, 0.5
# Of a step between ranks; where some messages go by another algorithm; with parts by halving and doubling, where ranks are not alike and drift apart.
ROUNDS, MIXED, UNLIKE = 0.001, 0.01, 0.05
SUMMED = 0.2  # of a step on nodes of several devices, where what goes in several messages is copied to its device as a whole
SERVED, UNSLICED = 0.05, 0.4  # with servers; where a whole tensor holds up its server's link and a trainer's, of which the problem has one
SOCKET = 128 << 10
CLOCK = 1e-4  # of a step: the simulator's nanoseconds are rounded
PACKETS = {1000: 64 << 10, 2000: 128 << 10, 5000: 1 << 20, 10000: 1 << 20, 25000: 1 << 20}  # by Mbit/s


def served(options):
    return UNSLICED if "slice=false" in options else SERVED


def random_profile(rng):
    """In the form of examples/profiles: layers that take 30 us to 30 ms, with gradients of 1 kB to 50 MB."""
    lines = []
    for layer in range(rng.randint(3, 25)):
        forward = int(10 ** rng.uniform(4.5, 7.5))
        inputs, weights = (int(forward * rng.uniform(0.5, 1.5)) for _ in range(2))
        lines.append("\t".join(map(str, [f"l{layer}", -1, forward, "NONE", 0, inputs, "NONE", 0, weights, "ALLREDUCE",
                                         int(10 ** rng.uniform(3, 7.7)) // 4 * 4, 100])))
    return f"random step\tparameters: 0\n{len(lines)}\n" + "\n".join(lines) + "\n"


def cluster_of(nodes, rate, devices=1, gb_per_s=50, intra=80000, latency=20000, overhead=20000, copy=""):
    return (f"cs.cluster @nodes nodes = {nodes} devices = {devices} device = <kind = cpu, gflops = 4000, gb_per_s = {gb_per_s}{copy}>"
            f" intra = <mbit_per_s = {intra}, latency_ns = 5000>"
            f" inter = <mbit_per_s = {rate}, latency_ns = {latency}, overhead_ns = {overhead}>\n")


def predictions(folder, profile, cluster, options):
    """The nanoseconds of a step by the compiler and by the simulator, and the bound. `options`: a pipeline, and its options."""
    paths = [folder / name for name in ("step.txt", "step.mlir", "cluster.mlir", "schedule.mlir", "step.plan", "result.json")]
    text, program, lab, schedule, plan, result = paths
    text.write_text(profile)
    program.write_text(call(tool("cs-translate"), "--import-aicb", text))
    lab.write_text(cluster)
    pipeline, _, rest = options.partition(" ")
    call(tool("cs-opt"), program, f"--cs-{pipeline}-pipeline=cluster={lab} {rest}", "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    call(tool("cs-run"), plan, "--simulate", "--metrics-json", result)
    period, bound = (int(re.search(rf"\b{name}_ns = (\d+)", schedule.read_text())[1]) for name in ("period", "bound"))
    return period, json.loads(result.read_text())["step_ns"], bound


@pytest.mark.parametrize("policy", POLICIES)
def test_it_agrees_with_the_simulator(tmp_path, policy):
    for run in range(RUNS):
        seed = f"{policy} {run}"
        rng = random.Random(seed)
        profile, rate, parts = random_profile(rng), rng.choice(list(PACKETS)), rng.choice(["true", "false"])
        period, step, _ = predictions(tmp_path, profile, CLUSTER.format(nodes=2, rate=rate), f"all-reduce schedule={policy} parts={parts}")
        assert abs(period - step) <= ROUNDS * step, seed


@pytest.mark.parametrize("seed", cases(24))
def test_it_agrees_round_by_round(tmp_path, seed):
    """Around a ring, and by halving and doubling: packets, slices, and what is asked for."""
    rng = random.Random(f"rounds {seed}")
    rate, policy, algorithm = rng.choice(list(PACKETS)), rng.choice(POLICIES), rng.choice(["ring", "halving-doubling", "auto"])
    nodes = rng.choice([4, 8, 16] if algorithm == "halving-doubling" else [2, 3, 4, 5, 6, 7, 8, 12, 16])
    parts = rng.choice(["true", "false"])
    options = f"all-reduce schedule={policy} algorithm={algorithm} parts={parts}"
    period, step, bound = predictions(tmp_path, random_profile(rng), cluster_of(nodes, rate, overhead=rng.choice([1, 20000, 60000])), options)
    assert step >= bound * (1 - CLOCK), (options, nodes)
    near = UNLIKE if algorithm != "ring" and parts == "true" else MIXED if algorithm == "auto" else ROUNDS
    assert abs(period - step) <= near * step, (options, nodes, rate, period / step)


@pytest.mark.parametrize("seed", cases(12))
def test_it_agrees_on_nodes_of_several_devices(tmp_path, seed):
    """Sums over the devices of a node are done where their streams come to them."""
    rng = random.Random(f"devices {seed}")
    rate, policy, algorithm = rng.choice(list(PACKETS)), rng.choice(POLICIES), rng.choice(["ring", "auto"])
    cluster = cluster_of(rng.choice([2, 3, 4, 5, 8]), rate, devices=rng.choice([2, 4, 8]), intra=rate * rng.choice([4, 20, 100]))
    options = f"all-reduce schedule={policy} algorithm={algorithm} hierarchical=true"
    period, step, bound = predictions(tmp_path, random_profile(rng), cluster, options)
    assert step >= bound * (1 - CLOCK), options
    assert abs(period - step) <= SUMMED * step, options


@pytest.mark.parametrize("seed", range(40))
def test_no_step_is_below_its_bound(tmp_path, seed):
    """On clusters of any size, where sums of a node's devices and updates take long: the simulator does them when a device has time."""
    rng = random.Random(f"bound {seed}")
    profile, rate = random_profile(rng), rng.choice(list(PACKETS))
    cluster = cluster_of(rng.choice([2, 3, 4, 6, 8]), rate, devices=rng.choice([1, 2, 4, 8]), gb_per_s=rng.choice([5, 50, 500]),
                         intra=rate * rng.choice([2, 10, 50]), overhead=rng.choice([1, 20000]))
    options = rng.choice([
        f"all-reduce hierarchical={rng.choice(['true', 'false'])} algorithm={rng.choice(['auto', 'ring', 'halving-doubling'])}",
        f"parameter-server servers={rng.randint(1, 3)} sync-mode={rng.choice(['sync', 'async', 'half-async merge=3'])}"])
    options += f" copies={rng.choice(['none', 'overlap', 'in-line'])} schedule={rng.choice(POLICIES)}"
    _, step, bound = predictions(tmp_path, profile, cluster, options)
    assert step >= bound * (1 - CLOCK), options


@pytest.mark.parametrize("seed", range(40))
def test_no_step_of_few_bytes_is_below_its_bound(tmp_path, seed):
    """Where latencies and what a message costs are all: few bytes go by other algorithms than many do, on any number of nodes, and
    steps of asynchronous servers wait for nobody."""
    rng = random.Random(f"few bytes {seed}")
    rows = [("l", -1, rng.randint(1, 20000), "NONE", 0, rng.randint(1, 20000), "NONE", 0, rng.randint(1, 20000), "ALLREDUCE",
             4 * rng.choice([1, 3, 64, 1000, 5000]), rng.randint(1, 2000)) for _ in range(rng.randint(1, 6))]
    profile = "few bytes\n" + f"{len(rows)}\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)
    cluster = cluster_of(rng.randint(2, 9), rng.choice([1000, 25000]), latency=rng.choice([0, 1000, 50000, 1000000]),
                         overhead=rng.choice([0, 1, 20000, 300000]))
    options = rng.choice([
        f"all-reduce algorithm={rng.choice(['auto', 'ring', 'halving-doubling'])}",
        f"parameter-server servers={rng.randint(1, 3)} sync-mode={rng.choice(['sync', 'async', 'half-async merge=4'])}"])
    options += f" copies={rng.choice(['none', 'overlap', 'in-line'])} schedule={rng.choice(['solver', 'fifo', 'pace', 'p3'])}"
    _, step, bound = predictions(tmp_path, profile, cluster, options)
    assert step >= bound * (1 - CLOCK) - 10, options


def drawn_options(rng, pipeline, devices):
    """What there is beside the policy; what has no use is not drawn."""
    def either(name):
        return f"{name}={rng.choice(['true', 'false'])}"

    drawn = [either("parts"), either("hierarchical")] if pipeline == "all-reduce" else [
        f"servers={rng.randint(1, 3)}", either("fuse-blocks"), either("slice")]
    drawn += [either("assign-devices")] if devices > 1 else []
    drawn += ["message-bytes=1000000"] if rng.random() < 0.2 else []
    return " ".join(drawn)


@pytest.mark.parametrize("seed", cases(8))
@pytest.mark.parametrize("copies", ["overlap", "in-line"])
@pytest.mark.parametrize("pipeline", ["all-reduce", "parameter-server"])
def test_it_agrees_where_devices_have_memory_of_their_own(tmp_path, pipeline, copies, seed):
    """Copies to the host and from it, which take about as long as the network does, or longer. By rings, as rounds of halving and doubling
    share a link, and without tictac, whose order is predicted too long: both are so without copies."""
    rng = random.Random(f"{pipeline} {copies} {seed}")
    nodes, devices, rate, policy = rng.choice([2, 4]), rng.choice([1, 1, 2, 3]), rng.choice([1000, 2000]), rng.choice(POLICIES)
    copy = f", copy_mb_per_s = {rng.choice([50, 200, 800])}, copy_latency_ns = {rng.choice([0, 20000])}"
    profile, cluster = random_profile(rng), cluster_of(nodes, rate, devices=devices, intra=rate * 50, copy=copy)
    options = f"{pipeline} copies={copies} schedule={policy} {drawn_options(rng, pipeline, devices)}"
    options += " algorithm=ring" if pipeline == "all-reduce" else ""
    period, step, bound = predictions(tmp_path, profile, cluster, options)
    waits = WAITS * (SOCKET + PACKETS[rate]) * 8 / rate * 1e3 * (nodes if pipeline == "parameter-server" else 1)
    assert step >= bound * (1 - CLOCK), options
    if pipeline == "all-reduce" and copies == "overlap" and devices == 1:
        assert abs(period - step) <= COPIED * step, options
    elif policy != "tictac" and (devices == 1 or copies == "overlap"):  # between devices, copies in line are not in the problem
        near = IN_LINE if copies == "in-line" else COPIED_TO_SERVERS if devices == 1 else BESIDE
        assert period - step <= near * step + waits, options
        assert step - period <= max(near, served(options) if pipeline == "parameter-server" else 0) * step + waits, options


@pytest.mark.parametrize("seed", cases(24))
def test_it_agrees_with_servers(tmp_path, seed):
    """Whose connections share links, and which get a message and a request of every trainer."""
    rng = random.Random(f"served {seed}")
    nodes, rate, policy = rng.choice([2, 3, 4, 8, 16]), rng.choice([1000, 2000, 10000, 25000]), rng.choice(POLICIES)
    options = f"parameter-server schedule={policy} {drawn_options(rng, 'parameter-server', 1)}"
    options = re.sub(r"servers=\d+", f"servers={rng.choice([1, 2, 3, 4, 8, 16])}", options)
    period, step, _ = predictions(tmp_path, random_profile(rng), cluster_of(nodes, rate, overhead=rng.choice([1, 20000, 60000])), options)
    waits = WAITS * (SOCKET + PACKETS[rate]) * 8 / rate * 1e3
    assert abs(period - step) <= served(options) * step + waits, (options, period / step)


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
