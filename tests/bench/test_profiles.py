# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What benchmarks read of profiles, and where they find them."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _profiles  # noqa: E402
import _shipped  # noqa: E402


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


def test_finds_profiles_by_what_is_in_them(tmp_path):
    """Whatever else is in a folder of data."""
    row = "\t".join(["layer", "-1", "1", "NONE", "0", "1", "NONE", "0", "1", "ALLREDUCE", "4", "1"])
    files = {"aicb/L7B.txt": f"HYBRID\n1\n{row}\n", "other/L7B.txt": f"HYBRID\n1\n{row}\n",
             "LICENSE.txt": "Apache\nLicense\n2.0\n", "list.csv": "comm_type,msg_size\n",
             "deep/down/vgg16.graph.txt": "node1 -- Linear\n", "bert.0.et": "\n", "ranks/net.0.et": "\n", "ranks/net.1.et": "\n",
             "a/x/tiny.txt": f"HYBRID\n1\n{row}\n", "b/x/tiny.txt": f"HYBRID\n1\n{row}\n", "README.md": "1\n2\n3\n"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = _shipped.profiles([tmp_path])
    assert {name: str(path.relative_to(tmp_path)) for name, path in found.items()} == {
        "L7B.aicb": "aicb/L7B.txt", "L7B.other": "other/L7B.txt", "bert": "bert.0.et", "vgg16": "deep/down/vgg16.graph.txt",
        "net.0.et.ranks": "ranks/net.0.et", "net.1.et.ranks": "ranks/net.1.et",
        str(tmp_path / "a/x/tiny.txt"): "a/x/tiny.txt", str(tmp_path / "b/x/tiny.txt"): "b/x/tiny.txt"}
    assert [_shipped.importer(found[name]) for name in ("L7B.aicb", "bert", "vgg16")] == [
        "--import-aicb", "--chakra-to-mlir", "--import-pipedream"]
    assert _shipped.profiles([tmp_path / "aicb/L7B.txt"]) == {"L7B": tmp_path / "aicb/L7B.txt"}
