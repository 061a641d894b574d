# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MSTopK in NumPy, from the paper: S. Shi et al., "Towards scalable distributed training of deep learning on public cloud
clusters", MLSys 2021, algorithm 1."""
import math

import numpy as np


def split_mix_64(seed, number):
    """Number `number` (from 0) of the generator SplitMix64 (S. Vigna) that begins with `seed`."""
    limit = 1 << 64
    z = (seed + (number + 1) * 0x9e3779b97f4a7c15) % limit
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9 % limit
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb % limit
    return z ^ (z >> 31)


def ms_top_k(values, k, samples, seed, step):
    """Places, ascending, and how many were missing behind the closest threshold."""
    magnitudes = np.abs(values.ravel().astype(np.float64))
    mean, largest = math.fsum(magnitudes) / magnitudes.size, magnitudes.max()
    left, right = 0.0, 1.0
    fewer, fewer_threshold, more, more_threshold = 0, np.inf, magnitudes.size, 0.0
    for _ in range(samples):
        ratio = left + (right - left) / 2
        threshold = mean + ratio * (largest - mean)
        above = int((magnitudes >= threshold).sum())
        if above <= k:
            right = ratio
            if above > fewer:
                fewer, fewer_threshold = above, threshold
        else:
            left = ratio
            if above < more:
                more, more_threshold = above, threshold
    first = np.flatnonzero(magnitudes >= fewer_threshold)
    between = np.flatnonzero((magnitudes < fewer_threshold) & (magnitudes >= more_threshold))
    missing = k - fewer
    if missing == 0:
        return first, 0
    begin = split_mix_64(seed, step) % (between.size - missing + 1)
    return np.sort(np.append(first, between[begin:begin + missing])), missing
