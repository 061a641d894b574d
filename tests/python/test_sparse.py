# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AllReduce(sparse=...): options, and training with error feedback against the same in JAX."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from commsched.sparse import Sparse
from commsched.strategy import AllReduce, ParameterServers

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
RATE, MOMENTUM, SAMPLES = 0.05, 0.5, 32


def test_options():
    sparse = Sparse(0.01, "hitopk", 100, {"emb.*": 0.001, "last": (0.1, "dense")}, clip=2.0, momentum=0.9, select="sampled")
    assert AllReduce(sparse=sparse).pipeline(2) == [
        "--cs-all-reduce-pipeline=density=0.01 sparse-method=hitopk min-elements=100 "
        "sparse-rules=emb.*=0.001:hitopk,last=0.1:dense momentum-correction=0.9 clip=2.0 select=sampled"]
    assert AllReduce(sparse=Sparse(0.01, exact_every=128)).pipeline(2) == [
        "--cs-all-reduce-pipeline=density=0.01 sparse-method=auto min-elements=16384 exact-every=128"]
    mstopk = Sparse(0.01, "hitopk", select="mstopk", mstopk_samples=20, mstopk_early_stop=False, mstopk_seed=-3)
    assert AllReduce(sparse=mstopk).pipeline(2)[0].endswith(
        "min-elements=16384 select=mstopk mstopk-samples=20 mstopk-early-stop=false mstopk-seed=-3")
    rounded = Sparse(0.01, "hitopk", values="int8", unsent_rate=0.5)
    assert AllReduce(sparse=rounded).pipeline(2)[0].endswith("min-elements=16384 values=int8 unsent-rate=0.5")
    assert AllReduce(sparse=Sparse(0.01, select="mstopk")).pipeline(1)[-1].endswith("min-elements=16384 select=mstopk")
    assert AllReduce(sparse=Sparse(0.01, exact_every=128)).pipeline(1)[-1].endswith("min-elements=16384 exact-every=128")
    assert AllReduce(sparse=Sparse.of(0.25)).pipeline(1) == [
        "--insert-dist-comm", "--replicate-devices", "--assign-devices",
        "--lower-sparse-comm=density=0.25 method=auto min-elements=16384"]
    adam = Sparse(0.5, momentum=0.9, second_moment=0.99, feedback=False, fuse_bytes=0)
    assert AllReduce(sparse=adam).pipeline(2)[0].endswith(
        "min-elements=16384 feedback=false momentum-correction=0.9 second-moment=0.99 epsilon=1e-08 sparse-fuse-bytes=0")
    assert Sparse.of(None) is None and Sparse.of(sparse) is sparse


def test_warm_up():
    sparse = Sparse(0.01, warm_up=[(0.5, 10), (0.1, 5)], rules={"a": 0.2, "b": (0.001, "gtopk")})
    first, left = sparse.at(3)
    assert (first.density, left, first.rules) == (0.5, 7, {"a": (0.5, "auto"), "b": (0.5, "gtopk")})
    second, left = sparse.at(10)
    assert (second.density, left, second.rules) == (0.1, 5, {"a": (0.2, "auto"), "b": (0.1, "gtopk")})
    last, left = sparse.at(15)
    assert (last.density, left, last.rules) == (0.01, None, sparse.rules)


