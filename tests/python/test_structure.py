# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How arguments and results of a step are matched, named and marked."""

import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
import reference

rng = np.random.default_rng(2)
X = rng.standard_normal((8, 3)).astype(np.float32)
Y = rng.standard_normal((8, 2)).astype(np.float32)
PARAMS = {"w": rng.standard_normal((3, 2)).astype(np.float32), "b": np.zeros(2, np.float32)}


def loss(p, x, y):
    return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)


def update(p, g):
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g)


def plain(p, x, y):
    value, grads = jax.value_and_grad(loss)(p, x, y)
    return update(p, grads), value


def head(text, function="step"):
    """(arguments, results): attribute kinds and names, in order."""
    arguments, results = re.search(rf"@{function}\((.*?)\) -> \((.*?)\n  \)", text, flags=re.S).groups()

    def roles(part):
        return re.findall(r'\{cs\.(\w+) = "([^"]*)"\}', part)
    return roles(arguments), roles(results)


def gradients(text):
    return re.findall(r'cs\.gradient .* of "([^"]*)"', text)


def test_parameters_alone():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    arguments, results = head(program.mlir())
    assert arguments == [("param", "b"), ("param", "w"), ("batch", "x"), ("batch", "y")]
    assert results == [("updates", "b"), ("updates", "w"), ("metric", "loss")]
    assert sorted(gradients(program.mlir())) == ["b", "w"]
    assert "cs.step, cs.global_batch = 8 : i64" in program.mlir()
    assert "cs.cluster" not in program.mlir()


def test_the_batch_is_divided_and_the_cluster_is_written():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=commsched.Cluster(4, mbit_per_s=1000))
    text = program.mlir()
    assert "%x: tensor<2x3xf32>" in text and "cs.global_batch = 8 : i64" in text
    assert "nodes = 4 devices = 1" in text and "inter = <mbit_per_s = 1000," in text
    assert "%x: tensor<4x3xf32>" in program.mlir(workers=2) and "nodes = 2" in program.mlir(workers=2)


@pytest.mark.parametrize("optimizer", [
    optax.sgd(0.1), optax.sgd(0.1, momentum=0.9, nesterov=True), optax.adam(1e-3), optax.adamw(1e-3),
    optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(1e-3, 100))),
    optax.rmsprop(1e-2), optax.lion(1e-3), optax.adafactor(1e-2), optax.lamb(1e-3),
], ids=["sgd", "momentum", "adam", "adamw", "clip_cosine", "rmsprop", "lion", "adafactor", "lamb"])
def test_optax(optimizer):
    def step(params, opt_state, batch):
        value, grads = jax.value_and_grad(loss)(params, batch["x"], batch["y"])
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, {"loss": value}
    batch = {"x": X, "y": Y}
    state = optimizer.init(PARAMS)
    program = commsched.transpile(step, PARAMS, state, batch)
    arguments, results = head(program.mlir())
    assert len([k for k, _ in arguments if k == "state"]) == len(jax.tree.leaves(state))
    assert results[-1] == ("metric", "loss")
    assert jax.tree.structure(program.state[0]) == jax.tree.structure(state)
    if reference.available:
        leaves = jax.tree.leaves((PARAMS, state, batch))
        found = reference.Compiled(program.mlir())(*[np.asarray(x) for x in leaves])
        wanted = jax.tree.leaves(jax.jit(step)(PARAMS, state, batch))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_names_of_state():
    def step(params, opt_state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return update(params, grads), jax.tree.map(lambda m, g: m + g, opt_state, grads), value
    text = commsched.transpile(step, PARAMS, PARAMS, X, Y, batch=(2, 3)).mlir()
    assert ("state", "opt_state.w") in head(text)[0] and ("updates", "opt_state.w") in head(text)[1]


class Pair(NamedTuple):
    w: np.ndarray
    b: np.ndarray


class Train(NamedTuple):
    params: dict
    count: np.ndarray


def test_one_argument_with_everything():
    def step(state, x, y):
        value, grads = jax.value_and_grad(loss)(state.params, x, y)
        return Train(update(state.params, grads), state.count + 1), {"loss": value, "count": jnp.float32(state.count)}
    program = commsched.transpile(step, Train(PARAMS, np.int32(0)), X, Y, batch=(1, 2))
    arguments, results = head(program.mlir())
    assert ("param", "params.w") in arguments and ("state", "count") in arguments
    assert [n for k, n in results if k == "metric"] == ["count", "loss"]
    assert isinstance(program.params, Train) and program.params.count.dtype == np.int32


def test_state_that_is_not_updated_is_constant():
    def step(params, rate, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), value
    with pytest.raises(commsched.FrontEndError, match="'rate' but does not depend on it.*constant="):
        commsched.transpile(step, PARAMS, 0.1, X, Y, batch=(2, 3))
    arguments, results = head(commsched.transpile(step, PARAMS, 0.1, X, Y, batch=(2, 3), constant=(1,)).mlir())
    assert ("state", "rate") in arguments and ("updates", "rate") not in results


def test_other_positions():
    def step(x, y, opt, params):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return opt + 1, value, update(params, grads)
    text = commsched.transpile(step, X, Y, np.float32(0), PARAMS, params=3, batch=(0, 1)).mlir()
    for by_name in (dict(params="params", batch=("x", "y")), dict(params=-1, batch=("y", 0))):
        assert commsched.transpile(step, X, Y, np.float32(0), PARAMS, **by_name).mlir() == text
    arguments, results = head(text)
    assert arguments[0] == ("batch", "x") and arguments[-1] == ("param", "w")
    assert ("updates", "w") in results and ("metric", "loss") in results


STYLES = {
    "grad": lambda p, x, y: (jax.grad(loss)(p, x, y), loss(p, x, y)),
    "has_aux": lambda p, x, y: jax.grad(lambda *a: (loss(*a), loss(*a)), has_aux=True)(p, x, y),
    "argnums": lambda p, x, y: (jax.value_and_grad(loss, argnums=(0, 1))(p, x, y)[1][0], loss(p, x, y)),
    "jit": lambda p, x, y: jax.jit(lambda *a: (jax.grad(loss)(*a), loss(*a)))(p, x, y),
    "leaves": lambda p, x, y: ({"b": jax.grad(lambda b: loss({"w": p["w"], "b": b}, x, y))(p["b"]),
                                "w": jax.grad(lambda w: loss({"w": w, "b": p["b"]}, x, y))(p["w"])}, loss(p, x, y)),
    "explicit": lambda p, x, y: commsched.value_and_grad(loss)(p, x, y)[::-1],
    "explicit_grad": lambda p, x, y: (commsched.grad(loss)(p, x, y), loss(p, x, y)),
    "inner_jit": lambda p, x, y: jax.value_and_grad(jax.jit(loss))(p, x, y)[::-1],
    "remat": lambda p, x, y: jax.value_and_grad(jax.checkpoint(loss))(p, x, y)[::-1],
}
before = jax.value_and_grad(loss)
STYLES["bound_before"] = lambda p, x, y: before(p, x, y)[::-1]
jitted = jax.jit(lambda p, x, y: jax.value_and_grad(loss)(p, x, y)[::-1])
STYLES["jitted_and_run_before"] = jitted


@pytest.mark.parametrize("style", STYLES)
def test_where_gradients_are_found(style):
    def step(params, x, y):
        grads, value = STYLES[style](params, x, y)
        return update(params, grads), value
    step(PARAMS, X, Y)  # runs as ever, before ...
    text = commsched.transpile(step, PARAMS, X, Y, batch=(1, 2)).mlir()
    assert sorted(gradients(text)) == ["b", "w"]
    after, _ = jax.jit(step)(PARAMS, X, Y)  # ... and after
    wanted = update(PARAMS, jax.grad(loss)(PARAMS, X, Y))
    np.testing.assert_allclose(after["w"], wanted["w"], rtol=1e-5)


def accumulated(params, x, y):
    def one(total, xy):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *xy)), None
    pieces = x.reshape(2, -1, 3), y.reshape(2, -1, 2)
    grads, _ = jax.lax.scan(one, jax.tree.map(jnp.zeros_like, params), pieces)
    return jax.tree.map(lambda g: g / 2, grads)


