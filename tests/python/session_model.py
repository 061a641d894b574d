# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step with sparse gradients, momentum and a count, and the same in NumPy, bit for bit: all values are small multiples
of powers of two, so that nothing is ever rounded, in whatever order it is added."""

import jax
import jax.numpy as jnp
import numpy as np

import commsched

SIZE, SMALL, ROWS, WORKERS = 96, 8, 8, 2
DENSITY, LEAST = 0.125, 64  # of the large parameter only


def step(params, velocity, count, x):
    def loss_of(p):
        return (p["w"] * x.mean(0)).sum() + (p["b"] * x[:, :SMALL].mean(0)).sum()
    loss, grads = commsched.value_and_grad(loss_of)(params)
    velocity = jax.tree.map(lambda v, g: g + 0.0 * v, velocity, grads)
    return jax.tree.map(lambda p, v: p - v, params, velocity), velocity, count + 1, loss


def initial():
    return {"w": np.zeros(SIZE, np.float32), "b": np.zeros(SMALL, np.float32)}


def batch(number):
    return np.random.default_rng([7, number]).integers(-8, 9, (ROWS, SIZE)).astype(np.float32)


def program(workers=WORKERS, sparse=commsched.Sparse(DENSITY, "allgather", min_elements=LEAST)):
    zeros = {n: np.zeros_like(v) for n, v in initial().items()}
    return commsched.transpile(step, initial(), zeros, np.int32(0), batch(0), cluster=workers,
                               strategy=commsched.AllReduce(sparse=sparse))


class Model:
    """What the program must have."""

    def __init__(self, workers=WORKERS, sparse=True):
        self.params, self.count, self.workers, self.sparse = initial(), 0, workers, sparse
        self.velocity = initial()
        self.residuals = [np.zeros(SIZE, np.float32) for _ in range(workers)]

    def copy(self):
        other = Model(self.workers, self.sparse)
        other.params, other.count = {n: v.copy() for n, v in self.params.items()}, self.count
        other.velocity = {n: v.copy() for n, v in self.velocity.items()}
        other.residuals = [r.copy() for r in self.residuals]
        return other

    def step(self, x):
        """Returns the metric."""
        loss, w, b = 0.0, np.zeros(SIZE, np.float32), np.zeros(SMALL, np.float32)
        for rank, rows in enumerate(np.split(x, self.workers)):
            mean = rows.mean(0)
            loss += ((self.params["w"] * mean).sum(dtype=np.float64)
                     + (self.params["b"] * mean[:SMALL]).sum(dtype=np.float64)) / self.workers
            own = sent = mean + self.residuals[rank] if self.sparse else mean
            if self.sparse:
                largest = np.lexsort((np.arange(SIZE), -np.abs(own)))[:max(1, round(DENSITY * SIZE))]
                sent = np.zeros_like(own)
                sent[largest] = own[largest]
                self.residuals[rank] = own - sent
            w, b = w + sent / self.workers, b + mean[:SMALL] / self.workers
        self.velocity = {"w": w, "b": b}
        self.params = {n: self.params[n] - v for n, v in self.velocity.items()}
        self.count += 1
        return loss

    def check(self, made):
        for name, value in made.params.items():
            np.testing.assert_array_equal(value, self.params[name], err_msg=name)
        velocity, count = made.state
        for name, value in velocity.items():
            np.testing.assert_array_equal(value, self.velocity[name], err_msg=f"velocity of {name}")
        assert int(count) == self.count
