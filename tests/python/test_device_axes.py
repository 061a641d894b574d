# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that are written for several devices, with axes that have names, or that have arguments that are no arrays: refused in one line that says what to do. With
an axis of the step's own, as vmap makes it, or of a mesh of one device, they are right."""

import functools
import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen
from jax.sharding import Mesh, PartitionSpec

import commsched
from commsched.frontend import doubling, jax_arguments

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


def test_a_step_of_pmap():
    @functools.partial(jax.pmap, axis_name="batch")
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: per_sample(w, x, y).mean())(w)
        return w - 0.1 * jax.lax.pmean(g, "batch"), jax.lax.pmean(loss, "batch")
    assert refused(step, W, cluster=2) == "the step must be what one device does, got: a function of jax.pmap"


def test_an_axis_in_a_function_beside_the_step():
    text = refused(step_with(None, "nothing"), W, functions={"eval": (lambda w, x, y: jax.lax.pmean(per_sample(w, x, y).mean(), "batch"), W, X, Y)})
    assert text.startswith("function 'eval' must be what one device does, without axes of devices")


def test_an_axis_of_its_own():
    def step(w, x, y):
        loss, g = jax.value_and_grad(lambda w: jax.vmap(lambda x, y: jax.lax.pmean(per_sample(w, x, y), "batch"), axis_name="batch", out_axes=None)(x, y))(w)
        return w - 0.1 * g, loss
    with commsched.transpile(step, W, X, Y, batch=(1, 2), cluster=2) as program:
        assert "cs.gradient" in program.mlir()


MESH, ALL, OWN = Mesh(np.array(jax.devices()[:1]), ("device",)), PartitionSpec(), PartitionSpec("device")
# Of a value, among the devices of a mesh.
AMONG = {
    "pmean": lambda v: jax.lax.pmean(v, "device"), "psum": lambda v: jax.lax.psum(v, "device") / jax.lax.axis_size("device"), "gathered": lambda v: jax.lax.all_gather(v, "device").mean(0),
    "passed on": lambda v: jax.lax.ppermute(v, "device", [(0, 0)]), "of the first": lambda v: v * (1 + jax.lax.axis_index("device")), "scattered": lambda v: jax.lax.psum_scatter(v[None], "device", tiled=True)[0],
}
REDUCED = {"mean": (jnp.mean, False), "sum": (jnp.sum, True), "root": (lambda v: jnp.sqrt(v.mean()), True)}


def on_a_mesh(among, reduce, whole):
    """whole: the gradient is taken within the mesh, else of what it computes."""
    def loss_of(w, x, y):
        return among(reduce(per_sample(w, x, y)))

    def step(w, x, y):
        loss, g = jax.value_and_grad(loss_of)(w, x, y)
        return w - 0.1 * among(g), loss
    of_mesh = functools.partial(jax.shard_map, mesh=MESH, in_specs=(ALL, OWN, OWN), check_vma=False)
    if whole:
        return jax.jit(of_mesh(step, out_specs=(ALL, ALL)))

    def beside(w, x, y):
        loss, g = jax.value_and_grad(of_mesh(loss_of, out_specs=ALL))(w, x, y)
        return w - 0.1 * g, loss
    return beside


def check_mesh(among, reduce, whole):
    """Beside the same without a mesh, of a batch whose parts are one as the other."""
    (reduce, other), x, y = REDUCED[reduce], np.concatenate([X[:4]] * 2), np.concatenate([Y[:4]] * 2)
    step = on_a_mesh(AMONG[among], reduce, whole)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        if reduce is jnp.sum:
            with pytest.raises(commsched.FrontEndError, match="gradients are 2 times as large"):
                commsched.transpile(step, W, x, y, batch=(1, 2), cluster=2)
            return
        program = commsched.transpile(step, W, x, y, batch=(1, 2), cluster=2)
    assert bool([c for c in caught if issubclass(c.category, commsched.MixedSamples)]) == other
    if "COMMSCHED_BIN" in os.environ:
        with program:
            metrics = program.run([(x, y)] * 3)
        w, losses = W, []
        for _ in range(3):
            loss, g = jax.value_and_grad(lambda w: reduce(per_sample(w, x, y)))(w)
            w, losses = w - 0.1 * g, [*losses, loss]
        np.testing.assert_allclose(program.params, w, rtol=1e-5)
        np.testing.assert_allclose([m["loss"] for m in metrics], losses, rtol=1e-5)


@pytest.mark.parametrize("among", AMONG)
def test_a_mesh_of_one_device(among):
    check_mesh(among, "mean", True)


@pytest.mark.parametrize("reduce", REDUCED)
@pytest.mark.parametrize("whole", [False, True])
def test_means_within_a_mesh(reduce, whole):
    check_mesh("pmean", reduce, whole)


def test_a_fault_planted_in_a_mesh_is_found(monkeypatch):
    monkeypatch.setattr(doubling, "_AMONG_DEVICES", set())
    monkeypatch.delitem(doubling._INNER, "shard_map")
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_mesh("pmean", "sum", True)


def test_a_mesh_of_several_devices():
    """Where there are several, as only another process has them."""
    done = subprocess.run([sys.executable, "-c", "import test_device_axes as t; t.MESH = t.Mesh(t.jax.devices(), ('device',)); "
                           "print(t.refused(t.on_a_mesh(t.AMONG['pmean'], t.jnp.mean, True), t.W, cluster=2))"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"})
    assert "with a mesh of several devices, as of shard_map: a step is what one device does, is not supported" in done.stdout and "test_device_axes.py:" in done.stdout, (done.stdout, done.stderr[-2000:])


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
