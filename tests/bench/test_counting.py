# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the benchmark of faults sees updates that are lost or applied twice."""
import pathlib
import sys

import pytest

np = pytest.importorskip("numpy")
save_file = pytest.importorskip("safetensors.numpy").save_file
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import _counting  # noqa: E402

MEAN = sum(_counting.PUSHED) / _counting.TRAINERS


def checkpoint(path, value, block, trainers, ready=()):
    """A server's checkpoint: `block` are its numbers, `trainers` pairs of pushes taken and applied."""
    lines = [f"block 0 {block}"] + [f"trainer 0 {r} {taken} {applied}" for r, (taken, applied) in enumerate(trainers)]
    lines += [f"ready {i} 0 {step} {trainer}" for i, (step, trainer) in enumerate(ready)]
    w = np.full((4, 3), -value, np.float32)
    save_file({"slot/server.0/w[0:4]": w}, path, {"counts": "\n".join(lines) + "\n"})
    return path


def counts(path, mode, steps=(10**6, 10**6)):
    found = _counting.Counts()
    _counting.Checkpoint(path).check(found, mode, steps)
    return found.lost, found.doubled


@pytest.mark.parametrize("value, wanted", [(7 * MEAN, (0, 0)), (6 * MEAN, (1, 0)), (9 * MEAN, (0, 2)),
                                           (7 * MEAN - 1, (1, 0)), (6 * MEAN + _counting.PUSHED[1], (0, 1))])
def test_synchronous_value(tmp_path, value, wanted):
    path = checkpoint(tmp_path / "c", value, "7 7 0 0 0", [(7, 0), (7, 0)])
    assert counts(path, "sync") == wanted


@pytest.mark.parametrize("lost, doubled", [((0, 0), (0, 0)), ((2, 0), (0, 0)), ((0, 3), (0, 0)), ((0, 0), (0, 1)),
                                           ((1, 0), (0, 2))])
def test_asynchronous_value(tmp_path, lost, doubled):
    applied = (8, 5)
    value = sum(p * (n - a + b) for p, n, a, b in zip(_counting.PUSHED, applied, lost, doubled))
    path = checkpoint(tmp_path / "c", value, "13 0 0 0 0", [(n, n) for n in applied])
    assert counts(path, "async") == (max(lost), max(doubled))


def test_pushes_that_are_taken_but_nowhere(tmp_path):
    assert counts(checkpoint(tmp_path / "a", 7 * MEAN, "7 7 1 1 0", [(8, 0), (7, 0)]), "sync") == (0, 0)
    assert counts(checkpoint(tmp_path / "b", 7 * MEAN, "7 7 0 0 0", [(8, 0), (7, 0)]), "sync") == (1, 0)
    assert counts(checkpoint(tmp_path / "c", 8, "8 0 0 0 0", [(9, 8), (0, 0)], [(8, 0)]), "async") == (0, 0)
    assert counts(checkpoint(tmp_path / "d", 8, "8 0 0 0 0", [(9, 8), (0, 0)]), "async") == (1, 0)


def test_one_batch_less(tmp_path):
    value = 6 * MEAN + _counting.PUSHED[0]
    path = checkpoint(tmp_path / "c", value, "7 7 0 0 0", [(7, 0), (6, 0)])
    assert counts(path, "sync", (7, 6)) == (0, 0)
    assert counts(path, "sync", (7, 7)) != (0, 0)
