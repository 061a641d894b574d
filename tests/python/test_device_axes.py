# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that are written for several devices, with axes that have names, or that have arguments that are no arrays: refused in one line that says what to do. With
an axis of the step's own, as vmap makes it, they are right."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen

import commsched
from commsched.frontend import jax_arguments

RNG = np.random.default_rng(0)
W, X, Y = np.ones(3, np.float32), RNG.normal(size=(8, 3)).astype(np.float32), RNG.normal(size=8).astype(np.float32)
NORM = linen.BatchNorm(use_running_average=False, axis_name="batch", use_scale=False, use_bias=False)


def per_sample(w, x, y):
    return (x @ w - y) ** 2


def step_with(use, where):
    """use: of a value, by an axis; where: what of the step goes through it."""
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: (use(per_sample(w, x, y)) if where == "loss" else per_sample(w, x, y)).mean())(w)
        return w - 0.1 * (use(g) if where == "gradient" else g), use(loss) if where == "metric" else loss
    return step


USES = {
    "pmean": lambda v: jax.lax.pmean(v, "batch"), "psum": lambda v: jax.lax.psum(v, ("batch",)), "pmax": lambda v: v - jax.lax.pmax(jax.lax.stop_gradient(v), "batch"), "all_gather": lambda v: jax.lax.all_gather(v, "batch").sum(0),
    "axis_index": lambda v: v * jax.lax.axis_index("batch"), "axis_size": lambda v: v / jax.lax.axis_size("batch"), "ppermute": lambda v: jax.lax.ppermute(v, "batch", [(0, 1), (1, 0)]),
    "a norm of Flax": lambda v: NORM.apply({"batch_stats": {"mean": jnp.zeros(()), "var": jnp.ones(())}}, v, mutable=["batch_stats"])[0] if v.ndim else jax.lax.pmean(v, "batch"),
    "jitted": jax.jit(lambda v: jax.lax.pmean(v, "batch")), "of another axis": lambda v: jax.vmap(lambda u: jax.lax.pmean(u, "device"), axis_name="batch")(v[None])[0],
}


def refused(step, *arguments, **more):
    with pytest.raises(commsched.FrontEndError) as caught:
        commsched.transpile(step, *arguments, X, Y, **{"batch": (len(arguments), len(arguments) + 1), **more})
    assert len(str(caught.value).splitlines()) == 1, caught.value
    return str(caught.value)


@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("where", ["loss", "gradient", "metric"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_axis_of_devices(use, where, cluster):
    text = refused(step_with(use, where), W, cluster=cluster)
    assert text.startswith("the step must be what one device does, without axes of devices (pmean, psum, axis_index): gradients, metrics and state are averaged over the "
                           "workers by themselves, and commsched.worker_index() is the number of one; got: NameError: "), text
    assert ("device" if use is USES["of another axis"] else "batch") in text.split("NameError")[1]


def test_an_axis_in_a_function_beside_the_step():
    text = refused(step_with(None, "nothing"), W, functions={"eval": (lambda w, x, y: jax.lax.pmean(per_sample(w, x, y).mean(), "batch"), W, X, Y)})
    assert text.startswith("function 'eval' must be what one device does, without axes of devices")


def test_an_axis_of_its_own():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: jax.vmap(lambda x, y: jax.lax.pmean(per_sample(w, x, y), "batch"), axis_name="batch", out_axes=None)(x, y))(w)
        return w - 0.1 * g, loss
    with commsched.transpile(step, W, X, Y, batch=(1, 2), cluster=2) as program:
        assert "cs.gradient" in program.mlir()


@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("static", [(1,), (1, 2), (0,)])
def test_static_arguments(static, cluster):
    def step(w, times, rate, x, y):
        loss, g = jax.value_and_grad(lambda w: per_sample(w, x, y).mean())(w)
        return w - 0.1 * times * rate * g, loss
    text = refused(jax.jit(step, static_argnums=static), W, 2, 0.5, cluster=cluster)
    assert text.startswith("the step must take all of its arguments as arrays, none as static_argnums or static_argnames: bind what is no array, as by functools.partial; got: "), text


def test_static_arguments_that_are_bound():
    @functools.partial(jax.jit, static_argnames=("times", "mode"))
    def step(w, x, y, *, times, mode):
        loss, g = jax.value_and_grad(lambda w: per_sample(w, x, y).mean())(w)
        return w - {"train": 0.1}[mode] * times * g, loss
    assert "cs.gradient" in commsched.transpile(functools.partial(step, times=2, mode="train"), W, X, Y, batch=(1, 2), cluster=2).mlir()


def test_other_errors_stay_what_they_are():
    def step(w, x, y):
        return w - batch_axis_name, 0.0  # noqa: F821
    with pytest.raises(NameError, match="name 'batch_axis_name' is not defined"):
        commsched.transpile(step, W, X, Y, batch=(1, 2))


@pytest.mark.parametrize("test, arguments", [(test_an_axis_of_devices, (USES["pmean"], "loss", 2)), (test_static_arguments, ((1,), 1))])
def test_a_planted_fault_is_found(monkeypatch, test, arguments):
    monkeypatch.setattr(jax_arguments, "_NOT_ALONE", {})
    with pytest.raises((AssertionError, NameError, ValueError)):
        test(*arguments)
