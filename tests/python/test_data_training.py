# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training through an input pipeline: the losses of a plain loop, bit for bit."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import commsched
from commsched.data import DataCache, Loader, SampleError
from test_examples import make

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "train.py"


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    make("digits")
    return sys.modules["digits"]


class Images:
    """Samples of a part of the digits."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def outcome(program, *runs):
    losses = [m["loss"] for batches in runs for m in program.run(batches)]
    values = {n: v.tobytes() for n, v in program.slots().items()}
    program.close()
    return losses, values


def test_training_is_bitwise_the_same(digits, tmp_path):
    x, y, _, _ = (a[:5 * digits.GLOBAL_BATCH + 7] for a in digits.data())
    plain = []
    for epoch in range(3):
        keys = np.random.PCG64(np.random.SeedSequence([4, epoch, 0])).random_raw(len(x))
        order = np.argsort(keys)
        plain.append([(x[order[i:i + digits.GLOBAL_BATCH]], y[order[i:i + digits.GLOBAL_BATCH]])
                      for i in range(0, 5 * digits.GLOBAL_BATCH, digits.GLOBAL_BATCH)])
    wanted = outcome(make("digits").program(2), *plain)
    with DataCache(Images(x, y), memory=80_000, disk=1 << 20, folder=tmp_path, name="digits") as cache:
        loader = Loader(cache, digits.GLOBAL_BATCH, seed=4, threads=3)
        assert outcome(make("digits").program(2), *(loader.epoch(e) for e in range(3))) == wanted
        assert cache.statistics.memory and cache.statistics.disk
    # Stopped in the middle of the second epoch; the rest in another process's cache, from values and a position.
    with DataCache(Images(x, y), disk=1 << 20, folder=tmp_path, name="digits") as cache:
        program, batches = make("digits").program(2), Loader(cache, digits.GLOBAL_BATCH, seed=4, threads=2).epochs(3)
        losses = [m["loss"] for m in program.run(next(batches) for _ in range(8))]
        position, values = json.dumps(batches.position), program.slots()
        batches.close()
        program.close()
    other = make("digits").program(2)
    other.set_slots(values)
    found = outcome(other, Loader(Images(x, y), digits.GLOBAL_BATCH, seed=4).resume(json.loads(position), epochs=3))
    assert (losses + found[0], found[1]) == wanted


def test_an_error_of_the_source_ends_the_run_there(digits):
    x, y, _, _ = digits.data()

    class Failing(Images):
        def __getitem__(self, i):
            if i == 130:
                raise ValueError("no image")
            return super().__getitem__(i)
    program = make("digits").program(2)
    with pytest.raises(SampleError, match="sample 130: ValueError: no image"):
        program.run(Loader(Failing(x, y), digits.GLOBAL_BATCH, shuffle=False, threads=2).epoch(0))
    wanted = make("digits").program(2)
    wanted.run([(x[i:i + 64], y[i:i + 64]) for i in (0, 64)])
    for name, value in wanted.slots().items():  # the steps before it were made
        np.testing.assert_array_equal(program.slots()[name], value)
    program.close()


def test_a_last_batch_that_is_not_whole(digits):
    x, y, _, _ = digits.data()
    program = make("digits").program(2)
    with pytest.raises(commsched.FrontEndError, match=r"must match float32\[64, 8, 8, 1\], got: float32\[36"):
        program.run(Loader(Images(x[:100], y[:100]), 64, drop_last=False, threads=1).epoch(0))
    program.close()


def test_the_example(digits, tmp_path):
    def train(name, *options):
        done = subprocess.run([sys.executable, str(EXAMPLE), "--epochs", "2", "--json", tmp_path / name, *options],
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / name).read_text())
    plain = train("plain", "--threads", "0")
    read = train("read", "--samples", tmp_path / "samples", "--cache", tmp_path / "cache", "--memory", "300000")
    assert read["losses"] == plain["losses"] and len(plain["losses"]) == 2 * (1437 // 64)
    assert read["memory"] and read["disk"] and 0 < read["memory_bytes"] <= 300000
    again = train("again", "--samples", tmp_path / "samples", "--cache", tmp_path / "cache")
    assert again["losses"] == plain["losses"] and again["source"] <= 1437 % 64
