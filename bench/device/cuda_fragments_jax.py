# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jax.jit of the step of a case of cuda_fragments.py. Usage: CASE.json MODELS INIT BATCHES

Arguments are donated, and batches are on the device already."""
import json
import pathlib
import sys

import jax

import cuda_fragments_values as values
from cuda_fragments_peer import LOSSES, Variant, say, serve, wait_for

jax.config.update("jax_default_matmul_precision", "highest")


def step_and_tree(case):
    """The step, and the structure of (params, state)."""
    sizes = case["sizes"]
    if case["model"] == "bert":
        from _cuda_models import bert
        step, params, state, _ = bert(case["batch_size"], **sizes)
    else:
        import transformer
        for name, value in sizes.items():
            setattr(transformer, name, value)
        step, params = transformer.step, transformer.init()
        state = jax.eval_shape(transformer.optimizer.init, params)
    return step, jax.tree.structure((params, state))


def main():
    case, (models, init, data) = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2:]
    sys.path.insert(0, models)
    step, tree = step_and_tree(case)
    wait_for(init, data)
    params, state, batches = values.read(case, init, data)
    now = list(jax.device_put(jax.tree.unflatten(tree, params + state)))
    batches = jax.device_put(batches)
    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(*now, *batches[0]).compile()
    last = None

    def run(parts):
        nonlocal last
        for batch in parts:
            *left, last = compiled(*now, *batch)
            now[:] = left

    def wait():
        jax.block_until_ready((now, last))
    losses = []
    for i in range(LOSSES):
        run([batches[i % len(batches)]])
        losses.append(float(last))
    variant = Variant(run, wait)
    variant.warm(batches)
    say(losses={"jit": losses}, failed={}, device=str(jax.devices()[0]))
    serve({"jit": variant}, batches)


if __name__ == "__main__":
    main()
