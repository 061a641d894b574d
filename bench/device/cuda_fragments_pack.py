# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of whole steps for one worker with a CUDA device, for cuda_fragments.py, which runs where neither CommSched's package nor
its compiler is: pack(folder)."""
import argparse
import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
TRANSFORMER = BENCH.parent / "examples/transformer/transformer.py"
sys.path[:0] = [str(BENCH), str(TRANSFORMER.parent)]

# Cases by name: the model, its global batch, and sizes that are not the model's own.
FULL = {"transformer": ("transformer", 16, {}), "transformer-256": ("transformer", 256, {}),
        "bert-base": ("bert", 32, {"length": 128})}
TINY = {"transformer": ("transformer", 2, {"LAYERS": 2, "WIDTH": 32, "HEADS": 2, "CONTEXT": 8, "VOCABULARY": 16}),
        "bert": ("bert", 2, {"length": 8, "layers": 2, "hidden": 32, "heads": 2, "vocabulary": 64, "positions": 16})}


def step_of(model, batch, sizes):
    """(step, params, state, batch arguments) in JAX. The values of arrays do not matter."""
    import numpy as np
    if model == "bert":
        from _cuda_models import bert
        return bert(batch, **sizes)
    import transformer
    importlib.reload(transformer)  # with its own sizes
    for name, value in sizes.items():
        setattr(transformer, name, value)
    params = transformer.init()
    return transformer.step, params, transformer.optimizer.init(params), (np.zeros((batch, transformer.CONTEXT + 1), np.int32),)


def plan_of(module):
    """The plan of a level-2 module; with libdevice where it needs that."""
    from _cuda_assembly import translate
    with tempfile.TemporaryDirectory() as folder:
        return translate(module, folder).plan


def described(name, values):
    return {"name": name, "shape": list(values.shape), "dtype": str(values.dtype)}


def pack(folder, cases=None, modules=False):
    """Writes folder/cuda_fragments: of each of `cases` (FULL) NAME.plan and NAME.json, and models/, the modules with the steps in JAX.
    modules: NAME.mlir of level 2, too.

    Weights of FULL are narrow, as those of such networks are; of small ones wide, so that losses tell more of the network."""
    import commsched
    import jax
    own = pathlib.Path(folder) / "cuda_fragments"
    (own / "models").mkdir(parents=True, exist_ok=True)
    for path in (TRANSFORMER, BENCH / "_cuda_models.py"):
        shutil.copy(path, own / "models")
    for name, (model, batch, sizes) in (FULL if cases is None else cases).items():
        step, params, state, arrays = step_of(model, batch, sizes)
        program = commsched.transpile(step, params, state, *arrays, batch=tuple(range(2, 2 + len(arrays))), device="cuda")
        module, slots = program.mlir(2), program.slots()
        leaves = jax.tree.leaves((params, state))
        if [(v.shape, v.dtype) for v in slots.values()] != [(v.shape, v.dtype) for v in leaves]:
            raise RuntimeError(f"{name}: slots must be the leaves of parameters and state, in their order")
        if modules:
            (own / f"{name}.mlir").write_text(module)
        (own / f"{name}.plan").write_bytes(plan_of(module))
        # The names of the plan's batch arrays are those of the step's arguments.
        names = step.__code__.co_varnames[2:2 + len(arrays)]
        (own / f"{name}.json").write_text(json.dumps({
            "name": name, "model": model, "batch_size": batch, "sizes": sizes, "params": len(jax.tree.leaves(params)),
            "deviation": 0.02 if cases is None else 0.3,
            "vocabulary": vocabulary(model, sizes), "slots": [described(*slot) for slot in slots.items()],
            "batch": [described(*named) for named in zip(names, arrays)]}) + "\n")


def vocabulary(model, sizes):
    if model == "bert":
        from _cuda_models import Bert
        return sizes.get("vocabulary", Bert.vocabulary)
    import transformer
    return transformer.VOCABULARY


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tiny", action="store_true", help="small networks, to be tried without a device")
    parser.add_argument("--modules", action="store_true", help="modules of level 2, too")
    arguments = parser.parse_args()
    pack(arguments.folder, TINY if arguments.tiny else None, arguments.modules)


if __name__ == "__main__":
    main()
