# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Initial values and batches of a case of cuda_fragments.py: drawn from a seed, not learned from anything."""
import numpy as np

BATCHES = 4  # different ones; steps take them in turn
PADDED, GUESSED = 4, 0.15  # BERT: every so many-th sequence ends early; the share of tokens to be guessed


def initial(case, seed=0):
    """Parameters and state by name: norms' scales one, biases and the optimizer's state zero, weights normal."""
    def value(index, name, shape, dtype):
        last = name.rsplit(".", 1)[-1]
        if index >= case["params"] or last == "bias":
            return np.zeros(shape, dtype)
        if last == "scale":
            return np.ones(shape, dtype)
        drawn = np.random.default_rng((seed, index)).standard_normal(shape, dtype)
        drawn *= case["deviation"]
        return drawn
    return {s["name"]: value(i, s["name"], tuple(s["shape"]), np.dtype(s["dtype"])) for i, s in enumerate(case["slots"])}


def batches(case, seed=0):
    """BATCHES dictionaries of the step's batch arguments by name."""
    return [_bert(case, (seed, i)) if case["model"] == "bert" else _bytes(case, (seed, i)) for i in range(BATCHES)]


def _bytes(case, seed):
    shape = case["batch"][0]["shape"]
    return {"tokens": np.random.default_rng(seed).integers(0, case["vocabulary"], shape, np.int32)}


def _bert(case, seed):
    """0 is padding, -1 what is not to be guessed."""
    random, shape = np.random.default_rng(seed), case["batch"][0]["shape"]
    words = random.integers(1, case["vocabulary"], shape, np.int32)
    there = np.arange(shape[1]) < np.where(np.arange(shape[0]) % PADDED, shape[1], shape[1] * 3 // 4)[:, None]
    wanted = np.where((random.random(shape) < GUESSED) & there, words, -1)
    second = np.arange(shape[1]) >= random.integers(1, shape[1], (shape[0], 1))
    return {"tokens": np.where(there, words, 0).astype(np.int32), "segments": (second & there).astype(np.int32),
            "wanted": wanted.astype(np.int32), "follows": random.integers(0, 2, shape[0], np.int32)}


def paths(case, folder):
    """folder/NAME.init.safetensors and folder/NAME.npz."""
    return folder / f"{case['name']}.init.safetensors", folder / f"{case['name']}.npz"


def write(case, folder):
    """Writes paths(), with the batches in the order of the steps, and returns them. When one is there, it is whole."""
    from safetensors.numpy import save_file
    init, data = paths(case, folder)
    part = folder / f"{case['name']}.part.npz"
    save_file(initial(case), part)
    part.rename(init)
    drawn = batches(case)
    np.savez(part, **{b["name"]: np.concatenate([batch[b["name"]] for batch in drawn]) for b in case["batch"]})
    part.rename(data)
    return init, data


def read(case, init, data):
    """(parameters, state, batches): lists in the order of case["slots"], and batches as tuples in the order of case["batch"]."""
    from safetensors.numpy import load_file
    values = load_file(init)
    slots = [values[s["name"]] for s in case["slots"]]
    with np.load(data) as found:
        arrays = [found[b["name"]] for b in case["batch"]]
    parts = [tuple(part) for part in zip(*[np.split(a, BATCHES) for a in arrays])]
    return slots[:case["params"]], slots[case["params"]:], parts
