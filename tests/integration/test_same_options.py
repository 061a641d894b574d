# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are started one by one with different values, data or options do not train apart."""
import numpy as np
import pytest
from conftest import addresses, expect_error, expect_success, finish, secret
from servers import DIGITS_DATA, Job, digits_plan

NEED = "all ranks need the same plan, initial values"


def training(folder):
    return {"--init": folder / "init.npz", "--batch": folder / "train.npz", "--steps": 5}


@pytest.mark.parametrize("other", [
    {"--init": "other.npz"}, {"--batch": "shorter.npz"}, {"--steps": 6}, {"--shuffle": None},
    {"--shuffle": None, "--seed": 1}])
def test_of_ranks(linear, linear_data, folder, cluster, other):
    np.savez(folder / "other.npz", w=np.full(8, 1e-30, np.float32))
    with np.load(folder / "train.npz") as data:
        np.savez(folder / "shorter.npz", **{name: value[:640] for name, value in data.items()})
    first, second = training(folder), training(folder)
    second |= {name: folder / value if isinstance(value, str) else value for name, value in other.items()}
    if "--seed" in other:
        first["--shuffle"] = None
    peers = ",".join(addresses(2))
    ranks = []
    for rank, options in enumerate((first, second)):
        words = [word for name, value in options.items() for word in ([name] if value is None else [name, value])]
        ranks.append(cluster.start(linear[2], "--rank", rank, "--peers", peers, *secret(), *words))
    for process in ranks:
        expect_error(finish(process), NEED)


def test_other_names_of_the_same_values(linear, linear_data, folder, cluster, tmp_path):
    """A copy, at another place: and each that is asked to saves the parameters."""
    (tmp_path / "copy.npz").write_bytes((folder / "init.npz").read_bytes())
    peers = ",".join(addresses(2))
    ranks = [cluster.start(linear[2], "--rank", rank, "--peers", peers, *secret(), "--init", init, *linear_data[2:], "--steps", 5,
                           "--save-params", tmp_path / f"params{rank}")
             for rank, init in enumerate((folder / "init.npz", tmp_path / "copy.npz"))]
    for process in ranks:
        expect_success(finish(process))
    assert (tmp_path / "params0").read_bytes() == (tmp_path / "params1").read_bytes()


def test_file_that_one_rank_lacks(linear, linear_data, folder, cluster):
    peers = ",".join(addresses(2))
    ranks = [cluster.start(linear[2], "--rank", rank, "--peers", peers, *secret(), *linear_data[:2], "--batch", batch)
             for rank, batch in enumerate((folder / "train.npz", folder / "none.npz"))]
    expect_error(finish(ranks[0]), NEED)
    expect_error(finish(ranks[1]), "none.npz", "cannot be opened")


def test_of_trainers(folder, cluster):
    job = Job(cluster, digits_plan(folder))
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2])
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--seed", rank, "--steps", 3)
    results = job.finish()
    refused = [rank for rank in range(2) if NEED in results["trainer", rank][1]]
    assert refused, results
    for rank in refused:
        expect_error(results["trainer", rank], "must match those of the trainer that joined first")
