# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Input pipelines for Program.run: samples kept decoded in memory, then on local disk, then read from their source.

    cache = commsched.DataCache(source, memory=8 << 30, disk=100 << 30, folder="/scratch/cache", name="train")
    loader = commsched.Loader(cache, batch_size=256, seed=0, threads=4)
    for epoch in range(30):
        program.run(loader.epoch(epoch))

docs/data-cache.md describes the whole. NumPy only.
"""

from ..errors import SampleError
from .cache import DataCache, Statistics
from .loader import Batches, Loader
from .source import Files

__all__ = ["Batches", "DataCache", "Files", "Loader", "SampleError", "Statistics"]
