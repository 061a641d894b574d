# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole steps of the examples, and of a net of convolutions, on four CUDA devices of a machine that has none: a fake of the driver and of NCCL, with the
plan's own kernels, emulated. No access is unordered, the order of what runs changes no bit, and losses are JAX's.

COMMSCHED_TEST_TIMES: as many times the seeds; `bench/run cuda_steps` does more."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from cases import FIRST, TIMES, cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
from _cuda_steps import RANKS, WAYS, Steps, gap  # noqa: E402
from _tools import tool  # noqa: E402

# As bench/run loss_parity has found for plans on CPUs, rounded up.
BOUND = 1e-5


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return Steps("digits", 50, tmp_path_factory.mktemp("digits"))


def plan_text(path):
    return subprocess.run([tool("cs-translate"), "--plan-to-text", str(path)], capture_output=True, text=True, check=True).stdout


def check(rows, wanted):
    first = rows[0]
    for row in rows:
        assert row["served"] == first["served"], row["seed"]
        assert row["findings"] == [] and row["errors"] == [""] * RANKS and row["left"] == 0, row["seed"]
        # Not a bit depends on the order.
        assert row["losses"] == first["losses"] and row["digests"] == first["digests"], row["seed"]
    assert len(set(first["digests"])) == 1  # all ranks have the same values
    assert gap(first["losses"], wanted) < BOUND


@pytest.mark.parametrize("way", WAYS)
def test_digits(digits, way):
    check(list(digits.run(way, cases(2))), digits.jax_losses())


def test_transformer(tmp_path):
    ways = "nccl", "host"
    try:
        steps = Steps("transformer", 2, tmp_path, ways=ways)
    except LookupError as missing:
        pytest.skip(f"needs {missing}")
    for way in ways:
        check(list(steps.run(way, cases(1))), steps.jax_losses())


def test_convolutions(tmp_path):
    pytest.importorskip("flax")
    steps = Steps("convolutions", 3, tmp_path)
    kinds = re.findall(r'kind: "(\w+)"', plan_text(tmp_path / "nccl.plan"))
    assert {"convolution_forward", "convolution_backward_weights", "matmul"} <= set(kinds)
    for way in WAYS:
        check(list(steps.run(way, cases(2))), steps.jax_losses())


# What NCCL has said to a rank itself; and what another has told it by a message, perhaps in the middle of one of its own.
OWN = r'rank \d of 4: collective ".+" of step \d+: '
IDLE = r'rank \d of 4: no collective under way: '
TOLD = rf'rank \d of 4: (\S+ ".+" .*of (call|step) \d+: )?(rank \d of 4: )?peer \d: aborted: ({OWN}|{IDLE})'


# Calls are counted from 0; the step has a collective at least, and 20 steps are made.
@pytest.mark.parametrize("fault, way, own, heard", [
    ("hang-call=10", "nccl", OWN, TOLD),
    # NCCL may say so to a rank that is between two collectives first, which tells the others.
    ("fail-call=1:10", "nccl", f"{OWN}|{IDLE}", TOLD),
    ("lose-call=2:10", "nccl", f"{OWN}|{IDLE}", TOLD),
    ("lose-rank=1:10", "host", r"lost", r"rank \d of 4: .*lost"),
    ("lose-rank=1:10", "servers", r"lost", r"rank \d of 4: .*lost"),
    ("lose-server=1:10", "servers", r"rank \d of 4: (push|pull) of \".+\" .*(to|from) server 1 (in step|at version) \d+: .*is lost", r"rank \d of 4: .*is lost"),
])
def test_what_fails_is_one_error_of_each_rank(digits, fault, way, own, heard):
    row, = digits.run(way, range(FIRST, FIRST + 1), fault, steps=20)
    assert row["left"] == 0 and len(row["errors"]) == RANKS
    for error in row["errors"]:
        assert re.match(f"{own}|{heard}", error), error
    assert any(re.match(own, error) for error in row["errors"]), row["errors"]


@pytest.mark.parametrize("way, fault", [*(("host", fault) for fault in ("wait", "range", "copy", "place")),
                                        *(("servers", fault) for fault in ("push", "pull", "place"))])
def test_a_fault_in_the_order_is_found(digits, way, fault):
    steps, harmful = 6, 0
    well, = digits.run(way, range(FIRST, FIRST + 1), steps=steps)
    for seed in cases(3):
        row, = digits.run(way, range(seed, seed + 1), f"plant-{fault}={seed % RANKS}:{seed}", steps=steps)
        assert row["left"] == 0
        # What leaves everything in order has no finding; a wrong copy in the right order is in the values.
        assert bool(row["findings"]) == bool(row["harmful"]), (seed, row)
        if fault == "copy":
            assert row["digests"] != well["digests"], seed
        harmful += bool(row["harmful"])
    if fault in ("wait", "push", "pull"):
        assert TIMES < 1 or harmful > 0
