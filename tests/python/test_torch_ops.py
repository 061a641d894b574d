# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules of PyTorch's operations beside PyTorch, with gradients, and that wrong ones are found."""

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import jax.numpy as jnp  # noqa: E402
import torch  # noqa: E402

import torch_cases  # noqa: E402
from commsched.errors import UnsupportedOp  # noqa: E402
from commsched.torch.rules import RULES  # noqa: E402



USED, DONE = set(), set()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(torch_cases.CASES))
def test_rules(name, dtype):
    if (name, dtype) == ("elementwise/hardsigmoid", "float64"):
        return  # PyTorch's own gradient is that of a float32 constant
    torch_cases.check(name, 0 if dtype == "float32" else 1, getattr(torch, dtype), USED)
    DONE.add(name)


@pytest.mark.parametrize("name", ["elementwise/gelu", "elementwise/add", "elementwise/numbers", "elementwise/silu", "elementwise/lerp", "reductions/sum",
                                  "reductions/softmax", "products/linear", "products/matmul", "normalisation/layer_norm", "shapes/views"])
def test_rules_of_halves(name):
    torch_cases.check(name, 0, torch.bfloat16)


# What a rule might get wrong: (rule, what it does instead, a case that notices).
def _keyword(name, value):
    return lambda right: lambda op, *a, **k: right(op, *a, **{**k, name: value})


def _argument(i, value):
    def wrong(right):
        return lambda op, *a, **k: right(op, *[value if j == i else x for j, x in enumerate(a)], **k)
    return wrong


def _of_result(change):
    return lambda right: lambda op, *a, **k: change(right(op, *a, **k))


