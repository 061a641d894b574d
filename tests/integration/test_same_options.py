# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are started one by one with different values, data or options do not train apart."""
import numpy as np
import pytest
from conftest import addresses, expect_error, expect_success, finish, secret
from servers import DIGITS_DATA, Job, connections, digits_plan
from test_lost_peers import wait_for

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


LATE = ["--deadline", 600]  # longer than a test may take: who waits for that is not told


@pytest.mark.parametrize("option", ["--batch", "--init"])
@pytest.mark.parametrize("count, lacks", [(2, 0), (2, 1), (3, 0)])  # which sends to all others
def test_file_that_one_rank_lacks(linear, linear_data, folder, cluster, count, lacks, option):
    """The others hear what it is, and do not take their own files for wrong."""
    peers, ranks = ",".join(addresses(count)), []
    for rank in range(count):
        files = dict(zip(linear_data[::2], linear_data[1::2]))
        if rank == lacks:
            files[option] = folder / "none.npz"
        ranks.append(cluster.start(linear[count], "--rank", rank, "--peers", peers, *secret(), *LATE, *(word for pair in files.items() for word in pair)))
    for rank, process in enumerate(ranks):
        expect_error(finish(process), "none.npz: cannot be opened", *([f"rank {rank}", f"peer {lacks} "] if rank != lacks else []))


@pytest.mark.parametrize("lacks", range(2))
@pytest.mark.parametrize("bad", ["none.npz", "damaged.npz"])
def test_data_that_one_trainer_cannot_read(folder, cluster, lacks, bad):
    (folder / "damaged.npz").write_bytes(b"no array")
    job = Job(cluster, digits_plan(folder))
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2], *LATE)
    for rank in (1 - lacks, lacks):
        job.start_trainer(rank, *DIGITS_DATA[:3], folder / bad if rank == lacks else DIGITS_DATA[3], *LATE, "--steps", 10**9)
        if rank != lacks:
            wait_for(lambda: all(connections(address) for address in job.listen), job.servers.values())
    for (role, index), result in job.finish().items():
        if (role, index) == ("trainer", lacks):
            expect_error(result, bad)
        else:
            expect_error(result, bad, f"trainer {lacks} gave up: ")


def test_of_trainers(folder, cluster):
    job = Job(cluster, digits_plan(folder))
    for index in range(2):
        job.start_server(index, *DIGITS_DATA[:2], *LATE)
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--seed", rank, "--steps", 3, *LATE)
    results = job.finish()
    assert any(NEED in results["trainer", rank][1] for rank in range(2)), results
    for result in results.values():
        expect_error(result, "must match those of the trainer that joined first")
