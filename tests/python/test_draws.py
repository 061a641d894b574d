# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of the samples: any number of workers draws those that one device draws. The reference is JAX alone, on the whole batch."""

import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FIRST, count

import commsched
from commsched.frontend import jax_draws, jax_frontend

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
N, D, STEPS = 16, 4, 3
random = jax.random


def layers(key, h):
    def layer(h, key):
        return jax.checkpoint(lambda h: jnp.tanh(jnp.where(random.bernoulli(key, 0.7, h.shape), h, 0)))(h), None
    return jax.lax.scan(layer, h, random.split(key, 3))[0]


def micro_batches(key, h):
    return jax.lax.map(lambda of: of[0] + random.normal(of[1], (D,)), (h, random.split(key, len(h))))


def linen(key, h):
    from flax import linen
    return linen.Dropout(0.4, deterministic=False).apply({}, h, rngs={"dropout": key})


def haiku(key, h):
    import haiku
    return haiku.transform(lambda h: haiku.dropout(haiku.next_rng_key(), 0.3, h)).apply({}, key, h)


def equinox(key, h):
    import equinox
    return jax.vmap(equinox.nn.Dropout(0.3))(h, key=random.split(key, len(h)))


# Of samples h (n, D).
NOISES = {
    "dropout": lambda key, h: jnp.where(random.bernoulli(key, 0.6, h.shape), h, 0), "normal": lambda key, h: h + random.normal(key, h.shape),
    "of rows": lambda key, h: h * random.uniform(key, (len(h), 1)), "of features": lambda key, h: h * random.bernoulli(key, 0.6, (1, D)),
    "keys of samples": lambda key, h: jax.vmap(lambda k, t: t * random.uniform(k))(random.split(key, len(h)), h), "columns": lambda key, h: h + random.normal(key, (D, len(h))).T,
    "one behind the other": lambda key, h: h + random.normal(key, (h.size,)).reshape(h.shape), "choices": lambda key, h: h * (1 + random.categorical(key, h))[:, None],
    "whole numbers": lambda key, h: h * random.randint(key, (len(h), 1), 1, 4), "bytes": lambda key, h: h * (random.bits(key, h.shape, np.uint8) / 255),
    "of heads": lambda key, h: h * jax.vmap(lambda k: random.uniform(k, (len(h),)))(random.split(key, D)).T, "in a loop": layers, "one by one": micro_batches,
    "jitted": lambda key, h: jax.jit(lambda key, h: h * random.rademacher(key, h.shape))(key, h), "in a branch": lambda key, h: jax.lax.cond(h.shape[1] > 2, lambda: h + random.normal(key, h.shape), lambda: h),
    "keys by number": lambda key, h: jax.vmap(lambda i, t: t * random.uniform(random.fold_in(key, i)))(jnp.arange(len(h)), h), "gamma": lambda key, h: h * random.gamma(key, 1 + jnp.abs(h[:, :1])), "poisson": lambda key, h: h * random.poisson(key, 2.0, (len(h), 1)), "linen": linen, "haiku": haiku, "equinox": equinox,
}
# With keys of "rbg", XLA draws these from the first of all keys: no two workers have the same, but others than one device.
OF_FIRST_KEYS = ("keys of samples", "equinox")
KEYS = {"threefry2x32": lambda seed: random.key(seed), "raw": lambda seed: random.PRNGKey(seed), "rbg": lambda seed: random.key(seed, impl="rbg")}


def step_of(names):
    def loss_of(w, key, x, y):
        h = x @ w["a"]
        for i, name in enumerate(names):
            h = jnp.sin(NOISES[name](random.fold_in(key, i), h))
        return ((h @ w["b"] - y) ** 2).mean()

    def step(w, key, x, y):
        key, drawn = random.split(key)
        loss, g = jax.value_and_grad(loss_of)(w, drawn, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, g), key, loss
    return step, loss_of


def data(seed):
    rng = np.random.default_rng([FIRST, seed])

    def of(*shape):
        return rng.normal(size=shape).astype(np.float32)
    return {"a": of(3, D), "b": of(D)}, [(of(N, 3), of(N)) for _ in range(STEPS)]