def _later_ties(right):
    def wrong(op, x, *a, **k):
        best, found = right(op, jnp.flip(x, -1), *a, **k)
        return jnp.flip(best, -1), x.shape[-1] * (found // x.shape[-1]) + x.shape[-1] - 1 - jnp.flip(found, -1) % x.shape[-1]
    return wrong


FAULTS = {
    "the form of gelu": ("aten.gelu", _keyword("approximate", "none"), "elementwise/gelu_tanh"),
    "alpha of add": ("aten.add", _keyword("alpha", 1), "elementwise/alpha"),
    "value of addcmul": ("aten.addcmul", _keyword("value", 1), "elementwise/addcmul"),
    "the sign of a remainder": ("aten.remainder", lambda right: RULES["aten.fmod"], "elementwise/remainder_ints"),
    "rounding towards zero": ("aten.div", _keyword("rounding_mode", "floor"), "elementwise/div_ints"),
    "operands of lerp": ("aten.lerp", lambda right: lambda op, a, b, w: right(op, b, a, w), "elementwise/lerp"),
    "relu of nan": ("aten.relu", lambda right: lambda op, x: jnp.where(x > 0, x, 0), "elementwise/not_numbers"),
    "a comparison with equality": ("aten.lt", lambda right: RULES["aten.le"], "elementwise/lt"),
    "correction of a variance": ("aten.var.correction", _keyword("correction", 0), "reductions/var"),
    "order of a norm": ("aten.linalg_vector_norm", _argument(1, 2), "reductions/norm_3"),
    "which of equal ones": ("aten.argmax", lambda right: lambda op, x, d=None, k=False: right(op, x + jnp.arange(x.size).reshape(x.shape) * 1e-3, d, k), "reductions/argmax"),
    "order of equal ones": ("aten.sort.stable", lambda right: lambda op, x, **k: tuple(jnp.flip(v, k.get("dim", -1)) for v in right(op, x, **{**k, "descending": not k.get("descending", False)})),
                            "reductions/sort_ties"),
    "the largest": ("aten.topk", _argument(3, True), "reductions/topk"),
    "a dimension of softmax": ("aten._softmax", _argument(1, 0), "reductions/softmax"),
    "the gradient of log_softmax": ("aten._log_softmax_backward_data", lambda right: lambda op, g, o, d, t: g - jnp.exp(o), "reductions/softmax"),
    "steps of a slice": ("aten.slice_scatter", lambda right: lambda op, x, s, *a, **k: x, "shapes/written_into_views"),
    "the value of padding": ("aten.constant_pad_nd", _argument(2, 0), "shapes/pad"),
    "a diagonal": ("aten.tril", _argument(1, 0), "shapes/triangles"),
    "which way to roll": ("aten.roll", lambda right: lambda op, x, s, d=(): right(op, x, [-n for n in s], d), "shapes/flip"),
    "adding up in index_put": ("aten.index_put", _argument(3, False), "indexing/index_put"),
    "negative indices": ("aten.index", lambda right: lambda op, x, i: x.at[tuple(slice(None) if j is None else jnp.maximum(j, 0) for j in i)].get(), "indexing/index"),
    "the row of padding": ("aten.embedding_dense_backward", _argument(3, -1), "indexing/embedding"),
    "how often a row is read": ("aten.embedding_dense_backward", _argument(4, False), "indexing/embedding"),
    "the dimension of a scatter": ("aten.scatter_add", lambda right: lambda op, x, d, i, s: right(op, x, d, i * 0, s), "indexing/scatter_add"),
    "beta of addmm": ("aten.addmm", _keyword("beta", 1), "products/addmm"),
    "the gradient of a convolution": ("aten.convolution_backward", _of_result(lambda r: (r[0], None if r[1] is None else jnp.flip(r[1], -1), r[2])), "products/conv2d"),
    "dilation": ("aten.convolution", _argument(5, [1]), "products/conv1d"),
    "padding of averages": ("aten.avg_pool2d", _argument(5, True), "pooling/avg_pool2d"),
    "equal ones in a window": ("aten.max_pool2d_with_indices", _later_ties, "pooling/indices"),
    "the gradient of max_pool": ("aten.max_pool2d_with_indices_backward", _of_result(lambda r: jnp.flip(r, -1)), "pooling/max_pool2d"),
    "halves rounded too early": ("aten.sum", lambda right: lambda op, x, *a, **k: right(op, (x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x), *a, **k), "reductions/sum"),
    "the side of a system": ("aten.linalg_lu_solve", _keyword("adjoint", False), "linear algebra/solve"),
    "the order of rows": ("aten.linalg_lu_factor_ex", _of_result(lambda r: (r[0], jnp.flip(r[1], -1), r[2])), "linear algebra/solve"),
    "the other triangle": ("aten.linalg_cholesky_ex", _keyword("upper", False), "linear algebra/cholesky"),
    "the transpose of a permutation": ("aten.lu_unpack", _of_result(lambda r: (jnp.swapaxes(r[0], -1, -2) if r[0].ndim > 1 else r[0], *r[1:])), "linear algebra/factors"),
    "one of a list": ("aten._foreach_lerp", _of_result(lambda r: (r[0], r[0] * 0 + 1) if len(r) > 1 and r[0].shape == r[1].shape else r), "lists/foreach"),
}


@pytest.mark.parametrize("what", sorted(FAULTS))
def test_a_wrong_rule_is_found(what, monkeypatch):
    name, wrong, noticed = FAULTS[what]
    seeds = range(4)
    torch_cases.check(noticed, 0)
    monkeypatch.setitem(RULES, name, wrong(RULES[name]))
    found = 0
    for seed in seeds:
        try:
            torch_cases.check(noticed, seed)
        except (AssertionError, UnsupportedOp):
            found += 1
            break
    assert found, f"nothing notices that {name} is wrong"




# Random numbers, and what steps have: test_torch_steps.py.
ELSEWHERE = ("commsched.", "profiler.", "aten.bernoulli", "aten.rand", "aten.uniform", "aten.normal", "aten.exponential", "aten.native_dropout",
             "aten._foreach_", "aten._assert", "aten._functional_assert", "aten.sym_constrain")


def test_every_rule_is_used_by_a_case():
    for name in torch_cases.CASES.keys() - DONE:
        torch_cases.check(name, 0, used=USED)
    used = {RULES[n] for name in USED for n in (name, name.rpartition(".")[0]) if n in RULES}
    missing = sorted(n for n, function in RULES.items() if function not in used and not n.startswith(ELSEWHERE))
    assert not missing, missing
