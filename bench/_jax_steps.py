# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training steps of JAX, as plans beside JAX itself.

A loss is a random graph of jax.numpy expressions over parameters, a batch and ids:
weights are used several times, shapes coincide, there are scans, conditionals, softmax,
einsum, concatenations, gathers. Its step is transpiled for some workers, or for servers,
and compared with the mean of what JAX gives for each worker's part of the batch, in
float64. A difference is allowed that is some times as large as that of float32 in JAX.
"""
import os
import pathlib
import re
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import commsched  # noqa: E402

STEPS = 2
# Of float32 in JAX against float64: how much farther away we may be, and of the largest
# magnitude of a tensor, for what happens to be exact there.
TIMES, LEAST = 64, 2e-5

MODES = [dict(cluster=1), dict(cluster=2), dict(cluster=4),
         dict(cluster=2, strategy=commsched.ParameterServers(servers=2, min_block_elements=4)),
         dict(cluster=1, strategy=commsched.ParameterServers(servers=1)),
         dict(cluster=4, strategy=commsched.AllReduce(schedule="fifo")),
         dict(cluster=2, strategy=commsched.AllReduce(schedule="bytescheduler"))]


class Loss:
    """A random function (params, x, ids) -> scalar: the same graph whenever it is called."""

    def __init__(self, seed):
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.d = int(rng.choice([2, 3, 5, 8, 16]))
        self.n = int(rng.choice([4, 8, 12]))
        shapes = [(self.d, self.d), (self.d,), (self.d, self.d), (3, self.d)]
        self.params = {f"p{i}": (rng.standard_normal(shapes[rng.integers(len(shapes))]) / 2).astype(np.float32)
                       for i in range(rng.integers(2, 6))}
        self.ops = int(rng.integers(3, 12))

    def batch(self, step):
        rng = np.random.default_rng((self.seed, step))
        return (rng.uniform(-1, 1, (self.n, self.d)).astype(np.float32),
                rng.integers(0, self.d, (self.n,)).astype(np.int32))

    def __call__(self, params, x, ids):
        rng = np.random.default_rng((self.seed, 99))
        pool = [x, x * 0.5] + list(params.values())
        for _ in range(self.ops):
            family = FAMILIES[rng.integers(len(FAMILIES))]
            value = family(rng, pool, params, ids)
            if value is not None and value.size <= 4096:
                pool.append(jnp.tanh(value) if rng.integers(2) else value / (1 + jnp.abs(value).mean()))
        loss = sum(jnp.mean(pool[-1 - i] ** 2) for i in range(min(3, len(pool))))
        if rng.integers(3) == 0:
            matrices = [v for v in pool if v.ndim == 2]
            loss = loss + jax.scipy.special.logsumexp(matrices[-1], axis=1).mean()
        # Every parameter has a gradient.
        return loss + sum(0.1 * jnp.mean(jnp.sin(p)) for p in params.values())


def pick(rng, pool, fits=lambda v: True):
    found = [v for v in pool if fits(v)]
    return found[max(rng.integers(len(found)), rng.integers(len(found)))] if found else None


def product(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 2)
    w = pick(rng, pool, lambda v: v.ndim == 2 and v.shape[0] == a.shape[-1])
    return None if w is None else a @ w


def transposed_product(rng, pool, params, ids):
    a, b = pick(rng, pool, lambda v: v.ndim == 2), pick(rng, pool, lambda v: v.ndim == 2)
    return a @ b.T if a.shape[1] == b.shape[1] else a.T @ b if a.shape[0] == b.shape[0] else None


def towers(rng, pool, params, ids):
    squares = [p for p in params.values() if p.ndim == 2 and p.shape[0] == p.shape[1]]
    x = pool[0]
    if not squares:
        return None
    u, v = x, x * 0.7
    for _ in range(rng.integers(1, 3)):
        u = jnp.tanh(u @ squares[rng.integers(len(squares))])
        v = jnp.tanh(v @ squares[rng.integers(len(squares))])
    return u @ v.T


def softmax(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    return (jax.nn.softmax, jax.nn.log_softmax)[rng.integers(2)](a, axis=int(rng.integers(a.ndim)))


def elementwise(rng, pool, params, ids):
    a = pick(rng, pool)
    b = pick(rng, pool, lambda v: v.shape == a.shape)
    return [lambda: a + b, lambda: a * b, lambda: jnp.exp(-a * a), lambda: jnp.where(a > b, a, 0.5 * b),
            lambda: jax.nn.gelu(a), lambda: jax.nn.relu(a - 0.1), lambda: jnp.log1p(a * a), lambda: jnp.sqrt(1 + a * a),
            lambda: jax.nn.sigmoid(a) * b, lambda: jnp.maximum(a, b) - jnp.sin(a)][rng.integers(10)]()


def concatenate(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    b = pick(rng, pool, lambda v: v.ndim == a.ndim and v.shape[1:] == a.shape[1:])
    joined = jnp.concatenate([a, b])
    return joined[rng.integers(2)::2]


def reduce(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    return (jnp.sum, jnp.max, jnp.mean)[rng.integers(3)](a, axis=int(rng.integers(a.ndim)), keepdims=bool(rng.integers(2)))


def broadcast(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim == 1)
    b = pick(rng, pool, lambda v: a is not None and v.ndim == 2 and v.shape[1] == a.shape[0])
    return None if b is None else b + a


def einsum(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim == 2)
    b = pick(rng, pool, lambda v: v.shape == a.shape)
    return jnp.einsum(["ij,ij->i", "ij,ik->jk", "ij,kj->ik", "ij,ij->ij", "ij,kj->k"][rng.integers(5)], a, b)


def gather(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    return a[ids % a.shape[0]]


def scan(rng, pool, params, ids):
    w = pick(rng, pool, lambda v: v.ndim == 2 and v.shape[0] == v.shape[1])
    h = pick(rng, pool, lambda v: w is not None and v.ndim == 2 and v.shape[1] == w.shape[0])
    if h is None:
        return None

    def body(carry, _):
        a, b = carry
        return (b, jnp.tanh(a @ w) * 0.5 + b * 0.5), b.mean()
    (a, b), means = jax.lax.scan(body, (h, h * 0.5), None, length=int(rng.integers(1, 4)))
    return a + b * means.sum()


def cond(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    return jax.lax.cond(ids[0] > 1, lambda v: jnp.tanh(v) * 2, lambda v: v * v, a)


def reshape(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    return [lambda: a.reshape(-1), lambda: a.T, lambda: a[::-1], lambda: jnp.pad(a, 1), lambda: a[..., :-1] if a.shape[-1] > 1 else a,
            lambda: jnp.expand_dims(a, 0), lambda: jnp.roll(a, 1, 0)][rng.integers(7)]()


def factors(rng, pool, params, ids):
    """Of a matrix that is far from singular."""
    a = pick(rng, pool, lambda v: v.ndim == 2 and v.shape[0] <= 16)
    if a is None:
        return None
    whole = jnp.eye(a.shape[0], dtype=a.dtype) + a @ a.T / (1 + (a * a).sum())
    return [lambda: jnp.linalg.cholesky(whole), lambda: jnp.linalg.solve(whole, a), lambda: jnp.linalg.inv(whole),
            lambda: jnp.linalg.qr(whole)[1], lambda: a * jnp.linalg.slogdet(whole)[1],
            lambda: jax.scipy.linalg.solve_triangular(whole, a, trans=int(rng.integers(2)), lower=bool(rng.integers(2)))][rng.integers(6)]()


def spectrum(rng, pool, params, ids):
    a = pick(rng, pool, lambda v: v.ndim >= 1)
    axis = int(rng.integers(a.ndim))
    return [lambda: jnp.abs(jnp.fft.rfft(a, axis=axis)) ** 2, lambda: jnp.fft.fft(a, axis=axis).real,
            lambda: jnp.fft.irfft(jnp.fft.rfft(a, axis=axis) * (0.5 + 0.25j), n=a.shape[axis], axis=axis),
            lambda: (jnp.exp(1j * a) * (1 + a)).imag, lambda: jnp.fft.ifftn(a * (1 - 2j)).imag][rng.integers(5)]()


def noise(rng, pool, params, ids):
    """The same numbers whatever the precision is, and on all workers, as a step draws that asks for their index."""
    a = pick(rng, pool)
    key = jax.random.key(int(rng.integers(99)), impl=["threefry2x32", "rbg", "unsafe_rbg"][rng.integers(3)])
    draw = [jax.random.normal, jax.random.uniform][rng.integers(2)]
    return a + 0.1 * draw(jax.random.fold_in(key, rng.integers(9) + 0 * commsched.worker_index()), a.shape, np.float32).astype(a.dtype)


FAMILIES = [product, product, transposed_product, towers, softmax, elementwise, elementwise, elementwise, concatenate, reduce,
            broadcast, einsum, gather, scan, cond, reshape, factors, spectrum, noise]


def update(kind, params, state, grads):
    """(new parameters, new state)."""
    if kind == 0:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state
    if kind == 1:
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, state, grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments
    moments = jax.tree.map(lambda v, g: 0.9 * v + 0.1 * g * g, state, grads)
    return jax.tree.map(lambda p, g, v: p - 0.01 * g / (jnp.sqrt(v) + 0.1), params, grads, moments), moments


def expected(loss, kind, params, state, batch, workers, dtype):
    """What JAX makes of a step, with the mean of the workers' gradients."""
    def cast(tree):
        return jax.tree.map(lambda v: jnp.asarray(v, dtype), tree)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x, ids = batch
        parts = [jax.value_and_grad(loss)(cast(params), jnp.asarray(px, dtype), jnp.asarray(pi))
                 for px, pi in zip(np.split(x, workers), np.split(ids, workers))]
        value = sum(p[0] for p in parts) / workers
        grads = jax.tree.map(lambda *g: sum(g) / workers, *[p[1] for p in parts])
        new, moments = update(kind, cast(params), cast(state), grads)
        return jax.tree.map(lambda v: np.asarray(v, np.float64), (new, moments, value))


