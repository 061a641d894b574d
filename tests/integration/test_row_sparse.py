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
from servers import Job, compile_servers
from test_lost_peers import wait_for

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


@pytest.mark.parametrize("index", [0, 1])
def test_a_killed_server_comes_back_from_its_checkpoint(folder, cluster, tmp_path, index):
    """Pushes of all sizes that it lacks are repeated, and rows that are waited for are asked for again."""
    steps, plan = 1500, plan_of(folder, "adam")
    slots, batches = embedding.initial("adam"), embedding.data(50, 2)
    np.savez(tmp_path / "init.npz", **slots)
    np.savez(tmp_path / "train.npz", **batches)
    data = ["--init", tmp_path / "init.npz", "--batch", tmp_path / "train.npz", "--steps", steps]
    expect_success(run(plan, *data, "--save-params", tmp_path / "undisturbed"))
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 10]
    job = Job(cluster, plan).start(of_servers=[*saving, *data[:2]],
                                   of_trainers=[*data, "--save-params", tmp_path / "disturbed"])
    wait_for(lambda: (tmp_path / "saved" / f"server.{index}.checkpoint").exists(), job.trainers.values())
    killed = job.servers[index]
    killed.kill()
    killed.wait()
    assert all(trainer.poll() is None for trainer in job.trainers.values()), "the job was over before"
    job.start_server(index, *saving, "--resume", tmp_path / "saved")
    for result in job.finish().values():
        expect_success(result)
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


def test_trainers_hold_and_send_what_their_batches_read(folder, tmp_path, monkeypatch):
    """Neither the memory of a trainer nor what it sends depends on the size of the table."""
    found = []
    for words in (1000, 20000):
        monkeypatch.setattr(embedding, "WORDS", words)
        (tmp_path / str(words)).mkdir()
        plan = compile_servers(embedding.source("adam"), folder / f"embedding-of-{words}.plan", 2, 2, BLOCKS)
        train(plan, tmp_path / str(words), "adam", 2, spawn=True)
        found.append(json.loads((tmp_path / str(words) / "metrics.json").read_text())["summary"])
    assert found[0]["memory_bytes"] == found[1]["memory_bytes"] < 1000 * embedding.WIDTH * 4
    # A trainer's 32 ids: requested, and sent back with their rows.
    rows = embedding.SAMPLES * embedding.LENGTH
    assert found[1]["sent_bytes_per_step"] < rows * (8 + 8 + 4 * embedding.WIDTH) + 1000
    assert abs(found[0]["sent_bytes_per_step"] - found[1]["sent_bytes_per_step"]) < 500


def test_more_rows_than_the_server_updates_at_a_time(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "WIDTH", 512)  # 32 rows at a time
    plan = compile_servers(embedding.source("adam"), folder / "wide.plan", 2, 2, "slice=false")
    found, losses, slots, batches = train(plan, tmp_path, "adam", 2, steps=3)
    assert len(np.unique(batches["words"])) > 32
    expect_values(found, losses, embedding.train("adam", slots, batches, 3, 2))


@pytest.mark.parametrize("row_sparse", [True, False])
def test_ids_outside_of_the_table(folder, tmp_path, monkeypatch, row_sparse):
    """The nearest row is read, and the gradient is dropped, with and without servers for single rows."""
    usual = embedding.data

    def data(steps, trainers):
        batches = usual(steps, trainers)
        batches["words"][::3, 0] += embedding.WORDS
        batches["words"][1::3, 1] -= 2 * embedding.WORDS
        return batches
    monkeypatch.setattr(embedding, "data", data)
    plan = compile_servers(embedding.source("sgd", row_sparse), folder / f"outside-{row_sparse}.plan", 2, 2, BLOCKS)
    found, losses, slots, batches = train(plan, tmp_path, "sgd", 2, steps=4)
    n = 2 * embedding.SAMPLES
    table, w = slots["table"].astype(np.float64), slots["w"].astype(np.float64)
    for step, (words, y) in enumerate(zip(np.split(batches["words"], 4), np.split(batches["y"].astype(np.float64), 4))):
        bag = table[np.clip(words, 0, embedding.WORDS - 1)].mean(axis=1)
        error = bag @ w - y
        np.testing.assert_allclose(losses[step], 0.5 * np.mean(error ** 2), rtol=1e-4)
        rows = np.outer(error, w) / (n * embedding.LENGTH)
        inside = (words >= 0) & (words < embedding.WORDS)
        change = np.zeros_like(table)
        np.add.at(change, words[inside], np.repeat(rows[:, None, :], embedding.LENGTH, 1)[inside])
        w, table = w - embedding.RATE * (error @ bag / n), table - embedding.RATE * change
    np.testing.assert_allclose(found["table"], table, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(found["w"], w, rtol=1e-4, atol=2e-5)


INIT = f"""
func.func @init() -> (tensor<{embedding.WORDS}x{embedding.WIDTH}xf32> {{cs.updates = "table"}}, tensor<{embedding.WIDTH}xf32> {{cs.updates = "w"}}) {{
  %t = arith.constant dense<0.5> : tensor<{embedding.WORDS}x{embedding.WIDTH}xf32>
  %w = arith.constant dense<0.25> : tensor<{embedding.WIDTH}xf32>
  return %t, %w : tensor<{embedding.WORDS}x{embedding.WIDTH}xf32>, tensor<{embedding.WIDTH}xf32>
}}
"""


@pytest.mark.parametrize("spawn", [False, True], ids=["threads", "processes"])
def test_tables_that_the_program_begins_with(folder, tmp_path, spawn):
    plan = compile_servers(embedding.source("sgd") + INIT, folder / "init.plan", 2, 2, BLOCKS)
    batches = embedding.data(STEPS, 2)
    np.savez(tmp_path / "train.npz", **batches)
    expect_success(run(*(["--spawn"] if spawn else []), plan, "--batch", tmp_path / "train.npz", "--steps", STEPS,
                       "--save-params", tmp_path / "out"))
    found = load_file(tmp_path / "out")
    slots = {"table": np.full((embedding.WORDS, embedding.WIDTH), 0.5), "w": np.full(embedding.WIDTH, 0.25)}
    want, _ = embedding.train("sgd", slots, batches, STEPS, 2)
    for name in ("table", "w"):
        np.testing.assert_allclose(found[name], want[name], rtol=1e-4, atol=2e-5)
