# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether bench/torch_models.py, the survey of PyTorch's models, tells those that are trained from those that are refused, and from wrong ones."""
import importlib.util
import pathlib
import sys
import types

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
from torch import nn  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "python_api")]
spec = importlib.util.spec_from_file_location("survey", ROOT / "bench" / "torch_models.py")  # tests/python has a torch_models too
survey = importlib.util.module_from_spec(spec)
spec.loader.exec_module(survey)

from commsched.torch.rules import RULES  # noqa: E402


def row(forward, trace=False):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return forward(self.linear(x))
    return survey.tried("net", Net, lambda m, x, y: ((m(x) - y) ** 2).mean(), lambda g: (torch.randn(4, 3, generator=g), torch.randn(4, 2, generator=g)),
                        types.SimpleNamespace(seed=0, rate=0.1, steps=2, trace=trace), [("sgd", 2)])


def test_trained():
    found = row(torch.tanh)
    assert (found["result"], found["type"]) == ("trained", "float64") and found["difference"] < 1e-9, found


def test_refused():
    found = row(torch.linalg.svdvals)
    assert found["result"] == "refused" and "aten._linalg_svd" in found["missing"] and "test_survey.py" in found["why"], found


def test_a_wrong_rule_is_found(monkeypatch):
    own = RULES["aten.tanh"]
    monkeypatch.setitem(RULES, "aten.tanh", lambda op, x: own(op, x) * (1 + 1e-3))
    assert row(torch.tanh)["result"] == "wrong"
    assert row(torch.tanh, trace=True)["result"] == "captured"


def test_not_made():
    assert row(lambda x: x.no_such_thing())["result"] == "not made"
