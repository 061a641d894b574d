# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Randomness by worker: commsched.worker_index() and worker_key(), beside JAX that computes each worker's part
with that worker's index."""

import itertools
import os
import subprocess
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
import reference
from commsched import tools

with_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
SAMPLES, STEPS = 16, 5
rng = np.random.default_rng(7)
PARAMS = {"a": (rng.standard_normal((6, 32)) / 4).astype(np.float32),
          "b": (rng.standard_normal((32, 2)) / 8).astype(np.float32)}
KEY = np.asarray(jax.random.PRNGKey(3))
BATCHES = [(rng.standard_normal((SAMPLES, 6)).astype(np.float32), rng.standard_normal((SAMPLES, 2)).astype(np.float32))
           for _ in range(STEPS)]


def dropout(p, key, x, y):
    h = jnp.tanh(x @ p["a"])
    h = jnp.where(jax.random.bernoulli(key, 0.5, h.shape), 2 * h, 0)
    return jnp.mean((h @ p["b"] - y) ** 2)


def everywhere(p, key, x, y):
    """Masks from keys that are folded in a loop, under vmap, jit, checkpoint and a branch."""
    @jax.jit
    def mask(key, h):
        return jnp.where(jax.random.bernoulli(commsched.worker_key(key), 0.75, h.shape), h, 0)

    def layer(h, key):
        return jax.checkpoint(lambda h: jnp.tanh(mask(key, h)))(h) + 0.25 * h, None
    keys = jax.random.split(key, 3)
    h = jax.vmap(lambda row: jnp.tanh(row @ p["a"]))(x)
    h = jax.lax.scan(layer, h, keys)[0]
    each = jax.vmap(lambda k, row: row * jax.random.uniform(commsched.worker_key(k)))(jax.random.split(key, len(x)), h)
    scale = jax.lax.cond(commsched.worker_index() % 2 == 0, lambda: 1.0, lambda: 0.5)
    return jnp.mean((scale * each @ p["b"] - y) ** 2)


def make_step(loss, own=lambda key: key):
    def step(params, key, x, y):
        key, drawn = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(params, own(drawn), x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), key, value
    return step


FOLDED, PLAIN = make_step(dropout, lambda key: commsched.worker_key(key)), make_step(dropout)


def expected(loss, own, workers, batches=BATCHES, params=PARAMS, key=KEY):
    """(losses, parameters, key) of JAX: the mean of what worker i makes of part i with the key own(key, i)."""
    gradient = jax.jit(lambda i, *a: jax.value_and_grad(lambda *b: loss(i, *b))(*a))
    losses = []
    for x, y in batches:
        key, drawn = jax.random.split(jnp.asarray(key))
        parts = [gradient(jnp.int32(i), params, own(drawn, i), *part) for i, part in
                 enumerate(zip(np.split(x, workers), np.split(y, workers)))]
        losses.append(np.mean([float(value) for value, _ in parts]))
        mean = jax.tree.map(lambda *g: sum(np.asarray(v, np.float64) for v in g) / workers, *(g for _, g in parts))
        params = jax.tree.map(lambda p, g: (p - 0.1 * g).astype(np.float32), params, mean)
    return losses, params, np.asarray(key)


def with_index(loss):
    """The loss on worker i, where i may be traced: every index that it asks for is that one."""
    def on(i, *arguments):
        from commsched.frontend import jax_worker
        saved, jax_worker.worker_index = jax_worker.worker_index, lambda: i
        try:
            return loss(*arguments)
        finally:
            jax_worker.worker_index = saved
    return on


def transpile(step=FOLDED, workers=4, **options):
    return commsched.transpile(step, PARAMS, KEY, *BATCHES[0], batch=(2, 3), cluster=workers, **options)


