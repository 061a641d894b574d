# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of whole steps, and the bits of their kernels' outputs as the emulation has them."""
import os
import pathlib
import subprocess
import tempfile

from _tools import tool

MODELS = ("digits", "transformer", "convolutions", "BERT-base", "ResNet-50")
RANKS = 2


def program(name):
    """ResNet-50 and BERT-base have all that they have, for small images and short sequences."""
    import commsched
    from _cuda_models import ConvolutionExample, bert, resnet50
    from _examples import Example
    cluster = commsched.Cluster(RANKS, kind="cuda")
    if name in ("digits", "transformer"):
        return Example(name).program(cluster)
    if name == "convolutions":
        return ConvolutionExample().program(cluster)
    step, params, state, batch = bert(8, 16) if name == "BERT-base" else resnet50(8, 32)
    return commsched.transpile(step, params, state, *batch, batch=tuple(range(2, 2 + len(batch))), cluster=cluster)


def emulated(plan, module):
    """What cuda_values_driver prints on the fake machine."""
    machine = pathlib.Path(tool("cs-run")).parents[1] / "tests/cuda/machine"
    with tempfile.TemporaryDirectory() as kernels:
        subprocess.run([tool("cuda_kernels_writer"), module, plan, kernels], check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(machine), "COMMSCHED_FAKE_CUDA_KERNELS": kernels}
        return subprocess.run([tool("cuda_values_driver"), plan], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def pack(folder):
    made = folder / "values"
    made.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        for name in MODELS:
            step, module, plan = program(name), pathlib.Path(temporary) / "module.mlir", made / f"{name}.plan"
            module.write_text(step.mlir(2))
            plan.write_bytes(step.plan)
            plan.with_suffix(".txt").write_text(emulated(plan, module))
