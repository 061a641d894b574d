# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Input pipelines: the batches are those of a plain loop, whatever holds the samples and prepares them."""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest

from commsched.data import DataCache, Files, Loader
from commsched.data.order import epoch_order, permutation

COUNT, BATCH = 53, 8


class Source:
    """Samples with an image, a label and a nested tuple; counts what is read."""

    def __init__(self, count=COUNT, salt=0):
        self.count, self.salt, self.reads = count, salt, []
        self.lock = threading.Lock()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        with self.lock:
            self.reads.append(i)
        random = np.random.default_rng([i, self.salt])
        return {"image": random.standard_normal((5, 3)).astype(np.float32), "label": i % 7,
                "more": (random.integers(0, 9, 4).astype(np.int16), np.float64(i))}


def reference(samples, batch, seed, epoch, shuffle=True, drop_last=True):
    """A plain loop: draw a key for each sample, sort, cut, stack."""
    source = Source(samples)
    keys = np.random.PCG64(np.random.SeedSequence([seed, epoch, 0])).random_raw(samples)
    order = sorted(range(samples), key=lambda i: int(keys[i])) if shuffle else list(range(samples))
    for first in range(0, samples, batch):
        rows = [source[i] for i in order[first:first + batch]]
        if len(rows) == batch or not drop_last:
            yield {"image": np.stack([r["image"] for r in rows]), "label": np.array([r["label"] for r in rows]),
                   "more": (np.stack([r["more"][0] for r in rows]), np.array([r["more"][1] for r in rows]))}


def flat(batch):
    return [batch["image"], batch["label"], *batch["more"]]