def compare(found, exact, rough):
    """None, or what is wrong. NaN and infinities must be where they are."""
    for (path, f), e, r in zip(jax.tree_util.tree_flatten_with_path(found)[0], jax.tree.leaves(exact), jax.tree.leaves(rough)):
        f = np.asarray(f, np.float64)
        if not np.all(np.isfinite(e)) or not np.all(np.isfinite(r)):
            continue
        allowed = TIMES * np.abs(r - e).max(initial=0) + LEAST * max(1e-3, np.abs(e).max(initial=0))
        apart = np.abs(f - e).max(initial=0)
        if not apart <= allowed:
            return f"{jax.tree_util.keystr(path)} differs by {apart:.3g}, allowed {allowed:.3g}"
    return None


def trial(seed):
    """(outcome, reason) of one step."""
    rng = np.random.default_rng((seed, 1))
    loss, kind, mode = Loss(seed), int(rng.integers(3)), MODES[rng.integers(len(MODES))]
    workers = mode["cluster"]
    params = loss.params
    state = jax.tree.map(lambda p: np.zeros_like(p), params)

    def step(params, state, x, ids):
        value, grads = jax.value_and_grad(loss)(params, x, ids)
        new, moments = update(kind, params, state, grads)
        return new, moments, value

    batch = loss.batch(0)
    try:
        program = commsched.transpile(step, params, state, *batch, batch=(2, 3), **mode)
        plan = program.plan
    except commsched.CommSchedError as error:
        text = f"{type(error).__name__}: {error}".split("\n")[0]
        return "crashed" if "internal error" in text else "refused", text, mode
    assert plan
    for s in range(STEPS):
        batch = loss.batch(s)
        exact = expected(loss, kind, params, state, batch, workers, np.float64)
        rough = expected(loss, kind, params, state, batch, workers, np.float32)
        metrics = program.run([batch])
        params, state = program.params, program.state[0]
        why = compare((params, state, list(metrics[0].values())[0]), exact, rough)
        if why:
            return "wrong", f"after step {s + 1}: {why}", mode
    program.close()
    return "equal", "", mode


def run(seed, count, save=None):
    """Yields (outcome, reason) of each of `count` steps; prints findings."""
    for i in range(count):
        try:
            outcome, reason, mode = trial(seed * 1_000_003 + i)
        except Exception:  # noqa: BLE001
            outcome, reason, mode = "crashed", traceback.format_exc().strip().split("\n")[-1], None
        if outcome in ("wrong", "crashed"):
            print(f"finding: JAX step {seed}/{i}: {outcome}: {reason}\n  mode: {mode}", flush=True)
            if save:
                pathlib.Path(save).mkdir(parents=True, exist_ok=True)
                (pathlib.Path(save) / f"jax-{seed}-{i}.txt").write_text(
                    f"{outcome}: {reason}\nmode: {mode}\npython: _jax_steps.trial({seed * 1_000_003 + i})\n")
        yield outcome, re.sub(r"[0-9]+|tensor<[^>]*>", "", reason)[:150]
