# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn models of PyTorch (torch_drawn.py), trained by workers and by eager PyTorch. COMMSCHED_TEST_SEED is the first seed,
COMMSCHED_TEST_TIMES how many times the usual number of them are tried."""

import pytest
from cases import FIRST, cases

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import jax.numpy as jnp  # noqa: E402

import torch_drawn  # noqa: E402
import torch_pool  # noqa: E402
from commsched.torch.rules import RULES  # noqa: E402


@pytest.mark.parametrize("seed", cases(2))
def test_on_workers(seed):
    lines, _ = torch_drawn.trained(seed, 1 + seed % 2, towers=5, length=4)
    assert not lines, f"seed {seed}:\n" + "\n".join(lines)


@pytest.mark.parametrize("seed", cases(6, FIRST + 1000))
def test_by_rules(seed):
    lines = torch_drawn.by_rules(seed, towers=3, length=5)
    assert not lines, f"seed {seed}:\n" + "\n".join(lines)


def test_a_wrong_rule_is_found(monkeypatch):
    """Whoever draws it."""
    right = RULES["aten.tanh"]
    monkeypatch.setitem(RULES, "aten.tanh", lambda op, x: right(op, x) + 1e-6 * jnp.sin(x))
    assert torch_drawn.by_rules(FIRST, towers=1, length=2)


def test_every_operation_of_the_pool_can_be_made():
    for name in torch_pool.POOL:
        model, _, batches = torch_drawn.drawn(3, towers=1, names=[name])
        assert torch_drawn.loss(model, batches[0]).isfinite()
