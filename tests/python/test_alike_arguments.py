# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that look alike: which of them an argument of a further function is, and which an output of the step is the new value of. Where that is
certainly another one than what is taken first, it is refused."""

import inspect
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from commsched.frontend import jax_frontend, jax_gradient, jax_results

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(8, 3)).astype(np.float32), RNG.normal(size=8).astype(np.float32)


def drawn(rng):
    return jnp.asarray(rng.normal(size=3), jnp.float32)


def gradient(w, x, y, more=lambda w: 0.0):
    return jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean() + more(w))(w)


# ---- functions beside the step ------------------------------------------------------------------------------------------

def of_names(names, function):
    """function(*arguments) with arguments of these names."""
    def called(*arguments):
        return function(*arguments)
    called.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    return called


def evaluated(seed, how):
    """(what a function has of some arguments that look alike after two steps, what it must have). how: "object" or "name", by which they are told."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))  # the parameters among them
    names, values, rates = ["w", "a", "b", "c"][:count], [drawn(rng) for _ in range(count)], rng.uniform(0.1, 0.9, count)

    def step(*given):
        w, *others, x, y = given
        loss, g = gradient(w, x, y)
        w = w - 0.1 * g
        return (w, *(r * s + (1 - r) * w for r, s in zip(rates[1:], others)), loss)
    chosen = [int(i) for i in rng.permutation(count)[:rng.integers(1, count + 1)]]

    def metrics(*given):
        *found, x = given
        return {f"m{i}": (x @ v).mean() for i, v in enumerate(found)}
    own = [names[i] if how == "name" else f"of_{i}" for i in chosen]
    examples = [values[i] if how == "object" else jnp.array(values[i]) for i in chosen]
    batches = [(X, Y)] * 2
    with commsched.transpile(of_names([*names, "x", "y"], step), *values, X, Y, batch=(count, count + 1), cluster=2,
                             functions={"eval": (of_names([*own, "x"], metrics), *examples, X)}) as program:
        program.run(batches)
        found = program.call("eval", [X])[0]
    for x, y in batches:
        *values, _ = step(*values, x, y)
    return found, {n: float(v) for n, v in metrics(*(values[i] for i in chosen), X).items()}


@needs_tools
@pytest.mark.parametrize("how", ["object", "name"])
@pytest.mark.parametrize("seed", range(6))
def test_a_function_has_the_argument_that_it_is_given(seed, how):
    found, wanted = evaluated(seed, how)
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def two(w, mean, x, y):
    loss, g = gradient(w, x, y)
    w = w - 0.1 * g
    return w, 0.9 * mean + 0.1 * w, loss


def functions(*given):
    return {"eval": (of_names(["one", "two", "x"][-len(given):], lambda *v: sum((v[-1] @ of).mean() for of in v[:-1])), *given)}


def test_one_that_may_be_several_is_refused():
    w = drawn(RNG)
    made = dict(batch=(2, 3), cluster=2)
    for example in (w, jnp.array(w)):  # that of both, and of neither
        with pytest.raises(commsched.FrontEndError, match="^argument 'two' of function 'eval' must be the same object as an argument of the step, or have its name, as it may be "
                                                          "'w' or 'mean'$"):
            commsched.transpile(two, w, w, X, Y, functions=functions(example, X), **made)
    commsched.transpile(two, w, w, X, Y, functions=functions(w, w, X), **made)  # all of them, in order


def test_a_batch_of_a_function_has_one_number_of_samples():
    with pytest.raises(commsched.FrontEndError, match=r"^batch arguments of function 'eval' must have one number of samples, got: \[2, 8\]; what is no batch must be an argument "
                                                      "of the step$"):
        commsched.transpile(two, drawn(RNG), drawn(RNG), X, Y, batch=(2, 3), cluster=2,
                            functions={"eval": (lambda x, key: jax.random.normal(key).mean() + x.mean(), X, np.zeros(2, np.uint32))})


