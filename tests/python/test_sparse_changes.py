# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What workers have of their own when something else becomes of gradients in the middle of training: another density, another method,
which has it in other pieces on nodes of several devices, all of some gradients, servers or none, another number of workers. Nothing of it is lost, and no worker
has other parameters than the others. Losses are linear, so that gradients are known without training; NumPy says what comes out."""
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import cases

import commsched
from commsched import AllReduce, Cluster, ParameterServers, Sparse

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
RATE, SAMPLES, STEPS = 0.25, 8, 2  # of a phase
ALL = 0.9999  # of tensors like these that is every element


def step(params, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(sum((p[n] * x[n]).reshape(len(x[n]), -1).sum(1) for n in p)))(params)
    return jax.tree.map(lambda p, g: p - RATE * g, params, grads), loss


class Case:
    """Three phases, each with a strategy of its own. moments: options of Sparse for them."""

    def __init__(self, seed, moments):
        random = self.random = np.random.default_rng([seed, 17])
        self.moments = moments
        shapes = {"w": (int(random.integers(2, 7)), int(random.integers(3, 6))), "b": (int(random.integers(5, 9)),)}
        self.initial = {n: random.integers(-4, 5, s).astype(np.float32) for n, s in shapes.items()}
        # Of moments of squares, a worker's own are those of all where all have the same samples.
        self.batches = [{n: np.broadcast_to(random.integers(-8, 9, (1 if moments else SAMPLES, *s)), (SAMPLES, *s)).astype(np.float32)
                         for n, s in shapes.items()} for _ in range(3 * STEPS)]
        self.devices = int(random.choice([1, 2, 2, 4]))
        self.phases = [self.phase(last) for last in (False, False, True)]

    def phase(self, last):
        """(strategy, workers). Without moments the last phase sends all that is left."""
        workers = int(self.random.choice([2, 2, 4])) if self.devices < 4 else 2
        kinds = ["allgather", "hitopk", "dense", "servers", "dense on servers"]
        if self.moments:
            kinds = [kind for kind in kinds if "second_moment" not in self.moments or "servers" not in kind]
        elif last:
            kinds = kinds[:2]
        kind = str(self.random.choice(kinds))
        density = ALL if last or self.moments else float(self.random.choice([0.2, 0.4]))
        if "dense" in kind:
            own = {n: v for n, v in self.moments.items() if n not in ("mask", "squares")}
            sparse = Sparse(1.0, **own)
        else:
            rules = {str(name): 1.0 for name in self.random.permutation(["w", "b"])[:self.random.integers(0, 2)] if not last}
            sparse = Sparse(density, kind if kind != "servers" else "auto", min_elements=1, rules=rules, **self.moments)
        return (ParameterServers(servers=2, sparse=sparse) if "servers" in kind else AllReduce(sparse=sparse)), workers


def trained(case):
    """(parameters, losses), phase by phase from one file to the next."""
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (strategy, workers) in enumerate(case.phases):
            with commsched.transpile(step, case.initial, case.batches[0], cluster=Cluster(workers, devices=case.devices),
                                     strategy=strategy) as program:
                if number:
                    program.restore(f"{folder}/saved")
                losses += [m["loss"] for m in program.run(case.batches[number * STEPS:(number + 1) * STEPS])]
                program.close()  # what is there when workers have ended
                program.save(f"{folder}/saved")
                params = program.params
    return params, losses


def wanted(case, fault=None):
    params, losses = {n: v.astype(np.float64) for n, v in case.initial.items()}, []
    first, second = case.moments.get("momentum", 0.0), case.moments.get("second_moment")
    u, s = ({n: np.zeros_like(v) for n, v in params.items()} for _ in range(2))
    for t, batch in enumerate(case.batches, 1):
        losses.append(float(sum((params[n] * batch[n]).sum() for n in params)) / SAMPLES)
        if fault == "moments begin anew" and t == STEPS + 1:
            u, s = ({n: np.zeros_like(v) for n, v in params.items()} for _ in range(2))
        for n in params:
            g = batch[n].mean(axis=0, dtype=np.float64)
            u[n] = first * u[n] + (1 if second is None else 1 - first) * g
            direction = u[n]
            if second is not None:
                s[n] = second * s[n] + (1 - second) * g * g
                direction = u[n] / (1 - first ** t) / (np.sqrt(s[n] / (1 - second ** t)) + case.moments["epsilon"])
            params[n] = params[n] - RATE * direction
    return params, losses


def far(one, other):
    return max(np.abs(np.asarray(one[n]) - other[n]).max() for n in other)


def test_nothing_unsent_is_lost():
    """Numbers are small binary fractions: what has been sent in the end is exactly the sum of all gradients."""
    for seed in cases(4):
        case = Case(seed, {})
        params, losses = trained(case)
        assert far(params, wanted(case)[0]) == 0, (seed, case.phases)
        assert len(losses) == 3 * STEPS


def test_a_gradient_may_be_dense_for_a_while():
    for seed in cases(2):
        case = Case(seed, {})
        case.phases = [(AllReduce(sparse=Sparse(density, "allgather", min_elements=1, rules=rules)), 2)
                       for density, rules in ((0.2, {}), (0.2, {"w": 1.0}), (ALL, {}))]
        assert far(trained(case)[0], wanted(case)[0]) == 0, seed


@pytest.mark.parametrize("moments", [dict(momentum=0.5, mask=False), dict(momentum=0.5, second_moment=0.75, epsilon=2.0, squares="own")])
def test_moments_go_on(moments):
    """Where all elements are sent, every phase is the same training."""
    for seed in cases(2):
        case = Case(seed, moments)
        params, losses = trained(case)
        want, of_all = wanted(case)
        assert far(params, want) < 1e-4, (seed, case.phases)
        np.testing.assert_allclose(losses, of_all, rtol=1e-4, atol=1e-4, err_msg=str((seed, case.phases)))  # of all workers' parameters
        assert far(wanted(case, "moments begin anew")[0], want) > 1e-2


def test_warm_up_hands_everything_on():
    """Dense first, then hierarchical on several devices, which has it in shards."""
    for devices in (1, 2):
        case = Case(3, dict(momentum=0.5, mask=False))
        sparse = Sparse(ALL, "hitopk", min_elements=1, warm_up=[(1.0, 3)], **case.moments)
        with commsched.transpile(step, case.initial, case.batches[0], cluster=Cluster(2, devices=devices),
                                 strategy=AllReduce(sparse=sparse)) as program:
            losses = [m["loss"] for m in program.run(case.batches)]
            want, of_all = wanted(case)
            assert far(program.params, want) < 1e-4
            np.testing.assert_allclose(losses, of_all, rtol=1e-4, atol=1e-4)
