# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python that the documentation shows runs: each block in a process of its own, behind what a reader would have already (GIVEN), and
before what shows that it did something."""
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
from blocks import PAGES, of_page  # noqa: E402
from built import tool  # noqa: E402

LIMIT = 600  # seconds; only ends a hang
JAX = """
import itertools, os, warnings
import jax, jax.numpy as jnp, numpy as np, optax, safetensors.numpy
import commsched
warnings.simplefilter("ignore", commsched.GuessedCosts)
rows, GLOBAL_BATCH = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32), 8
source = [(row, row.sum()) for row in rows]
batch = rows[:8], rows[:8].sum(1)
batches = [batch] * 3
params = {"w": jnp.zeros(5)}
optimizer = optax.adam(0.01)
opt_state = optimizer.init(params)
def loss_of(params, batch):
    return jnp.mean((batch[0] @ params["w"] - batch[1]) ** 2)
def step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss
def update(params, grads):
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
"""
PROGRAM = JAX + "program = commsched.transpile(step, params, opt_state, batch)\nloader = commsched.Loader(source, GLOBAL_BATCH)\n"
TORCH = """
import warnings
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
import commsched.torch
warnings.simplefilter("ignore", commsched.GuessedCosts)
Net, GLOBAL_BATCH = lambda: nn.Linear(5, 3), 8
dataset = TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
loader = DataLoader(dataset, GLOBAL_BATCH)
batches = list(loader)
example_batch, model, loss_fn = batches[0], Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
before = [p.detach().clone() for p in model.parameters()]
"""
MOVED = "\nassert all((a != b).any() for a, b in zip(before, model.parameters()))\n"
PADDLE = """
import numpy as np, paddle, warnings
from paddle import nn
from paddle.nn import functional as F
import commsched
warnings.simplefilter("ignore", commsched.GuessedCosts)
batch = {"x": np.ones((8, 1, 28, 28), "float32"), "y": np.zeros((8, 1), "int64")}
batches = [batch] * 3
def net(x):
    return nn.Linear(784, 10)(x.reshape([-1, 784]))
"""
LOSSES = "\nassert np.isfinite([m['loss'] for m in metrics]).all() and len(metrics) == 3\n"
# By page, of its blocks of Python in order: what is there before, and what is checked behind.
GIVEN = {
    "README.md": [(JAX.replace("(params, opt_state, batch):", "(params, momentum, x, y):", 1) + """
def step(params, momentum, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, (x, y))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return update(params, momentum), momentum, loss
momentum, (x, y) = {"w": jnp.zeros(5)}, batch
""", "\nassert (params['w'] != 0).all() and program.plan\n")],
    "docs/data-cache.md": [
        (JAX + """
batch = np.ones((256, 5), np.float32), np.ones(256, np.float32)
program = commsched.transpile(step, params, opt_state, batch)
paths = []
for i in range(256):
    paths.append(f"{i}.npy")
    np.save(paths[-1], rows[i % 64])
def decode(path):
    return np.load(path), np.float32(1)
""", "\nassert program.steps == 30 and cache.statistics\n"),
        (PROGRAM, "\nassert program.steps == 30 * 8\n")],
    "docs/interpreter.md": [(PROGRAM, "")],
    "docs/paddle.md": [
        (PADDLE, "\nassert np.isfinite(metrics[0]['loss'])\n"),
        (PADDLE + """
