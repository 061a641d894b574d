# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ParameterServers(row_sparse=...): what becomes of indexing a table, and what is trained."""

import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from commsched.errors import FrontEndError, ToolError

WORDS, WIDTH, SAMPLES = 300, 8, 8
needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def initial(seed=0):
    random = np.random.default_rng(seed)
    return {"table": random.standard_normal((WORDS, WIDTH), np.float32),
            "dense": random.standard_normal((WIDTH,), np.float32)}


def batches(count, seed=1, shape=(SAMPLES, 3), low=0, high=WORDS):
    random = np.random.default_rng(seed)
    return [{"words": random.integers(low, high, shape).astype(np.int32),
             "next": random.integers(0, WORDS, SAMPLES).astype(np.int32),
             "y": random.standard_normal(SAMPLES, np.float32)} for _ in range(count)]


# Ways to read rows: indices of rank 1 and 2, what jnp.take does about those outside, columns of ids.
READS = {
    "index": lambda table, batch: table[batch["words"]].sum(1),
    "take": lambda table, batch: jnp.take(table, batch["words"], axis=0).mean(1),
    "clip": lambda table, batch: jnp.take(table, batch["words"], axis=0, mode="clip").mean(1),
    "column": lambda table, batch: table[batch["words"][:, 0]],
    "twice": lambda table, batch: table[batch["words"]].sum(1) * table[batch["next"]],
    "same": lambda table, batch: table[batch["next"]] * jnp.tanh(table[batch["next"]]),
    "jitted": lambda table, batch: jax.jit(lambda t, i: t[i])(table, batch["words"]).sum(1),
    "mapped": lambda table, batch: jax.vmap(lambda i: table[i])(batch["words"]).sum(1),
}


def make_step(read, rate=0.1):
    def loss_of(params, batch):
        return jnp.mean((read(params["table"], batch) @ params["dense"] - batch["y"]) ** 2)

    def step(params, state, batch):
        loss, gradients = jax.value_and_grad(loss_of)(params, batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradients), state, loss
    return step


def program(step, state=(), workers=2, batch=None, functions={}, **more):
    options = dict(servers=2, min_block_elements=1000, row_sparse=["table"])
    return commsched.transpile(step, initial(), state, batch or batches(1)[0], cluster=workers, functions=functions,
                               strategy=commsched.ParameterServers(**{**options, **more}))


def count(text, op):
    return len(re.findall(re.escape(op), text))


@pytest.mark.parametrize("name", READS)
def test_rows_are_looked_up_and_summed(name):
    text = program(make_step(READS[name])).mlir(0)
    assert 'cs.param = "table", cs.row_sparse}' in text
    assert 'cs.param = "dense"}' in text
    lookups = {"twice": 2, "same": None}.get(name, 1)  # JAX may read the same rows once or twice
    assert lookups is None or count(text, "cs.lookup") == lookups
    assert count(text, "cs.segment_sum") == count(text, "cs.lookup") > 0
    assert "scf.for" not in text  # no scatter is left


def test_without_the_option_nothing_is_row_sparse():
    text = program(make_step(READS["index"]), row_sparse=[]).mlir(0)
    assert "cs.lookup" not in text and "cs.segment_sum" not in text and "cs.row_sparse" not in text


@pytest.mark.parametrize("options, words", [
    (dict(row_sparse=["tabel"]), ["row_sparse", "tabel", "table", "dense"]),
    (dict(row_sparse="tabel"), ["row_sparse", "tabel"]),
])
def test_options_that_do_not_fit(options, words):
    with pytest.raises(ValueError) as error:
        program(make_step(READS["index"]), **options)
    for word in words:
        assert word in str(error.value)


@needs_tools
@pytest.mark.parametrize("name", READS)
def test_sgd_follows_jax(name):
    step = make_step(READS[name])
    params, wanted = initial(), []
    given = batches(6, low=-WORDS if name in ("index", "take") else 0)
    for batch in given:
        params, _, loss = jax.jit(step)(params, (), batch)
        wanted.append(float(loss))
    trained = program(step)
    level1 = trained.mlir(1)
    assert count(level1, "cs.fetch_rows") == 1 and count(level1, "cs.send_rows") == 1
    np.testing.assert_allclose([m["loss"] for m in trained.run(given)], wanted, rtol=1e-4)
    for key, value in params.items():
        np.testing.assert_allclose(trained.params[key], value, rtol=1e-4, atol=1e-5, err_msg=key)
    trained.close()


