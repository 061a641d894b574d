# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any names in pytrees: they are data, not syntax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
import sharded

rng = np.random.default_rng(4)
KEYS = ["a/b", "a.b", "", "a b", 'quo"te', "back\\slash", "\\n", "new\nline", "nul\0", "\x01", "\udc80", "ä", "😀", "\u27e60\u27e7", "%x", "#0",
        "x", "y", "loss", "{cs.batch = \"x\"}", "ä[0:1]"]
BATCHES = [(rng.standard_normal((4, 3)).astype(np.float32), rng.standard_normal((4, 2)).astype(np.float32))
           for _ in range(2)]


def params_of(keys):
    return {"w": rng.standard_normal((3, 2)).astype(np.float32), "a": {"b": np.ones(2, np.float32)},
            **{key: rng.standard_normal(2).astype(np.float32) for key in keys}}


def step(params, state, x, y, mean):
    def loss(p):
        others = sum(jnp.sin(leaf) * i for i, leaf in enumerate(jax.tree.leaves(p)) if leaf.ndim == 1)
        return jnp.mean((x @ p["w"] + others - y) ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    grads = mean(grads)
    return (jax.tree.map(lambda a, b: a - 0.01 * b, params, grads), jax.tree.map(lambda a, b: 0.5 * a + b, state, grads),
            mean(value))


@pytest.mark.parametrize("mode", [{}, {"strategy": commsched.ParameterServers(servers=2, min_block_elements=1)}],
                         ids=["all-reduce", "servers"])
def test_keys_of_parameters(mode):
    params = params_of(KEYS)
    wanted = sharded.train_jax(step, 2, params, params, BATCHES)
    found = sharded.train(step, 2, params, params, BATCHES, **mode)
    for start, a, b in zip((params, params), wanted, found):
        assert max(sharded.errors(start, a, b).values()) < 1e-5


def test_a_plan_with_such_names_is_checked():
    def single(params, state, x, y):
        return step(params, state, x, y, mean=lambda tree: tree)
    params = params_of(KEYS)
    program = commsched.transpile(single, params, params, *BATCHES[0], batch=(2, 3), cluster=2)
    table = program.check(BATCHES)
    assert {row.name for row in table} == {*program.slots(), "metric loss"}


def test_names_of_slots_are_printable_and_each_is_one():
    program = commsched.transpile(lambda p, x, y: step(p, p, x, y, mean=lambda tree: tree)[::2], params_of(KEYS), *BATCHES[0],
                                  batch=(1, 2))
    assert all(name.isprintable() for name in program.slots()) and len(program.slots()) == len(KEYS) + 2
    assert {"new\\nline", "nul\\x00", "a.b", "a.b_", "😀"} <= set(program.slots())


def test_metrics_of_one_name_are_two():
    def metrics(params, x, y):
        new, value = step(params, params, x, y, mean=lambda tree: tree)[::2]
        return new, {"a": {"b": value}, "a.b": 2 * value, 'o"dd': 3 * value, "": 4 * value, "loss": 5 * value}
    with commsched.transpile(metrics, params_of([]), *BATCHES[0], batch=(1, 2), cluster=2) as program:
        (found,) = program.run(BATCHES[:1])
    one = found["a.b"]
    np.testing.assert_allclose([found[n] for n in ("a.b_", 'o"dd', "loss", "loss_")], [2 * one, 3 * one, 4 * one, 5 * one],
                               rtol=1e-6)


def test_names_of_arguments():
    def step_(größe, x, y):
        value, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(größe)
        return größe - 0.1 * grad, value
    program = commsched.transpile(step_, np.ones((3, 2), np.float32), *BATCHES[0], batch=(1, 2), cluster=2)
    assert list(program.slots()) == ["größe"] and program.plan