def same(found, wanted):
    found, wanted = list(found), list(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert list(a) == list(b)
        for x, y in zip(flat(a), flat(b)):
            assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


ALL, SOME = 1 << 20, 20_000
LEVELS = {"no cache": {}, "memory": {"memory": ALL}, "little memory": {"memory": SOME // 4},
          "disk": {"disk": ALL}, "little of both": {"memory": SOME // 4, "disk": SOME // 4},
          "the rest on disk": {"memory": SOME // 4, "disk": ALL, "disk_holds": "rest"}}


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("level", LEVELS)
def test_batches_are_those_of_a_plain_loop(level, threads, tmp_path):
    options = dict(LEVELS[level])
    if "disk" in options:
        options.update(folder=tmp_path, name="numbers")
    with DataCache(Source(), **options) as cache:
        loader = Loader(cache, BATCH, seed=5, threads=threads, prefetch=3)
        assert len(loader) == COUNT // BATCH
        for epoch in range(4):
            same(loader.epoch(epoch), reference(COUNT, BATCH, 5, epoch))
        statistics = cache.statistics
    assert statistics.memory + statistics.disk + statistics.source == 4 * (COUNT // BATCH) * BATCH
    assert statistics.memory_bytes <= options.get("memory", 0) and statistics.disk_bytes <= options.get("disk", 0)
    assert (statistics.memory > 0) == ("memory" in options) and (statistics.disk > 0) == ("disk" in options)
    if ALL in options.values():
        assert statistics.source <= COUNT


def test_the_last_batch_and_no_shuffle():
    for shuffle in (False, True):
        loader = Loader(Source(), BATCH, shuffle=shuffle, drop_last=False, threads=2)
        assert len(loader) == -(-COUNT // BATCH)
        same(loader.epoch(1), reference(COUNT, BATCH, 0, 1, shuffle, drop_last=False))


def test_epochs_follow_each_other_and_differ():
    loader = Loader(DataCache(Source(), memory=ALL), BATCH, seed=1, threads=2)
    same(loader.epochs(3), [b for e in range(3) for b in reference(COUNT, BATCH, 1, e)])
    orders = [np.concatenate(loader.order(e)) for e in range(3)]
    assert not np.array_equal(orders[0], orders[1])
    assert sorted(permutation(COUNT, 1, 2)) == list(range(COUNT))
    endless = loader.epochs()
    for _ in range(20):
        next(endless)
    endless.close()
    with pytest.raises(StopIteration):
        next(endless)


def test_the_order_is_the_same_in_every_version():
    # Written down once: a changed order would make resumed runs see other batches.
    assert permutation(10, 3, 4).tolist() == [3, 2, 6, 1, 4, 9, 5, 7, 8, 0]
    assert epoch_order(10, 4, 3, 4, ranks=2, stay=True).tolist() == [6, 4, 7, 9, 2, 8, 1, 3]


def test_nothing_that_is_kept_is_evicted():
    source = Source()
    cache = DataCache(source, memory=SOME // 2)
    loader = Loader(cache, BATCH, threads=2, drop_last=False)
    list(loader.epoch(0))
    held, source.reads = cache.statistics.memory_samples, []
    assert 5 < held < COUNT - 5
    for epoch in range(1, 4):
        list(loader.epoch(epoch))
        assert cache.statistics.memory_samples == held
    assert cache.statistics.memory == 3 * held and len(source.reads) == 3 * (COUNT - held)
    assert len(set(source.reads)) == COUNT - held


@pytest.mark.parametrize("threads", [0, 2])
def test_an_epoch_goes_on_where_it_was_left(threads):
    wanted = [b for e in range(3) for b in reference(COUNT, BATCH, 9, e)]
    loader = Loader(DataCache(Source(), memory=ALL), BATCH, seed=9, threads=threads)
    for taken in (0, 4, 6, 11):
        with loader.epochs(3) as batches:
            found = [next(batches) for _ in range(taken)]
            position = json.loads(json.dumps(batches.position))
        assert (position["epoch"], position["batch"]) == divmod(taken, len(loader))
        again = Loader(Source(), BATCH, seed=9, threads=1)
        same(found + list(again.resume(position, epochs=3)), wanted)
    assert list(loader.resume(position, epochs=1)) == []
    with pytest.raises(ValueError, match="seed must match 9 of the position, got: 8"):
        Loader(Source(), BATCH, seed=8).resume(position)


def test_ranks_have_the_rows_of_the_global_batches():
    for stay in (False, True):
        whole = list(Loader(Source(), 8, ranks=4, stay=stay, seed=2).epoch(3))
        caches = [DataCache(Source(), memory=ALL) for _ in range(4)]
        parts = [list(Loader(c, 8, ranks=4, rank=r, stay=stay, seed=2).epoch(3)) for r, c in enumerate(caches)]
        for i, batch in enumerate(whole):
            for arrays in zip(flat(batch), *(flat(p[i]) for p in parts)):
                np.testing.assert_array_equal(arrays[0], np.concatenate(arrays[1:]))
        if stay:  # a rank reads its own samples only
            for r, part in enumerate(parts):
                assert {int(i) % 4 for b in part for i in b["more"][1]} == {r}
            assert len(whole) == (COUNT // 4) // 2
        else:
            same(whole, reference(COUNT, 8, 2, 3))


def test_what_is_random_comes_after_the_cache():
    def transform(sample, random):
        return sample["image"] * random.standard_normal(), random.integers(1000)
    outcomes = []
    for threads, memory in ((0, 0), (3, ALL), (2, 3000)):
        loader = Loader(DataCache(Source(), memory=memory), BATCH, threads=threads, transform=transform)
        outcomes.append([(x.tobytes(), y.tolist()) for x, y in loader.epochs(2)])
    assert outcomes[0] == outcomes[1] == outcomes[2]
    numbers = [y for _, ys in outcomes[0] for y in ys]
    assert len(set(numbers)) > len(numbers) / 2


def test_samples_of_different_shapes():
    class Ragged(Source):
        def __getitem__(self, i):
            return np.arange(i % 3, dtype=np.int32), np.zeros((0, 2), np.uint8)
    cache = DataCache(Ragged(), memory=ALL)
    padded = Loader(cache, 8, shuffle=False, threads=2, collate=lambda s: [a.tolist() for a, _ in s])
    for _ in range(2):
        assert list(padded.epoch(0))[0] == [list(range(i % 3)) for i in range(8)]


def test_the_cache_is_a_sequence_of_samples():
    source = Source()
    cache = DataCache(source, memory=ALL)
    assert len(cache) == COUNT
    for _ in range(2):
        for i in (0, 52, -1, np.int64(3)):
            for a, b in zip(flat(cache[i]), flat(Source()[int(i) % COUNT])):
                np.testing.assert_array_equal(a, b)
                assert not a.flags.writeable
    assert sorted(source.reads) == [0, 3, 52]
    with pytest.raises(IndexError, match="sample must be below 53, got: 53"):
        cache[53]
    cache.clear()
    cache[0]
    assert len(source.reads) == 4
    assert list(np.asarray(DataCache([4, 5, 6], memory=ALL))) == [4, 5, 6]


def test_a_sample_is_kept_as_it_was():
    shared = np.zeros(3)

    class Reused:  # gives the same array every time, and a piece of something large
        def __len__(self):
            return 4

        def __getitem__(self, i):
            shared[:] = i
            return shared
    cache = DataCache(Reused(), memory=ALL)
    for i in range(4):
        cache[i]
    assert [cache[i].tolist() for i in range(4)] == [[float(i)] * 3 for i in range(4)]
    large = DataCache([np.zeros(1 << 20)[:2]], memory=ALL)
    large[0]
    assert large.statistics.memory_bytes < 2000 and large[0].base.nbytes < 100


def test_batches_are_the_callers_to_change():
    loader = Loader(DataCache(Source(), memory=ALL), BATCH, threads=2)
    for batch in loader.epochs(2):
        batch["image"][:] = -1
    same(loader.epoch(2), reference(COUNT, BATCH, 0, 2))


def test_element_types(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = [np.array([1.5, -2], ml_dtypes.bfloat16), np.array([3], ">i4"), np.array(True), np.array([1 + 2j], np.complex64),
              np.array(["2024-01-01"], "datetime64[s]"), np.zeros((2, 0, 3), np.float16), np.asfortranarray(np.eye(3))]
    for _ in range(2):  # the second time from disk
        cache = DataCache([tuple(values)], disk=ALL, folder=tmp_path, name="types")
        for a, b in zip(cache[0], values):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        cache.close()


def test_processes_share_a_folder(tmp_path):
    script = """if True:
        import sys
        from commsched.data import DataCache, Loader
        from test_data_cache import Source, reference, same, COUNT, BATCH
        source = Source()
        with DataCache(source, disk=1 << 20, folder=sys.argv[1], name="numbers") as cache:
            loader = Loader(cache, BATCH, seed=int(sys.argv[2]), threads=2, drop_last=False)
            for epoch in range(3):
                same(loader.epoch(epoch), reference(COUNT, BATCH, int(sys.argv[2]), epoch, drop_last=False))
            print(cache.statistics.written, cache.statistics.disk_bytes)
        """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(seed)], env=environment,
                                 stdout=subprocess.PIPE, text=True) for seed in (1, 2)]
    written = 0
    for child in children:
        out, _ = child.communicate(timeout=60)
        assert child.returncode == 0
        written += int(out.split()[0])
    assert written == COUNT  # nothing twice
    (folder,) = tmp_path.iterdir()
    files = [f for f in folder.glob("*/*")]
    assert len(files) == COUNT and all(f.name.isdigit() for f in files)
    assert int.from_bytes((folder / "ledger").read_bytes(), "little") == sum(f.stat().st_size for f in files)
    source = Source()
    with DataCache(source, disk=ALL, folder=tmp_path, name="numbers") as cache:
        assert cache.statistics.disk_bytes == sum(f.stat().st_size for f in files)
        same(Loader(cache, BATCH).epoch(0), reference(COUNT, BATCH, 0, 0))
    assert source.reads == []


def test_a_spawned_process_gets_the_same_cache(tmp_path):
    cache = DataCache(Files([__file__], _read), memory=ALL, disk=ALL, folder=tmp_path, version=3)
    first = cache[0]
    other = pickle.loads(pickle.dumps(cache))
    np.testing.assert_array_equal(other[0], first)
    assert other.statistics.disk == 1 and other.statistics.source == 0


def _read(path):
    return np.frombuffer(pathlib.Path(path).read_bytes(), np.uint8)


def test_files(tmp_path):
    rows = np.random.default_rng(0).integers(0, 255, (20, 100), np.uint8)
    paths = [tmp_path / f"{i}.z" for i in range(20)]
    for path, row in zip(paths, rows):
        path.write_bytes(zlib.compress(row))
    source = Files(paths, lambda p: np.frombuffer(zlib.decompress(pathlib.Path(p).read_bytes()), np.uint8))
    batches = list(Loader(source, 5, shuffle=False, threads=2).epoch(0))
    np.testing.assert_array_equal(np.concatenate(batches), rows)
    before = source.identity
    assert before == source.identity
    os.utime(paths[3], ns=(1, 1))
    assert source.identity != before
    assert Files(paths, len).identity != Files(paths[:-1], len).identity


def test_what_is_refused():
    cases = [(lambda: DataCache([], memory=-1), "memory must be 0 or more, got: -1"),
             (lambda: DataCache([], disk=5), "disk and folder must be given together"),
             (lambda: DataCache([1], disk=5, folder="/nowhere"), "must have a name, or a source with an identity"),
             (lambda: DataCache([1], disk_holds="some"), "disk_holds must be one of everything, rest, got: 'some'"),
             (lambda: Loader([1, 2], 3), r"batch_size must be at most the samples \(2\), got: 3"),
             (lambda: Loader([1, 2], 0), "batch_size must be at least 1, got: 0"),
             (lambda: Loader([1, 2], 2, threads=-1), "threads must be 0 to 1024, got: -1"),
             (lambda: Loader(range(9), 3, ranks=2), "batch_size must be divisible by 2 ranks, got: 3"),
             (lambda: Loader(range(9), 4, ranks=2, rank=2), "rank must be below 2, got: 2"),
             (lambda: Loader(range(9), 4, ranks=2, drop_last=False), "drop_last must be set with ranks"),
             (lambda: Loader(range(9), 3).epoch(0, 4), "batch must be at most 3, got: 4"),
             (lambda: Loader(range(9), 3).epoch(-1), "epoch must be 0 or more, got: -1")]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_memory_of_batches_is_used_again_when_nobody_has_it():
    loader = Loader(DataCache(Source(), memory=ALL), BATCH, threads=2)
    kept, copies, places = [], [], set()
    for i, batch in enumerate(loader.epochs(12)):
        places.add(batch["image"].ctypes.data)
        if i % 7 == 0:  # a piece of it, or another view, is enough to keep it
            kept.append([batch["image"], batch["image"][2:, 1], memoryview(batch["image"]), batch["more"][0].T][i % 4])
            copies.append(np.array(kept[-1]))
        del batch
    assert len(places) < 30
    for a, b in zip(kept, copies):
        np.testing.assert_array_equal(a, b)
    several = list(loader.epochs(5))  # more than are kept
    same(several, [b for e in range(5) for b in reference(COUNT, BATCH, 0, e)])
