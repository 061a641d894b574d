# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of JAX through the front end, interpreted, against JAX itself within the bounds; and workers."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from conftest import interpret

STEPS = 3


def mlp(rng, sizes=(6, 16, 3)):
    return [{"w": (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32), "b": np.zeros(s[1], np.float32)}
            for s in zip(sizes, sizes[1:])]


def forward(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def cross_entropy(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


def training(optimizer, loss):
    def step(params, state, batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    return step


def two_towers(params, x, _):
    a, b, c, d = (params[k] for k in "abcd")
    x = x.reshape(-1, 2, x.shape[1] // 2)
    products = (jnp.tanh(x[:, 0] @ a) @ b) @ (jnp.tanh(x[:, 1] @ c) @ d).T
    return jax.nn.logsumexp(products, 1).mean()


def shared_weight(params, x, _):
    return jnp.mean(jnp.tanh(jnp.tanh(x @ params["w"]) @ params["w"]) ** 2)


def convolution(params, x, y):
    x = x.reshape(-1, 6, 4, 1)
    x = jax.lax.conv_general_dilated(x, params["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    logits = x.reshape(x.shape[0], -1) @ params["w"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def attention(params, x, _):
    x = x.reshape(-1, 4, 6)
    q, k, v = (x @ params[n] for n in "qkv")
    mask = jnp.tril(jnp.ones((4, 4), bool))
    scores = jnp.where(mask, jnp.einsum("bij,bkj->bik", q, k) / np.sqrt(6), -1e9)
    x = jax.nn.softmax(scores, -1) @ v
    return jnp.mean(jnp.square((x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
                               * params["s"]) * jnp.arange(6))


def scanned(params, x, _):
    def cell(h, row):
        return jnp.tanh(h @ params["h"] + row @ params["i"]), None
    h, _ = jax.lax.scan(cell, jnp.zeros((x.shape[0], 5), jnp.float32), jnp.moveaxis(x.reshape(-1, 4, 6), 1, 0))
    return jnp.mean(h ** 2)


def gather(params, x, y):
    return jnp.mean(jnp.sum(params["table"][y] * x[:, :6], -1) ** 2)


def matrices(rng, **shapes):
    return {k: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for k, s in shapes.items()}


MODELS = {
    "mlp": (lambda r: mlp(r, (24, 16, 3)), cross_entropy, optax.lamb(1e-2)),
    "adam": (lambda r: mlp(r, (24, 16, 3)), cross_entropy, optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))),
    "two towers": (lambda r: matrices(r, a=(12, 12), b=(12, 12), c=(12, 12), d=(12, 12)), two_towers, optax.sgd(0.1)),
    "shared weight": (lambda r: matrices(r, w=(24, 24)), shared_weight, optax.adamw(1e-3)),
    "convolution": (lambda r: matrices(r, k=(3, 3, 1, 4), w=(24, 3)), convolution, optax.rmsprop(1e-2)),
    "attention": (lambda r: matrices(r, q=(6, 6), k=(6, 6), v=(6, 6), s=(6,)), attention, optax.sgd(0.1, nesterov=True, momentum=0.9)),
    "scan": (lambda r: matrices(r, h=(5, 5), i=(6, 5)), scanned, optax.sgd(0.1)),
    "gather": (lambda r: matrices(r, table=(3, 6)), gather, optax.adagrad(0.1)),
}


def states_of(program, carried):
    """The slots that the trees of the arguments are, by name."""
    slots = program.slots()
    numbers = {name: np.full(value.shape, i, value.dtype) if value.dtype != bool else value
               for i, (name, value) in enumerate(slots.items())}
    description = program._description(program.workers)
    restored = description.restore(numbers)
    places = jax.tree.leaves([restored[i] for i in sorted(restored)])
    names = list(slots)
    leaves = jax.tree.leaves(carried)
    assert len(places) == len(leaves)
    return {names[int(np.asarray(p).ravel()[0])]: np.asarray(v) for p, v in zip(places, leaves)}


# The loss of two towers is over pairs of samples, of which several workers have others.
@pytest.mark.parametrize("name, workers", [(name, workers) for name in MODELS for workers in (1, 2)
                                           if (name, workers) != ("two towers", 2)])
def test_steps_of_jax(tmp_path, name, workers):
    make, loss, optimizer = MODELS[name]
    rng = np.random.default_rng(0)
    params = make(rng)
    step = training(optimizer, loss)
    batches = [(rng.standard_normal((8, 24)).astype(np.float32), rng.integers(0, 3, 8).astype(np.int32))
               for _ in range(STEPS)]
    carried = (params, optimizer.init(params))
    program = commsched.transpile(step, *carried, batches[0], cluster=workers)
    jitted = jax.jit(step)
    values = {f"0:{k}": v for k, v in states_of(program, carried).items()}
    losses, flat = [], []
    for s, batch in enumerate(batches):
        *carried, value = jitted(*carried, batch)
        losses.append(float(value))
        values |= {f"{s + 1}:{k}": v for k, v in states_of(program, carried).items()}
        flat.append(program._description(workers).flatten("step", batch))
    joined = {k: np.concatenate([np.asarray(b[k]) for b in flat]) for k in flat[0]}
    found = interpret(tmp_path, program.mlir(0, cluster=False), values, joined, STEPS, workers, ["--interpret-each"])
    compared = idle = 0
    for key, wanted in values.items():
        if key.startswith("0:"):
            continue
        value, bound = found[key].astype(np.float64), found[key + ".bound"]
        known = np.isfinite(bound)
        apart = np.abs(value - wanted.astype(np.float64))
        assert (apart[known] <= bound[known]).all(), (key, (apart - bound)[known].max(), apart.max())
        compared += known.sum()
        # Bounds that say something: far below the size of the tensor.
        idle += (bound > 0.05 * np.abs(wanted).max() + 1e-6).sum()
    assert compared > 0 and idle <= 0.02 * compared, (idle, compared)
    for s, loss in enumerate(losses):
        (metric,) = [k for k in found if k.startswith(f"{s + 1}:metric:") and not k.endswith(".bound")]
        assert abs(found[metric] - loss) <= found[metric + ".bound"] <= 1e-3 * max(1, abs(loss))


STEP = """
func.func @step(%w: tensor<3xf32> {cs.param = "w"}, %x: tensor<2x3xf32> {cs.batch = "x"})
    -> (tensor<3xf32> {cs.updates = "w"}, tensor<f32> {cs.metric = "first"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %g = linalg.reduce { arith.addf } ins(%x : tensor<2x3xf32>) outs(%zero : tensor<3xf32>) dimensions = [0]
  %m = cs.gradient %g of "w" : tensor<3xf32>
  %n = arith.subf %w, %m : tensor<3xf32>
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c, %c] : tensor<2x3xf32>
  %f = tensor.from_elements %e : tensor<f32>
  return %n, %f : tensor<3xf32>, tensor<f32>
}
"""


def test_workers_share_the_batch_in_order(tmp_path):
    x = np.arange(48, dtype=np.float32).reshape(16, 3)
    found = interpret(tmp_path, STEP, {"w": np.zeros(3, np.float32)}, {"x": x}, steps=5, workers=3)
    w = np.zeros(3)
    for s in range(5):
        rows = x[[0, 1, 2, 3, 4, 5] if s % 2 == 0 else [6, 7, 8, 9, 10, 11]]
        w = w - rows.sum(0) / 3
        assert (np.abs(found[f"{s + 1}:w"] - w) <= found[f"{s + 1}:w.bound"] + 1e-6 * np.abs(w)).all()
        assert (found[f"{s + 1}:w.bound"] <= 1e-5 * np.abs(w)).all()
        np.testing.assert_allclose(found[f"{s + 1}:metric:first"], rows[[0, 2, 4], 0].mean(), rtol=1e-6)


def test_a_batch_that_is_too_small(tmp_path):
    interpret(tmp_path, STEP, {"w": np.zeros(3, np.float32)}, {"x": np.zeros((5, 3), np.float32)}, workers=3,
              fails='batch "x" must have at least 6 samples, got: 5')


def test_values_of_another_type(tmp_path):
    interpret(tmp_path, STEP, {"w": np.zeros(4, np.float32)}, {"x": np.zeros((2, 3), np.float32)},
              fails='value of "w" must match \'tensor<3xf32>\', got: \'tensor<4xf32>\'')


def test_workers_that_drift_apart(tmp_path):
    interpret(tmp_path, STEP.replace("cs.gradient %g of \"w\"", "tensor.cast %g").replace(": tensor<3xf32>\n  %n",
              ": tensor<3xf32> to tensor<3xf32>\n  %n"), {"w": np.zeros(3, np.float32)},
              {"x": np.arange(12, dtype=np.float32).reshape(4, 3)}, workers=2, fails="they would drift apart")


def test_gradients_of_helpers_and_the_same_output_twice(tmp_path):
    text = """
func.func private @mark(%g: tensor<2xf32>) -> tensor<2xf32> {
  %m = cs.gradient %g of "w" : tensor<2xf32>
  return %m : tensor<2xf32>
}
func.func @step(%w: tensor<2xf32> {cs.param = "w"}, %x: tensor<1x2xf32> {cs.batch = "x"})
    -> (tensor<2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %r = tensor.collapse_shape %x [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
  %m = call @mark(%r) : (tensor<2xf32>) -> tensor<2xf32>
  return %m : tensor<2xf32>
}
"""
    runs = [interpret(tmp_path, text, {"w": np.zeros(2, np.float32)}, {"x": np.array([[1, 2], [3, 6]], np.float32)},
                      workers=2) for _ in range(2)]
    np.testing.assert_array_equal(runs[0]["1:w"], [2, 4])
    assert (runs[0]["1:w.bound"] == 0).all()
    assert runs[0].keys() == runs[1].keys()


def test_the_sum_of_gradients(tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = interpret(tmp_path, STEP, {"w": np.zeros(3, np.float32)}, {"x": x}, workers=2,
                      options=["--interpret-reduction=sum"])
    np.testing.assert_array_equal(found["1:w"], -x.sum(0))