def check(names, kind="threefry2x32", counted=True, workers=(2, 4), seed=0):
    step, loss_of = step_of(names)
    w, batches = data(seed)
    with jax.threefry_partitionable(counted):
        key = KEYS[kind](seed)
        wanted, jitted, losses = (w, key), jax.jit(step), []
        for batch in batches:
            *wanted, loss = jitted(*wanted, *batch)
            losses.append(float(loss))
        program = commsched.transpile(step, w, key, *batches[0], batch=(2, 3), cluster=workers[0], functions={"eval": (loss_of, w, key, *batches[0])})
        last = float(loss_of(wanted[0], wanted[1], *batches[0]))
    with program:  # the context is that of transpile, not that of the run
        for i, (batch, loss) in enumerate(zip(batches, losses)):
            np.testing.assert_allclose(program.run([batch], workers=workers[i % len(workers)])[0]["loss"], loss, rtol=1e-5, err_msg=str(names))
        for name, value in program.params.items():
            np.testing.assert_allclose(value, wanted[0][name], rtol=1e-4, atol=1e-5, err_msg=str(names))
        np.testing.assert_allclose(program.call("eval", [batches[0]])[0]["loss"], last, rtol=1e-4)
        assert (random.key_data(program.state[0]) == random.key_data(wanted[1])).all() if kind != "raw" else (program.state[0] == wanted[1]).all()


@needs_tools
@pytest.mark.parametrize("name", NOISES)
def test_of_each_noise(name):
    check([name])


@needs_tools
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("counted", [False, True], ids=["whole", "counted"])
def test_of_each_kind_of_keys(kind, counted):
    check(["dropout", "of heads" if kind == "rbg" else "keys of samples"], kind, counted)


@needs_tools
def test_drawn_steps():
    rng = np.random.default_rng([FIRST, 9])
    for seed in range(count(6)):
        kind = str(rng.choice(list(KEYS)))
        names = [n for n in NOISES if kind != "rbg" or n not in OF_FIRST_KEYS]
        check([str(n) for n in rng.choice(names, 2)], kind, bool(rng.integers(2)), rng.permutation([1, 2, 4, 8])[:2].tolist(), seed)


@needs_tools
def test_of_several_devices():
    step, _ = step_of(["dropout", "keys of samples"])
    w, batches = data(5)
    wanted = jax.jit(step)(w, random.key(5), *batches[0])
    with commsched.transpile(step, w, random.key(5), *batches[0], batch=(2, 3), cluster=commsched.Cluster(nodes=2, devices=2)) as program:
        np.testing.assert_allclose(program.run(batches[:1])[0]["loss"], wanted[-1], rtol=1e-5)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("counted", [False, True], ids=["whole", "counted"])
def test_bits_are_those_of_the_whole(bits, kind, counted, monkeypatch):
    shapes = [((4,), 0), ((4, 3), 0), ((3, 4), 1), ((2, 4, 3), 1), ((2, 3, 4), 2)]
    with jax.enable_x64(True), jax.threefry_partitionable(counted):
        key = random.key(FIRST + bits, impl=kind)
        for shape, axis in shapes:
            whole = random.bits(key, [3 * s if i == axis else s for i, s in enumerate(shape)], f"uint{bits}")
            trace = jax.make_jaxpr(lambda key: random.bits(key, shape, f"uint{bits}"))(key)
            axes = {id(e): axis for e in jax_draws.draws(trace)}
            for i in range(3):
                monkeypatch.setattr(jax_draws, "worker_index", lambda: jnp.int32(i))
                own = jax.extend.core.jaxpr_as_fun(trace.replace(jaxpr=jax_draws._changed(trace.jaxpr, axes, 3)))(key)[0]
                np.testing.assert_array_equal(own, np.split(whole, 3, axis)[i])


DISTRIBUTIONS = {
    **{n: lambda key, n, of=of: of(key, (n, 2)) for n, of in {of.__name__: of for of in (
        random.cauchy, random.exponential, random.gumbel, random.laplace, random.logistic, random.maxwell, random.normal, random.rademacher,
        random.uniform, random.bits)}.items()},
    "beta": lambda key, n: random.beta(key, 2.0, 3.0, (n,)), "binomial": lambda key, n: random.binomial(key, 9, 0.4, (n,)), "categorical": lambda key, n: random.categorical(key, jnp.arange(3.0), shape=(n,)),
    "chisquare": lambda key, n: random.chisquare(key, 3.0, shape=(n,)), "dirichlet": lambda key, n: random.dirichlet(key, jnp.ones(3), (n,)), "gamma": lambda key, n: random.gamma(key, 2.0, (n,)),
    "geometric": lambda key, n: random.geometric(key, 0.3, (n,)), "multivariate_normal": lambda key, n: random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2), (n,)),
    "poisson": lambda key, n: random.poisson(key, 3.0, (n,)), "randint": lambda key, n: random.randint(key, (n,), 0, 77), "t": lambda key, n: random.t(key, 3.0, (n,)),
    "truncated_normal": lambda key, n: random.truncated_normal(key, -1, 2, (n,)), "weibull_min": lambda key, n: random.weibull_min(key, 1.0, 2.0, (n,)), "ball": lambda key, n: random.ball(key, 3, shape=(n,)),
    "orthogonal": lambda key, n: random.orthogonal(key, 3, (n,)), "gamma of columns": lambda key, n: random.gamma(key, 2.0, (3, n)).T, "mapped gamma": lambda key, n: jax.vmap(lambda k: random.gamma(k, 2.0, (n,)))(random.split(key, 3)).T,
    "choice": lambda key, n: random.choice(key, 9, (n,)), "choice by weight": lambda key, n: random.choice(key, 3, (n,), p=jnp.asarray([0.2, 0.5, 0.3])), "fold_in": lambda key, n: jax.vmap(lambda k: random.normal(random.fold_in(k, 3)))(random.split(key, n)),
    "in a loop": lambda key, n: jax.lax.fori_loop(0, 3, lambda i, c: c + random.normal(random.fold_in(key, i), (n,)), jnp.zeros(n)), "two for each": lambda key, n: random.normal(key, (2 * n,)).reshape(n, 2),
}


