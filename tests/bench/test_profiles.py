# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What benchmarks of schedules read of profiles, and the problems that they make."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _profiles  # noqa: E402


# Gradients of f32: four bytes for each parameter that the models are known to have.
@pytest.mark.parametrize("name, tensors, parameters", [
    ("resnet50", 161, 25557032), ("vgg16", 32, 138357544), ("bert_large", 398, 336226108),
    ("distilbert", 105, 66985530),
    ("gpt2_xl", 580, 1557611200), ("llama_7b", 291, 6738415616)])
def test_reads_all_of_a_workload(name, tensors, parameters):
    path = ROOT / f"examples/profiles/{name}.txt"
    layers = _profiles.read_aicb(path)
    sizes = [size for layer in layers for size in layer.tensors]
    assert (len(sizes), sum(sizes)) == (tensors, 4 * parameters)
    rows = [line.split("\t") for line in path.read_text().splitlines()[2:]]
    for column, attribute in ((2, "forward"), (5, "inputs"), (8, "weights"), (11, "update")):
        assert sum(getattr(layer, attribute) for layer in layers) == sum(int(row[column]) for row in rows)


def test_reads_a_graph_of_pipedream(tmp_path):
    (tmp_path / "graph").write_text(
        "node10 -- Linear(2, 1) -- forward_compute_time=2.5, backward_compute_time=3.000, "
        "activation_size=[8.0; 4.0], parameter_size=12.000\n"
        "node2 -- Input0 -- forward_compute_time=9.0, backward_compute_time=0.0, "
        "activation_size=8.0, parameter_size=0.0\n"
        "node9 -- ReLU() -- forward_compute_time=0.001, backward_compute_time=0.0, "
        "activation_size=8.0, parameter_size=0.0\n"
        "\tnode2 -- node9\n")
    assert _profiles.read_pipedream(tmp_path / "graph") == [
        _profiles.Layer(1000, 0, 0, 0, []), _profiles.Layer(2500000, 0, 3000000, 0, [12])]


def test_problem_has_two_backward_ops_where_the_profile_has_two_times():
    layers = [_profiles.Layer(10, 0, 30, 5, [8]), _profiles.Layer(20, 21, 22, 0, []),
              _profiles.Layer(40, 41, 42, 0, [100, 4])]
    text = _profiles.to_text("three", layers, [("up", 1000)], lambda size: [(0, size, 1, 2)], updates=True)
    assert text.splitlines() == [
        "problem three", "link up 1000",
        "op 15", "op 20 0", "op 40 1",  # forward, with the update
        "op 41 2", "op 42 2",  # layer 2: of its input, of its weights
        "op 21 3", "op 22 3",  # layer 1
        "op 30 5",  # layer 0 has no gradient of data
        "comm 8 0 7 0 0 8 1 2",
        "comm 100 0 4 2 0 100 1 2", "comm 4 0 4 2 0 4 1 2", "end"]
