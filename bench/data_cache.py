# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast an input pipeline gives batches: from memory, from disk, and reading and decoding every time.

Images of 128 x 128 x 3 bytes, each a file compressed by zlib as in PNG, are decoded to normalised float32 and
stacked to batches of 64, in a new order every epoch: by commsched.Loader without a cache; with a DataCache that
is filled (first epoch), in memory and on disk; from memory; from disk, with its files in the page cache and
not; and by PyTorch's DataLoader with the same source, and with all samples decoded in memory, with as many worker
processes as suit it best. In turn, several rounds; nothing trains. Before that, batches of one epoch are
compared with those of a plain loop.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import zlib

import numpy as np

import commsched

EDGE, BATCH = 128, 64
MEAN, SCALE = np.float32([0.485, 0.456, 0.406]), 1 / np.float32([0.229, 0.224, 0.225])


def write(folder, count):
    """Smooth images with noise, which zlib halves, as it does photographs."""
    random = np.random.default_rng(0)
    across = np.linspace(0, 1, EDGE)
    for i in range(count):
        a, b, c = random.uniform(20, 200, (3, 1, 1, 3))
        image = a + (b - a) * across[:, None, None] + (c - a) * across[None, :, None] * 0.5
        image = (image + random.normal(0, 4, image.shape)).clip(0, 255).astype(np.uint8)
        image[1:] -= image[:-1].copy()  # PNG's filter "up"
        (folder / f"{i}.z").write_bytes(zlib.compress(image, 6))


class Images:
    identity = "bench"

    def __init__(self, folder, count):
        self.paths = [str(folder / f"{i}.z") for i in range(count)]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            image = np.frombuffer(zlib.decompress(file.read()), np.uint8).reshape(EDGE, EDGE, 3)
        image = np.cumsum(image, axis=0, dtype=np.uint8)
        return {"image": (image / np.float32(255) - MEAN) * SCALE, "label": np.int32(index % 1000)}


def rate(batches):
    began, samples = time.perf_counter(), 0
    for batch in batches:
        samples += len(batch["label"])
    return samples / (time.perf_counter() - began)


def forget(folder):
    """Takes files out of the page cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def dataloaders(torch, dataset, most):
    """DataLoaders with 0 to `most` worker processes."""
    return {workers: torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, drop_last=True, num_workers=workers,
                                                 persistent_workers=workers > 0) for workers in range(most + 1)}


def check(images):
    loader = commsched.Loader(commsched.DataCache(images, memory=1 << 40), BATCH, threads=2)
    for _ in range(2):
        for batch, indices in zip(loader.epoch(1), loader.order(1)):
            wanted = [images[i] for i in indices]
            for name in ("image", "label"):
                if batch[name].tobytes() != np.stack([s[name] for s in wanted]).tobytes():
                    sys.exit("data_cache: a batch is not that of a plain loop")


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--quick", action="store_true", help="fewer samples, one round")
parser.add_argument("--samples", type=int, default=2048)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--folder", help="where images and cache are; default: a temporary folder")
options = parser.parse_args()
if options.quick:
    options.samples, options.rounds = 512, 1
try:
    import torch
    import torch.utils.data
except ImportError:
    torch = None
    print("data_cache: PyTorch is not there (scripts/setup.sh --bench): left out", file=sys.stderr)

found = {}


def note(name, value):
    found.setdefault(name, []).append(value)


with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
    folder, disk = pathlib.Path(temporary) / "images", pathlib.Path(temporary) / "cache"
    folder.mkdir()
    write(folder, options.samples)
    images = Images(folder, options.samples)
    check(Images(folder, 4 * BATCH))
    peers = {}
    if torch is not None:
        torch.set_num_threads(1)
        held = [images[i] for i in range(options.samples)]
        for name, dataset in (("dataloader_source", images), ("dataloader_memory", held)):
            for workers, loader in dataloaders(torch, dataset, min(2, os.cpu_count())).items():
                peers[f"{name}_{workers}"] = loader
                rate(loader)  # its workers start
    plain = commsched.Loader(images, BATCH, threads=options.threads)
    memory = commsched.Loader(commsched.DataCache(images, memory=1 << 40), BATCH, threads=options.threads, drop_last=False)
    list(memory.epochs(2))
    for turn in range(options.rounds):
        note("source", rate(plain.epoch(turn)))
        fill = commsched.Loader(commsched.DataCache(images, memory=1 << 40), BATCH, threads=options.threads)
        note("fill_memory", rate(fill.epoch(0)))
        del fill
        note("memory", rate(memory.epochs(2, first=2)))
        with commsched.DataCache(images, disk=1 << 40, folder=disk, version=turn) as cache:
            loader = commsched.Loader(cache, BATCH, threads=options.threads, drop_last=False)
            note("fill_disk", rate(loader.epoch(0)))
            note("disk", rate(loader.epochs(2, first=1)))
            forget(disk)
            note("disk_cold", rate(loader.epoch(3)))
            cache.clear()
        for name, loader in peers.items():
            note(name, rate(loader))
    peers.clear()

rates = {name: statistics.median(values) for name, values in found.items()}
for name, values in found.items():
    print(f"{name:22} {rates[name]:9.0f} samples/s  ({min(values):.0f} to {max(values):.0f})")


def over(name, other):
    """Median of the ratios of each round; the best of the DataLoaders."""
    names = [n for n in found if n == other or n.startswith(other + "_") and other.startswith("dataloader")]
    if not names:
        return None
    best = max(names, key=lambda n: rates[n])
    return round(statistics.median(a / b for a, b in zip(found[name], found[best])), 2)


print(json.dumps({"over_source_memory": over("memory", "source"), "over_source_disk": over("disk", "source"),
                  "over_source_disk_cold": over("disk_cold", "source"),
                  "over_dataloader": over("memory", "dataloader_memory"),
                  "over_dataloader_source": over("source", "dataloader_source"),
                  "samples_per_s": {name: round(value) for name, value in rates.items()}}))
