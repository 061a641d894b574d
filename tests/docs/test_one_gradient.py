# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/one-gradient.md shows is what the tools print: the lines of each block stand in that order in the output that the
comment before it names; "..." is anything, on a line of its own any lines."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from built import tool  # noqa: E402

PAGE = ROOT / "docs/one-gradient.md"
LINEAR = ROOT / "examples/linear.mlir"
BLOCKS = dict(re.findall(r"<!-- from: ([a-z0-9 ]+) -->\n```[a-z]+\n(.*?)```", PAGE.read_text(), re.S))


def run(name, *arguments):
    done = subprocess.run([tool(name), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plan(folder):
    lowered, path = folder / "linear.mlir", folder / "linear.plan"
    run("cs-opt", "--cs-all-reduce-pipeline", LINEAR, "-o", lowered)
    run("cs-translate", "--mlir-to-plan", lowered, "-o", path)
    return path


def trace(folder):
    """What rank 0 did in the second step, as a table by beginning."""
    rng = np.random.default_rng(0)
    np.savez(folder / "train.npz", x=rng.standard_normal((96, 8)).astype(np.float32), y=np.zeros(96, np.float32))
    np.savez(folder / "init.npz", w=np.zeros(8, np.float32))
    run("cs-run", plan(folder), "--spawn", 2, "--steps", 3, "--init", folder / "init.npz", "--batch", folder / "train.npz",
        "--trace", folder / "trace.json")
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 0}
    spans = [e for e in events if e["ph"] == "X" and e["pid"] == 0 and e["args"]["call"] == 1]
    assert any(e["cat"] == "exposed wait" for e in spans)
    # A send and the receive of the same round begin in any order.
    order = {"compute.0": 0, "send to 1": 1, "receive from 1": 2, "update.w": 3}
    rows = sorted((order[e["name"] if e["cat"] == "compute" else threads[e["tid"]]], threads[e["tid"]], e["name"],
                   e["args"].get("bytes"), e["ts"], e["ts"] + e["dur"]) for e in spans if e["cat"] != "exposed wait")
    compute, sent, received, update = rows
    assert compute[5] <= sent[4] and received[5] <= update[4]
    return "\n".join(f"rank 0  {row[1]:14}  {row[2]}" + (f"  {row[3]} bytes" if row[3] else "") for row in rows)


OUTPUTS = {
    "level 0": lambda folder: LINEAR.read_text(),
    "level 1": lambda folder: run("cs-opt", "--insert-dist-comm", LINEAR),
    "level 2": lambda folder: run("cs-opt", "--insert-dist-comm", "--schedule-comm", LINEAR),
    "messages": lambda folder: run("cs-opt", "--cs-all-reduce-pipeline", LINEAR),
    "level 3": lambda folder: run("cs-translate", "--plan-to-text", plan(folder)),
    "trace": trace,
    "wire": lambda folder: (ROOT / "grpc/base/transport.proto").read_text(),
}


def test_every_block_is_checked():
    assert BLOCKS.keys() == OUTPUTS.keys()


@pytest.mark.parametrize("name", OUTPUTS)
def test_block(name, tmp_path):
    lines = [line.strip() for line in OUTPUTS[name](tmp_path).splitlines()]
    at = 0
    for shown in BLOCKS[name].splitlines():
        shown = shown.strip()
        if shown in ("...", ""):
            continue
        pattern = re.compile(".*".join(map(re.escape, re.split(r"\.\.\.", shown))))
        while at < len(lines) and not pattern.fullmatch(lines[at]):
            at += 1
        assert at < len(lines), f'not in the output behind the line before it: "{shown}"'
        at += 1
