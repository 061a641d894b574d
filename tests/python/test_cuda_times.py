# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--trace, --profile and --calibrate of plans for CUDA devices, by cs-run and Python as they are, on the machine of test_cuda_machine.py, whose
time is known (tests/runtime/cuda/fake_machine.h); and what the compiler makes of them."""
import collections
import json
import math
import os
import re
import sys

import pytest

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
import dense_net  # noqa: E402
from cuda_dense import machine_with  # noqa: E402
from cuda_machine import SAYS, finish, rows_of  # noqa: E402
from rank_job import free_port, token_file  # noqa: E402

STEPS, WARM_UP = 9, 3
CASES = [(2, "host"), (4, "nccl")]  # ranks, and how gradients are summed
COPIES = {"copy to device", "copy to device for messages", "copy to host", "copy to host again", "batches to device", "metrics to host"}
ROWS = COPIES | {"compute", "deferred compute", "deferred compute for messages", "NCCL"}
UNIT = 1e6 / 1024                    # nanoseconds of the machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return machine_with(tmp_path_factory.mktemp("machine"), {
        (ranks, way): dense_net.program(ranks, nccl=way == "nccl", device="cuda") for ranks, way in CASES})


def train(machine, plan, *more):
    return machine.cs_run(plan, "--init", machine.initial, "--batch", machine.data, "--deadline", 250, "--steps", STEPS, *more)


def check_trace(path, ranks, way, labels):
    rows = rows_of(path)
    for rank in range(ranks):
        own = {name: events for (of, name), events in rows.items() if of == rank}
        links = {name for name in own if name.startswith(("send to ", "receive from "))}
        device = set(own) - links
        assert {"compute", "copy to device", "copy to host", "batches to device", "metrics to host"} <= device <= ROWS
        assert ("NCCL" in device) == (way == "nccl") and links  # metrics are messages in both
        for name in device:
            events = sorted(own[name], key=lambda event: event["ts"])
            # Each once in a step; a row is a stream, which does one thing at a time.
            steps = collections.defaultdict(collections.Counter)
            for event in events:
                steps[event["args"]["call"]][event["name"]] += 1
            assert sorted(steps) == list(range(STEPS))
            assert all(step == steps[0] and set(step.values()) == {1} for step in steps.values()), (name, steps)
            assert all(a["ts"] + a["dur"] <= b["ts"] + 0.0021 for a, b in zip(events, events[1:])), name
        seen = {event["name"] for name in device - COPIES - {"NCCL"} for event in own.get(name, ())}
        assert seen == labels["run"]
        copied = {event["name"] for name in device & COPIES for event in own[name]}
        assert labels["copy"] <= copied | seen and "metric loss" in copied


def check_profile(path, ranks):
    """{kind: labels}"""
    told = json.loads(path.read_text())
    assert sorted(process["index"] for process in told["processes"]) == list(range(ranks))
    labels = None
    for process in told["processes"]:
        function, = process["functions"]
        assert process["role"] == "worker" and function["name"] == "step"
        kinds = collections.defaultdict(set)
        for fragment in function["fragments"]:
            assert fragment["count"] == STEPS - WARM_UP
            # What a kernel takes on the machine depends on its name alone, so it is the same in each step, whatever it waits for.
            assert fragment["min_ns"] == fragment["median_ns"] == fragment["max_ns"] > 0
            units = fragment["median_ns"] / UNIT
            assert abs(units - round(units)) < 0.01
            kinds[fragment["kind"]].add(fragment["label"])
        assert labels in (None, kinds)
        labels = kinds
    return labels


@pytest.mark.parametrize("ranks, way", CASES)
def test_trace_and_profile(machine, tmp_path, ranks, way):
    plan = machine.plans[ranks, way]
    train(machine, plan, "--save-params", tmp_path / "plain")
    out = train(machine, plan, "--trace", tmp_path / "trace.json", "--profile", tmp_path / "profile.json", "--save-params", tmp_path / "timed")
    assert f"trace: {tmp_path}/trace.json" in out and f"profile: {tmp_path}/profile.json" in out
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "timed").read_bytes()
    labels = check_profile(tmp_path / "profile.json", ranks)
    assert labels["run"] and labels["copy"]
    check_trace(tmp_path / "trace.json", ranks, way, labels)
    # A page is made of the same.
    train(machine, plan, "--report", tmp_path / "page.html")
    assert "copy to device" in (tmp_path / "page.html").read_text()
    # Each by itself.
    train(machine, plan, "--trace", tmp_path / "alone.json")
    check_trace(tmp_path / "alone.json", ranks, way, labels)
    train(machine, plan, "--profile", tmp_path / "alone.profile.json")
    assert check_profile(tmp_path / "alone.profile.json", ranks) == labels
    # Processes: their NCCL would be one of several, which the fake is not.
    if way == "host":
        train(machine, plan, "--spawn", ranks, "--trace", tmp_path / "all.json", "--profile", tmp_path / "all.profile.json")
        assert check_profile(tmp_path / "all.profile.json", ranks) == labels
        check_trace(tmp_path / "all.json", ranks, way, labels)


@pytest.mark.parametrize("ranks, way", CASES)
def test_a_plan_by_its_profile(machine, tmp_path, ranks, way):
    """The compiler has the costs of the file, and the plan that it makes of them computes the same."""
    train(machine, machine.plans[ranks, way], "--profile", tmp_path / "profile.json", "--save-params", tmp_path / "first")
    measured = {fragment["label"]: fragment["median_ns"]
                for fragment in json.loads((tmp_path / "profile.json").read_text())["processes"][0]["functions"][0]["fragments"]
                if fragment["kind"] == "run"}
    program = dense_net.program(ranks, nccl=way == "nccl", device="cuda", profile=tmp_path / "profile.json")
    step = program.mlir(2).split("func.func @step", 1)[1].split("func.func", 1)[0]
    known = {label: int(ns) for label, ns in re.findall(r'cs\.fragment "([^"]*)" on 0 .*?cost <flops = \d+, bytes = \d+, ns = (\d+)>', step)}
    assert {label: known.get(label) for label in measured} == measured
    train(machine, machine.add(program, f"again{ranks}"), "--save-params", tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def nearest(value):
    return math.floor(value + 0.5)


def check_copies(told, rank=0):
    """The machine takes 8 units for a copy, and one for each 16 KiB of it, in both directions at once."""
    assert [copy["direction"] for copy in told["copies"]] == ["to_host", "to_device"]
    for copy in told["copies"]:
        assert copy["rank"] == rank and copy["latency_ns"] == nearest(8 * UNIT)
        assert copy["bytes_per_s"] == copy["both_bytes_per_s"] == 16384 * 1024 * 1000


# Of a cluster that has been calibrated.
CALIBRATED = f"copy_mb_per_s = 16777, copy_latency_ns = {nearest(8 * UNIT)}>"


@pytest.mark.parametrize("ranks, way", CASES)
def test_calibrate(machine, tmp_path, ranks, way):
    out = machine.cs_run(machine.plans[ranks, way], "--calibrate", tmp_path / "links.json", "--deadline", 250)
    told = json.loads((tmp_path / "links.json").read_text())
    check_copies(told)
    # No slowdown of processors, which devices do not have.
    assert len(told["links"]) == ranks and told["compute"] == []
    assert "copies to the host take 7.8 us and go at 16.78 GB/s" in out
    sizes = [each["bytes"] for each in told["nccl"]]
    assert sizes == ([4**i for i in range(5, 9)] if way == "nccl" else [])
    for each in told["nccl"]:
        assert each["ranks"] == ranks and each["ns"] == nearest((24 + each["bytes"] // 4096) * UNIT)
    program = dense_net.program(ranks, nccl=way == "nccl", device="cuda", calibration=tmp_path / "links.json")
    cluster = program.mlir(2).split("cs.cluster", 1)[1].split("\n  func.func", 1)[0]
    assert CALIBRATED in cluster
    if way == "nccl":
        bytes_of, times = (", ".join(str(each[name]) for each in told["nccl"]) for name in ("bytes", "ns"))
        assert re.search(rf"ranks = {ranks}, bytes = (array<i64: )?\[?{bytes_of}\]?>?, ns = (array<i64: )?\[?{times}", cluster), cluster
    else:
        assert "nccl" not in cluster


def test_calibrate_one_rank(machine, tmp_path):
    """Which has no link."""
    plan = machine.add(dense_net.program(1, device="cuda"), "one")
    machine.cs_run(plan, "--calibrate", tmp_path / "links.json")
    told = json.loads((tmp_path / "links.json").read_text())
    check_copies(told)
    assert told["links"] == told["nccl"] == []
    text = dense_net.program(1, device="cuda", calibration=tmp_path / "links.json").mlir(2)
    assert CALIBRATED in text


def test_calibrate_processes(machine, tmp_path):
    """Each has a device of its own, and rank 0 writes the file."""
    machine.cs_run(machine.plans[2, "host"], "--spawn", 2, "--calibrate", tmp_path / "links.json", "--deadline", 250)
    check_copies(json.loads((tmp_path / "links.json").read_text()))


def test_python(machine, tmp_path):
    """program.trace, for runs of its own; values are the same bits. calibrate=True: profile and calibration."""
    out = machine.python(f"""
