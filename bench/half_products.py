# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of two products (a layer and its weights' gradient) in f32, f16 and bf16, against jax.jit of the same step.

One worker, one core; the two run in turn, and the fastest round of each counts."""
import argparse
import json
import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before any thread starts

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import commsched  # noqa: E402

M, K, N = 256, 1024, 1024


def step(w, x):
    def loss(w):
        return ((x @ w).astype(jnp.float32) ** 2).mean()
    value, g = jax.value_and_grad(loss)(w)
    return (w - 0.01 * g).astype(w.dtype), value


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    rounds, steps = (4, 5) if arguments.quick else (12, 20)
    rng, result = np.random.default_rng(0), {}
    for dtype in ("float32", "float16", "bfloat16"):
        w = np.asarray(jnp.asarray(rng.standard_normal((K, N)) / 32, dtype))
        x = np.asarray(jnp.asarray(rng.standard_normal((M, K)), dtype))
        program = commsched.transpile(step, w, x, cluster=1)
        compiled = jax.jit(step, donate_argnums=0)
        state, batches, on_device = [jax.device_put(w)], [x] * steps, jax.device_put(x)

        def theirs():
            for _ in range(steps):
                state[0], loss = compiled(state[0], on_device)
            jax.block_until_ready(loss)

        def ours():
            program.run(batches)
        ours(), theirs()
        best = [min(times) / steps for times in zip(*((seconds(ours), seconds(theirs)) for _ in range(rounds)))]
        program.close()
        result[dtype] = best[0] / best[1]
        print(f"{dtype:9} ours {best[0] * 1e3:8.3f} ms   JAX {best[1] * 1e3:8.3f} ms   ratio {result[dtype]:.3f}", flush=True)
    print(json.dumps({name: round(value, 4) for name, value in result.items()}))


if __name__ == "__main__":
    main()