@needs_tools
def test_rows_outside_are_what_jax_makes_of_them():
    """jnp.take gives NaN for them, and no gradient; mode="clip" the nearest row, and its gradient none."""
    def loss_of(params, batch):
        rows = jnp.take(params["table"], batch["words"], axis=0, mode="fill", fill_value=0)
        return jnp.mean((rows.sum(1) @ params["dense"] - batch["y"]) ** 2)

    def step(params, state, batch):
        loss, gradients = jax.value_and_grad(loss_of)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), state, loss
    params, given, wanted = initial(), batches(3, low=-2 * WORDS, high=2 * WORDS), []
    for batch in given:
        params, _, loss = jax.jit(step)(params, (), batch)
        wanted.append(float(loss))
    trained = program(step)
    np.testing.assert_allclose([m["loss"] for m in trained.run(given)], wanted, rtol=1e-4)
    np.testing.assert_allclose(trained.params["table"], params["table"], rtol=1e-4, atol=1e-5)
    trained.close()


@needs_tools
def test_adam_of_optax_is_lazy():
    """Against NumPy: a row and its moments change only in steps that read the row."""
    optax = pytest.importorskip("optax")
    rate, b1, b2, eps = 0.05, 0.9, 0.999, 1e-8
    optimizer = optax.adam(rate, b1, b2, eps)

    def step(params, state, batch):
        loss, gradients = jax.value_and_grad(
            lambda p, b: jnp.mean((p["table"][b["words"]].sum(1) @ p["dense"] - b["y"]) ** 2))(params, batch)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss
    given = batches(8, high=40)
    trained = program(step, optimizer.init(initial()))
    losses = [m["loss"] for m in trained.run(given)]

    table, dense = (initial()[k].astype(np.float64) for k in ("table", "dense"))
    moments = {k: [np.zeros_like(v), np.zeros_like(v)] for k, v in (("table", table), ("dense", dense))}
    for t, batch in enumerate(given, 1):
        words, y = batch["words"], batch["y"].astype(np.float64)
        bag = table[words].sum(1)
        error = 2 * (bag @ dense - y) / SAMPLES
        np.testing.assert_allclose(losses[t - 1], np.mean((bag @ dense - y) ** 2), rtol=1e-4)
        g = {"table": np.zeros_like(table), "dense": error @ bag}
        np.add.at(g["table"], words, np.outer(error, dense)[:, None, :])
        for key, value in (("table", table), ("dense", dense)):
            rows = np.unique(words) if key == "table" else slice(None)
            m, v = moments[key]
            m[rows] = b1 * m[rows] + (1 - b1) * g[key][rows]
            v[rows] = b2 * v[rows] + (1 - b2) * g[key][rows] ** 2
            value[rows] -= rate * (m[rows] / (1 - b1 ** t)) / (np.sqrt(v[rows] / (1 - b2 ** t)) + eps)
    np.testing.assert_allclose(trained.params["table"], table, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(trained.params["dense"], dense, rtol=1e-3, atol=1e-4)
    trained.close()


@needs_tools
def test_other_functions_read_the_whole_table():
    def accuracy(params, batch):
        return jnp.mean(params["table"][batch["words"]].sum(1) @ params["dense"])
    step = make_step(READS["index"])
    trained = program(step, functions={"accuracy": (accuracy, initial(), batches(1)[0])})
    given = batches(4)
    params = initial()
    for batch in given:
        trained.step(batch)
        params, _, _ = jax.jit(step)(params, (), batch)
        found = trained.call("accuracy", [given[0]])[0]
        np.testing.assert_allclose(list(found.values())[0], accuracy(params, given[0]), rtol=1e-3, atol=1e-4)
    trained.close()


def norm_penalty(params, batch):
    return jnp.sum(params["table"] ** 2) + jnp.mean(params["table"][batch["next"]])


def tied(params, batch):
    return jnp.mean(params["table"][batch["next"]] @ params["table"].T)


@needs_tools
@pytest.mark.parametrize("loss_of", [norm_penalty, tied])
def test_other_gradients_are_refused(loss_of):
    def step(params, state, batch):
        loss, gradients = jax.value_and_grad(loss_of)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), state, loss
    with pytest.raises(ToolError) as error:
        program(step).mlir(1)
    assert "table" in str(error.value) and "cs.segment_sum" in str(error.value)


def test_a_table_has_a_gradient():
    def step(params, state, batch):
        def loss_of(dense):
            return jnp.mean((params["table"][batch["next"]] @ dense - batch["y"]) ** 2)
        loss, gradient = jax.value_and_grad(loss_of)(params["dense"])
        return {"dense": params["dense"] - gradient, "table": 0.9 * params["table"]}, state, loss
    with pytest.raises(FrontEndError, match="no gradient of 'table'"):
        program(step).mlir(0)


def test_the_name_of_a_table_is_checked_first():
    with pytest.raises(FrontEndError):
        program(make_step(READS["index"]), row_sparse=["dense", "nothing"])