def test_a_key_is_no_batch():
    def step(w, key, x, y):
        loss, g = gradient(w, x + jax.random.normal(key, x.shape), y)
        return w - 0.1 * g, loss
    for workers in (1, 2, 4):
        with pytest.raises(commsched.FrontEndError, match="^batch argument 'key' must have a dimension of samples, got: a scalar$"):
            commsched.transpile(step, drawn(RNG), jax.random.key(0), X, Y, batch=(1, 2, 3), cluster=workers)


# ---- the loss, and a number that it is made of ------------------------------------------------------------------------------

def by_number(form):
    """A step with a number that the loss is made of, and that nothing updates."""
    def step(w, number, x, y):
        if form == "penalty":
            loss, g = gradient(w, x, y, lambda w: number * (w ** 2).sum())
        elif form == "temperature":
            loss, g = jax.value_and_grad(lambda w: ((x @ w / number - y) ** 2).mean())(w)
        elif form == "jitted":
            loss, g = jax.jit(lambda w, n: jax.value_and_grad(lambda w: ((x @ w / n - y) ** 2).mean())(w))(w, number)
        elif form == "with more":
            (loss, _), g = jax.value_and_grad(lambda w: (((x @ w) * number - y).var() + (w ** 2).sum(), number * 2), has_aux=True)(w)
        elif form == "marked by hand":
            loss, g = jax.value_and_grad(lambda w: number * ((x @ w - y) ** 2).mean())(w)
            g = commsched.mark_gradients(g, w)
        elif form == "made by commsched":
            loss, g = commsched.value_and_grad(lambda w: number * ((x @ w - y) ** 2).mean())(w)
        else:
            def one(total, xy):
                loss, g = jax.value_and_grad(lambda w: number * ((xy[0] @ w - xy[1]) ** 2).mean())(w)
                return (total[0] + loss / 2, total[1] + g / 2), None
            (loss, g), _ = jax.lax.scan(one, (jnp.float32(0), jnp.zeros_like(w)), (x.reshape(2, -1, 3), y.reshape(2, -1)))
            g = commsched.mark_gradients(g, w)
        return w - 0.05 * g, loss
    return step


FORMS = ["penalty", "temperature", "jitted", "with more", "marked by hand", "made by commsched", "parts in a loop"]
BY_LOSS = "^an output of the step looks like the new value of 'number' but does not depend on it otherwise than by the loss; if 'number' is constant, name its position in constant="


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_the_loss_is_no_new_value_of_a_number_that_it_is_made_of(form):
    for workers in (1, 2):
        with pytest.raises(commsched.FrontEndError, match=BY_LOSS):
            commsched.transpile(by_number(form), drawn(RNG), 0.5, X, Y, batch=(2, 3), cluster=workers)


@needs_tools
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_said_to_be_constant_it_trains_as_jax_does(form):
    w, step = drawn(np.random.default_rng(FORMS.index(form))), by_number(form)
    with commsched.transpile(step, w, 0.5, X, Y, batch=(2, 3), constant=(1,)) as program:
        found = [m["loss"] for m in program.run([(X, Y)] * 3)]
        mine, state = program.params, program.state
    wanted = []
    for _ in range(3):
        w, loss = jax.jit(step)(w, 0.5, X, Y)
        wanted.append(float(loss))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(mine, w, rtol=1e-4, atol=1e-5)
    assert state == [np.float32(0.5)]


@needs_tools
def test_a_number_that_is_updated_may_be_in_the_loss():
    """Such as a baseline: a mean of what there was before, and of what the samples say."""
    def step(w, base, x, y):
        loss, g = jax.value_and_grad(lambda w: ((y - base) * (x @ w)).mean() + (w ** 2).sum())(w)
        return w - 0.05 * g, 0.9 * base + 0.1 * y.mean(), loss, 0.5 * base + 0.1 * loss
    with commsched.transpile(step, drawn(RNG), 0.0, X, Y, batch=(2, 3), cluster=2) as program:
        program.run([(X, Y)] * 3)
        np.testing.assert_allclose(program.state[0], (1 - 0.9 ** 3) * Y.mean(), rtol=1e-4, atol=1e-6)


