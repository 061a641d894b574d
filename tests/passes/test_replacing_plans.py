# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan that is made of what a run measures fits that run, whatever the links have become (docs/replanning.md).

Drawn steps on nodes of one or several devices, with and without norms and sparse gradients, are compiled for the calibration with
which a run begins, or for none, and then again with other links in schedule-calibration: both must have the same code, byte for
byte, and the same fragments on the same devices. Where such links are in calibration, which decides what is sharded, selected
together and spread, some must not: so the test sees what it looks for."""
import collections
import json
import random
import re
import subprocess

import pytest
from built import tool
from cases import FIRST, cases
from option_modules import cluster, regression


def calibration(drawn, ranks):
    """A file of cs-run --calibrate: links as nobody knows them, from those inside a machine to those of another continent."""
    cost = int(10 ** drawn.uniform(2, 6.5))
    links = [{"from": f"rank {rank}", "to": f"rank {(rank + 1) % ranks}", "latency_ns": int(10 ** drawn.uniform(2.5, 7)), "overhead_ns": cost,
              "bits_per_s": int(10 ** drawn.uniform(7.5, 11)), "round_trip_ns": 2 * cost} for rank in range(ranks)]
    exchanges = [{"rank": rank, "round_ns": 2 * cost, "message_ns": cost, "busy_message_ns": cost} for rank in range(ranks)]
    return json.dumps({"format": "commsched calibration", "version": 1, "module": "", "transport": "grpc", "ranks": ranks, "servers": 0,
                       "links": links, "exchanges": exchanges,
                       "compute": [{"rank": rank, "quiet_ns": 1000, "communicating_ns": 1100, "slowdown_percent": 10} for rank in range(ranks)]})


class Case:
    def __init__(self, seed, folder):
        drawn = random.Random(f"{FIRST} {seed}")
        self.folder, self.nodes, devices = folder, drawn.choice([2, 3, 4]), drawn.choice([1, 2, 2, 2, 3])
        self.options = [f"schedule={drawn.choice(['solver', 'bytescheduler', 'fifo', 'fixed-buckets', 'latency-hiding'])}"]
        if drawn.random() < 0.15:
            self.options += [f"density={drawn.choice([0.3, 0.01])}", f"min-elements={drawn.choice([1, 2000])}"]
        self.options += [option for option in ("spread-sums=true", "parts=true", "combine=false", "assign-devices=false") if drawn.random() < 0.3]
        sizes = [int(10 ** drawn.uniform(2, 6)) for _ in range(drawn.randint(2, 5))]
        (folder / "step.mlir").write_text(cluster(self.nodes, devices, mbit=drawn.choice([1000, 100000]), intra=drawn.choice([8000, 80000]))
                                          + regression(sizes, norms="spread-sums=true" in self.options))
        for name in ("first", "then"):
            (folder / name).write_text(calibration(drawn, self.nodes))
        self.first = ["calibration=first"] if drawn.random() < 0.7 else []
        self.about = f"seed {seed}: {self.nodes} nodes of {devices} devices, sizes {sizes}, {' '.join(self.options + self.first)}"

    def plan(self, name, *costs):
        """Its code, and how often a fragment is on a device."""
        pipeline = "--cs-all-reduce-pipeline=" + " ".join([*self.options, *costs])
        for command in ([tool("cs-opt"), pipeline, "step.mlir", "-o", f"{name}.mlir"],
                        [tool("cs-translate"), "--mlir-to-plan", f"{name}.mlir", "-o", f"{name}.plan"],
                        [tool("cs-translate"), "--plan-to-object", f"{name}.plan", "-o", f"{name}.so"]):
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
            assert done.returncode == 0, f"{self.about}: {' '.join(map(str, command))}: {done.stderr}"
        text = subprocess.run([tool("cs-translate"), "--plan-to-text", f"{name}.plan"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        fragments = collections.Counter()
        for instruction in text.split("\n  instructions {")[1:]:
            if symbol := re.search(r"^    run \{\n +symbol: \"(.*)\"", instruction, re.M):
                device = re.search(r"^    device: (\d+)", instruction, re.M)
                fragments[re.search(r'name: "(.*)"', instruction)[1], int(device[1]) if device else 0, symbol[1]] += 1
        assert fragments, self.about
        return (self.folder / f"{name}.so").read_bytes(), fragments


@pytest.mark.parametrize("seed", cases(40, 0))
def test_plans_of_what_is_measured_fit(tmp_path, seed):
    case = Case(seed, tmp_path)
    code, fragments = case.plan("run", *case.first)
    for name, then in (("once", ["schedule-calibration=then"]), ("again", ["schedule-calibration=first"])):
        other_code, other_fragments = case.plan(name, *case.first, *then)
        assert other_fragments == fragments, f"{case.about}, {name}: {other_fragments - fragments} instead of {fragments - other_fragments}"
        assert other_code == code, f"{case.about}, {name}"


def test_those_that_do_not_are_found(tmp_path):
    found = 0
    for seed in range(12):
        (folder := tmp_path / str(seed)).mkdir()
        case = Case(seed, folder)
        found += case.plan("run", *case.first) != case.plan("once", "calibration=then")
    assert found > 0
