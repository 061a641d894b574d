# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms that are shared among the workers: training has the same bits as when every worker computes all of them."""

import ctypes
import os
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from commsched import native, tools

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
SIZES, SAMPLES = (33, 67, 48, 10), 12


def init():
    random = np.random.default_rng(0)
    return {f"layer{i}": {"w": (random.standard_normal((a, b)) / np.sqrt(a)).astype(np.float32),
                          "b": np.zeros(b, np.float32)} for i, (a, b) in enumerate(zip(SIZES, SIZES[1:]))}


def loss(params, x, y):
    for i in range(len(params)):
        x = jnp.tanh(x) @ params[f"layer{i}"]["w"] + params[f"layer{i}"]["b"]
    return jnp.square(x - y).mean()


def lars(rate=0.1, momentum=0.9, decay=1e-4):
    """You et al., "Large batch training of convolutional networks", 2017."""
    def update(grads, velocity, params):
        def one(w, g, v):
            own, of_gradient = jnp.sqrt(jnp.sum(w * w)), jnp.sqrt(jnp.sum(g * g))
            ratio = jnp.where((own > 0) & (of_gradient > 0), own / (of_gradient + decay * own + 1e-9), 1.0)
            return momentum * v - rate * ratio * (g + decay * w)
        velocity = jax.tree.map(one, params, grads, velocity)
        return velocity, velocity
    return optax.GradientTransformation(lambda params: jax.tree.map(np.zeros_like, params), update)


OPTIMIZERS = {"lars": lars, "optax lars": lambda: optax.lars(0.1, 1e-4), "lamb": lambda: optax.lamb(1e-2),
              "clip": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.1, 0.9)),
              "clip, then lars": lambda: optax.chain(optax.clip_by_global_norm(0.1), lars())}


def batches(count):
    random = np.random.default_rng(1)
    return [(random.standard_normal((SAMPLES, SIZES[0])).astype(np.float32),
             random.standard_normal((SAMPLES, SIZES[-1])).astype(np.float32)) for _ in range(count)]


def training(name, cluster, **options):
    """(program, step, first state)"""
    optimizer, params = OPTIMIZERS[name](), init()

    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    state = optimizer.init(params)
    return commsched.transpile(step, params, state, *batches(1)[0], batch=(2, 3), cluster=cluster,
                               strategy=commsched.AllReduce(**options)), step, (params, state)