# ---- outputs that look like several ------------------------------------------------------------------------------------------

def normalised(w, mean, running, x, y):
    """mean is constant."""
    loss, g = gradient(w, x - mean, y)
    return w - 0.1 * g, 0.5 * running + 0.5 * x.mean(0), {"loss": loss}


def averaged(w, first, average, x, y):
    """first, to which the parameters are drawn, is constant."""
    loss, g = gradient(w, x, y, lambda w: ((w - first) ** 2).sum())
    w = w - 0.1 * g
    return w, 0.5 * average + 0.5 * w, {"loss": loss}


@pytest.mark.parametrize("step, taken, other", [(normalised, "mean", "running"), (averaged, "first", "average")])
def test_what_is_made_of_another_argument_is_refused(step, taken, other):
    values = [drawn(RNG) for _ in range(3)]
    with pytest.raises(commsched.FrontEndError, match=f"^an output of the step looks like the new value of '{taken}', but depends on '{other}' and not on it; name the positions "
                                                      "of arguments that are constant in constant=, and return the new values of the others in their order$"):
        commsched.transpile(step, *values, X, Y, batch=(3, 4), cluster=2)


@needs_tools
@pytest.mark.parametrize("step", [normalised, averaged])
@pytest.mark.parametrize("turned", [False, True])
def test_in_order_or_said_to_be_constant_they_train_as_jax_does(step, turned):
    def other(w, one, two, x, y):
        return step(w, two, one, x, y)
    values = [drawn(RNG) for _ in range(3)]
    given, options = ([values[0], values[2], values[1]], {}) if turned else (values, dict(constant=(1,)))
    with commsched.transpile(other if turned else step, *given, X, Y, batch=(3, 4), cluster=2, **options) as program:
        program.run([(X, Y)] * 3)
        found = [program.params, *(program.state[::-1] if turned else program.state)]
    for _ in range(3):
        w, updated, _ = step(*values, X, Y)
        values = [w, values[1], updated]
    for mine, his in zip(found, values):
        np.testing.assert_allclose(mine, his, rtol=1e-4, atol=1e-5)


def test_one_that_is_constant_beside_an_output_of_its_structure():
    """A number and an array have one: whether the loss is meant as its new value nobody knows."""
    def step(w, mean, x, y):
        loss, g = gradient(w, x - mean, y)
        return w - 0.1 * g, loss
    with pytest.raises(commsched.FrontEndError, match=r"^no output of the step is the new value of argument 'mean': output 1 has its structure, but 'mean' must match float32\[3\], "
                                                      r"got: float32\[\]; if 'mean' is constant, name its position in constant="):
        commsched.transpile(step, drawn(RNG), drawn(RNG), X, Y, batch=(2, 3))
    commsched.transpile(step, drawn(RNG), drawn(RNG), X, Y, batch=(2, 3), constant=(1,))


def first_alike(function, names, examples, looks, of_step):
    meant = {}
    for i, positions in enumerate(looks):
        left = [p for p in positions if p not in meant.values()]
        if left:
            meant[i] = left[0]
    return meant


def all_seeds(how):
    for seed in range(6):
        test_a_function_has_the_argument_that_it_is_given(seed, how)


FAULTS = {
    "the first that looks so, by object": ((jax_frontend, "carried_meant", first_alike), lambda: all_seeds("object")),
    "the first that looks so, by name": ((jax_frontend, "carried_meant", first_alike), lambda: all_seeds("name")),
    "the loss is not marked": ((jax_gradient, "_mark_loss", lambda value: value), lambda: test_the_loss_is_no_new_value_of_a_number_that_it_is_made_of("penalty")),
    "nothing looks like another": ((jax_results.Match, "_alike", lambda self, p, u: False), lambda: test_what_is_made_of_another_argument_is_refused(normalised, "mean", "running")),
}


@needs_tools
@pytest.mark.parametrize("fault, test", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, test):
    monkeypatch.setattr(*fault)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test()