# Each in one of the two ways to count, in the other one with the next seed.
@pytest.mark.parametrize("name, counted", [(name, (FIRST + i) % 2 == 1) for i, name in enumerate(DISTRIBUTIONS)])
def test_of_each_distribution(name, counted, monkeypatch):
    def of(n):
        return lambda key: DISTRIBUTIONS[name](key, n)
    with jax.threefry_partitionable(counted):
        key = random.key(FIRST + 7)
        one, two = (jax.make_jaxpr(of(n))(key) for n in (4, 8))
        wanted = np.split(np.asarray(of(12)(key)), 3)
        for i in range(3):
            monkeypatch.setattr(jax_draws, "worker_index", lambda: jnp.int32(i))
            changed = jax_draws.of_the_whole(one, two, [False], 3, [], lambda e: None)
            np.testing.assert_allclose(jax.extend.core.jaxpr_as_fun(changed)(key)[0], wanted[i], rtol=1e-5, atol=1e-6)


def said(step, *arguments, batch=(2, 3)):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", commsched.MixedSamples)
        program = commsched.transpile(step, *arguments, batch=batch, cluster=2)
    return [str(c.message) for c in caught if "random numbers" in str(c.message)], "cs.worker_index" in program.mlir()


def carried(change):
    """A step whose next key, or what else it keeps, `change` makes of a key and the samples."""
    def step(w, key, x, y):
        key, mask = change(key, x)
        loss, g = jax.value_and_grad(lambda w: ((jnp.where(mask, x, 0) @ w["a"] @ w["b"] - y) ** 2).mean())(w)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, g), key, loss
    return step


def one_more(key, x):
    keys = random.split(key, len(x) + 1)
    return keys[0], jax.vmap(lambda k: random.bernoulli(k, 0.5, (3,)))(keys[1:])


def first_of_all(key, x):
    keys = random.split(key, len(x))
    return keys[0], jax.vmap(lambda k: random.bernoulli(k, 0.5, (3,)))(keys)


def own_keys(key, x):
    key, drawn = random.split(key)
    return key, random.bernoulli(commsched.worker_key(drawn), 0.5, x.shape)


def in_turns(key, x):
    def one(key, _):
        key, drawn = random.split(key)
        return key, random.bernoulli(drawn, 0.5, (3,))
    return random.split(key)[0], jax.lax.scan(one, key, x)[1]


def by_turn(key, x):
    return random.split(key)[0], jax.lax.map(lambda i: random.bernoulli(random.fold_in(key, i), 0.5, (3,)), jnp.arange(len(x)))


def by_next(key, x):
    return random.split(key)[0], jax.vmap(lambda i: random.bernoulli(random.fold_in(key, i), 0.5, (3,)))(jnp.arange(len(x)) + 1)


def by_value(key, x):
    """A key of each sample's own."""
    ids = jax.lax.bitcast_convert_type(x[:, 0], jnp.int32)
    return random.split(key)[0], jax.vmap(lambda i: random.bernoulli(random.fold_in(key, i), 0.5, (3,)))(ids)


def of_each_in_turns(key, x):
    ids = jax.lax.bitcast_convert_type(x[:, 0], jnp.int32)
    return random.split(key)[0], jax.lax.map(lambda i: random.bernoulli(random.fold_in(key, i), 0.5, (3,)), ids)


def one_for_all(key, x):
    return random.split(key)[0], jax.lax.scan(lambda k, t: (k, random.bernoulli(k, 0.5, (3,))), key, x)[1]


def by_generator(key, x):
    key, drawn = random.split(key)
    return key, jax.lax.rng_bit_generator(jnp.tile(random.key_data(drawn), 2), x.shape)[1] > np.uint32(1 << 31)


