# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clusters that train: by --spawn, joined by hand, again, and resumed."""
import json

import pytest
from conftest import addresses, expect_success, finish, run, secret
from safetensors.numpy import load_file


def losses(path):
    def find(value):
        if isinstance(value, dict):
            if isinstance(value.get("loss"), (int, float)):
                yield value["loss"]
            elif isinstance(value.get("loss"), list):
                yield from value["loss"]
            for inner in value.values():
                yield from find(inner) if isinstance(inner, (dict, list)) else ()
        elif isinstance(value, list):
            for inner in value:
                yield from find(inner)

    return list(find(json.loads(path.read_text())))


def test_spawned_processes_train(digits, tmp_path):
    expect_success(run(*digits, "--spawn", 4, "--steps", 60, "--metrics-every", 1,
                       "--metrics-json", tmp_path / "metrics.json"))
    loss = losses(tmp_path / "metrics.json")
    assert len(loss) >= 60
    assert sum(loss[50:60]) < sum(loss[:10]) / 2


def test_all_ways_give_the_same_bits(digits, cluster, tmp_path):
    steps = ["--steps", 25]
    expect_success(run(*digits, *steps, "--save-params", tmp_path / "threads"))
    expect_success(run(*digits, *steps, "--save-params", tmp_path / "threads again"))
    expect_success(run(*digits, *steps, "--spawn", 4, "--save-params", tmp_path / "spawned"))
    joined = cluster.join(digits[0], [2, 0, 3, 1], addresses(4), *digits[1:], *steps, "--save-params",
                          tmp_path / "joined")
    for process in joined.values():
        expect_success(finish(process))
    first = (tmp_path / "threads").read_bytes()
    for other in ("threads again", "spawned", "joined"):
        assert (tmp_path / other).read_bytes() == first, other


@pytest.mark.parametrize("how", [[], ["--spawn", "4"]], ids=["threads", "spawned"])
def test_resumed_run_gives_the_same_bits(digits, tmp_path, how):
    expect_success(run(*digits, *how, "--steps", 20, "--checkpoint", tmp_path / "whole"))
    expect_success(run(*digits, *how, "--steps", 9, "--checkpoint", tmp_path / "half"))
    resumed = [argument for argument in digits if argument != "--init" and not str(argument).endswith(".init.safetensors")]
    expect_success(run(*resumed, *how, "--resume", tmp_path / "half", "--steps", 11,
                       "--checkpoint", tmp_path / "resumed"))
    whole, resumed = load_file(tmp_path / "whole"), load_file(tmp_path / "resumed")
    assert whole.keys() == resumed.keys()
    for name, tensor in whole.items():
        assert tensor.tobytes() == resumed[name].tobytes(), name
    half = load_file(tmp_path / "half")
    assert any(half[name].tobytes() != whole[name].tobytes() for name in whole)


@pytest.mark.parametrize("nodes", [2, 3])
def test_clusters_of_other_sizes(linear, linear_data, tmp_path, nodes):
    expect_success(run(linear[nodes], *linear_data, "--save-params", tmp_path / "threads"))
    expect_success(run(linear[nodes], *linear_data, "--spawn", nodes, "--save-params", tmp_path / "spawned"))
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "spawned").read_bytes()
    assert abs(load_file(tmp_path / "spawned")["w"] - range(8)).max() < 0.01


def test_ranks_may_come_late(linear, linear_data, cluster):
    peers = addresses(3)
    first = cluster.join(linear[3], [1], peers, *linear_data)
    # The others come when the first has begun to try.
    wait = cluster.start(linear[3], "--rank", 0, "--peers", ",".join(addresses(3)), *secret(), "--deadline", 1)
    finish(wait)
    late = cluster.join(linear[3], [2, 0], peers, *linear_data)
    for process in (*first.values(), *late.values()):
        expect_success(finish(process))
