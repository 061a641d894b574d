# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a JAX step to training on several workers, with the compiler tools and the runtime.

Needs COMMSCHED_BIN: the bin folder of a build with cs-opt, cs-translate and libcommsched_c.so.
"""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from commsched import native, tools
from test_examples import make
from test_structure import PARAMS, X, Y, loss, plain

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    make("digits")
    return sys.modules["digits"]


def batches_of(digits, count):
    x, y, _, _ = digits.data()
    n = digits.GLOBAL_BATCH
    return [(x[i:i + n], y[i:i + n]) for i in range(0, count * n, n)]


def reference(step, state, batches):
    """(losses, final state) of JAX on one device."""
    losses, jitted = [], jax.jit(step)
    for batch in batches:
        *state, value = jitted(*state, *batch)
        losses.append(float(value))
    return losses, state


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_digits_net_follows_jax(digits, workers):
    batches = batches_of(digits, 20)
    params = digits.init()
    wanted, state = reference(digits.step, (params, jax.tree.map(np.zeros_like, params)), batches)
    program = make("digits").program()
    found = [m["loss"] for m in program.run(batches, workers=workers)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(program.params), jax.tree.leaves(state[0]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    _, _, test_x, test_y = digits.data()
    measured = program.call("eval", [(test_x, test_y)])[0]
    expected = digits.evaluate(state[0], test_x, test_y)
    assert measured["accuracy"] == pytest.approx(float(expected["accuracy"]), abs=0.006)
    assert measured["loss"] == pytest.approx(float(expected["loss"]), rel=1e-3)


def test_two_runs_of_a_plan_are_bitwise_equal(digits):
    batches = batches_of(digits, 10)
    outcomes = []
    for _ in range(2):
        program = make("digits").program()
        losses = [m["loss"] for m in program.run(batches)]
        outcomes.append((program.plan, losses, {n: v.tobytes() for n, v in program.slots().items()}))
        program.close()
    assert outcomes[0] == outcomes[1]


def test_runs_go_on_where_the_last_one_ended(digits):
    batches = batches_of(digits, 6)
    whole, parts = make("digits").program(), make("digits").program()
    wanted = whole.run(batches)
    found = parts.run(batches[:2]) + [parts.step(batches[2])]
    parts.close()
    found += parts.run(batches[3:])
    assert found == wanted
    for name, value in whole.slots().items():
        np.testing.assert_array_equal(value, parts.slots()[name])


def test_another_number_of_workers_takes_over(digits):
    batches = batches_of(digits, 6)
    program = make("digits").program(1)
    found = program.run(batches[:3]) + program.run(batches[3:], workers=4)
    params = digits.init()
    wanted, _ = reference(digits.step, (params, jax.tree.map(np.zeros_like, params)), batches)
    np.testing.assert_allclose([m["loss"] for m in found], wanted, rtol=1e-5)


def test_levels_are_those_of_the_tools():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=2)
    assert program.mlir(1).count("cs.all_reduce") == 2
    assert "cs.exchange" in program.mlir(2) and "cs.await" in program.mlir(2)
    assert program.plan[:8] == b"CSPLAN\0\1" and program.plan == program._plan(2)


def test_adam_with_a_schedule_and_integers_in_the_state():
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 50)))

    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    program = commsched.transpile(step, PARAMS, optimizer.init(PARAMS), X, Y, batch=(2, 3), cluster=2)
    found = [m["loss"] for m in program.run([(X, Y)] * 5)]
    wanted, state = reference(step, (PARAMS, optimizer.init(PARAMS)), [(X, Y)] * 5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    counts = [v for v in jax.tree.leaves(program.state[0]) if v.dtype == np.int32]
    assert counts and all(int(c) == 5 for c in counts)


def test_a_random_key_in_the_state():
    def step(params, key, x, y):
        key, own = jax.random.split(key)
        kept = jax.random.bernoulli(own, 0.8, (3,))
        value, grads = jax.value_and_grad(loss)(params, x * kept, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), key, value
    key = jax.random.PRNGKey(1)
    program = commsched.transpile(step, PARAMS, key, X, Y, batch=(2, 3), cluster=2)
    found = [m["loss"] for m in program.run([(X, Y)] * 4)]
    wanted, state = reference(step, (PARAMS, key), [(X, Y)] * 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_array_equal(program.state[0], state[1])


def test_a_scan_over_layers():
    stack = {"w": np.random.default_rng(3).standard_normal((3, 4, 4)).astype(np.float32) * 0.3}

    def step(params, x):
        def total(p):
            return (jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, p["w"])[0] ** 2).mean()
        value, grads = jax.value_and_grad(total)(params)
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value
    x = np.random.default_rng(4).standard_normal((8, 4)).astype(np.float32)
    program = commsched.transpile(step, stack, x, cluster=2)
    wanted, _ = reference(step, (stack,), [(x,)] * 4)
    np.testing.assert_allclose([m["loss"] for m in program.run([x] * 4)], wanted, rtol=1e-5)


def test_an_embedding():
    table = {"t": np.random.default_rng(5).standard_normal((11, 6)).astype(np.float32)}
    ids = np.random.default_rng(6).integers(0, 11, (8, 5)).astype(np.int32)

    def step(params, ids):
        value, grads = jax.value_and_grad(lambda p: (jnp.sin(p["t"][ids]).sum(1) ** 2).mean())(params)
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value
    program = commsched.transpile(step, table, ids, cluster=4)
    wanted, _ = reference(step, (table,), [(ids,)] * 4)
    np.testing.assert_allclose([m["loss"] for m in program.run([ids] * 4)], wanted, rtol=1e-5)


def test_the_errors_of_the_runtime_come_through():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    with pytest.raises(commsched.RuntimeFailure):
        native.Session(program.plan[:-5])
    session = native.Session(program.plan)
    with pytest.raises(commsched.RuntimeFailure, match="nowhere"):
        session.set_slot("nowhere", np.zeros(3, np.float32))
    with pytest.raises(commsched.RuntimeFailure, match="w"):
        session.set_slot("w", np.zeros(3, np.float32))
    session.close()


def test_the_errors_of_the_compiler_come_through():
    with pytest.raises(commsched.ToolError, match="cs-opt failed"):
        tools.lower("this is not MLIR", 1)


def test_a_trace(tmp_path):
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=2)
    program.trace(str(tmp_path / "trace.json"))
    program.run([(X, Y)] * 2)
    program.close()
    events = json.loads((tmp_path / "trace.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert any(e.get("ph") == "X" for e in events)


def test_processes_give_what_threads_give(digits, tmp_path):
    from safetensors.numpy import load_file, save_file
    batches = batches_of(digits, 6)
    program = make("digits").program(2)
    save_file(program.slots(), tmp_path / "init.safetensors")
    (tmp_path / "plan").write_bytes(program.plan)
    np.savez(tmp_path / "batch.npz", x=np.concatenate([b[0] for b in batches]), y=np.concatenate([b[1] for b in batches]))
    done = subprocess.run([tools.find("cs-run"), "plan", "--spawn", "2", "--init", "init.safetensors", "--batch", "batch.npz",
                           "--steps", "6", "--metrics-json", "metrics.json", "--save-params", "out.safetensors"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [s["loss"] for s in json.loads((tmp_path / "metrics.json").read_text())["steps"]]
    wanted = [m["loss"] for m in program.run(batches)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for name, value in load_file(tmp_path / "out.safetensors").items():
        np.testing.assert_array_equal(value, program.slots()[name])