@pytest.mark.parametrize("options,words", [
    (dict(density=0), "density must be above 0"), (dict(density=1.5), "at most 1, got: 1.5"),
    (dict(density=True), "density"), (dict(method="ring"), "method must be one of auto"),
    (dict(select="best"), "select must be one of"), (dict(min_elements=-1), "min_elements"),
    (dict(rules={"a": 2}), "density of rules, of 'a',"), (dict(rules={"a": (0.1, "ring")}), "method of rules, of 'a',"),
    (dict(rules={"a,b": 0.1}), "without spaces"), (dict(warm_up=[0.1]), "warm_up must be pairs"),
    (dict(warm_up=[(0.1, 0)]), "warm_up must be pairs"), (dict(density=0.1, warm_up=[(1, 2), (0.5, 2), (1.0, 2)]), "density of 1 behind one that leaves"), (dict(momentum=1), "momentum must be"),
    (dict(momentum=0.5, feedback=False), "momentum must go with"), (dict(clip=-1), "clip must be a number, finite and not negative"),
    (dict(fuse_bytes=-1), "fuse_bytes must be"), (dict(second_moment=1), "second_moment must be"),
    (dict(second_moment=0.9, epsilon=0), "epsilon must be above 0, got: 0"),
    (dict(squares="sum"), "squares must be one of mean, own, got: 'sum'"),
    (dict(exact_every=0), "exact_every must be an integer of 1 to 16777216, got: 0"),
    (dict(exact_every=2.0), "exact_every must"), (dict(exact_every=True), "exact_every must"),
    (dict(select="mstopk", mstopk_samples=0), "mstopk_samples must be an integer of 1 to 100, got: 0"),
    (dict(select="mstopk", mstopk_samples=True), "mstopk_samples must"),
    (dict(select="mstopk", mstopk_early_stop=1), "mstopk_early_stop must be True or False, got: 1"),
    (dict(select="mstopk", mstopk_seed=1 << 63), "mstopk_seed must be an integer of 64 bits"),
    (dict(values="i8"), "values must be one of same, f16, bf16, int8, got: 'i8'"),
    (dict(values="f16", method="gtopk"), "values must be same with method gtopk, got: f16"),
    (dict(unsent_rate=-1), "unsent_rate must be a number, finite and not negative, got: -1"),
    (dict(unsent_rate=0.1, feedback=False), "unsent_rate must go with feedback=True"),
    (dict(mstopk_samples=7), "must go with select='mstopk', got: exact"),
    (dict(select="sampled", mstopk_seed=1), "must go with select='mstopk', got: sampled"),
    (dict(exact_every=2, feedback=False), "exact_every above 1 must go with"),
])
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        Sparse(**options)


@pytest.mark.parametrize("options,words", [
    (dict(sparse=Sparse(0.1, "hitopk")), "sparse must have method auto or dense with parameter servers, got: hitopk"),
    (dict(sparse=Sparse(0.1, rules={"w": (0.5, "gtopk")})), "must have method auto or dense .* got: gtopk"),
    (dict(sparse=Sparse(0.1, second_moment=0.9)), "sparse must have second_moment 0 with parameter servers, got: 0.9"),
    (dict(sparse=0.1, mode="async"), "sparse must go with mode='sync', got: mode='async'"),
    (dict(sparse=0.1, mode="half-async", merge=2), "sparse must go with mode='sync'"),
    (dict(sparse=2.0), "sparse must be above 0 and at most 1, got: 2.0"),
])
def test_what_servers_cannot_do(options, words):
    with pytest.raises(ValueError, match=words):
        ParameterServers(**options)


def test_options_for_servers():
    strategy = ParameterServers(servers=2, sparse=Sparse(0.1, min_elements=8, momentum=0.5, values="int8"))
    assert strategy.pipeline(2) == ["--cs-parameter-server-pipeline=servers=2 density=0.1 sparse-method=auto min-elements=8 "
                                    "momentum-correction=0.5 values=int8"]
    assert strategy.pipeline(1) == ["--insert-dist-comm=mode=parameter-server servers=2", "--replicate-devices", "--assign-devices",
                                    "--lower-sparse-comm=density=0.1 method=auto min-elements=8 momentum=0.5 values=int8"]


def initial():
    random = np.random.default_rng(3)
    return {"w1": (random.standard_normal((16, 32)) / 4).astype(np.float32), "b1": np.zeros(32, np.float32),
            "w2": (random.standard_normal((32, 4)) / 6).astype(np.float32)}


def loss_of(params, batch):
    hidden = jnp.tanh(batch["x"] @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - batch["y"]) ** 2)


def step(params, velocity, batch):
    loss, grads = commsched.value_and_grad(loss_of)(params, batch)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - RATE * v, params, velocity), velocity, loss


def batches(count):
    random = np.random.default_rng(5)
    target = random.standard_normal((16, 4))
    for _ in range(count):
        x = random.standard_normal((SAMPLES, 16)).astype(np.float32)
        yield {"x": x, "y": np.tanh(x @ target).astype(np.float32)}


