# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers of several devices: each device has a part of the batch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
import sharded

rng = np.random.default_rng(6)
PARAMS = {"w": rng.standard_normal((3, 2)).astype(np.float32), "b": np.zeros(2, np.float32)}
BATCHES = [(rng.standard_normal((8, 3)).astype(np.float32), rng.standard_normal((8, 2)).astype(np.float32))
           for _ in range(3)]
ADAM = optax.adam(0.05)


def loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def step(params, state, x, y, mean):
    (moments, statistic), centre = state, x.mean(0)
    value, grads = jax.value_and_grad(loss)(params, x - centre, y)
    updates, moments = ADAM.update(mean(grads), moments, params)
    return optax.apply_updates(params, updates), (moments, 0.9 * statistic + 0.1 * mean(centre)), mean(value)


@pytest.mark.parametrize("nodes, devices", [(2, 2), (1, 4), (2, 1)])
@pytest.mark.parametrize("options", [{}, {"strategy": commsched.ParameterServers(servers=2, min_block_elements=2)}],
                         ids=["all-reduce", "servers"])
def test_training(nodes, devices, options):
    state = (ADAM.init(PARAMS), np.zeros(3, np.float32))
    wanted = sharded.train_jax(step, nodes * devices, PARAMS, state, BATCHES)

    def single(params, state, x, y):
        return step(params, state, x, y, mean=lambda tree: tree)
    with commsched.transpile(single, PARAMS, state, *BATCHES[0], batch=(2, 3), functions={"eval": (loss, PARAMS, *BATCHES[0])},
                             cluster=commsched.Cluster(nodes, devices=devices), **options) as program:
        losses = [m["loss"] for m in program.run(BATCHES)]
        for start, a, b in ((PARAMS, wanted[0], program.params), (state, wanted[1], program.state[0])):
            assert max(sharded.errors(start, a, b).values()) < 1e-4
        np.testing.assert_allclose(losses, wanted[2], rtol=1e-5)
        (found,) = program.call("eval", BATCHES[:1])
        np.testing.assert_allclose(found["loss"], loss(program.params, *BATCHES[0]), rtol=1e-5)
        assert all(row.determined for row in program.check(BATCHES))


def test_a_batch_that_the_devices_cannot_share():
    with pytest.raises(commsched.FrontEndError, match="'x': 8 samples are not divisible by 2 x 3 devices"):
        commsched.transpile(lambda p, x, y: (p - jax.grad(lambda p: loss({"w": p, "b": 0}, x, y))(p)), PARAMS["w"], *BATCHES[0],
                            batch=(1, 2), cluster=commsched.Cluster(2, devices=3))