def compiled(program, folder, spread, schedule="solver", cluster=None, more=()):
    """(module at level 1, plan): with all sums spread, whether that pays or not. cluster: another one of as many devices."""
    module, graph, scheduled, plan = (folder / n for n in ("step.mlir", "graph.mlir", "scheduled.mlir", "plan"))
    module.write_text(program.mlir(0, cluster=cluster is None) + "\n".join(cluster.mlir() if cluster else []))
    passes = ["--cse", "--insert-dist-comm", "--replicate-devices", "--assign-devices", *more]
    if spread:
        passes.append("--spread-sums=min-elements=1 force=true")
    subprocess.run([tools.find("cs-opt"), *passes, module, "-o", graph], check=True)
    subprocess.run([tools.find("cs-opt"), f"--schedule-comm=policy={schedule}", "--expand-collectives", "--verify-distributed",
                    graph, "-o", scheduled], check=True)
    subprocess.run([tools.find("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan], check=True)
    return graph.read_text(), plan.read_bytes()


def run(program, plan, data):
    """(losses, bits of parameters and state)"""
    session, slots = native.Session(plan), program.slots()
    for name, value in slots.items():
        session.set_slot(name, value)
    description = program._description(program.workers)
    calls = [ctypes.c_uint64() for _ in data]
    for call, batch in zip(calls, data):
        session.call(None, description.flatten("step", batch), call)
    metrics = [session.metrics(call.value, description.metrics["step"]) for call in calls]
    values = {name: session.get_slot(name, value).tobytes() for name, value in slots.items()}
    session.close()
    return [m["loss"] for m in metrics], values


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_has_the_same_bits(name, tmp_path):
    data = batches(8)
    program, step, state = training(name, 4)
    graph, plan = compiled(program, tmp_path, spread=True)
    # Clipped gradients depend on a sum: their own norms stay.
    assert graph.count("scf.if") >= len(jax.tree.leaves(state[0]))
    found = run(program, plan, data)
    assert found == run(program, compiled(program, tmp_path, spread=False)[1], data)
    jitted, wanted = jax.jit(step), []
    for batch in data:
        *state, value = jitted(*state, *batch)
        wanted.append(float(value))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4)


@pytest.mark.parametrize("workers, schedule, cluster", [(2, "fifo", None), (3, "priority", None), (2, "dear", None),
                                                        (4, "solver", commsched.Cluster(2, devices=2))])
def test_other_clusters_and_schedules(workers, schedule, cluster, tmp_path):
    data, program = batches(5), training("lars", workers)[0]
    graph, plan = compiled(program, tmp_path, True, schedule, cluster)
    assert graph.count("cs.all_reduce \"spread.") > 1
    assert run(program, plan, data) == run(program, compiled(program, tmp_path, False, schedule, cluster)[1], data)


@pytest.mark.parametrize("method", ["allgather", "gtopk"])
def test_with_sparse_gradients(method, tmp_path):
    data, program = batches(5), training("lars", 2)[0]
    sparse = [f"--lower-sparse-comm=density=0.1 min-elements=1000 method={method}"]
    graph, plan = compiled(program, tmp_path, True, more=sparse)
    assert graph.count("cs.top_k") and graph.count("cs.all_reduce \"spread.") > 1
    assert run(program, plan, data) == run(program, compiled(program, tmp_path, False, more=sparse)[1], data)


def test_where_it_pays(monkeypatch):
    monkeypatch.setitem(globals(), "SIZES", (33, 256, 256, 256, 10))
    data = batches(4)
    plain = training("lars", 2)[0]
    wanted = plain.run(data)
    # By hand: 270 KB of weights are 14 us of 20 GB/s, or 270 us of 1 GB/s; a message takes 70 us, or 20.
    assert "\"spread." not in training("lars", 2, spread_sums=True)[0].mlir(1)
    slow_memory = commsched.Cluster(2, gb_per_s=1, latency_ns=100, mbit_per_s=100_000)
    program = training("lars", slow_memory, spread_sums=True)[0]
    assert "\"spread." in program.mlir(1) and "\"spread." not in training("lars", slow_memory)[0].mlir(1)
    # As long as the link is what a step waits for, less compute is of no use.
    slow_link = commsched.Cluster(2, gb_per_s=1, latency_ns=100, mbit_per_s=100)
    assert "\"spread." not in training("lars", slow_link, spread_sums=True)[0].mlir(1)
    assert program.run(data) == wanted
    for name, value in plain.slots().items():
        np.testing.assert_array_equal(program.slots()[name], value)
    with pytest.raises(ValueError, match="spread_sums must be True or False, got: 3"):
        commsched.AllReduce(spread_sums=3)


def test_processes_and_the_simulator(tmp_path):
    from safetensors.numpy import load_file, save_file
    data = batches(4)
    program = training("lars", 2)[0]
    compiled(program, tmp_path, spread=True)
    _, values = run(program, (tmp_path / "plan").read_bytes(), data)
    save_file(program.slots(), tmp_path / "init.safetensors")
    np.savez(tmp_path / "batch.npz", x=np.concatenate([b[0] for b in data]), y=np.concatenate([b[1] for b in data]))
    for command in (["--spawn", "2", "--init", "init.safetensors", "--batch", "batch.npz", "--steps", "4", "--save-params", "out"],
                    ["--simulate"]):
        done = subprocess.run([tools.find("cs-run"), "plan", *command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    for name, value in load_file(tmp_path / "out").items():
        assert value.tobytes() == values[name]
