# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every field of a strategy, of Sparse, Cluster and Replan, and every keyword of simulate(), makes something else of a program: what
the compiler, the simulator or the runtime is told. A new one without a case fails."""
import dataclasses
import inspect
import json
import os

import numpy as np
import pytest

import commsched

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
jax = pytest.importorskip("jax")

HALF = dict(density=0.5)
STRATEGY = dict(schedule="fifo", bucket_bytes=(9, dict(schedule="fixed-buckets")), first_bucket_bytes=(9, dict(schedule="fixed-buckets")), effort=3,
                reorder=True, memory_limit=(7, dict(reorder=True)), message_bytes=64, copies="none", staging_bytes=(9, dict(copies="overlap")),
                assign_devices=False, sparse=0.5)
# Of each field another value than the default, and what it is of no use without.
FIELDS = {
    commsched.AllReduce: dict(STRATEGY, spread_sums=True, algorithm="ring", combine=False, parts=True, exclusive=False, hierarchical=False, nccl=True),
    commsched.ParameterServers: dict(STRATEGY, servers=3, mode="async", merge=(2, dict(mode="half-async")), min_block_elements=2,
                                     max_block_elements=9000, slice=False, placement="hash", fuse_blocks=False, by_block=True, cut_as="fifo"),
    commsched.Sparse: dict(density=0.25, method=("allgather", HALF), min_elements=(2, HALF), rules={"w": 0.5}, warm_up=([(0.75, 2)], HALF),
                           feedback=(False, HALF), momentum=(0.5, HALF), mask=(False, dict(HALF, momentum=0.5)), second_moment=(0.5, HALF),
                           epsilon=(0.5, dict(HALF, second_moment=0.5)), squares=("own", dict(HALF, momentum=0.5, second_moment=0.5)), clip=(1.5, HALF),
                           select=("sampled", HALF), fuse_bytes=(0, HALF), exact_every=(2, HALF), values=("int8", HALF), unsent_rate=(0.1, HALF),
                           mstopk_samples=(5, dict(HALF, select="mstopk")), mstopk_early_stop=(False, dict(HALF, select="mstopk")),
                           mstopk_seed=(5, dict(HALF, select="mstopk"))),
    commsched.Cluster: dict(nodes=3, devices=2, gflops=3, gb_per_s=3, mbit_per_s=3, latency_ns=3, intra_mbit_per_s=3, intra_latency_ns=3, kind="cuda",
                            name="other", machine_ranks=(2, dict(kind="cuda"))),
    commsched.Replan: dict(every=3, when_off=5.0, window=1, deadline=9.0, folder="folder", calibration=__file__, schedule="fifo"),
}
# Told by the program, not by its options.
ELSEWHERE = {(commsched.ParameterServers, "row_sparse"): "test_row_sparse.py"}


def told(made):
    """What others are told of it."""
    if isinstance(made, commsched.Cluster):
        return made.mlir()
    if isinstance(made, commsched.Sparse):
        return [made.at(step)[0].options(True) for step in range(3)] + [made.at(0)[1]]
    if isinstance(made, commsched.Replan):
        return {**program._replanning(2, made, program.strategy, Folder), "command": made.command("step", "--x")}
    return made.pipeline(2)


class Folder:
    name = "."


def step(params, x):
    loss, grads = jax.value_and_grad(lambda p: (x @ p["w"]).mean())(params)
    return {"w": params["w"] - 0.1 * grads["w"]}, loss


@pytest.fixture(autouse=True)
def one_program(tmp_path, monkeypatch):
    global program
    monkeypatch.chdir(tmp_path)
    program = commsched.transpile(step, {"w": np.ones(512, np.float32)}, np.ones((4, 512), np.float32), cluster=commsched.Cluster(2))


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind.__name__)
def test_every_field_is_told(kind):
    names = [field.name for field in dataclasses.fields(kind) if (kind, field.name) not in ELSEWHERE]
    assert sorted(names) == sorted(FIELDS[kind])
    least = {commsched.Cluster: dict(nodes=2), commsched.Replan: dict(every=2)}.get(kind, {})
    for name, value in FIELDS[kind].items():
        value, given = value if isinstance(value, tuple) else (value, {})
        one, other = kind(**{**least, **given}), kind(**{**least, **given, name: value})
        assert told(one) != told(other), name


def test_every_keyword_of_simulate_is_seen(tmp_path):
    servers = commsched.transpile(step, {"w": np.ones(512, np.float32)}, np.ones((4, 512), np.float32), cluster=4, strategy=commsched.ParameterServers())
    cases = dict(steps=9, bandwidth=0.5, latency=3, compute=0.01, workers=4, algorithm="ring", stragglers={1: 1e6},
                 links={0: 1.0}, latency_ns=1, overhead_ns=70_000, engine_ns=70_000, every_rank=True, jitter=(0.5, dict(compute=1e-6, steps=9)),
                 jitter_seed=(5, dict(jitter=0.5, compute=1e-6, steps=9)), trace=str(tmp_path / "trace"), burst_bytes=(64, dict(bandwidth=1e-4)))
    elsewhere = dict(profile="of what the plan does not say: test_simulation.py", calibration="likewise", nccl_tests="of NCCL's collectives: test_simulation.py",
                 queue_ns="of a link that several messages want: tests of the simulator", in_order="of several collectives: test_simulated_schedules.py")
    names = [name for name in inspect.signature(commsched.simulate).parameters if name != "plan"]
    assert sorted(names) == sorted({**cases, **elsewhere})
    same = []
    for name, value in cases.items():
        value, given = value if isinstance(value, tuple) else (value, {})
        of = servers if name == "every_rank" else program  # in which all trainers are alike
        one, other = (dataclasses.replace(commsched.simulate(of, **given, **more), seconds=0.0) for more in ({}, {name: value}))
        if name == "trace":
            assert json.loads((tmp_path / "trace").read_text()) and one == other
        elif one == other:
            same.append(name)
    assert same == []
