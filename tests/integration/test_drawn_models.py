# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd models on odd clusters, drawn: threads and processes train the same bits, a job that goes on from its checkpoint takes
those that it would have taken, and the plan computes what the step says."""
import json
import random

import numpy as np
import pytest
from cases import cases
from conftest import CLUSTER, compile_plan, expect_success, run
from drawn_model import Model, Way

# What was found once: (model, way).
FOUND = [
    (Model(3, 1, empty=True), Way(2, 1, 0, "--cs-all-reduce-pipeline=schedule=mg-wfbp")),
    (Model(2, 1, bias=True, momentum=True, empty=True, read=True), Way(2, 1, 3, "--cs-parameter-server-pipeline=servers=3 min-block-elements=1")),
    (Model(7, 2, read=True), Way(2, 1, 2, "--cs-parameter-server-pipeline=servers=2 min-block-elements=1")),
    (Model(7, 1, read=True, forward=True, unread=True), Way(2, 1, 2, "--cs-parameter-server-pipeline=servers=2 min-block-elements=1")),
]


def trials():
    for index, found in enumerate(FOUND):
        yield pytest.param(*found, random.Random(index), id=f"found{index}")
    for seed in cases(8):
        drawn = random.Random(seed)
        yield pytest.param(Model.draw(drawn), Way.draw(drawn), drawn, id=f"seed{seed}")


class Job:
    def __init__(self, folder, model, way, drawn):
        cluster = CLUSTER.format(nodes=way.nodes).replace("devices = 1 ", f"devices = {way.devices} ")
        self.folder, self.step = folder, folder / "step.mlir"
        self.step.write_text(cluster + model.source())
        self.plan = compile_plan(self.step.read_text(), folder / "plan", way.pipeline)
        batch = way.nodes * way.devices * model.local
        # The last batch of an epoch may have too few samples, which are left out.
        np.savez(folder / "data.npz", **model.batches(4 * batch + drawn.randrange(batch), drawn.randrange(1000)))
        np.savez(folder / "init.npz", **model.initial())
        self.data = ["--batch", folder / "data.npz", *drawn.choice([[], ["--shuffle"]])]
        self.begin = ["--init", folder / "init.npz"]

    def train(self, name, *options):
        """The losses; the parameters are `name`.params."""
        expect_success(run(self.plan, *self.data, *options, "--metrics-every", 1, "--metrics-json", self.folder / f"{name}.json",
                           "--save-params", self.folder / f"{name}.params"))
        return [step["loss"] for step in json.loads((self.folder / f"{name}.json").read_text())["steps"]]

    def params(self, name):
        return (self.folder / f"{name}.params").read_bytes()


@pytest.mark.parametrize("model, way, drawn", trials())
def test_the_same_bits_in_every_way(tmp_path, model, way, drawn):
    job = Job(tmp_path, model, way, drawn)
    losses = job.train("threads", *job.begin, "--steps", 6)
    assert len(losses) == 6
    assert job.train("processes", *job.begin, "--steps", 6, "--spawn") == losses
    assert job.params("processes") == job.params("threads")
    for where in ([], ["--spawn"]):
        saved = tmp_path / f"saved{len(where)}"
        every = ["--checkpoint-every", 2] if where and way.servers else []
        first = job.train("first", *job.begin, "--steps", 4, *where, "--checkpoint", saved, *every)
        assert first + job.train("rest", "--resume", saved, "--steps", 2, *where) == losses, where
        assert job.params("rest") == job.params("threads"), where


@pytest.mark.parametrize("model, way, drawn", [case for case in trials() if "density" not in case.values[1].pipeline])
def test_what_the_step_says(tmp_path, model, way, drawn):
    job = Job(tmp_path, model, way, drawn)
    expect_success(run(job.plan, *job.data, *job.begin, "--check-against", job.step, "--steps", 3))
