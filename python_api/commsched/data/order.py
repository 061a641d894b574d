# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of an epoch: a function of (seed, epoch) and of nothing else."""

from __future__ import annotations

import numpy as np


def permutation(count: int, seed: int, epoch: int, part: int = 0) -> np.ndarray:
    """A random order of range(count), int64.

    The ranks of raw 64-bit draws of PCG64 seeded with (seed, epoch, part): NumPy keeps these the same in
    every version, which it does not promise for Generator.permutation.
    """
    draws = np.random.PCG64(np.random.SeedSequence([seed, epoch, part])).random_raw(count)
    return np.argsort(draws, kind="stable")


def epoch_order(samples: int, batch_size: int, seed: int, epoch: int, shuffle: bool = True, ranks: int = 1,
                stay: bool = False) -> np.ndarray:
    """Indices of samples in the order of the global batches, int64.

    stay: sample i belongs to rank i % ranks in every epoch, and is in the rows of that rank of each batch (the
    rank-th of `ranks` equal pieces). Only whole batches then; otherwise the last one may be shorter.
    """
    if not stay or ranks == 1:
        return permutation(samples, seed, epoch) if shuffle else np.arange(samples)
    own, rows = samples // ranks, batch_size // ranks
    batches = own // rows
    parts = [(permutation(len(range(r, samples, ranks)), seed, epoch, r) if shuffle else np.arange(own))
             [:batches * rows] * ranks + r for r in range(ranks)]
    return np.stack([p.reshape(batches, rows) for p in parts], axis=1).reshape(-1)


def sample_generator(seed: int, epoch: int, index: int) -> np.random.Generator:
    """Random numbers for one sample in one epoch, whichever thread or rank draws them."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch, index, 1])))
