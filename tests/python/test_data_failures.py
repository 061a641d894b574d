# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Input pipelines when something fails: sources, files of the cache, disks, processes."""

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from commsched.data import DataCache, Files, Loader, SampleError
from test_data_cache import ALL, BATCH, COUNT, Source, reference, same


def threads_of_loaders():
    return [t for t in threading.enumerate() if t.name.startswith("commsched-data")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    for thread in threads_of_loaders():
        thread.join(30)
    assert threads_of_loaders() == []


class Failing(Source):
    def __init__(self, bad, error=ValueError("no image")):
        super().__init__()
        self.bad, self.error = set(bad), error

    def describe(self, i):
        return f"images/{i}.png"

    def __getitem__(self, i):
        if i in self.bad:
            raise self.error
        return super().__getitem__(i)


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("error", [ValueError("no image"), StopIteration(), SystemExit(3)])
def test_an_error_of_the_source_comes_at_its_batch(threads, error):
    loader = Loader(DataCache(Failing([], error), name="train"), BATCH, threads=threads, prefetch=4)
    order = np.concatenate(loader.order(0))
    loader.cache._source.bad = {int(order[3 * BATCH + 5]), int(order[3 * BATCH + 2]), int(order[4 * BATCH])}
    batches, found = loader.epoch(0), []
    with pytest.raises(SystemExit if isinstance(error, SystemExit) else SampleError) as raised:
        for batch in batches:
            found.append(batch)
    same(found, list(reference(COUNT, BATCH, 0, 0))[:3])  # all before it
    if not isinstance(error, SystemExit):
        bad = int(order[3 * BATCH + 2])  # the first one, whichever thread found it
        assert raised.value.index == bad and raised.value.__cause__ is error
        assert str(raised.value) == f"sample {bad} (images/{bad}.png) of 'train': {type(error).__name__}: {error}"
    with pytest.raises(StopIteration):
        next(batches)


def test_an_error_of_a_transform_or_of_stacking():
    def transform(sample, random):
        if sample["label"] == 3:
            raise KeyError("colour")
        return sample["image"][:1] if sample["label"] == 5 else sample["image"]
    with pytest.raises(SampleError, match="transform of sample 3: KeyError: 'colour'"):
        list(Loader(Source(), 4, shuffle=False, threads=2, transform=transform).epoch(0))
    with pytest.raises(SampleError, match=r"^sample 5 must match float32\[5, 3\] of sample 4, got: float32\[1, 3\]$"):
        list(Loader(Source(), 4, shuffle=False, threads=2, transform=transform).epoch(0, 1))
    with pytest.raises(ZeroDivisionError):
        list(Loader(Source(), 4, threads=2, collate=lambda samples: 1 / 0).epoch(0))
    with pytest.raises(SampleError, match=r"sample 0: TypeError: a sample\['text'\] must be an array or a number, got: str"):
        DataCache([{"text": "a"}])[0]
    with pytest.raises(SampleError, match="keys of a sample must be strings, got: 1"):
        DataCache([{1: 2}])[0]


def test_what_storage_fails_to_read_once_is_read_again():
    class Flaky(Source):
        def __getitem__(self, i):
            sample = super().__getitem__(i)
            if self.reads.count(i) <= 1 and i % 10 == 0:
                raise TimeoutError("storage")
            return sample
    same(Loader(Flaky(), BATCH, threads=2).epoch(0), reference(COUNT, BATCH, 0, 0))
    with pytest.raises(SampleError, match="TimeoutError: storage"):
        list(Loader(DataCache(Flaky(), retries=0), BATCH).epoch(0))
    with pytest.raises(SampleError, match=r"sample 0 \(/nowhere/1\): FileNotFoundError") as raised:
        DataCache(Files(["/nowhere/1"], open))[0]
    assert raised.value.index == 0


def damage(kind, path, others):
    content = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(content[:len(content) // 2])
    elif kind == "no head":
        path.write_bytes(content[:10])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "longer":
        path.write_bytes(content + b"x")
    elif kind == "a bit of the data":
        path.write_bytes(content[:-40] + bytes([content[-40] ^ 4]) + content[-39:])
    elif kind == "a bit of the layout":
        path.write_bytes(content[:90] + bytes([content[90] ^ 1]) + content[91:])
    elif kind == "sizes":
        path.write_bytes(content[:32] + b"\xff" * 16 + content[48:])
    elif kind == "zeros":  # what some file systems leave after a loss of power
        path.write_bytes(bytes(len(content)))
    elif kind == "another sample":
        path.write_bytes(others[0].read_bytes())
    elif kind == "another source":
        path.write_bytes(others[1].read_bytes())


@pytest.mark.parametrize("kind", ["truncated", "no head", "empty", "longer", "a bit of the data", "a bit of the layout",
                                  "sizes", "zeros", "another sample", "another source"])
def test_a_damaged_file_is_noticed_and_made_anew(kind, tmp_path):
    def fill(source, name="numbers"):
        with DataCache(source, disk=ALL, folder=tmp_path, name=name) as cache:
            same_or_not = list(Loader(cache, BATCH, threads=2, drop_last=False).epoch(0))
            return same_or_not, cache.statistics
    fill(Source())
    (folder,) = tmp_path.iterdir()
    fill(Source(salt=1), "others")
    (other,) = set(tmp_path.iterdir()) - {folder}
    damage(kind, folder / "0" / "17", [folder / "0" / "18", other / "0" / "17"])
    source = Source()
    found, statistics = fill(source)
    same(found, reference(COUNT, BATCH, 0, 0, drop_last=False))
    assert source.reads == [17] and statistics.damaged == 1 and statistics.written == 1
    source = Source()
    found, statistics = fill(source)
    assert source.reads == [] and statistics.damaged == 0
    assert statistics.disk_bytes == sum(f.stat().st_size for f in folder.glob("*/*"))


def test_another_version_or_source_makes_other_files(tmp_path):
    for name, version, salt, reads in (("a", 0, 0, COUNT), ("a", 0, 0, 0), ("a", 1, 1, COUNT), ("b", 0, 2, COUNT),
                                       ("a", "0", 0, 0)):
        source = Source(salt=salt)
        with DataCache(source, disk=ALL, folder=tmp_path, name=name, version=version) as cache:
            for i in range(COUNT):
                np.testing.assert_array_equal(cache[i]["image"], Source(salt=salt)[i]["image"])
        assert len(source.reads) == reads


def child(script, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    head = "from commsched.data import *\nfrom test_data_cache import *\n"
    return subprocess.run([sys.executable, "-c", head + script, *map(str, arguments)], env=environment, timeout=60,
                          capture_output=True, text=True, **options)


def test_a_process_that_dies_in_the_middle_of_a_write(tmp_path):
    done = child("os.rename = lambda *_: os.kill(os.getpid(), 9)\n"
                 "DataCache(Source(), disk=ALL, folder=sys.argv[1], name='numbers')[4]", tmp_path)
    assert done.returncode == -signal.SIGKILL
    (folder,) = tmp_path.iterdir()
    (left,) = folder.glob("*/*")
    assert left.name.endswith(".part") and int.from_bytes((folder / "ledger").read_bytes(), "little") > 0
    with DataCache(Source(), disk=ALL, folder=tmp_path, name="numbers") as cache:
        assert cache.statistics.disk_bytes == 0 and not left.exists()
        same(Loader(cache, BATCH).epoch(0), reference(COUNT, BATCH, 0, 0))
        assert cache.statistics.source == COUNT // BATCH * BATCH


def test_a_disk_that_is_full(tmp_path):
    # No file may be longer than 300 bytes: writing fails in the middle, as on a full disk.
    done = child("""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
with DataCache(Source(), disk=ALL, folder=sys.argv[1], name="numbers") as cache:
    for epoch in range(2):
        same(Loader(cache, BATCH, threads=2).epoch(epoch), reference(COUNT, BATCH, 0, epoch))
    s = cache.statistics
    assert s.written == 0 and s.disk_bytes == 0 and s.errors >= 1 and "File too large" in s.disk_full, s
""", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no more samples are kept there") == 1
    assert list(tmp_path.glob("*/*/*")) == []


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, caplog):
    with DataCache(Source(), disk=ALL, folder=tmp_path, name="numbers") as cache:
        cache[3]
        real = os.preadv
        monkeypatch.setattr(os, "preadv", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken disk")))
        np.testing.assert_array_equal(cache[3]["image"], Source()[3]["image"])
        monkeypatch.setattr(os, "preadv", real)
        assert cache.statistics.errors == 1 and "broken disk" in caplog.text
        cache[3]
        assert cache.statistics.disk == 1


def test_a_smaller_budget_removes_files(tmp_path):
    with DataCache(Source(), disk=ALL, folder=tmp_path, name="numbers") as cache:
        list(Loader(cache, BATCH).epoch(0))
        full = cache.statistics.disk_bytes
        with DataCache(Source(), disk=full // 2, folder=tmp_path, name="numbers") as other:
            assert other.statistics.disk_bytes == full  # somebody uses them
    with DataCache(Source(), disk=full // 2, folder=tmp_path, name="numbers") as cache:
        assert full // 4 < cache.statistics.disk_bytes <= full // 2
        same(Loader(cache, BATCH).epoch(0), reference(COUNT, BATCH, 0, 0))
        cache.clear()
        assert cache.statistics.disk_bytes == 0 and list(tmp_path.glob("*/*/*")) == []


@pytest.mark.parametrize("end", ["close", "with", "forgotten", "exhausted"])
def test_threads_end_with_the_iteration(end):
    loader = Loader(DataCache(Source(), memory=ALL), BATCH, threads=3, prefetch=4)
    batches = loader.epochs()
    next(batches)
    assert len(threads_of_loaders()) == 3
    if end == "close":
        batches.close()
        assert threads_of_loaders() == []
    elif end == "with":
        with batches:
            next(batches)
        assert threads_of_loaders() == []
    elif end == "forgotten":
        gone = weakref.ref(batches)
        del batches
        gc.collect()
        assert gone() is None
    else:
        assert len(list(loader.epochs(2))) == 2 * len(loader)


def test_a_process_ends_in_the_middle_of_an_iteration():
    done = child("""
batches = Loader(Source(), BATCH, threads=3).epochs()
next(batches)
print("taken")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "taken\n", "")


def test_closing_the_cache_under_a_loader(tmp_path):
    cache = DataCache(Source(), disk=ALL, folder=tmp_path, name="numbers")
    batches = Loader(cache, BATCH, threads=2).epoch(0)
    found = [next(batches)]
    cache.close()
    same(found + list(batches), reference(COUNT, BATCH, 0, 0))


@pytest.mark.parametrize("where", ["source", "transform", "collate"])
def test_a_fork_while_a_thread_has_a_lock_of_the_user(where):
    # The thread is not in the child; so the fork waits until it has given the lock back.
    done = child("""
lock, held, calls = threading.Lock(), threading.Event(), []

def use(sample, *_):
    with lock:
        calls.append(0)
        if len(calls) == 5:
            held.set()
            time.sleep(0.3)
    return sample

class Locked(Source):
    def __getitem__(self, i):
        return use(super().__getitem__(i))

loader = Loader(Locked() if sys.argv[1] == "source" else Source(), 4, threads=2, prefetch=8,
                **{w: use for w in ("transform", "collate") if w == sys.argv[1]})
batches = loader.epochs(1)
held.wait()
pid = os.fork()
if pid == 0:
    assert len(list(loader.epoch(1))) == len(loader)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert len(list(batches)) == len(loader)
""".replace("lock,", "import time\nlock,", 1), where)
    assert done.returncode == 0, done.stderr


def test_forks_of_threads_of_loaders_and_of_a_source_that_does_not_answer(tmp_path):
    # Of a source that forks itself, and of one in which a thread stays: neither waits for ever.
    done = child("""
import time
from commsched.data import forks
forks._SECONDS = 0.2
class Forks(Source):
    def __getitem__(self, i):
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
        return super().__getitem__(i)
same(Loader(Forks(), BATCH, threads=3).epoch(0), reference(COUNT, BATCH, 0, 0))

inside, ended = threading.Event(), threading.Event()
class Stays(Source):
    def __getitem__(self, i):
        inside.set()
        ended.wait()
        return super().__getitem__(i)
batches = Loader(Stays(), BATCH, threads=2).epoch(0)
inside.wait()
pid = os.fork()
if pid == 0:
    same(Loader(Source(), BATCH, threads=2).epoch(0), reference(COUNT, BATCH, 0, 0))
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
ended.set()
same(batches, reference(COUNT, BATCH, 0, 0))
""")
    assert done.returncode == 0, done.stderr


def test_a_forked_process(tmp_path):
    # In a process of its own: there is no JAX in it, whose threads a fork would lose.
    done = child("""
from commsched.errors import RuntimeFailure
cache = DataCache(Source(), memory=SOME, disk=ALL, folder=sys.argv[1], name="numbers")
loader = Loader(cache, BATCH, threads=2)
batches = loader.epochs(2)
next(batches)
pid = os.fork()
if pid == 0:
    try:
        next(batches)
    except RuntimeFailure as error:
        assert "forked" in str(error)
        same(loader.epoch(1), reference(COUNT, BATCH, 0, 1))
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
same(batches, [b for e in range(2) for b in reference(COUNT, BATCH, 0, e)][1:])
assert cache.statistics.disk_bytes > 0
""", tmp_path)
    assert done.returncode == 0, done.stderr
