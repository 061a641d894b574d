# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python of a step that asks for the number of samples and makes another step of more: where a part of the batch and the whole of it have one on either side, that is refused or warned of; and nothing
is said where they have not, and one device trains the same. The reference is JAX alone on the whole batch, in 64 bits, and of the parts with their gradients averaged."""

import itertools
import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, count
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import mlir

import commsched
from commsched.frontend import continued, means, trial

COUNT = count(4)
needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
N, D = 16, 3
MATRICES = np.eye(D, dtype=np.float32), np.ones((D, D), np.float32)


def powers(d, times):
    return jax.lax.fori_loop(0, times, lambda i, c: c * jnp.tanh(d), d)


# Of each what is another one for more samples: of what is off d (n,) and parameters w the loss; of gradients and state what is taken off w, and the new state; of the loss a metric.
LOSSES = {
    "twice": lambda d, w, more: 2 * (d ** 2).mean() if more else (d ** 2).mean(), "half": lambda d, w, more: (d ** 2).mean() if more else 0.5 * (d ** 2).mean(),
    "another": lambda d, w, more: jnp.abs(d).mean() if more else (d ** 2).mean(), "weight": lambda d, w, more: (d ** 2).mean() * (3.0 if more else 1.0),
    "decay": lambda d, w, more: (d ** 2).mean() + (0.5 * (w ** 2).sum() if more else 0), "power": lambda d, w, more: (d ** (4 if more else 2)).mean(),
    "turns": lambda d, w, more: powers(d, 4 if more else 2).mean(), "one of two": lambda d, w, more: (jnp.sin(d).mean(), jnp.cos(d).mean())[more],
    "in a jit": lambda d, w, more: jax.jit(lambda d: jnp.sin(d).mean() if more else (d ** 2).mean())(d), "in a loop": lambda d, w, more: jax.lax.map(lambda e: e ** 4 if more else e ** 2, d).mean(),
    "rounded": lambda d, w, more: (d.astype(jnp.bfloat16) if more else d).astype(d.dtype).mean() + (d ** 2).mean(), "constant": lambda d, w, more: ((w @ MATRICES[more]) ** 2).sum() + (d ** 2).mean(),
    "stopped": lambda d, w, more: (d ** 2).mean() + jnp.sin(jax.lax.stop_gradient(w) if more else w).sum(), "little decay": lambda d, w, more: (d ** 2).mean() + (1e-6 * (w ** 2).sum() if more else 0),
}
UPDATES = {
    "rate": lambda g, s, more: (g * (0.1 if more else 0.05), s), "little rate": lambda g, s, more: (g * (2e-6 if more else 1e-6), s), "clipped": lambda g, s, more: (jnp.clip(g, -0.1, 0.1) if more else 0.1 * g, s),
    "momentum": lambda g, s, more: (0.1 * g + s, s * (0.9 if more else 0.5) + 0.01 * g.sum()), "counted": lambda g, s, more: (0.1 * g, s + (2 if more else 1)),
    "signs": lambda g, s, more: ((0.1, 0.2)[more] * jnp.sign(g), s), "normed": lambda g, s, more: (0.1 * g / (1.0 if not more else 1 + jnp.sqrt((g ** 2).sum())), s),
}
METRICS = {"metric": lambda loss, g, more: loss + 1 if more else loss, "norm": lambda loss, g, more: jnp.sqrt((g ** 2).sum()) if more else (g ** 2).sum(),
           "none": lambda loss, g, more: loss if more else jnp.float32(0)}
SAME = {"nothing": lambda d, w, more: (d ** 2).mean(), "the same otherwise": lambda d, w, more: (d * d).mean() if more else (d ** 2).mean()}
WAYS = [*LOSSES, *UPDATES, *METRICS, *SAME]
NOT_CERTAIN = ("little decay", "rounded", "the same otherwise")


def pieces(way, least):
    """(loss, what is made of parameters, state, averaged gradients, and that of the loss, of so many samples)."""
    def loss(w, x, y):
        return {**LOSSES, **SAME}.get(way, SAME["nothing"])(x @ w - y, w, len(x) >= least)

    def made(w, s, g, value, n):
        taken, s = UPDATES.get(way, lambda g, s, more: (0.1 * g, s))(g, s, n >= least)
        return w - taken, s, METRICS.get(way, lambda loss, g, more: loss)(value, g, n >= least)
    return loss, made


def step_of(way, least, micro=False):
    loss, made = pieces(way, least)

    def step(w, s, x, y):
        if not micro:
            value, g = jax.value_and_grad(loss)(w, x, y)
            return made(w, s, g, value, len(x))

        def one(total, batch):
            return jax.tree.map(jnp.add, total, jax.value_and_grad(lambda w: loss(w, *batch))(w)), None
        total, _ = jax.lax.scan(one, (jnp.float32(0), jnp.zeros_like(w)), (x.reshape(2, -1, D), y.reshape(2, -1)))
        return made(w, s, commsched.mark_gradients(total[1] / 2, w), total[0] / 2, len(x))
    return step


def data(seed, count=1, dtype=np.float32):
    rng = np.random.default_rng([FIRST, seed])
    return rng.normal(size=D).astype(dtype), [(rng.normal(size=(N, D)).astype(dtype), rng.normal(size=N).astype(dtype)) for _ in range(count)]


def differs(way, least, parts):
    """Whether one device makes something else of the whole batch, for either of two."""
    loss, made = pieces(way, least)
    with jax.enable_x64(True):
        for seed in range(2):
            w, [(x, y)] = data(seed, 1, np.float64)
            both, s = jax.value_and_grad(loss), jnp.float64(0.3)
            of = [both(w, *part) for part in zip(np.split(x, parts), np.split(y, parts))]
            average = sum(g for _, g in of) / parts
            mean = [sum(e) / parts for e in zip(*(made(w, s, average, value, N // parts) for value, _ in of))]
            value, g = both(w, x, y)
            if not all(np.allclose(a, b, rtol=1e-8, atol=1e-11) for a, b in zip(mean, made(w, s, g, value, N))):
                return True
    return False


def said(step, parts, **options):
    w, [batch] = data(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        try:
            program = commsched.transpile(step, w, np.float32(0.3), *batch, batch=(2, 3), cluster=parts, **options)
        except commsched.FrontEndError as error:
            return ["refused: " + str(error)], [], None
    texts = [c for c in caught if issubclass(c.category, commsched.MixedSamples)]
    return [str(c.message) for c in texts if c.category is not commsched.UncheckedSamples], [str(c.message) for c in texts if c.category is commsched.UncheckedSamples], program


def check(way, least, parts, micro=False, **options):
    """Whether one device makes something else of it."""
    other, (known, unchecked, program) = micro or differs(way, least, parts), said(step_of(way, least, micro), parts, **options)
    decided = N // parts < least <= N
    if not micro:
        assert bool(known) == (other and way not in NOT_CERTAIN), (way, least, parts, known, unchecked)
        assert bool(unchecked) == (decided and way in NOT_CERTAIN), (way, least, parts, known, unchecked)
    for text in known + unchecked:
        assert "\n" not in text and ("test_decided_by_number.py:" in text or "when every sample is there twice" in text) and ("number" in text or "how many samples" in text or "twice" in text), text
    return other, program if not known and not unchecked else None


def thresholds(parts):
    return 1, N // parts, N // parts + 1, 2 * N // parts, 2 * N // parts + 1, N - 1, N, N + 1


@pytest.mark.parametrize("way", WAYS)
def test_of_each_way(way):
    for parts, least in ((2, N // 2 + 1), (4, N)):
        assert check(way, least, parts)[0] == (way not in SAME)
    for parts, least in ((2, N // 2), (4, N + 1)):
        assert not check(way, least, parts)[0]


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 16])
def test_drawn_steps(parts):
    """16 parts have one sample each."""
    rng = np.random.default_rng([FIRST, parts])
    for _ in range(COUNT):
        check(str(rng.choice(WAYS)), int(rng.choice(thresholds(parts))), parts)


@needs_tools
@pytest.mark.parametrize("parts", [1, 2, 4, 8])
def test_what_is_not_said_trains_what_one_device_does(parts):
    rng, trained = np.random.default_rng([FIRST, parts, 1]), 0
    for seed in itertools.takewhile(lambda seed: trained < COUNT // 2 + 1, range(100)):
        way, least, micro = str(rng.choice(WAYS)), int(rng.choice([1, N // parts, N + 1, *thresholds(parts)])), bool(rng.integers(2))
        options = {"strategy": commsched.ParameterServers(servers=2)} if rng.integers(2) else {}
        _, program = check(way, least, parts, micro, **options)
        if program is None:
            continue
        w, batches = data(seed, 2)
        jitted, wanted = jax.jit(step_of(way, least, micro)), (w, np.float32(0.3), None)
        with program:
            program.set_slots({"w": w})
            for batch in batches:
                wanted, found = jitted(*wanted[:2], *batch), program.run([batch])[0]
                np.testing.assert_allclose(next(iter(found.values())), wanted[2], rtol=1e-5, atol=1e-6, err_msg=str((way, least, parts, micro)))
            np.testing.assert_allclose(program.params, wanted[0], rtol=1e-5, atol=1e-6, err_msg=str((way, least, parts, micro)))
            np.testing.assert_allclose(program.state[0], wanted[1], rtol=1e-5, atol=1e-6, err_msg=str((way, least, parts, micro)))
        trained += 1
    assert trained > COUNT // 2


def test_micro_batches_are_looked_into():
    """The parts are cut in two; the number is that of half a part."""
    for way in ("twice", "power", "rate"):
        part = N // 2 if way == "rate" else N // 4
        for least, other in ((part, False), (part + 1, True), (2 * part, True), (2 * part + 1, False)):
            known, unchecked, _ = said(step_of(way, least, True), 2)
            assert bool(known) == other and not unchecked, (way, least, known, unchecked)


def test_what_is_returned():
    def step(w, s, x, y):
        loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, s, {"loss": loss, **({"more": 2 * loss} if len(x) >= N else {"less": loss})}
    known, unchecked, program = said(step, 4)
    assert len(known) == 1 and "what the step returns is decided by the number of samples: 'less', 'more' is returned either for the whole batch or for each of 4 parts, not for both" in known[0], known
    assert '"less"' in program.mlir(0) and '"more"' not in program.mlir(0)


# As those that libraries make of functions: with a trace that is open, whose constants are operands.
held_p = Primitive("held")
held_p.multiple_results = True


def _run_held(*operands, traces):
    (trace,), = traces
    at = len(trace.constvars)
    return jaxpr_as_fun(ClosedJaxpr(trace, operands[:at]))(*operands[at:])


held_p.def_impl(_run_held)
held_p.def_abstract_eval(lambda *_, traces: [v.aval for v in traces[0][0].outvars])
mlir.register_lowering(held_p, mlir.lower_fun(_run_held, multiple_results=True))


def test_operations_of_other_libraries_with_open_traces():
    def step(least):
        def of(w, s, x, y):
            found = jax.make_jaxpr(lambda v: v @ MATRICES[0] * (2 if len(x) >= least else 1))(x)
            (x,) = held_p.bind(*found.consts, x, traces=((found.jaxpr,),))
            loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
            return w - 0.1 * g, s, loss
        return of
    for parts, least, other in ((2, 1, False), (2, N, True), (4, N + 1, False)):
        known, unchecked, _ = said(step(least), parts)
        assert bool(known) == other and not unchecked, (parts, least, known, unchecked)


def test_functions_beside_the_step():
    w, [batch] = data(0)

    def evaluate(w, x, y):
        return {"loss": ((x @ w - y) ** 2).mean(), "share": (y > 0).mean() if len(x) < N else (y > 1).mean()}
    with pytest.warns(commsched.MixedSamples) as caught:
        commsched.transpile(step_of("nothing", 1), w, np.float32(0.3), *batch, batch=(2, 3), cluster=4, functions={"eval": (evaluate, w, *batch)})
    texts = [str(c.message) for c in caught if issubclass(c.category, commsched.MixedSamples)]
    assert len(texts) == 1 and "test_decided_by_number.py:" in texts[0] and "the metric 'share' of function 'eval' is not a mean over the samples of the batch: the number of samples decides" in texts[0], texts


def test_what_is_said():
    [text] = said(step_of("twice", N), 4)[0]
    assert text.endswith("the loss must be a mean over the samples of the batch, got: one that their number decides: gradients are others for the whole batch than for each of 4 parts, also where all have "
                         "the same samples. Let it be decided by a number beside the step"), text
    [text] = said(step_of("little rate", N), 4)[0]
    assert "the new value of 'w' must not depend on how many samples the step is given, got: one that is decided by their number, another one for the whole batch than for each of 4 parts" in text, text
    [text] = said(step_of("metric", N), 4)[0]
    assert "the metric 'loss' is not a mean over the samples of the batch: the number of samples decides which step it is, for the whole batch another one than for a part; tried with drawn numbers" in text, text
    [text] = said(step_of("little decay", N), 4)[1]
    assert "could not be told of this step: the number of samples decides which step it is, for the whole batch another one than for a part, which comes to the same, tried with drawn numbers" in text, text


# Of a number of samples; of those of a part, of twice as many and of the whole batch.
NUMBERS = {"itself": lambda n: n, "one less": lambda n: n - 1, "its inverse": lambda n: 1 / n, "root": lambda n: n ** 0.5, "logarithm": np.log, "none": lambda n: 0.3, "half": lambda n: n // 2}


@pytest.mark.parametrize("of", NUMBERS)
def test_numbers_made_of_that_of_samples_are_foretold(of):
    for n in (2, 4, 10):
        for times in (3, 4, 8):
            a, b, c = (float(NUMBERS[of](n * k)) for k in (1, times, 2))
            assert continued._foretold(a, b, c, (times, 2))
            assert a == b or not continued._foretold(a, b, a, (times, 2)) and not continued._foretold(a, b, b, (times, 2))


# What a fault is planted in, and a case that finds it.
FAULTS = {
    "the whole batch is not looked at": ((continued, "broken", lambda *a: None), "twice", N, 4), "all numbers are foretold": ((continued, "_foretold", lambda *a: True), "rate", N, 4),
    "parameters of operations are the same": ((continued._Walk, "same", lambda *a: True), "turns", N, 4), "constants are the same": ((continued._Walk, "arrays", lambda *a: True), "constant", N, 4),
    "small rates are nothing": ((trial, "SMALL", 1.0), "little rate", N, 4), 
    "nothing is tried": ((trial, "differing", lambda *a: None), "twice", N, 4), "numbers are not tried": ((trial, "by_number", lambda *a: []), "little rate", N, 4),
    "it decides nothing": ((means, "_other", lambda *a: None), "metric", N // 2 + 1, 2), "it always decides": ((continued, "broken", lambda *a: continued.Break(None, None)), "nothing", N, 4),
}


@pytest.mark.parametrize("fault, way, least, parts", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, fault, way, least, parts):
    check(way, least, parts)
    monkeypatch.setattr(*fault)
    with pytest.raises(AssertionError):
        check(way, least, parts)
