# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that the user has jitted and run before they are part of a step: the program is the same, so is what is said of it, and nothing of it is left in
them. And steps that several threads transpile at once."""

import contextlib
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, count
from jax._src import api

import commsched
from commsched.frontend import jax_gradient

ROWS, NAMES = 8, ("a", "b", "c")
RNG = np.random.default_rng(0)
P = {"a": RNG.normal(size=(3, 5)).astype(np.float32), "b": RNG.normal(size=(5, 2)).astype(np.float32), "c": np.zeros(2, np.float32)}
X, Y = RNG.normal(size=(ROWS, 3)).astype(np.float32), RNG.normal(size=(ROWS, 2)).astype(np.float32)


def out(p, x):
    return jnp.tanh(x @ p["a"]) @ p["b"] + p["c"]


def gradients(form, mixed):
    """For each parameter a jitted function of (its value, all of them, batch): what it is to go down by. form: how the gradient is taken."""
    def loss(value, name, p, x, y):
        per = ((out({**p, name: value}, x) - y) ** 2).mean(1)
        return jnp.sqrt(per.mean()) if mixed else per.mean()

    def of(name):
        def gradient(value, p, x, y):
            if form == "grad":
                return jax.grad(loss)(value, name, p, x, y)
            if form == "marked":
                return commsched.mark_gradients(jax.vjp(lambda v: loss(v, name, p, x, y), value)[1](jnp.float32(1))[0], value)
            return jax.value_and_grad(loss)(value, name, p, x, y)[1]
        return jax.jit(gradient)
    return {name: of(name) for name in NAMES}


def step_of(jitted):
    def step(p, x, y):
        return {n: p[n] - 0.1 * jitted[n](p[n], p, x, y) for n in NAMES}, ((out(p, x) - y) ** 2).mean()
    return step


def transpiled(step, workers):
    """(text, what is said)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        try:
            text = commsched.transpile(step, P, X, Y, batch=(1, 2), cluster=workers).mlir()
        except commsched.FrontEndError as error:
            text = str(error)
    return text, [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]


def check(form, mixed, workers, ran):
    """ran: (name, rows) of what is run before."""
    expected = transpiled(step_of(gradients(form, mixed)), workers)
    assert expected[0].count("cs.gradient") == 3 and bool(expected[1]) == (mixed and workers > 1)
    jitted = gradients(form, mixed)
    for name, rows in ran:
        jitted[name](P[name], P, X[:rows], Y[:rows])
    assert transpiled(step_of(jitted), workers) == expected, (form, mixed, workers, ran)
    assert transpiled(step_of(jitted), workers) == expected  # a second time
    for name, rows in ran if form != "marked" else ():
        assert "cs_" not in str(jax.make_jaxpr(jitted[name])(P[name], P, X[:rows], Y[:rows]))


@pytest.mark.parametrize("form", ["grad", "value_and_grad", "marked"])
def test_drawn_runs_before(form):
    rng = np.random.default_rng([FIRST, len(form)])
    for _ in range(count(5)):
        ran = [(str(rng.choice(NAMES)), int(rng.choice([1, 2, 4, 8]))) for _ in range(rng.integers(1, 5))]
        check(form, bool(rng.integers(2)), int(rng.choice([1, 2, 4])), ran)


@pytest.mark.parametrize("form, ran", [("grad", [("b", 8)]), ("value_and_grad", [("a", 4), ("b", 8)]), ("value_and_grad", [("c", 8)])])
def test_a_planted_fault_is_found(monkeypatch, form, ran):
    monkeypatch.setattr(jax_gradient, "_traces", lambda number: contextlib.nullcontext())
    with pytest.raises(AssertionError):
        check(form, True, 2, ran)


def in_two_threads():
    """Transpiles two steps at once, the one while the other is traced, if that can be; (text, what is said) of each."""
    begun, over, found = threading.Event(), threading.Event(), {}

    def first(p, x, y):
        begun.wait(1)
        return step_of(gradients("grad", False))(p, x, y)

    def second(p, x, y):
        begun.set()
        over.wait(1)
        return step_of(gradients("grad", False))(p, x, y)

    def of(name, step):
        try:
            found[name] = commsched.transpile(step, P, X, Y, batch=(1, 2), cluster=1).mlir()
        except commsched.FrontEndError as error:
            found[name] = str(error)
        over.set()
    threads = [threading.Thread(target=of, args=pair) for pair in (("first", first), ("second", second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_two_threads():
    assert [text.count("cs.gradient") for text in in_two_threads().values()] == [3, 3]


def test_a_fault_planted_in_threads_is_found(monkeypatch):
    monkeypatch.setattr(api, "vjp", api.vjp)  # which one of them leaves patched
    monkeypatch.setattr(jax_gradient, "_patched", contextlib.nullcontext())
    with pytest.raises(AssertionError):
        test_two_threads()
