# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of real models, from the file to the plan, against the files as read
here. COMMSCHED_DATA names the folder of the profiles; without it the tests are
skipped."""
import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
for folder in (TESTS, TESTS / "translate"):
    sys.path.insert(0, str(folder))
import plan_reader  # noqa: E402
from built import tool  # noqa: E402

DATA = os.environ.get("COMMSCHED_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="COMMSCHED_DATA is not set: no profiles of real models")
OPT, TRANSLATE = tool("cs-opt"), tool("cs-translate")
F32 = 2

Node = collections.namedtuple("Node", "op times activation parameters")


def call(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def import_file(kind, path, *flags):
    return call(TRANSLATE, f"--import-{kind}", *flags, str(path))


def plan_of(text, tmp_path):
    """With a message for each gradient, as they come."""
    (tmp_path / "model.plan").write_bytes(
        subprocess.run([TRANSLATE, "--mlir-to-plan"], input=call(OPT, "--cs-all-reduce-pipeline=schedule=fifo", text=text).encode(),
                       stdout=subprocess.PIPE, check=True).stdout)
    return plan_reader.read_plan(str(tmp_path / "model.plan"))


def sizes(shape):
    n = 4
    for dim in shape:
        n *= dim
    return n


def compute_ns(step):
    """Of forward and backward."""
    return sum(i.delay.nanoseconds for i in step.instructions if i.delay and not i.name.startswith("update."))


def communicated(step):
    """Keys and bytes of the gradients, in the order of the plan."""
    result = []
    for i in step.instructions:
        if i.communicate:
            kind = step.buffers[i.communicate.buffer].type
            assert kind.element == F32
            result.append((i.communicate.key, sizes(kind.shape)))
    return result


def read_pipedream(path):
    nodes, edges = {}, []
    for line in path.read_text().splitlines():
        if line[0].isspace():
            edges.append(tuple(line.strip().split(" -- ")))
            continue
        name, op, fields = line.split(" -- ")
        forward, backward = (float(t) for t in re.findall(r"compute_time=([\d.]+)", fields))
        nodes[name] = Node(op, (round(forward * 1e6), round(backward * 1e6)),
                           re.search(r"activation_size=(\[?[\d.; ]+\]?)", fields)[1],
                           int(float(re.search(r"parameter_size=([\d.]+)", fields)[1])))
    return nodes, edges


@pytest.mark.parametrize("model", ["alexnet", "vgg16", "resnet50", "gnmt"])
def test_pipedream(model, tmp_path):
    path = pathlib.Path(DATA, "pipedream", f"{model}.graph.txt")
    nodes, edges = read_pipedream(path)
    text = import_file("pipedream", path)
    # Every edge is one of the program, forwards and, where there is something to train, backwards.
    operands = dict(re.findall(r'cs.profiled "([^"]+)"(?: elementwise)? \(([^)]*)\)', text))
    uses = {label: set(re.findall(r"%([A-Za-z_0-9]+)", inputs)) for label, inputs in operands.items()}
    inputs = {name for name, node in nodes.items() if node.op.startswith("Input")}
    for source, target in edges:
        assert source in inputs or f"forward_{source}" in uses[f"forward.{target}"]
        if f"backward.{source}" in uses:
            assert f"backward_{target}" in uses[f"backward.{source}"]
    assert {label.split(".", 1)[1] for label in uses if label.startswith("forward.")} == set(nodes) - inputs
    # Times and bytes of the plan are those of the file.
    plan = plan_of(text, tmp_path)
    assert not plan.objects
    step = plan.functions[0]
    assert compute_ns(step) == sum(sum(node.times) for name, node in nodes.items() if name not in inputs)
    per_node = collections.Counter()
    for key, size in communicated(step):
        per_node[key.split(".")[0]] += size
    assert per_node == {name: node.parameters for name, node in nodes.items() if node.parameters}
    # A gradient is there when its node and all behind it have run: the backward pass so far.
    order = [key.split(".")[0] for key, _ in communicated(step)]
    behind = {name: {name} for name in nodes}
    for _ in nodes:
        for source, target in edges:
            behind[source] |= behind[target]
    for place, name in enumerate(order):
        assert not any(other in behind[name] - {name} for other in order[place:])


@pytest.mark.parametrize("model, forward", [("resnet50", False), ("vgg16", True)])
def test_kungfu(model, forward, tmp_path):
    # The list of VGG-16 begins with the first layer, whatever it says of itself.
    path = pathlib.Path(DATA, "kungfu", f"{model}_gradients.json")
    elements = json.loads(path.read_text())["elements"]
    text = import_file("kungfu", path, f"--profile-gradient-order={'forward' if forward else 'backward'}")
    step = plan_of(text, tmp_path).functions[0]
    expected = [(f"gradient{i}", 4 * n) for i, n in enumerate(elements)]
    assert communicated(step) == (expected[::-1] if forward else expected)
    assert compute_ns(step) == 0


def test_aicb_workload(tmp_path):
    path, = pathlib.Path(DATA, "aicb").glob("*megatron*.txt")
    rows = [line.split("\t") for line in path.read_text().splitlines()[2:]]
    text = import_file("aicb", path)
    assert sum(int(t) for t in re.findall(r'"(?:forward|backward|loss)[^"]*".*?ns = (\d+)>', text)) == sum(
        int(row[column]) for row in rows for column in (2, 5, 8))
    step = plan_of(text, tmp_path).functions[0]
    assert communicated(step) == [
        (f"{row[0]}.{i}.parameters", int(row[10])) for i, row in reversed(list(enumerate(rows))) if row[9] != "NONE"]
    assert compute_ns(step) == sum(int(row[column]) for row in rows for column in (2, 5, 8))


def test_aicb_collectives(tmp_path):
    path, = pathlib.Path(DATA, "aicb").glob("*.csv")
    with path.open() as file:
        next(file)
        rows = [row for row in csv.DictReader(file) if (row["comm_type"], row["stage"]) == ("CommType.broadcast", "init")]
    step = plan_of(import_file("aicb", path), tmp_path).functions[0]
    expected = [(f"parameter{i}", int(row["msg_size"])) for i, row in enumerate(rows)]
    assert communicated(step) == expected[::-1]
