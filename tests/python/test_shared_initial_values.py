# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps in which several results start from one value.

Products and sums of equal shapes start from equal fills, which fusion makes one. Where a fill that several
results start from was put into the memory of one of them, another result was copied out of it after it had been
overwritten: a gradient was another tensor's, while the loss was right. All of these models but prodigy's, of which
no such shape was found, were trained wrong so; the shapes of their activations are those of their weights on purpose.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from commsched import AllReduce, ParameterServers
from sharded import errors, train, train_jax

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")

MODES = {"1 worker": (1, AllReduce()), "2 workers": (2, AllReduce()), "4 workers": (4, AllReduce()),
         "1 worker and 1 server": (1, ParameterServers(servers=1)),
         "2 workers and 2 servers": (2, ParameterServers(servers=2, min_block_elements=16))}
STEPS = 3


def normal(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def matrices(names, size, scale=0.3):
    return {name: normal(index, size, size, scale=scale) for index, name in enumerate(names)}


def check(loss, optimizer, params, shapes, mode, bound=2e-5):
    """Trains on batches of which each worker has arrays of these shapes; compares parameters and losses.

    A gradient that is another tensor's is off by far more than the bound, which is for rounding.
    """
    def step(params, state, *batch, mean):
        value, grads = mean(jax.value_and_grad(loss)(params, *batch))
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, mean(value)
    workers, strategy = MODES[mode]
    batches = [tuple(normal(20 + 10 * i + j, workers * shape[0], *shape[1:]) for j, shape in enumerate(shapes))
               for i in range(STEPS)]
    state = optimizer.init(params)
    wanted, _, wanted_losses = train_jax(step, workers, params, state, batches)
    found, _, losses = train(step, workers, params, state, batches, strategy=strategy)
    off = errors(params, wanted, found)
    assert max(off.values()) < bound, off
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-5)


def towers(p, x):
    left = jnp.tanh(x[:, 0] @ p["a"]) @ p["b"]
    right = jnp.tanh(x[:, 1] @ p["c"]) @ p["d"]
    return jax.nn.logsumexp(left @ right.T, 1).mean()


@pytest.mark.parametrize("mode", MODES)
def test_four_gradients_of_two_towers_start_from_one_fill(mode):
    check(towers, optax.sgd(0.1), matrices("abcd", 16), [(8, 2, 16)], mode)


def uses_a_weight_twice(p, x, y):
    hidden = jnp.tanh(jnp.tanh(x @ p["a"]) @ p["a"])
    return ((hidden @ p["b"] * (hidden @ p["c"]) - y) ** 2).mean()


@pytest.mark.parametrize("mode", MODES)
def test_gradients_beside_that_of_a_shared_weight_start_from_one_fill(mode):
    check(uses_a_weight_twice, optax.sgd(0.1), matrices("abc", 8), [(8, 8), (8, 8)], mode)


def routed(p, x, y):
    """Two experts, the outputs of which a router weighs."""
    share = jax.nn.softmax(x @ p["gate"])
    hidden = [jnp.tanh(x @ weight) for weight in p["inner"]]
    outputs = [h @ weight for h, weight in zip(hidden, p["outer"])]
    return ((sum(share[:, i:i + 1] * output for i, output in enumerate(outputs)) - y) ** 2).mean()


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_the_experts_behind_a_router_start_from_one_fill(mode):
    weights = list(matrices("abcd", 8).values())
    params = {"gate": normal(9, 8, 2), "inner": weights[:2], "outer": weights[2:]}
    check(routed, optax.sgd(0.1), params, [(8, 8), (8, 8)], mode)


def wide(p, x, y):
    return ((jnp.tanh(x @ p["a"] + p["u"]) @ p["b"] + p["v"] - y) ** 2).mean()


# Their updates are full of equal sums. Prodigy and D-Adaptation begin far from their own first estimate, with which
# they would not move in three steps.
OPTIMIZERS = {"sm3": lambda: optax.sm3(0.05), "prodigy": lambda: optax.contrib.prodigy(1.0, estim_lr0=1e-3),
              "dadapt_adamw": lambda: optax.contrib.dadapt_adamw(1.0, estim_lr0=1e-3),
              "lbfgs": lambda: optax.lbfgs(0.1, memory_size=3, linesearch=None)}
ROWS = {"sm3": 256, "prodigy": 256, "dadapt_adamw": 256, "lbfgs": 8}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_sums_of_an_update_start_from_one_fill(name, mode):
    params = {**matrices("ab", 256, 0.06), "u": normal(5, 256, scale=0.1), "v": normal(6, 256, scale=0.1)}
    check(wide, OPTIMIZERS[name](), params, [(ROWS[name], 256), (ROWS[name], 256)], mode)