def compare(losses, params, key, wanted, tolerance=2e-5):
    np.testing.assert_allclose(losses, wanted[0], rtol=tolerance)
    for name, value in wanted[1].items():
        np.testing.assert_allclose(params[name], value, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_array_equal(key, wanted[2])


fold = jax.random.fold_in


def same(key, worker):
    return key


def of_worker(loss):
    return lambda i, *arguments: loss(*arguments)


# ---- the front end ------------------------------------------------------------------------
def test_on_one_device_it_is_nought():
    assert commsched.worker_index() == 0 and commsched.worker_index().dtype == np.int32
    assert jax.jit(lambda: commsched.worker_index() + 1)() == 1
    assert jax.vmap(lambda x: x + commsched.worker_index())(jnp.arange(3)).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(commsched.worker_key(KEY), fold(KEY, 0))
    typed = jax.random.key(3)
    np.testing.assert_array_equal(jax.random.key_data(commsched.worker_key(typed)), fold(KEY, 0))


def test_it_is_an_operation_of_the_program_only():
    jax.jit(FOLDED)(PARAMS, KEY, *BATCHES[0])  # traced before, as by a user who tries the step first
    text = transpile().mlir()
    assert text.count("cs.worker_index : tensor<i32>") == 1
    assert "cs.worker_index" not in transpile(PLAIN, workers=1).mlir()
    assert jax.jit(lambda: commsched.worker_index())() == 0


@pytest.mark.skipif(not reference.available, reason="the stock MLIR tools are not there")
def test_the_program_of_one_device_is_jax():
    found = reference.Compiled(transpile(workers=1).mlir(cluster=False))(PARAMS["a"], PARAMS["b"], KEY, *BATCHES[0])
    wanted = jax.jit(FOLDED)(PARAMS, KEY, *BATCHES[0])
    for a, b in zip(found, jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a.view(b.dtype), b, rtol=1e-5, atol=1e-6)


def test_a_value_while_the_step_is_traced_is_refused():
    def step(params, key, x, y):
        with jax.ensure_compile_time_eval():
            index = commsched.worker_index()
        return make_step(lambda p, *a: dropout(p, *a) * (1 + index))(params, key, x, y)
    with pytest.raises(commsched.FrontEndError, match=r"worker_index\(\) is computed while the step is traced"):
        transpile(step)


# ---- training -----------------------------------------------------------------------------
@with_tools
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_folded_keys_follow_jax(workers):
    program = transpile(workers=workers)
    losses = [m["loss"] for m in program.run(BATCHES)]
    wanted = expected(of_worker(dropout), fold, workers)
    compare(losses, program.params, program.state[0], wanted)
    program.close()
    # Other masks give another result, so that this says something.
    if workers > 1:
        other = expected(of_worker(dropout), same, workers)
        assert np.abs(other[1]["b"] - wanted[1]["b"]).max() > 1e-3


@with_tools
def test_keys_that_are_not_folded_draw_what_one_device_draws():
    program = transpile(PLAIN)
    losses = [m["loss"] for m in program.run(BATCHES)]
    compare(losses, program.params, program.state[0], expected(of_worker(dropout), same, 1))
    program.close()


@with_tools
@pytest.mark.parametrize("workers", [1, 3])
def test_in_loops_branches_and_under_transformations(workers):
    batches = [(x[:12], y[:12]) for x, y in BATCHES]
    step = make_step(everywhere)
    program = commsched.transpile(step, PARAMS, KEY, *batches[0], batch=(2, 3), cluster=workers)
    losses = [m["loss"] for m in program.run(batches)]
    compare(losses, program.params, program.state[0], expected(with_index(everywhere), same, workers, batches))
    program.close()
    if workers == 1:
        *_, loss = jax.jit(step)(PARAMS, KEY, *batches[0])
        np.testing.assert_allclose(losses[0], loss, rtol=1e-5)


@with_tools
@pytest.mark.parametrize("options", [commsched.ParameterServers(servers=2, min_block_elements=16),
                                     commsched.AllReduce(schedule="fifo"),
                                     commsched.AllReduce(sparse=commsched.Sparse(0.999, method="allgather", min_elements=1))],
                         ids=["servers", "fifo", "sparse"])
def test_in_other_modes(options):
    program = transpile(workers=2, strategy=options)
    losses = [m["loss"] for m in program.run(BATCHES)]
    compare(losses, program.params, program.state[0], expected(of_worker(dropout), fold, 2))
    program.close()


@with_tools
@pytest.mark.parametrize("options", [dict(mode="async"), dict(mode="half-async", merge=1)])
def test_trainers_of_asynchronous_servers_have_indices(options):
    """With one trainer nothing is late."""
    program = transpile(workers=1, strategy=commsched.ParameterServers(**options))
    losses = [m["loss"] for m in program.run(BATCHES)]
    compare(losses, program.params, program.state[0], expected(of_worker(dropout), fold, 1))
    program.close()


@with_tools
def test_the_index_is_that_of_the_part_of_the_batch():
    """In other functions too, on any number of workers."""
    def check(params, i):
        return {"wrong": 1.0 * jnp.sum(jnp.abs(i - commsched.worker_index())), "index": 1.0 * commsched.worker_index()}
    parts = np.zeros(SAMPLES, np.int32)
    program = transpile(functions={"check": (check, PARAMS, parts)})
    for workers in (4, 2, 1):
        program.run(BATCHES[:1], workers=workers)
        found = program.call("check", [np.repeat(np.arange(workers, dtype=np.int32), SAMPLES // workers)])
        assert found == [{"wrong": 0, "index": (workers - 1) / 2}]
    program.close()


@with_tools
def test_the_reference_has_it_too():
    program = transpile(workers=2)
    rows = {row.name: row for row in program.check(BATCHES[:2])}
    assert set(rows) >= {"a", "b", "key"}
    program.close()


@with_tools
def test_the_number_of_workers_may_change():
    program = transpile(workers=4)
    program.run(BATCHES[:2], workers=4)
    losses = [m["loss"] for m in program.run(BATCHES[2:], workers=2)]
    _, params, key = expected(of_worker(dropout), fold, 4, BATCHES[:2])
    compare(losses, program.params, program.state[0], expected(of_worker(dropout), fold, 2, BATCHES[2:], params, key))
    program.close()


@with_tools
def test_a_new_plan_changes_no_index():
    program = transpile(workers=2, strategy=commsched.AllReduce(schedule="fifo"))

    def until_switched():
        left = 20
        for step, batch in enumerate(itertools.cycle(BATCHES)):
            left -= "switched" in [event["kind"] for event in program.replans]
            if left == 0 or step == 60000:
                return
            time.sleep(0.002)  # steps are short, and making a plan is not
            yield batch
    losses = [m["loss"] for m in program.run(until_switched(), replan=commsched.Replan(every=20, window=10))]
    assert "switched" in [event["kind"] for event in program.replans], program.replans
    values = {name: value.tobytes() for name, value in program.slots().items()}
    program.close()
    without = transpile(workers=2, strategy=commsched.AllReduce(schedule="fifo"))
    assert [m["loss"] for m in without.run(itertools.islice(itertools.cycle(BATCHES), len(losses)))] == losses
    assert {name: value.tobytes() for name, value in without.slots().items()} == values
    without.close()


# ---- processes ----------------------------------------------------------------------------
@pytest.fixture
def job(tmp_path):
    """Runs cs-run on the program's plan in a folder with its initial values and batches; gives its checkpoint."""
    safetensors = pytest.importorskip("safetensors.numpy")
    np.savez(tmp_path / "batch.npz", x=np.concatenate([x for x, _ in BATCHES]), y=np.concatenate([y for _, y in BATCHES]))

    def start(program, *arguments, name="out"):
        signed = {n: v.view(np.int32) if v.dtype == np.uint32 else v for n, v in program.slots().items()}
        safetensors.save_file(signed, tmp_path / "init.safetensors")
        (tmp_path / "plan").write_bytes(program.plan)
        done = subprocess.run([tools.find("cs-run"), "plan", "--batch", "batch.npz", "--checkpoint", name, *map(str, arguments)],
                              cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return safetensors.load_file(tmp_path / name)
    return start


@with_tools
@pytest.mark.parametrize("workers", [2, 4])
def test_processes_give_what_threads_give(job, workers):
    program = transpile(workers=workers)
    found = job(program, "--spawn", workers, "--init", "init.safetensors", "--steps", STEPS)
    wanted = expected(of_worker(dropout), fold, workers)
    for name, value in wanted[1].items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-5)
    program.run(BATCHES)
    for name, value in program.slots().items():
        assert found[name].tobytes() == value.tobytes(), name
    program.close()


@with_tools
def test_a_resumed_run_goes_on_with_its_keys(job):
    program = transpile(workers=2)
    whole = job(program, "--spawn", 2, "--init", "init.safetensors", "--steps", STEPS, name="whole")
    job(program, "--spawn", 2, "--init", "init.safetensors", "--steps", 2, name="half")
    for how in (["--spawn", 2], []):
        resumed = job(program, *how, "--resume", "half", "--steps", STEPS - 2, name="resumed")
        assert {n: v.tobytes() for n, v in resumed.items()} == {n: v.tobytes() for n, v in whole.items()}
    # Also from Python.
    other = transpile(workers=2)
    other.run(BATCHES[:2])
    saved = other.slots()
    other.close()
    program.set_slots(saved)
    program.run(BATCHES[2:])
    assert {n: v.tobytes() for n, v in program.slots().items()} == {n: whole[n].tobytes() for n in saved}
    program.close()


# ---- what would make workers drift apart ---------------------------------------------------
def carries_its_key(params, key, x, y):
    """The folded key is the next one."""
    params, _, loss = FOLDED(params, key, x, y)
    return params, commsched.worker_key(key), loss


def moves_by_index(params, key, x, y):
    params, key, loss = PLAIN(params, key, x, y)
    return {**params, "b": params["b"] + commsched.worker_index()}, key, loss


@with_tools
@pytest.mark.parametrize("strategy", [commsched.AllReduce(), commsched.ParameterServers()], ids=["all-reduce", "servers"])
@pytest.mark.parametrize("step, message", [
    (carries_its_key, 'new value of state "key" depends on the worker\'s index, and .* cannot be averaged over the '
                      'workers: workers would drift apart'),
    (moves_by_index, 'new value of parameter "b" depends on the worker\'s index other than through its cs.gradient: '
                     'workers would drift apart')])
def test_drift_is_refused(step, message, strategy):
    with pytest.raises(commsched.RefusedProgram, match=message):
        transpile(step, workers=2, strategy=strategy)


@with_tools
def test_state_that_differs_is_averaged():
    """As running statistics are."""
    def step(params, key, mean, x, y):
        params, key, loss = FOLDED(params, key, x, y)
        return params, key, 0.5 * mean + commsched.worker_index(), loss
    program = commsched.transpile(step, PARAMS, KEY, np.ones(3, np.float32), *BATCHES[0], batch=(3, 4), cluster=4)
    program.run(BATCHES[:2])
    np.testing.assert_allclose(program.state[1], (0.5 * (0.5 * 1 + 1.5) + 1.5) * np.ones(3), rtol=1e-6)
    program.close()
