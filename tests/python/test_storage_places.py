# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where jobs from Python put their files: names of any bytes, disks that are full or cannot be written, folders that go, files in the
place of folders, other present folders, jobs beside each other."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from cases import cases

import commsched
import mlir_step
from commsched import following
from commsched.data import DataCache
from commsched.temporary import TemporaryFolder
from storage_job import SPARSE, result
from test_storage import JOB, KINDS, run, undisturbed, whole

SEEDS = pytest.mark.parametrize("seed", cases(1))
# None with '%': in TMPDIR, ld.lld takes it for a digit that it is to draw.
NAMES = ["a b", "'", '"', "a\nb", os.fsdecode(b"\xff\xc3"), ",", "=", ";", "{}", "$(false)", "\\", "x" * 220, "-o", "#", "\t", "*", "é"]


@SEEDS
@pytest.mark.parametrize("name", KINDS)
def test_any_name(tmp_path, name, seed):
    draw = random.Random(f"{name} {seed}")
    drawn = os.fsdecode(os.fsencode("".join(draw.sample(NAMES[:-5] if draw.random() < 0.2 else NAMES, 6)))[:250])
    folder = tmp_path / drawn
    folder.mkdir()
    results, _ = run(name, folder)
    if name in ("simulated", "tuned") and "\n" in drawn:
        (found,) = results
        assert found.status == 1 and found.error.count("\n") == 1 and "must be" in found.error and "without line breaks" in found.error, found
        return
    assert results == whole(name, undisturbed(name)[0]), (drawn, results)


def test_a_long_name(tmp_path):
    with mlir_step.make(strategy=SPARSE) as program:
        program.run([mlir_step.batch(0)])
        for path in (tmp_path / ("x" * 255), tmp_path / os.fsdecode(b"\xff" * 255)):
            program.save(path)
            expected = result(program)
            program.run([mlir_step.batch(1)])
            program.restore(path)
            assert result(program) == expected and len(os.listdir(tmp_path)) == 1
            path.unlink()
        with pytest.raises(OSError, match=r"File name too long: '.*/x{256}'$"):
            program.save(tmp_path / ("x" * 256))


