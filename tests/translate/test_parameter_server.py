# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan with parameter servers against NumPy, and what it says of roles."""
import pathlib
import subprocess

import numpy as np
import pytest

from built import tool
from parameter_servers import Server, train_step
from plan_reader import Machine, translate

LEVEL1 = (pathlib.Path(__file__).parent / "Inputs" / "parameter-server.mlir").read_text()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    level2 = subprocess.run(
        [tool("cs-opt"), "--schedule-comm=fuse-blocks=false", "--expand-collectives", "--verify-distributed"],
        input=LEVEL1, capture_output=True, text=True, check=True).stdout
    return translate(level2, str(tmp_path_factory.mktemp("plan")))


def names(plan, indices, of):
    return [of[i].name for i in indices]


def test_roles(path):
    plan = Machine(path).plan
    assert [(r.name, r.count) for r in plan.roles] == [("trainer", 2), ("server.0", 1), ("server.1", 1)]
    functions = [names(plan, r.functions, plan.functions) for r in plan.roles]
    assert functions == [["step", "init"], ["server.0/schedule", "server.0/w.block0"],
                         ["server.1/schedule", "server.1/b", "server.1/w.block1"]]
    slots = [names(plan, r.slots, plan.slots) for r in plan.roles]
    # The trainer's step reads no momentum; init writes it.
    assert slots[0] == ["w", "b", "w.momentum", "b.momentum", "count", "b.steps"]
    assert slots[1] == ["server.0/w[0:3]", "server.0/w.momentum[0:3]", "server.0/count", "server.0/schedule#0"]
    assert slots[2] == ["server.1/w[3:5]", "server.1/w.momentum[3:5]", "server.1/b", "server.1/b.momentum",
                        "server.1/count", "server.1/b.steps", "server.1/schedule#0", "server.1/schedule#1"]
    assert sorted(i for r in plan.roles for i in r.slots) == list(range(len(plan.slots)))
    by_name = {s.name: s for s in plan.slots}
    part = by_name["server.1/w.momentum[3:5]"]
    assert (part.part_of, part.row_begin, part.kind, part.internal) == ("w.momentum", 3, 1, 0)
    assert (by_name["server.1/b"].part_of, by_name["server.1/b"].kind) == ("b", 0)
    servers = plan.parameter_servers
    assert (servers.mode, servers.merge, servers.mean) == (0, 1, 1)
    blocks = [[(b.key, b.pull_key, plan.functions[b.function].name, plan.slots[b.slot].name) for b in s.blocks]
              for s in servers.servers]
    assert blocks == [[("w.block0", "w.block0.new", "server.0/w.block0", "server.0/w[0:3]")],
                      [("b", "b.new", "server.1/b", "server.1/b"),
                       ("w.block1", "w.block1.new", "server.1/w.block1", "server.1/w[3:5]")]]
    # One batch buffer a block: the gradient.
    for server in servers.servers:
        for block in server.blocks:
            function = plan.functions[block.function]
            assert [b.batch for b in function.buffers if b.kind == 3] == [block.key]
            assert function.global_batch == 0 and not function.is_step
    assert plan.required_features & 1 << 7


def test_blocks_are_sent_and_received_where_they_lie(path):
    plan = Machine(path).plan
    step = plan.functions[0]
    assert not any(i.copy for i in step.instructions)
    at = {}
    for i in step.instructions:
        message = i.push or i.pull
        if message:
            buffer = step.buffers[message.buffer]
            root = step.buffers[buffer.parent] if buffer.kind == 4 else buffer
            at[message.key] = (root.kind, plan.slots[root.slot].name if root.kind == 2 else "", buffer.offset)
    gradient = 0  # in the arena
    assert at["w.block0"][0] == at["w.block1"][0] == at["b"][0] == gradient
    assert at["w.block1"][2] == 3 * 3 * 4
    assert at["w.block0.new"] == (2, "w", 0) and at["w.block1.new"] == (2, "w", 36) and at["b.new"] == (2, "b", 0)


def test_dependences(path):
    step = Machine(path).plan.functions[0]
    index = {i.name: n for n, i in enumerate(step.instructions)}
    edges = {name: {(d.instruction, d.distance) for d in step.instructions[n].dependences}
             for name, n in index.items()}
    # What is sent waits for what was received the step before: a server keeps
    # one old value.
    assert edges["b"] == {(index["compute.0"], 0), (index["b.new"], 1)}
    for block in ("w.block0", "w.block1"):
        assert edges[block] == {(index["compute.1"], 0), (index[f"{block}.new"], 1)}
    # What is received waits for what was sent, not for other blocks.
    assert edges["w.block0.new"] == {(index["w.block0"], 0)}
    assert edges["w.block1.new"] == {(index["w.block1"], 0)}
    # The next step's forward pass needs all of w and b.
    assert {(index[k], 1) for k in ("w.block0.new", "w.block1.new", "b.new", "b")} <= edges["compute.0"]
    # The gradient's memory is free when both of its blocks are gone.
    assert {(index["w.block0"], 1), (index["w.block1"], 1)} <= edges["compute.1"]


def test_training_matches_numpy(path):
    rng = np.random.default_rng(3)
    first = Machine(path)
    first.run("init")
    initial = {name: np.array(value) for name, value in first.slots.items()}
    trainers = [Machine(path) for _ in range(2)]
    for trainer in trainers:
        trainer.slots = {name: initial[name].copy() for name in ("w", "b")}
    servers = [Server(path, i, initial, 2) for i in range(2)]
    w, b = np.full((5, 3), 0.5), np.full(3, 0.25)
    vw, vb = np.zeros((5, 3)), np.zeros(3)
    for step in range(6):
        x, t = rng.normal(size=(2, 8, 5)), rng.normal(size=(2, 8, 3))
        x, t = x.astype(np.float32), t.astype(np.float32)
        metrics = train_step(trainers, servers, [{"x": x[r], "t": t[r]} for r in range(2)], step)
        e = x @ w + b - t
        np.testing.assert_allclose([m["loss"] for m in metrics], (e * e).sum((1, 2)) / 2, rtol=1e-5)
        vw = 0.9 * vw + np.einsum("rki,rkj->ij", x, e) / 2
        vb = 0.9 * vb + e.sum((0, 1)) / 2
        rate = 0.1 / (1 + 0.5 * step)
        w, b = w - rate * vw, b - rate * vb
        for trainer in trainers:
            np.testing.assert_allclose(trainer.slots["w"], w, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(trainer.slots["b"], b, rtol=1e-4, atol=1e-5)
        assert np.array_equal(trainers[0].slots["w"], trainers[1].slots["w"])
    np.testing.assert_allclose(servers[1].slots["server.1/w.momentum[3:5]"], vw[3:], rtol=1e-4, atol=1e-5)
    # The update of b got the step's number before the schedule counted it.
    assert servers[1].slots["server.1/b.steps"] == sum(range(6))
    assert servers[0].slots["server.0/count"] == servers[1].slots["server.1/count"] == 6
