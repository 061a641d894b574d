# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of the examples on a machine without CUDA devices: tests/cuda/cuda_steps_driver.cpp."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _cuda_assembly import libdevice  # noqa: E402
from _examples import Example  # noqa: E402
from _tools import tool  # noqa: E402

RANKS = 4
# How gradients are summed: by NCCL, by messages through pinned memory, or by two parameter servers.
WAYS = ("nccl", "host", "servers")


class Steps:
    """An example, or "convolutions" (_cuda_models.py), on RANKS devices: its plans, values, batches, and JAX's losses. whole: the
    Transformer with its own batches, else with 4 sequences of 16 bytes.

    Raises LookupError where the example needs libdevice, and it is not here."""

    def __init__(self, name, count, folder, ranks=RANKS, ways=WAYS, whole=True):
        import commsched
        import numpy as np
        from safetensors.numpy import save_file
        self.folder, self.count = pathlib.Path(folder), count
        if name == "convolutions":
            from _cuda_models import ConvolutionExample
            example = ConvolutionExample()
        else:
            example = Example(name)
            if name == "transformer" and not whole:
                example.module.GLOBAL_BATCH, example.module.CONTEXT = 4, 16
        batches = example.batches(count)
        np.savez(self.folder / "batch.npz", **{argument: np.concatenate([batch[i] for batch in batches])
                                               for i, argument in enumerate(example.batch_names)})
        cluster = commsched.Cluster(ranks, kind="cuda", gflops=30_000, gb_per_s=2_000)
        for way in ways:
            strategy = commsched.ParameterServers(servers=2) if way == "servers" else commsched.AllReduce(nccl=way == "nccl")
            program = example.program(cluster, strategy)
            module = program.mlir(2)
            (self.folder / f"{way}.mlir").write_text(module)
            made = self._translate(module)
            if b"it needs libdevice" in made.stderr:
                if libdevice() is None:
                    raise LookupError("libdevice.10.bc")
                made = self._translate(module, f"--libdevice={libdevice()}")
            if made.returncode:
                raise RuntimeError(made.stderr.decode())
            (self.folder / f"{way}.plan").write_bytes(made.stdout)
            save_file(program.slots(), self.folder / "init.safetensors")
        self.example, self.batches = example, batches

    @staticmethod
    def _translate(module, *arguments):
        return subprocess.run([tool("cs-translate"), "--mlir-to-plan", *arguments], input=module.encode(),
                              capture_output=True)

    def jax_losses(self):
        import jax
        state, step, losses = self.example.state(), jax.jit(self.example.step), []
        for batch in self.batches:
            *state, loss = step(*state, *batch)
            losses.append(float(loss))
        return losses

    def run(self, way, seeds, fault=None, steps=None):
        """What cuda_steps_driver says of each seed, as it comes."""
        command = [tool("cuda_steps_driver"), f"{way}.mlir", f"{way}.plan", "init.safetensors", "batch.npz",
                   str(steps or self.count), str(seeds.start), str(seeds.stop), *([fault] if fault else [])]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: ended with {process.returncode}")


def gap(losses, wanted):
    """The largest relative difference of a loss."""
    assert len(losses) == len(wanted)
    return max(abs(a - b) / abs(b) if a == a else float("inf") for a, b in zip(losses, wanted))
