# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/wheel.sh runs in an environment that has the wheel: every part of it once, beside NumPy, JAX or PyTorch.

    python smoke.py EXAMPLES

EXAMPLES: the folder examples/ of the sources. Prints a line for each part; the first that fails is a traceback.
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np

import commsched
from commsched import native, tools

SCRIPTS = pathlib.Path(sysconfig.get_path("scripts"))
PACKAGE = pathlib.Path(commsched.__file__).parent


def command(name: str, *arguments: object, status: int = 0) -> str:
    """stdout and stderr of a command that the wheel has put beside this Python."""
    done = subprocess.run([SCRIPTS / name, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)
    assert done.returncode == status, f"{name} {arguments} ended with {done.returncode}: {done.stdout}"
    return done.stdout


def where() -> None:
    """All is that of the wheel."""
    version = importlib.metadata.version("commsched")
    for name in ("cs-opt", "cs-translate", "cs-run", "cs-lsp-server"):
        assert version in command(name, "--version"), name
        assert pathlib.Path(tools.find(name)) == PACKAGE / "_bin" / name
    assert pathlib.Path(native._find()).is_relative_to(PACKAGE)


def compiler_and_runtime(examples: pathlib.Path, folder: pathlib.Path) -> None:
    """The commands of the README, with fragments that LLVM has compiled and lld has linked."""
    assert "cs.all_reduce" in command("cs-opt", "--insert-dist-comm", examples / "linear.mlir")
    scheduled, plan = folder / "digits.mlir", folder / "digits.plan"
    command("cs-opt", "--cs-all-reduce-pipeline", examples / "digits.mlir", "-o", scheduled)
    command("cs-translate", "--mlir-to-plan", scheduled, "-o", plan)
    data = ["--init", examples / "digits.init.safetensors", "--batch", examples / "digits.train.npz"]
    command("cs-run", plan, *data, "--steps", 3)
    command("cs-run", "--spawn", 4, plan, *data, "--steps", 3)
    command("cs-run", plan, *data, "--steps", 2, "--check-against", examples / "digits.mlir")
    refused = command("cs-run", plan, *data, "--transport", "mpi", status=1)
    assert refused.count("\n") == 1 and "built without MPI" in refused, refused


def jax_step() -> None:
    import jax
    import jax.numpy as jnp

    def step(w, x, y):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
        return w - 0.1 * gradient, loss

    random = np.random.default_rng(1)
    w = random.normal(size=5).astype(np.float32)
    batches = [(random.normal(size=(8, 5)).astype(np.float32), random.normal(size=8).astype(np.float32)) for _ in range(5)]
    program = commsched.transpile(step, w, *batches[0], batch=(1, 2), cluster=4)
    losses = [metrics["loss"] if "loss" in metrics else next(iter(metrics.values())) for metrics in program.run(batches)]
    expected = []
    for x, y in batches:
        w, loss = jax.jit(step)(w, x, y)
        expected.append(float(loss))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(program.params, w, rtol=1e-5, atol=1e-6)


def torch_step() -> None:
    import copy

    import commsched.torch
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    other = copy.deepcopy(model)
    optimizer, loss = torch.optim.AdamW(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(4)]
    program = commsched.torch.transpile(model, optimizer, loss, batches[0], cluster=2)
    program.run(batches)
    program.load_into(model, optimizer)
    eager = torch.optim.AdamW(other.parameters(), lr=0.01)
    for x, y in batches:
        eager.zero_grad()
        loss(other(x), y).backward()
        eager.step()
    for mine, its in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-6)


def main() -> None:
    where()
    print("tools and libraries: those of the wheel", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        compiler_and_runtime(pathlib.Path(sys.argv[1]), pathlib.Path(folder))
    print("cs-opt, cs-translate, cs-run: digits on 4 workers, as threads and processes, beside the interpreter", flush=True)
    for name, step in (("jax", jax_step), ("torch", torch_step)):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name}: not installed")
            continue
        step()
        print(f"{name} {version}: a step as {name} makes it", flush=True)


if __name__ == "__main__":
    main()