def once_for_each(key, x):
    key, drawn = random.split(key)
    return key, jnp.stack([random.bernoulli(random.fold_in(drawn, i), 0.5, (3,)) for i in range(len(x))])


@pytest.mark.parametrize("change, why", [(one_more, "how many there are is no multiple of the number of samples"), (first_of_all, "the new value of 'key', of which no mean can be kept, is made of them"),
                                         (once_for_each, "it draws another number of times with more samples"), (by_generator, "'rng_bit_generator' draws them"), *[(f, "their keys are made from places in a part, or in turns of a loop over it") for f in (in_turns, by_turn, by_next)],
                                         (by_value, None), (of_each_in_turns, None), (one_for_all, None), (own_keys, None)])
def test_what_stays_the_same_for_all_parts_is_said(change, why):
    w, batches = data(2)
    found, own = said(carried(change), w, random.key(1), *batches[0])
    assert own == (change is own_keys) and len(found) == (why is not None), found
    if why:
        assert "test_draws.py:" in found[0] and f"the random numbers that the step draws for its samples are the same for each of 2 parts of the batch: {why}. Where each is" in found[0]


def noisy_if(more, of):
    """A step that draws only of more samples than so many."""
    def step(w, key, x, y):
        key, drawn = random.split(key) if of != "nothing else" else (key, key)
        noise = random.normal(drawn, (len(x), 3) if of != "how many" else (min(len(x), more), 3))[:1] if of == "how many" or len(x) > more else 0
        loss, g = jax.value_and_grad(lambda w: (((x + noise) @ w["a"] @ w["b"] - y) ** 2).mean())(w)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, g), key, loss
    return step


@pytest.mark.parametrize("of", ["nothing else", "a key", "how many"])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_what_the_number_of_samples_decides_is_said(of, parts):
    """Or refused, where gradients are certainly others. Of 16 samples; parts have 8, 4 or 2, and twice as many is not always more than what decides."""
    w, batches = data(2)
    for more in (1, 5, 12, 16):
        decided = N // parts <= more < N if of != "how many" else N // parts < more < N
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", commsched.MixedSamples)
            try:
                commsched.transpile(noisy_if(more, of), w, random.key(1), *batches[0], batch=(2, 3), cluster=parts)
            except commsched.FrontEndError as error:
                assert decided and "test_draws.py:" in str(error) and "that their number decides" in str(error), more
                continue
        texts = [str(c.message) for c in caught if "random numbers" in str(c.message)]
        assert len(texts) == decided, (more, texts)
        assert all("test_draws.py:" in t and "\n" not in t for t in texts), texts


def test_permutations_of_thousands_are_nothing_else():
    """Which JAX makes in one round, or in two."""
    def step(w, key, x, y):
        key, drawn = random.split(key)
        order = random.permutation(drawn, len(x))
        loss, g = jax.value_and_grad(lambda w: ((x[order] @ w["a"] @ w["b"] - y[order]) ** 2).mean())(w)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, g), key, loss
    w, _ = data(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", commsched.MixedSamples)
        commsched.transpile(step, w, random.key(1), np.ones((2048, 3), np.float32), np.ones(2048, np.float32), batch=(2, 3), cluster=4)


def test_of_one_device_and_without_samples_nothing_changes():
    step, _ = step_of(["of features"])
    w, batches = data(3)
    assert said(step, w, random.key(1), *batches[0]) == ([], False)
    one = commsched.transpile(step_of(["dropout"])[0], w, random.key(1), *batches[0], batch=(2, 3)).mlir()
    assert "cs.worker_index" not in one


@pytest.mark.parametrize("fault", {
    "all draw the same": (jax_draws, "worker_index", lambda: jnp.int32(0)), "nothing is changed": (jax_frontend, "of_the_whole", lambda *a: None),
    "along another dimension": (jax_draws, "_numbers", lambda shape, whole, axis, begin, f=jax_draws._numbers: f(shape, whole, len(shape) - 1, begin)),
    "counted as parts are": (jax_draws, "_numbers", lambda shape, whole, axis, begin, f=jax_draws._numbers: f(shape, shape, axis, begin)),
}.items(), ids=lambda f: f[0])
@needs_tools
def test_planted_faults_are_found(monkeypatch, fault):
    monkeypatch.setattr(*fault[1])
    with pytest.raises(AssertionError):
        check(["dropout", "columns"])


@needs_tools
@pytest.mark.parametrize("counted", [False, True], ids=["whole", "counted"])
def test_a_context_that_is_not_kept_is_found(monkeypatch, counted):
    monkeypatch.setattr(jax_frontend, "_CONTEXTS", ())
    with pytest.raises(AssertionError), jax.threefry_partitionable(not counted):
        check(["dropout"], counted=counted)