import dense_net
def slots(program):
    return sorted((name, value.tobytes().hex()) for name, value in program.slots().items())
program, plain = [dense_net.program(2, device="cuda") for _ in range(2)]
plain.run(dense_net.BATCHES[:{STEPS}])
program.trace({str(tmp_path / "trace.json")!r})
program.run(dense_net.BATCHES[:{STEPS}])
print(slots(program) == slots(plain))
program.close()
plain.close()
measured = dense_net.program(2, device="cuda", calibrate=True)
print({CALIBRATED!r} in measured.mlir(2))
""")
    assert out.split() == ["True", "True"]
    rows = rows_of(tmp_path / "trace.json")
    for rank in range(2):
        steps = collections.Counter((event["args"]["call"], event["name"]) for event in rows[rank, "compute"])
        assert set(steps.values()) == {1} and {call for call, _ in steps} == set(range(STEPS))


def test_ranks_of_a_job(machine, tmp_path):
    """calibrate=True in a job of ranks measures the device, too; all ranks have what rank 0's takes."""
    script = tmp_path / "rank.py"
    script.write_text(f"""
import commsched, dense_net
job = commsched.init(deadline=250)
program = dense_net.program(None, device="cuda", calibrate=True)
print({CALIBRATED!r} in program.mlir(2))
program.close()
""")
    ranks = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
             "COMMSCHED_TOKEN_FILE": token_file(tmp_path)}
    started = [machine.start(sys.executable, script, RANK=str(rank), LOCAL_RANK=str(rank), **ranks) for rank in range(2)]
    results = [finish(process) for process in started]
    assert all(status == 0 and SAYS not in errors and out.split() == ["True"] for status, out, errors in results), results