def test_accumulated_gradients_are_marked_by_hand():
    def step(params, x, y):
        grads = commsched.mark_gradients(accumulated(params, x, y), params)
        return update(params, grads), loss(params, x, y)
    text = commsched.transpile(step, PARAMS, X, Y, batch=(1, 2)).mlir()
    assert sorted(gradients(text)) == ["b", "w"]

    def unmarked(params, x, y):
        return update(params, accumulated(params, x, y)), loss(params, x, y)
    with pytest.raises(commsched.FrontEndError, match="inside a loop.*mark_gradients"):
        commsched.transpile(unmarked, PARAMS, X, Y, batch=(1, 2))


def test_running_statistics_in_the_parameters_are_state():
    params = PARAMS | {"mean": np.zeros(3, np.float32)}

    def step(params, x, y):
        grads = jax.grad(loss)({k: params[k] for k in "wb"}, x, y)
        return update({k: params[k] for k in "wb"}, grads) | {"mean": x.mean(0)}, loss(params, x, y)
    arguments, _ = head(commsched.transpile(step, params, X, Y, batch=(1, 2)).mlir())
    assert ("state", "mean") in arguments and ("param", "w") in arguments


def test_further_functions_share_the_parameters():
    def evaluate(params, x):
        return {"mean": (x @ params["w"]).mean(), "count": (x > 0).mean()}
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=2,
                                  functions={"eval": (evaluate, PARAMS, X[:4])})
    arguments, results = head(program.mlir(), "eval")
    assert arguments == [("param", "b"), ("param", "w"), ("batch", "x")]
    assert results == [("metric", "count"), ("metric", "mean")]
    assert "%x: tensor<2x3xf32>" in program.mlir().split("@eval")[1]


def test_values_come_back_as_they_went_in():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    assert jax.tree.structure(program.params) == jax.tree.structure(PARAMS)
    np.testing.assert_array_equal(program.params["w"], PARAMS["w"])
    program.set_slots({"b": np.ones(2, np.float32)})
    np.testing.assert_array_equal(program.params["b"], 1)
    with pytest.raises(ValueError, match=r"'b' must match float32\[2\], got: float32\[3\]"):
        program.set_slots({"b": np.ones(3, np.float32)})
    with pytest.raises(KeyError):
        program.set_slots({"c": np.ones(3, np.float32)})


@pytest.mark.parametrize("kind", [list, tuple, Pair._make], ids=["list", "tuple", "namedtuple"])
def test_a_step_may_return_its_parameters_alone(kind):
    params = kind([PARAMS["w"], PARAMS["b"]])

    def step(params, x, y):
        grads = jax.grad(lambda p: loss({"w": p[0], "b": p[1]}, x, y))(params)
        return update(params, grads)
    program = commsched.transpile(step, params, X, Y, batch=(1, 2))
    assert [k for k, _ in head(program.mlir())[1]] == ["updates", "updates"]
    assert jax.tree.structure(program.params) == jax.tree.structure(params)


def test_the_same_step_gives_the_same_text():
    texts = {commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2)).mlir() for _ in range(3)}
    assert len(texts) == 1
