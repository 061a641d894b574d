# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch by the processes that torchrun starts: they come to what the threads of one come to, to the bit, and to
what eager PyTorch comes to on the global batch."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402

import torch_rank_cases as cases  # noqa: E402
from rank_job import CLEAN, ROOT, TIME_LIMIT, free_port  # noqa: E402
from torch_training import assert_close, eager, errors  # noqa: E402

ENVIRONMENT = {**CLEAN, "PYTHONPATH": f"{ROOT}/python_api:{ROOT}/tests/python", "PYTHONWARNINGS": "ignore"}


def torchrun(size, script, *arguments):
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size), "--master-port", str(free_port()),
                           script, *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(a, b):
    """To the bit, of what torch.save has written."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("size, names", [(2, ["0", "1", "dropout", "servers"]), (4, ["statistics"])])
def test_ranks_compute_what_threads_and_eager_pytorch_do(size, names, tmp_path):
    torchrun(size, cases.__file__, tmp_path, *names)
    for name in names:
        os.rename(tmp_path / f"{name}.saved", tmp_path / f"{name}.of ranks")
        threads = cases.train(name, size, tmp_path)
        assert (tmp_path / f"{name}.saved").read_bytes() == (tmp_path / f"{name}.of ranks").read_bytes()
        for rank in range(size):
            same(torch.load(tmp_path / f"{name}.{rank}", weights_only=True), threads)
        if cases.case(name).eager:
            compare_with_eager(name, size, threads)


def compare_with_eager(name, size, found):
    own = cases.case(name)
    (mine, optimizer), (theirs, wanted), (start, _) = (cases.begun(own) for _ in range(3))
    mine.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    scheduler = own.scheduler(wanted) if own.scheduler else None
    losses = eager(theirs, wanted, own.loss, own.batches, size, own.options.get("before_update"), scheduler.step if scheduler else None)
    distances = errors(mine, optimizer, theirs, wanted, start)
    distances["loss"] = max(abs(m["loss"] - l) for m, l in zip(found["metrics"], losses, strict=True))
    assert_close(distances, params=2e-6, buffers=5e-6, loss=2e-5)


def test_the_example(tmp_path):
    """One epoch by two ranks, another one by a process on its own, from the file."""
    pytest.importorskip("sklearn")
    example, options = ROOT / "examples/pytorch/ranks.py", ["--saved", tmp_path / "saved", "--epochs"]
    first = torchrun(2, example, *options, 1).splitlines()
    assert len(first) == 2 and first[0].startswith("epoch 0: loss ") and float(first[1].split(": ")[1]) > 0.6
    done = subprocess.run([sys.executable, example, *map(str, options), "2"], capture_output=True, text=True, env=ENVIRONMENT)
    second = done.stdout.splitlines()
    assert len(second) == 2 and second[0].startswith("epoch 1: loss ") and float(second[1].split(": ")[1]) > 0.8, done.stderr
