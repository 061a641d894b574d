# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cuda_jobs.py runs: plans of the dense net of tests/, of the digits net and of the Transformer of examples/, for one CUDA device and for two
ranks by NCCL and by messages, with their data, initial values, and what JAX computes.

    python bench/device/nccl_pack.py FOLDER [--modules]      # FOLDER/jobs gets it

The Transformer's initial values are large: the pack has how they are drawn, by numpy, and a digest."""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/python", "bench", "examples/digits")]
BIN = pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin"))
STEPS = {"dense": 30, "digits": 10, "transformer": 10}
BOUNDS = {"dense": 1e-5, "digits": 1e-5, "transformer": 1e-4}
PLANS = {"one": (1, False), "host": (2, False), "nccl": (2, True)}


def translate(module):
    """The plan; of libdevice, which some functions need, that which is found here."""
    from _cuda_assembly import libdevice
    for more in ([], [f"--libdevice={libdevice()}"]):
        made = subprocess.run([BIN / "cs-translate", "--mlir-to-plan", *more], input=module.encode(), capture_output=True)
        if made.returncode == 0:
            return made.stdout
        if b"it needs libdevice" not in made.stderr:
            break
    raise RuntimeError(made.stderr.decode()[:2000])


def flat(tree, prefix=""):
    """(name of a slot, value) in the order in which the tree was made."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def draws(slots, seed=0):
    """How the values that are not all equal are drawn, in this order: (name, shape, scale); and the others: (name, shape, type, value).
    Those of examples/transformer/transformer.py."""
    import numpy as np
    import transformer
    drawn, random = [], np.random.default_rng(seed)
    for name, value in flat(transformer.init(seed)):
        if (value == value.flat[0]).all():
            continue
        normal = random.standard_normal(value.shape)
        scale = next(s for s in (0.02, 0.02 / np.sqrt(2 * transformer.LAYERS)) if ((normal * s).astype(np.float32) == value).all())
        drawn.append((name, list(value.shape), float(scale)))
    equal = []
    for name, value in slots.items():
        if name not in {each[0] for each in drawn}:
            assert (value == value.flat[0]).all(), name
            equal.append((name, list(value.shape), str(value.dtype), float(value.flat[0])))
    assert all(name in slots for name, _, _ in drawn)
    return {"seed": seed, "drawn": drawn, "equal": equal, "digest": digest(slots)}


def digest(values):
    told = hashlib.sha256()
    for name in sorted(values):
        told.update(name.encode() + values[name].tobytes())
    return told.hexdigest()


class Dense:
    def __init__(self):
        import dense_net
        self.net, self.batch = dense_net, {"x": dense_net.X, "y": dense_net.Y}

    def program(self, cluster, strategy):
        return self.net.program(cluster, nccl=strategy.nccl)

    def jax(self, steps):
        return self.net.jax_steps(steps)


class Digits:
    def __init__(self):
        import dense_net
        import make
        self.make, self.batches, self.batch = make, dense_net.BATCHES, {"x": dense_net.X, "y": dense_net.Y}

    def program(self, cluster, strategy):
        return self.make.program(cluster, strategy)

    def jax(self, steps):
        import digits
        import jax
        import numpy as np
        values = digits.init()
        momentum, losses, step = jax.tree.map(np.zeros_like, values), [], jax.jit(digits.step)
        for x, y in self.batches[:steps]:
            values, momentum, value = step(values, momentum, x, y)
            losses.append(float(value))
        return losses, {f"{layer}.{name}": np.asarray(value) for layer, all in values.items() for name, value in all.items()}


class Transformer:
    def __init__(self):
        from _examples import Example
        self.example = Example("transformer")
        tokens = self.example.module.batches(STEPS["transformer"])
        self.batch = {"tokens": tokens.reshape(-1, tokens.shape[-1])}

    def program(self, cluster, strategy):
        return self.example.program(cluster, strategy)

    def jax(self, steps):
        import jax
        state, step, losses = self.example.state(), jax.jit(self.example.step), []
        for batch in self.example.batches(steps):
            *state, loss = step(*state, *batch)
            losses.append(float(loss))
        return losses, {}


NETS = {"dense": Dense, "digits": Digits, "transformer": Transformer}


def pack(folder, modules=False, nets=tuple(NETS)):
    """modules: also their text, for cuda_kernels_writer."""
    import commsched
    import numpy as np
    folder = pathlib.Path(folder) / "jobs"
    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    for name in nets:
        net = NETS[name]()
        np.savez_compressed(folder / f"{name}.batch.npz", **net.batch)
        for way, (ranks, nccl) in PLANS.items():
            cluster = commsched.Cluster(ranks, kind="cuda", gflops=30_000, gb_per_s=2_000)
            program = net.program(cluster, commsched.AllReduce(nccl=nccl))
            module = program.mlir(2)
            (folder / f"{name}.{way}.plan").write_bytes(translate(module))
            if modules:
                (folder / f"{name}.{way}.mlir").write_text(module)
        slots = {key: np.asarray(value) for key, value in program.slots().items()}
        if name == "transformer":
            (folder / f"{name}.init.json").write_text(json.dumps(draws(slots)) + "\n")
        else:
            np.savez_compressed(folder / f"{name}.init.npz", **slots)
        losses, params = net.jax(STEPS[name])
        np.savez_compressed(folder / f"{name}.params.npz", **params)
        told[name] = {"steps": STEPS[name], "bound": BOUNDS[name], "losses": losses}
    (folder / "jobs.json").write_text(json.dumps(told) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--modules", action="store_true")
    arguments = parser.parse_args()
    pack(arguments.folder, arguments.modules)


if __name__ == "__main__":
    main()