def test_what_is_no_file_stays_what_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with mlir_step.make() as program:
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
        program.save(pipe)
        content, _ = reader.communicate(timeout=60)
        assert pipe.is_fifo()
        program.save(tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == content


def kept(program, work, *words):
    """`work` fails in one line that has the words, and nothing is lost."""
    expected = result(program)
    with pytest.raises((OSError, commsched.CommSchedError)) as raised:
        work()
    assert len(str(raised.value).splitlines()) == 1
    for word in words:
        assert word in str(raised.value)
    assert result(program) == expected


def test_no_folder_for_temporary_files(tmp_path, monkeypatch):
    """What workers have of their own goes through files: without these nothing of it is lost, and they are asked again."""
    with mlir_step.make(strategy=SPARSE) as program:
        program.run([mlir_step.batch(i) for i in range(3)])
        program.save(tmp_path / "before")
        program.run([mlir_step.batch(3)])
        place = tmp_path / "temporary"
        monkeypatch.setattr("tempfile.tempdir", str(place))
        kept(program, lambda: program.save(tmp_path / "saved"), str(place), "No such file or directory")
        kept(program, program.close, str(place), "No such file or directory")
        place.mkdir()
        program.save(tmp_path / "saved")
        program.run([mlir_step.batch(4)])
        ends = result(program)
        program.restore(tmp_path / "saved")
        program.run([mlir_step.batch(4)])
        assert result(program) == ends
    with mlir_step.make(strategy=SPARSE) as program:
        program.run([mlir_step.batch(i) for i in range(5)])
        assert result(program) == ends


def test_what_cannot_be_saved(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with mlir_step.make(strategy=SPARSE) as program:
        program.run([mlir_step.batch(0)])
        for path, why in (("folder", "Is a directory"), ("file/saved", "Not a directory"), ("none/saved", "No such file or directory"),
                          ("loop/saved", "Too many levels of symbolic links")):
            kept(program, lambda: program.save(tmp_path / path), str(tmp_path / path), why)
            with pytest.raises(OSError, match=why):
                program.restore(tmp_path / path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop"] and not os.listdir(tmp_path / "folder")


@pytest.mark.parametrize("call", ["lstat", "open", "fstat", "scandir", "unlink", "rmdir", "close"])
def test_a_temporary_folder_that_cannot_be_removed(tmp_path, monkeypatch, call):
    """Its error hides none that matters."""
    before = getattr(os, call)

    def fails(*arguments, **options):
        if call == "close":
            before(*arguments, **options)
        raise OSError(13, "Permission denied")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        with TemporaryFolder() as folder:
            pathlib.Path(folder, "file").touch()
            monkeypatch.setattr(f"os.{call}", fails)
            1 / 0
    monkeypatch.undo()


def test_another_present_folder(tmp_path, monkeypatch):
    """Paths are those of when they are given."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")

    def until_planned():
        for i in range(60000):
            if i > 12 and any((tmp_path / name / "plans").exists() for name in ("first", "second")):
                return
            yield mlir_step.batch(i)
            time.sleep(0.01)  # the command that plans has the least priority
    with mlir_step.make() as program:
        program.trace("trace")
        log, replan = following.JsonLines("log"), commsched.Replan(every=1, window=1, folder="plans")
        monkeypatch.chdir(tmp_path / "second")
        program.run(until_planned(), log=log, replan=replan)
    log.close()
    assert not os.listdir() and {"trace", "log", "plans"} <= set(os.listdir(tmp_path / "first"))


GONE = """
import os, sys
os.mkdir(sys.argv[1] + "/gone")
os.chdir(sys.argv[1] + "/gone")
os.rmdir(sys.argv[1] + "/gone")
import jax, jax.numpy as jnp, numpy as np
import commsched
def step(w, x, y):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * gradient, loss
batch = np.ones((8, 5), np.float32), np.ones(8, np.float32)
with commsched.transpile(step, jnp.zeros(5), *batch, batch=(1, 2), cluster=commsched.Cluster(2)) as program:
    program.trace(sys.argv[1] + "/trace")
    program.run([batch] * 3)
    program.save(sys.argv[1] + "/saved")
    program.restore(sys.argv[1] + "/saved")
    program.check([batch])
    for call in lambda: program.save("saved"), lambda: program.trace("trace"):
        try:
            call()
        except FileNotFoundError:
            continue
        raise SystemExit("a file without a folder")
"""


def test_a_present_folder_that_is_gone(tmp_path):
    """Only names that begin in it are refused."""
    done = subprocess.run([sys.executable, "-c", GONE, tmp_path], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["saved", "trace"]


def test_links_stay(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "there").write_bytes(b"old")
    for link, to in (("first", "far/there"), ("second", "first"), ("third", "far/new")):
        (tmp_path / link).symlink_to(to)
    with mlir_step.make() as program:
        program.run([mlir_step.batch(0)])
        for link, file in (("second", "there"), ("third", "new")):
            program.save(tmp_path / link)
            assert (tmp_path / link).is_symlink() and not (tmp_path / "far" / file).is_symlink()
            assert program.restore(tmp_path / link) is None and (tmp_path / "far" / file).stat().st_size > 100
    assert sorted(os.listdir(tmp_path)) == ["far", "first", "second", "third"] and sorted(os.listdir(tmp_path / "far")) == ["new", "there"]


def test_a_trace_that_cannot_be_written_is_told(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    program = mlir_step.make()
    program.trace(folder / "trace")
    assert not os.listdir(folder)
    program.run([mlir_step.batch(0)])
    shutil.rmtree(folder)
    with pytest.warns(UserWarning, match=f"^the trace is not written: {folder}/trace: cannot be written: No such file or directory$"):
        program.close()
    assert program.steps == 1


@pytest.mark.parametrize("left", [b'{"step": 7, "ti', b'{"st', b"{", b'{"step": 6, "loss": 1}\n', b"another's line", b""])
def test_half_lines_of_a_log_go(tmp_path, left):
    """Those of a process that was killed; other files end with a line more."""
    path = tmp_path / "log"
    before = b'{"step": 5, "loss": 1}\n' * 3000
    path.write_bytes(before + left)
    log = following.JsonLines(path)
    log.write(8, {"loss": 2.0})
    log.close()
    lines = path.read_bytes()[len(before):].splitlines()
    others = [line for line in left.splitlines() if left.endswith(b"\n") or b"another" in left]
    assert lines[:-1] == others and json.loads(lines[-1])["step"] == 8


def test_two_jobs_save_one_file(tmp_path):
    """One of them is there in the end, whole, and nothing else."""
    text = f"""
import sys, mlir_step
program = mlir_step.make()
for i in range(40):
    program.run([mlir_step.batch(int(sys.argv[1]))])
    program.save({str(tmp_path / "saved")!r})
"""
    jobs = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", text, str(number)], stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) for number in range(2)]
    for job in jobs:
        assert job.communicate(timeout=300)[1] == "" and job.returncode == 0
    program = mlir_step.make()
    program.restore(tmp_path / "saved")
    assert program.steps == 40 and os.listdir(tmp_path) == ["saved"]


def test_a_folder_of_a_cache(tmp_path):
    """What cannot be one is named; one that goes is made anew."""
    class Source:
        identity = "numbers"

        def __len__(self):
            return 8

        def __getitem__(self, i):
            return np.full(4, i)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (("file", "File exists|Not a directory"), ("loop", "File exists|Too many levels")):
        with pytest.raises(OSError, match=f"({why}).*: '{tmp_path}/{name}"):
            DataCache(Source(), disk=1 << 20, folder=tmp_path / name)
    with DataCache(Source(), disk=1 << 20, folder=tmp_path / "cache") as cache:
        assert [int(cache[i][0]) for i in range(8)] == list(range(8))
        shutil.rmtree(tmp_path / "cache")
        assert [int(cache[i][0]) for i in range(8)] == list(range(8))
    with DataCache(Source(), disk=1 << 20, folder=tmp_path / "cache") as cache:
        assert [int(cache[i][0]) for i in range(8)] == list(range(8)) and cache.statistics.damaged == 0


# ---- disks ---------------------------------------------------------------------------------------
SCRIPT = """
mount -t tmpfs -o "$2" none "$1" && mkdir "$1/tmp" || { echo cannot mount; exit 99; }
export TMPDIR="$1/tmp"
job() { "${words[@]}"; echo "status $?" >&2; echo ... >&2; }
words=("${@:4}")
job
[ "$3" != ro ] || rm -f "$1/saved"  # there is something to be done
mount -o "remount,$3" "$1"
job
mount -o remount,rw,size=64m,nr_inodes=10000 "$1"
job
"""


def on_a_disk(folder, first, then, name):
    """Of a job that runs three times on a disk that is so at first, and so then: (status, what it says) of each, and what is printed."""
    done = subprocess.run(["unshare", "--mount", *(["--map-root-user"] if os.geteuid() != 0 else []), "bash", "-c", SCRIPT, "bash", folder, first,
                           then, sys.executable, JOB, name, folder], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("needs the right to mount")
    said = [part.rsplit("status ", 1) for part in done.stderr.split("...\n")[:-1]]
    assert len(said) == 3, done.stderr
    return [(int(status), text) for text, status in said], done.stdout


@SEEDS
@pytest.mark.parametrize("name", ["sparse", "written", "replanned", "checked"])
def test_a_full_disk(tmp_path, name, seed):
    draw = random.Random(f"{name} {seed}")
    first = f"size={draw.randrange(8, 96) * 4}k" if draw.random() < 0.7 else f"nr_inodes={draw.randrange(3, 20)}"
    runs, out = on_a_disk(tmp_path, first, f"size={draw.randrange(8, 160) * 4}k", name)
    for status, text in runs[:2]:
        assert status == 0 and not text or status == 1 and text.count("\n") == 1 and "No space left on device" in text and str(tmp_path) in text, (first, runs)
    assert runs[2] == (0, "") and out.splitlines()[-1] == undisturbed(name)[0].strip(), (first, runs)


@pytest.mark.parametrize("name", ["sparse", "written", "data", "measured"])
def test_a_disk_that_cannot_be_written(tmp_path, name):
    runs, out = on_a_disk(tmp_path, "size=64k", "ro", name)
    status, text = runs[1]
    assert status == 1 and text.count("\n") == 1 and "Read-only file system" in text and str(tmp_path) in text, runs
    assert runs[2] == (0, "") and out.splitlines()[-1] == undisturbed(name)[0].strip(), runs
