# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that a step changes in place, as those of Flax NNX are: returned, they train as JAX does; not returned, they are refused in one line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import commsched
from commsched.frontend import jax_arguments, jax_frontend


class Holder:
    """A pytree whose array may be set."""

    def __init__(self, value):
        self.value = value


jax.tree_util.register_pytree_node(Holder, lambda h: ((h.value,), None), lambda _, leaves: Holder(*leaves))

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(8, 3)).astype(np.float32), RNG.normal(size=8).astype(np.float32), np.ones(3, np.float32)


def gradient(w, x, y):
    return jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)


def moved(holder, speed, x, y):
    loss, g = gradient(holder.value, x, y)
    speed.value = 0.9 * speed.value + g
    holder.value = holder.value - 0.1 * speed.value
    return loss


def transpiled(step, *arguments, **more):
    return commsched.transpile(step, *arguments, X, Y, batch=(len(arguments), len(arguments) + 1), cluster=2, **more)


def test_what_is_returned_trains_as_jax_does():
    def step(holder, speed, x, y):
        loss = moved(holder, speed, x, y)
        return holder, speed, loss
    with transpiled(step, Holder(W), Holder(0 * W)) as program:
        program.run([(X, Y)] * 3)
        found = program.params.value, program.state[0].value
    w, v = W, 0 * W
    for _ in range(3):
        v = 0.9 * v + gradient(w, X, Y)[1]
        w = w - 0.1 * v
    np.testing.assert_allclose(found, (w, v), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("returned, name", [(lambda h, s, loss: loss, "holder"), (lambda h, s, loss: (h, loss), "speed"), (lambda h, s, loss: ((h, loss), ), "holder")])
def test_what_is_not_returned_is_refused(returned, name):
    def step(holder, speed, x, y):
        return returned(holder, speed, moved(holder, speed, x, y))
    with pytest.raises(commsched.FrontEndError, match=f"^no output of the step is the new value of argument '{name}': the step changes it in place, so it must be among its outputs"):
        transpiled(step, Holder(W), Holder(0 * W))


def test_within_containers_too():
    def step(both, x, y):
        return moved(*both["a"], x, y)
    with pytest.raises(commsched.FrontEndError, match="argument 'both': the step changes it in place"):
        transpiled(step, {"a": (Holder(W), Holder(0 * W))})


def test_containers_and_what_is_said_to_be_constant_are_a_steps_own():
    def step(w, state, speed, x, y):
        state["k"] = state["a"] * 2
        loss, g = gradient(w, x, y)
        speed.value = g
        return w - 0.1 * g * state.pop("k"), loss
    transpiled(step, W, {"a": np.float32(1)}, Holder(0 * W), constant=(2,))


def test_modules_beside_the_arguments_are_refused_in_one_line():
    module = nnx.Linear(3, 1, rngs=nnx.Rngs(0))

    def step(w, x, y):
        loss, g = nnx.value_and_grad(lambda m: ((m(x)[:, 0] - y) ** 2).mean())(module)
        return w, loss

    def changing(w, x, y):
        loss, g = gradient(w, x, y)
        module.bias[...] = g[:1]
        return w - 0.1 * g, loss
    for of in (step, changing):
        with pytest.raises(commsched.FrontEndError, match="^the step must not read or change a module beside its arguments in place: make it an argument, and return it; got: ") as caught:
            transpiled(of, W)
        assert len(str(caught.value).splitlines()) == 1


FAULTS = {
    "nothing changes": ((jax_frontend, "changed", lambda given, before: set()), test_what_is_not_returned_is_refused, (lambda h, s, loss: (h, loss), "speed")),
    "containers have no objects": ((jax_frontend, "objects_of", lambda given, f=jax_arguments.objects_of: [f([a])[0] if isinstance(a, Holder) else [] for a in given]),
                                   test_within_containers_too, ()),
    "all errors are passed on": ((jax_arguments, "_NOT_ALONE", {}), test_modules_beside_the_arguments_are_refused_in_one_line, ()),
}


@pytest.mark.parametrize("fault, test, arguments", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, test, arguments):
    monkeypatch.setattr(*fault)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
        test(*arguments)