def reference(count, workers, densities, min_elements, exact_every=1):
    """In JAX on one device; densities: of each step."""
    params = initial()
    velocity = {n: np.zeros_like(p) for n, p in params.items()}
    residuals = [{n: np.zeros_like(p) for n, p in params.items()} for _ in range(workers)]
    thresholds = [{} for _ in range(workers)]
    gradient, losses = jax.jit(jax.value_and_grad(loss_of)), []
    for number, (batch, density) in enumerate(zip(batches(count), densities)):
        total, loss = {n: np.zeros_like(p) for n, p in params.items()}, 0
        for worker in range(workers):
            rows = slice(SAMPLES * worker // workers, SAMPLES * (worker + 1) // workers)
            value, grads = gradient(params, {n: v[rows] for n, v in batch.items()})
            loss += float(value) / workers
            for name, g in grads.items():
                own = np.asarray(g) + residuals[worker][name]
                sent = own
                if own.size >= min_elements:
                    order = np.lexsort((np.arange(own.size), -np.abs(own.ravel())))[:max(1, round(density * own.size))]
                    if number % exact_every == 0:
                        thresholds[worker][name] = np.abs(own.ravel()[order]).min()
                    order = order[np.abs(own.ravel()[order]) >= thresholds[worker][name]]
                    sent = np.zeros_like(own)
                    sent.ravel()[order] = own.ravel()[order]
                    residuals[worker][name] = own - sent
                total[name] += sent / workers
        velocity = {n: MOMENTUM * velocity[n] + total[n] for n in params}
        params = {n: params[n] - RATE * velocity[n] for n in params}
        losses.append(loss)
    return params, losses


def program(workers, sparse=None, strategy=None):
    zeros = {n: np.zeros_like(p) for n, p in initial().items()}
    return commsched.transpile(step, initial(), zeros, next(batches(1)), cluster=workers,
                               strategy=strategy or AllReduce(sparse=sparse))


def check(made, metrics, want, losses):
    np.testing.assert_allclose([list(m.values())[0] for m in metrics], losses, rtol=1e-4)
    for name, value in want.items():
        np.testing.assert_allclose(made.params[name], value, rtol=1e-3, atol=1e-5, err_msg=name)


@needs_tools
def test_trains_as_jax_does():
    sparse = Sparse(0.05, "allgather", min_elements=64)
    made = program(4, sparse=sparse)
    assert "cs.top_k" in made.mlir(1) and 'cs.all_gather "w2+1"' in made.mlir(1)
    metrics = made.run(batches(15))
    want, losses = reference(15, 4, [0.05] * 15, 64)
    check(made, metrics, want, losses)
    made.close()


@needs_tools
def test_lists_to_servers_train_as_jax_does():
    """A parameter on one server is one block: trained as with an all-gather, warm-up and all."""
    made = program(2, strategy=ParameterServers(sparse=Sparse(0.05, min_elements=64, warm_up=[(0.4, 3), (0.2, 4)])))
    assert "cs.top_k" in made.mlir(1) and "cs.all_gather" not in made.mlir(1)
    whole = list(batches(12))
    metrics = made.run(whole[:5])
    made.close()  # residuals outlive trainers and servers
    metrics += made.run(whole[5:])
    want, losses = reference(12, 2, [0.4] * 3 + [0.2] * 4 + [0.05] * 5, 64)
    check(made, metrics, want, losses)
    made.close()


@needs_tools
def test_residuals_outlive_the_workers():
    made = program(2, sparse=Sparse(0.05, "hitopk", min_elements=64))
    whole = list(batches(12))
    metrics = made.run(whole[:5])
    made.close()
    metrics += made.run(whole[5:])
    want, losses = reference(12, 2, [0.05] * 12, 64)
    check(made, metrics, want, losses)
    made.close()


@needs_tools
def test_thresholds_serve_for_several_steps():
    made = program(2, sparse=Sparse(0.05, "allgather", min_elements=64, exact_every=4))
    assert 'cs.state = "w1.threshold"' in made.mlir(1)
    whole = list(batches(11))
    metrics = made.run(whole[:6])
    made.close()  # the thresholds outlive the workers
    metrics += made.run(whole[6:])
    want, losses = reference(11, 2, [0.05] * 11, 64, exact_every=4)
    check(made, metrics, want, losses)
    made.close()


@needs_tools
def test_warm_up_changes_the_plan():
    made = program(2, sparse=Sparse(0.05, "allgather", min_elements=64, warm_up=[(0.5, 3), (0.2, 4)]))
    metrics = made.run(batches(12))
    want, losses = reference(12, 2, [0.5] * 3 + [0.2] * 4 + [0.05] * 5, 64)
    check(made, metrics, want, losses)
    made.close()


@needs_tools
def test_workers_may_change():
    made = program(4, sparse=Sparse(0.05, "allgather", min_elements=64))
    whole = list(batches(6))
    made.run(whole[:3], workers=4)
    metrics = made.run(whole[3:], workers=2)
    assert len(metrics) == 3 and np.isfinite([list(m.values())[0] for m in metrics]).all()
    made.close()
