# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables with row-sparse gradients, from the program to the trained rows: lazy
optimizers equal NumPy, and SGD equals dense gradients."""
import json
import pathlib
import sys

import numpy as np
import pytest
from conftest import CLUSTER, compile_plan, expect_success, run
from safetensors.numpy import load_file
from servers import compile_servers

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
import embedding  # noqa: E402

STEPS = 7
# The table in two blocks, the dense layer in one.
BLOCKS = "min-block-elements=4096"


def plan_of(folder, optimizer, trainers=2, servers=2, options=BLOCKS):
    name = f"embedding-{optimizer}-{trainers}-{servers}-{options.replace(' ', '-')}.plan"
    return compile_servers(embedding.source(optimizer), folder / name, trainers, servers, options)


def train(plan, folder, optimizer, trainers, steps=STEPS, spawn=False, more=()):
    """Parameters and losses of a run, and the slots and batches that it got."""
    slots, batches = embedding.initial(optimizer), embedding.data(steps, trainers)
    np.savez(folder / "init.npz", **slots)
    np.savez(folder / "train.npz", **batches)
    expect_success(run(*(["--spawn"] if spawn else []), plan, "--init", folder / "init.npz", "--batch",
                       folder / "train.npz", "--steps", steps, "--save-params", folder / "out", "--metrics-every", 1,
                       "--metrics-json", folder / "metrics.json", *more))
    losses = [step["loss"] for step in json.loads((folder / "metrics.json").read_text())["steps"]]
    return load_file(folder / "out"), losses, slots, batches


def expect_values(found, losses, reference):
    slots, want = reference
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    for name in ("table", "w"):
        np.testing.assert_allclose(found[name], slots[name], rtol=1e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("spawn", [False, True], ids=["threads", "processes"])
@pytest.mark.parametrize("optimizer", embedding.STATE)
def test_lazy_optimizers_equal_numpy(folder, tmp_path, optimizer, spawn):
    found, losses, slots, batches = train(plan_of(folder, optimizer), tmp_path, optimizer, 2, spawn=spawn)
    expect_values(found, losses, embedding.train(optimizer, slots, batches, STEPS, 2))
    # What nobody reads stands still, and what is read moves.
    read = np.isin(np.arange(embedding.WORDS), batches["words"])
    assert np.array_equal(found["table"][~read], slots["table"][~read])
    assert (found["table"][read] != slots["table"][read]).any(axis=1).all()


def test_the_example_is_the_program_with_adam():
    path = pathlib.Path(__file__).parent / "Inputs/embedding.mlir"
    assert path.read_text() == embedding.source("adam")


def test_sgd_equals_dense_gradients(folder, tmp_path):
    """Of one optimizer the rows that are not read need no care: dense all-reduce trains the same."""
    dense = compile_plan(CLUSTER.format(nodes=2) + embedding.source("sgd", row_sparse=False), folder / "dense.plan")
    results = []
    for name, plan in (("rows", plan_of(folder, "sgd")), ("dense", dense)):
        (tmp_path / name).mkdir()
        results.append(train(plan, tmp_path / name, "sgd", 2)[:2])
    (rows, losses), (want, expected) = results
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for name in ("table", "w"):
        np.testing.assert_allclose(rows[name], want[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("servers,options", [(1, ""), (3, "min-block-elements=100 placement=round-robin"),
                                             (2, "slice=false"), (3, "min-block-elements=100 placement=hash")])
def test_blocks_do_not_matter(folder, tmp_path, servers, options):
    found, losses, slots, batches = train(plan_of(folder, "adam", 2, servers, options), tmp_path, "adam", 2)
    expect_values(found, losses, embedding.train("adam", slots, batches, STEPS, 2))


def test_an_asynchronous_trainer_alone_is_a_synchronous_one(folder, tmp_path):
    plan = plan_of(folder, "momentum", 1, 2, f"{BLOCKS} sync-mode=async")
    found, losses, slots, batches = train(plan, tmp_path, "momentum", 1)
    expect_values(found, losses, embedding.train("momentum", slots, batches, STEPS, 1))


def test_merged_steps_are_one_of_a_larger_batch(folder, tmp_path):
    plan = plan_of(folder, "adagrad", 1, 2, f"{BLOCKS} sync-mode=half-async merge=2")
    found, losses, slots, batches = train(plan, tmp_path, "adagrad", 1, steps=8)
    reference, want = embedding.train("adagrad", slots, batches, 4, 2)
    np.testing.assert_allclose(np.reshape(losses, (4, 2)).mean(axis=1), want, rtol=1e-4)
    for name in ("table", "w"):
        np.testing.assert_allclose(found[name], reference[name], rtol=1e-4, atol=2e-5, err_msg=name)


def test_many_trainers_asynchronously(folder, tmp_path):
    """Nothing to compare with: all rows that were read have moved, others have not."""
    plan = plan_of(folder, "sgd", 3, 2, f"{BLOCKS} sync-mode=async")
    found, losses, slots, batches = train(plan, tmp_path, "sgd", 3, steps=20)
    read = np.isin(np.arange(embedding.WORDS), batches["words"])
    assert np.array_equal(found["table"][~read], slots["table"][~read])
    assert (found["table"][read] != slots["table"][read]).any(axis=1).all()
    assert np.isfinite(found["table"]).all()
