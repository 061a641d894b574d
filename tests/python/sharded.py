# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on several workers by JAX alone, to compare with.

A step here takes one more argument, mean(tree), which it applies to everything that is a mean over the
workers: gradients, metrics, and state that depends on the batch. CommSched is given the step with the
identity, and has to find these places itself; JAX is given the mean of all workers' values.
"""

import jax
import numpy as np

import commsched


def of_workers(step, workers):
    """The step on a global batch as `workers` compute it, each on its part of every batch array."""
    def mean(tree):
        return jax.tree.map(lambda leaf: jax.lax.pmean(leaf, "workers"), tree)

    def whole(params, state, *batch):
        parts = [jax.tree.map(lambda a: a.reshape(workers, a.shape[0] // workers, *a.shape[1:]), b) for b in batch]
        return jax.vmap(lambda *part: step(params, state, *part, mean=mean), axis_name="workers",
                        out_axes=None)(*parts)
    return jax.jit(whole)


def train_jax(step, workers, params, state, batches):
    """(parameters, state, losses) after a step for each of the batches, which are tuples of global arrays."""
    whole, losses = of_workers(step, workers), []
    for batch in batches:
        params, state, loss = whole(params, state, *batch)
        losses.append(float(loss))
    return params, state, losses


def train(step, workers, params, state, batches, **options):
    """The same by CommSched."""
    def single(params, state, *batch):
        return step(params, state, *batch, mean=lambda tree: tree)
    positions = tuple(range(2, 2 + len(batches[0])))
    program = commsched.transpile(single, params, state, *batches[0], batch=positions, cluster=workers, **options)
    metrics = program.run([b[0] if len(b) == 1 else b for b in batches])
    params, (*state,) = program.params, program.state
    program.close()
    return params, state[0] if state else (), [m["loss"] for m in metrics]


def distance(found, wanted):
    """|found - wanted| by the Euclidean norm, in double precision; infinite if anything is not finite."""
    found, wanted = (np.asarray(a).astype(np.float64) for a in (found, wanted))
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    result = float(np.linalg.norm((found - wanted).ravel()))
    return result if np.isfinite(result) else float("inf")


def errors(start, wanted, found):
    """For each leaf its path and its error, relative to how far JAX moved it from where it started.

    A leaf that JAX did not move has an error of 0 if it is the same, bit for bit, else an infinite one.
    """
    result = {}
    leaves = (jax.tree.leaves(tree) for tree in (wanted, found))
    for (path, a), b, c in zip(jax.tree_util.tree_flatten_with_path(start)[0], *leaves, strict=True):
        moved, off = distance(b, a), distance(c, b)
        result[jax.tree_util.keystr(path)] = off / moved if moved else 0.0 if off == 0 else float("inf")
    return result
