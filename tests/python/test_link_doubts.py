# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of links that none has are warned of wherever they are given, and those that links have are not: drawn over all magnitudes."""

import json
import random
import warnings

import pytest

import commsched
from commsched import tools
from test_simulated_schedules import random_profile
from test_simulation import CLUSTER, call
from built import tool

STEP = """func.func @step(%w: tensor<64x32xf32> {cs.param = "w"}) -> (tensor<64x32xf32> {cs.updates = "w"}) attributes {cs.step} {
  %b, %g = cs.profiled "backward" (%w, %w) cost <flops = 0, bytes = 0, ns = 1000> : (tensor<64x32xf32>, tensor<64x32xf32>) -> (tensor<8xf32>, tensor<64x32xf32>)
  %m = cs.gradient %g of "w" : tensor<64x32xf32>
  %u = cs.profiled "update" elementwise (%w, %m) cost <flops = 0, bytes = 0, ns = 1> : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %u : tensor<64x32xf32>
}
"""
MOST_MBIT, MOST_NS = 10**8, 10**10
REAL = [1, 10, 100, 957, 1000, 10_000, 25_000, 100_000, 400_000, 957_000, 7_200_000, 8_000_000, 14_400_000, 64_000_000]  # Mbit/s: radios to NVLink, in bits or bytes


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(each.message) for each in caught if not issubclass(each.category, ResourceWarning)]


def lowered(cluster):
    tools.lower("\n".join(cluster.mlir()) + "\n" + STEP, 1)


@pytest.mark.parametrize("seed", range(12))
def test_clusters(seed):
    rng = random.Random(seed)
    numbers = {name: max(1, round(10 ** rng.uniform(0, most))) for name, most in (
        ("mbit_per_s", 13), ("intra_mbit_per_s", 13), ("latency_ns", 12.5), ("intra_latency_ns", 12.5))}
    expected = {f"cluster @cluster: {link}: {field} is in {unit}, of which links have {least} {most}, got: {numbers[name]}"
                for name, link, field, unit, least, most in (
                    ("mbit_per_s", "inter", "mbit_per_s", "Mbit/s", "1 to", MOST_MBIT), ("intra_mbit_per_s", "intra", "mbit_per_s", "Mbit/s", "1 to", MOST_MBIT),
                    ("latency_ns", "inter", "latency_ns", "ns", "at most", MOST_NS), ("intra_latency_ns", "intra", "latency_ns", "ns", "at most", MOST_NS))
                if numbers[name] > most}
    said = warned(lambda: lowered(commsched.Cluster(2, **numbers)))
    assert len(said) == len(expected) and set(said) == expected


@pytest.mark.parametrize("rate", REAL)
def test_real_links_are_none_of_these(rate):
    for latency in (0, 1, 50_000, 300_000_000, 5 * 10**9):
        assert warned(lambda: lowered(commsched.Cluster(2, mbit_per_s=rate, latency_ns=latency, intra_mbit_per_s=rate))) == []


@pytest.mark.parametrize("wrong", [0, -957, float("nan"), 957.5, "957", 10**14])
def test_what_cannot_be_is_an_error(wrong):
    with pytest.raises((commsched.FrontEndError, commsched.ToolError), match="mbit_per_s of a (cluster|link) must"):
        lowered(commsched.Cluster(2, mbit_per_s=wrong))


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "step.txt").write_text(random_profile(random.Random(0)))
    (folder / "step.mlir").write_text(call(tool("cs-translate"), "--import-aicb", folder / "step.txt"))
    (folder / "cluster.mlir").write_text(CLUSTER.format(nodes=2, rate=1000))
    call(tool("cs-opt"), folder / "step.mlir", f"--cs-all-reduce-pipeline=cluster={folder / 'cluster.mlir'} schedule=fifo", "-o", folder / "schedule.mlir")
    call(tool("cs-translate"), "--mlir-to-plan", folder / "schedule.mlir", "-o", folder / "step.plan")
    return folder / "step.plan"


@pytest.mark.parametrize("seed", range(8))
def test_simulations(plan, tmp_path, seed):
    rng = random.Random(seed)
    bits, up, down = round(10 ** rng.uniform(0, 15)), 10 ** rng.uniform(-3, 8.9), float(rng.choice(REAL))
    (tmp_path / "links.json").write_text(json.dumps({
        "format": "commsched calibration", "version": 1, "module": "", "exchanges": [], "compute": [],
        "links": [{"from": "rank 0", "to": "rank 1", "latency_ns": 5000, "overhead_ns": 0, "bits_per_s": bits}]}))
    said = warned(lambda: commsched.simulate(plan, steps=1, calibration=tmp_path / "links.json", links={1: (up, down)}))
    odd = not 10**6 <= bits <= 10**14
    assert [line for line in said if line.startswith("calibration")] == [
        f"calibration link from rank 0: bits_per_s is in bit/s, of which links have 1000000 to 100000000000000, got: {bits}"] * odd
    rest = [line for line in said if not line.startswith("calibration")]
    assert len(rest) == (not 1 <= up <= MOST_MBIT)
    for line in rest:
        assert line.startswith("link of rank 1, sending, is in Mbit/s, of which links have 1 to 100000000, got: ")
        assert float(line.split()[-1]) == pytest.approx(up)
