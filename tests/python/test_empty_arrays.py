# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays without elements: they are in the pytrees, and no tensors of the program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
import sharded

rng = np.random.default_rng(8)
PARAMS = {"none": np.zeros((3, 0, 2), np.float32), "w": rng.standard_normal((3, 2)).astype(np.float32),
          "zero": np.zeros(0, np.float32)}
STATE = {"count": np.int32(0), "none": np.zeros((0, 4), np.int32)}


def batch(rows=8):
    return ({"x": rng.standard_normal((rows, 3)).astype(np.float32), "more": np.zeros((rows, 0), np.float32)},
            rng.standard_normal((rows, 2)).astype(np.float32))


def loss(params, data, y):
    assert data["more"].shape == (y.shape[0], 0)
    scan = jax.lax.associative_scan(lambda a, b: a * 0.5 + b, data["x"] @ params["w"], axis=1)
    return jnp.mean((scan - y) ** 2) + params["zero"].sum() + jnp.sum(params["none"] ** 2) + data["more"].sum()


def step(params, state, data, y, mean):
    value, grads = jax.value_and_grad(loss)(params, data, y)
    grads = mean(grads)
    return (jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), {"count": state["count"] + 1, "none": state["none"]},
            mean(value))


@pytest.mark.parametrize("options", [{}, {"strategy": commsched.ParameterServers(servers=2, min_block_elements=2)}],
                         ids=["all-reduce", "servers"])
def test_training(options):
    batches = [batch() for _ in range(3)]
    wanted = sharded.train_jax(step, 2, PARAMS, STATE, batches)
    found = sharded.train(step, 2, PARAMS, STATE, batches, **options)
    for start, a, b in zip((PARAMS, STATE), wanted, found):
        assert jax.tree.map(np.shape, b) == jax.tree.map(np.shape, a)
        assert max(sharded.errors(start, a, b).values()) < 1e-5
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-5)


def test_what_does_not_fit_is_refused():
    def single(*arguments):
        return step(*arguments, mean=lambda tree: tree)
    program = commsched.transpile(single, PARAMS, STATE, *batch(), batch=(2, 3), functions={"eval": (loss, PARAMS, *batch())},
                                  cluster=2)
    assert list(program.slots()) == ["w", "arg1.count"]
    assert program.call("eval", [batch()])[0]["loss"] > 0
    data, y = batch()
    with program, pytest.raises(commsched.FrontEndError, match=r"batch 'more' must match \[8, 0\], got: \[8, 1\]"):
        program.run([(data | {"more": np.zeros((8, 1), np.float32)}, y)])
    with pytest.raises(commsched.FrontEndError, match=r"batch argument 'arg2.more' must have samples, got: \[0, 0\]"):
        commsched.transpile(single, PARAMS, STATE, *batch(0), batch=(2, 3))
