# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strategies refuse what cs-opt refuses, and nothing else: drawn options that have no use for each other."""
import os
import subprocess
from random import Random
from unittest import mock

import numpy as np
import pytest

import commsched
from commsched.strategy import POLICIES
from commsched.tools import find

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")

SHARED = {"schedule": POLICIES, "bucket_bytes": [4096], "first_bucket_bytes": [512], "effort": [1], "reorder": [True, False],
          "memory_limit": [4096], "message_bytes": [65536], "copies": ["overlap", "in-line", "none"],
          "staging_bytes": [1 << 20], "assign_devices": [False]}
OWN = {commsched.AllReduce: {"algorithm": ["ring"], "parts": [True, False], "combine": [False], "hierarchical": [False], "spread_sums": [True]},
       commsched.ParameterServers: {"servers": [2], "mode": ["sync", "async", "half-async"], "merge": [1, 3], "slice": [False],
                                    "min_block_elements": [16], "max_block_elements": [8, 64, 10000],
                                    "placement": ["hash"], "cut_as": POLICIES, "fuse_blocks": [False], "by_block": [True]}}
SPARSE = {"method": ["auto", "dense", "allgather", "gtopk"], "min_elements": [1], "rules": [{"b": 0.5}, {"[wb]": (0.5, "dense")}, {"c": 0.1}],
          "feedback": [False], "momentum": [0.9], "mask": [False], "second_moment": [0.99], "epsilon": [1e-6], "squares": ["own"],
          "clip": [1.0], "select": ["mstopk", "sampled"], "fuse_bytes": [0, 64], "exact_every": [3], "values": ["int8"],
          "unsent_rate": [0.1], "mstopk_samples": [10], "mstopk_early_stop": [False], "mstopk_seed": [3]}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    import jax
    import jax.numpy as jnp

    def step(params, x):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] + p["b"]) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    params = {"w": np.ones((16, 8), np.float32), "v": np.ones((8, 4), np.float32), "b": np.zeros(4, np.float32)}
    program = commsched.transpile(step, params, np.ones((8, 16), np.float32), batch=(1,), cluster=4)
    path = tmp_path_factory.mktemp("rules") / "level0.mlir"
    path.write_text(program.mlir(0))
    return path


def draw(random, fields, part):
    return {name: random.choice(values) for name, values in fields.items() if random.random() < part}


def made(kind, options, sparse):
    return kind(**options, **({} if sparse is None else {"sparse": commsched.Sparse(0.1, **sparse)}))


def test_python_and_the_compiler_refuse_the_same(module):
    random, both = Random(11), {True: 0, False: 0}
    cs_opt = find("cs-opt")
    for _ in range(300):
        kind = random.choice(list(OWN))
        # What is refused has mostly one reason: few options at once.
        options = draw(random, {**SHARED, **OWN[kind]}, random.choice([0.08, 0.2]))
        sparse = draw(random, SPARSE, random.choice([0.1, 0.25])) if random.random() < 0.5 else None
        try:
            made(kind, options, sparse)
            said = None
        except commsched.FrontEndError as error:
            said = str(error)
        if said is not None and said.startswith("sparse must"):
            continue  # by the compiler only where a gradient is large enough
        nothing = mock.Mock(return_value=None)
        with mock.patch.object(kind, "__post_init__", nothing), mock.patch.object(commsched.Sparse, "__post_init__", nothing):
            raw = made(kind, options, sparse).pipeline(2)
        done = subprocess.run([cs_opt, *raw, module, "-o", "/dev/null"], capture_output=True, text=True)
        unused = sparse is not None and sparse.get("rules") == {"c": 0.1}  # only the compiler knows the parameters
        assert (said is not None or unused) == (done.returncode != 0), (kind, options, sparse, said, done.stderr)
        assert said is not None or not unused or "rules must match a parameter each, got: c=0.1" in done.stderr
        both[said is None] += 1
    assert min(both.values()) > 60, both