paddle.enable_static()
x, y = paddle.static.data("x", [None, 1, 28, 28]), paddle.static.data("y", [None, 1], "int64")
loss = F.cross_entropy(net(x), y)
""", "")],
    "docs/posts.md": [(JAX + "tensor = np.ones(7, np.float32)\n", "\nassert (tensor == 1).all()\n")],
    "docs/python.md": [
        (JAX, LOSSES + "assert (params['w'] != 0).all()\n"),
        (JAX, "\nassert program.steps == 8 and os.path.exists('digits.program')\n"),
        (JAX, "\nprogram.run(batches)\n"),
        (JAX, ""),
        (JAX, ""),
        (JAX, ""),
        (PROGRAM, "\nassert program.steps == 30 * 8\n"),
        (PROGRAM + "job = commsched.init()\nprogram.run(batches)\nprogram.save('digits.program')\n", "\nassert program.steps == 3\n"),
        (PROGRAM + "job = commsched.init()\nimport orbax.checkpoint\nprogram.run(batches)\n", "\nassert os.path.exists('digits.safetensors')\n"),
        (JAX, ""),
        (JAX + "losses = jnp.ones((8, 3))\nbatch = {'mask': np.ones((8, 3), np.float32)}\n", "\nassert loss == 1\n"),
        (JAX + "def loss_of(params, key, x, y):\n    return jnp.mean((x @ params['w'] * jax.random.bernoulli(key, shape=(len(x),)) - y) ** 2)\n",
         "\nprogram = commsched.transpile(step, params, jax.random.key(0), *batch, batch=(2, 3), cluster=2)\nprogram.run(batches)\n"),
        (JAX + "from flax import nnx\nclass Model(nnx.Module):\n    def __init__(self, rngs):\n        self.w, self.drop = nnx.Linear(5, 1, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)\n"
         "    def __call__(self, x):\n        return self.drop(self.w(x))[:, 0]\nmodel = Model(nnx.Rngs(0))\n",
         "\nprogram = commsched.transpile(step, params, keys, rest, *batch, batch=(3, 4), cluster=2)\nprogram.run(batches)\n"),
        (JAX + "state = {'loss': jnp.float32(1), 'best': jnp.float32(0.5), 'rate': jnp.float32(0.02)}\n", """
program = commsched.transpile(step, params, state, batch, cluster=2)
program.run(batches)
for batch in batches:
    params, state, _ = step(params, state, batch)
assert state["rate"] < 0.02 and np.allclose(program.params["w"], params["w"])
""")],
    "docs/pytorch.md": [
        (TORCH, MOVED), (TORCH, "\nassert program.steps == 8\n"), (TORCH, MOVED), (TORCH, MOVED),
        (TORCH, "\nF.cross_entropy(model(batches[0][0]), batches[0][1]).backward()\ndist.destroy_process_group()\n")],
}
NEEDS = {"docs/paddle.md": ("paddle", "PaddlePaddle"), "docs/pytorch.md": ("torch", "PyTorch")}
# Of places that a test must not write to.
ELSEWHERE = re.compile(r'(?<=")/(?:scratch|where)(?=/)')


def python_of(page):
    return [block for block in of_page(page) if block.language == "python"]


def run(folder, text):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python_api"), "COMMSCHED_BIN": str(pathlib.Path(tool("cs-run")).parent),
                   "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    (folder / "block.py").write_text(text)
    return subprocess.run([sys.executable, "block.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)


def test_every_block_is_run():
    assert {page: len(given) for page, given in GIVEN.items()} == {page: len(python_of(page)) for page in PAGES if python_of(page)}


@pytest.mark.parametrize("page, number", [(page, i) for page, given in sorted(GIVEN.items()) for i in range(len(given))])
def test_python(page, number, tmp_path):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page][0], reason=f"needs {NEEDS[page][1]} (scripts/setup.sh --bench)")
    block, (before, behind) = python_of(page)[number], GIVEN[page][number]
    done = run(tmp_path, before + ELSEWHERE.sub(str(tmp_path), block.text) + behind)
    assert done.returncode == 0, f"{block}:\n{done.stderr}"


def test_what_is_wrong_is_found(tmp_path):
    (block,) = python_of("docs/interpreter.md")
    before, _ = GIVEN["docs/interpreter.md"][0]
    for wrong in ("loader.epoch(0)", "loader"), ("row.bound", "row.bounds"):
        assert wrong[0] in block.text
        assert run(tmp_path, before + block.text.replace(*wrong)).returncode == 1
