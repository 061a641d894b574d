# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that cannot be written are named before the first step; what fails at the end costs no training."""
import os
import random
import shutil
import stat
import subprocess

import numpy as np
import pytest
from cases import FIRST
from conftest import EXAMPLES, TIME_LIMIT, addresses, expect_error, expect_success, finish, run, tool
from safetensors.numpy import load_file, save_file

HOW = pytest.mark.parametrize("how", [[], ["--spawn"]])


@HOW
@pytest.mark.parametrize("option", ["--save-params", "--checkpoint", "--metrics-json", "--trace", "--profile", "--report"])
def test_named_before_the_first_step(linear, linear_data, tmp_path, how, option):
    training = [linear[2], *how, *linear_data, "--steps", 10**9]  # would not end
    path = tmp_path / "nowhere" / "file.html"
    expect_error(run(*training, option, path), str(path), "cannot be written: No such file or directory")
    (tmp_path / "folder.html").mkdir()
    expect_error(run(*training, option, tmp_path / "folder.html"), "folder")
    assert os.listdir(tmp_path) == ["folder.html"]


def test_of_a_rank_by_hand(linear, linear_data, cluster, tmp_path):
    ranks = cluster.join(linear[2], [0], addresses(2), *linear_data, "--deadline", 100, "--save-params", "/nonexistent/p")
    expect_error(finish(ranks[0]), "/nonexistent/p", "cannot be written")


@HOW
@pytest.mark.parametrize("option, what", [("--save-params", "the parameters are"), ("--checkpoint", "the checkpoint is")])
def test_kept_elsewhere_if_it_fails_at_the_end(digits, cluster, tmp_path, how, option, what):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    process = cluster.start(*digits, *how, "--steps", 10**9, "--metrics-every", 1, option, folder / "p", cwd=other)
    while "step 1:" not in process.stdout.readline():
        assert process.poll() is None
    shutil.rmtree(folder)
    process.terminate()
    out, err, status = finish(process)
    assert status != 0 and f"; {what} in ./p.saved." in err, err
    (saved,) = other.iterdir()
    assert "dense.b" in load_file(saved)


def test_devices_are_written_to(linear, linear_data):
    expect_success(run(linear[2], *linear_data, "--steps", 3, "--save-params", "/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# What cs-run writes, and what is in it.
WRITTEN = {"--save-params": b'"w":', "--checkpoint": b'"w":', "--metrics-json": b'"summary":', "--trace": b'"traceEvents":', "--profile": b'"commsched profile"',
           "--report": b"<html"}


@HOW
@pytest.mark.parametrize("option", WRITTEN)
def test_standard_output_is_written_to_where_it_is(linear, linear_data, tmp_path, how, option):
    """As a file, too, into which a shell has led it: /dev/stdout, of which this is one, is a link that no job may replace."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    with open(tmp_path / "all", "wb") as all_of_it:
        all_of_it.write(b"before\n")
        all_of_it.flush()
        done = subprocess.run([tool("cs-run"), *map(str, [linear[2], *how, *linear_data, "--steps", 6, option, tmp_path / "stdout"])], stdout=all_of_it,
                              stderr=subprocess.PIPE, text=True, timeout=TIME_LIMIT, check=False)
        all_of_it.write(b"behind\n")
    assert done.returncode == 0, done.stderr
    found = (tmp_path / "all").read_bytes()
    assert (tmp_path / "stdout").is_symlink() and os.readlink(tmp_path / "stdout") == "/proc/self/fd/1"
    assert found.startswith(b"before\n") and found.endswith(b"behind\n") and WRITTEN[option] in found and b"memory of a rank" in found
    assert not [name for name in os.listdir(tmp_path) if name not in ("all", "stdout", "stdout.trace.json")]


@HOW
def test_links_stay_and_modes_are_the_umasks(linear, linear_data, tmp_path, how):
    """Of every tool's files alike, that were there or not."""
    for mask in random.Random(FIRST).sample([0o000, 0o002, 0o007, 0o022, 0o027, 0o077], 3):
        folder = tmp_path / f"{mask:03o}"
        for part in ("far", "near"):
            (folder / part).mkdir(parents=True)

        def place(name):
            (folder / "near" / name).symlink_to(f"../far/{name}")
            if random.Random(f"{name} {mask} {FIRST}").random() < 0.5:
                (folder / "far" / name).touch(mode=0o600)
            return folder / "near" / name

        def call(name, *arguments):
            subprocess.run([tool(name), *map(str, arguments)], check=True, capture_output=True, timeout=TIME_LIMIT, preexec_fn=lambda: os.umask(mask))
        files = {option: place(option.strip("-")) for option in WRITTEN}
        call("cs-run", linear[2], *how, *linear_data, "--steps", 6, *(word for option in files.items() for word in option))
        call("cs-run", linear[2], *how, "--calibrate", place("calibrate"))
        for name in os.listdir(folder / "near"):
            if name.endswith(".trace.json"):
                continue  # beside the report
            assert (folder / "near" / name).is_symlink(), name
            assert stat.S_IMODE((folder / "far" / name).stat().st_mode) == 0o666 & ~mask, name
        save_file({"w": np.zeros(8, np.float32)}, folder / "values")
        save_file({"x": np.ones((16, 8), np.float32), "y": np.ones(16, np.float32)}, folder / "batches")
        interpreting = ["--interpret=1", f"--interpret-values={folder}/values", f"--interpret-batches={folder}/batches", "--interpret-output"]
        for file, name, *arguments in (("level 2", "cs-opt", "--cs-all-reduce-pipeline", EXAMPLES / "linear.mlir", "-o"),
                                       ("plan", "cs-translate", "--mlir-to-plan", folder / "far/level 2", "-o"),
                                       ("values after", "cs-opt", EXAMPLES / "linear.mlir", *interpreting)):
            call(name, *arguments, place(file))
            assert (folder / "near" / file).is_symlink() and stat.S_IMODE((folder / "far" / file).stat().st_mode) == 0o666 & ~mask, file


@pytest.mark.parametrize("link", ["/proc/self/fd/1", "loop"])
def test_links_of_compilers_that_lead_to_no_file(tmp_path, link):
    """What a shell has led standard output to goes on; of a circle of links, the error says so. Neither link is replaced."""
    (tmp_path / "loop").symlink_to(link)
    with open(tmp_path / "all", "wb") as all_of_it:
        all_of_it.write(b"before\n")
        all_of_it.flush()
        done = subprocess.run([tool("cs-opt"), EXAMPLES / "linear.mlir", "-o", tmp_path / "loop"], stdout=all_of_it, stderr=subprocess.PIPE, text=True,
                              timeout=TIME_LIMIT, check=False)
        all_of_it.write(b"behind\n")
    assert os.readlink(tmp_path / "loop") == link and sorted(os.listdir(tmp_path)) == ["all", "loop"]
    found = (tmp_path / "all").read_bytes()
    assert found.startswith(b"before\n") and found.endswith(b"behind\n")
    if link == "loop":
        assert done.returncode == 1 and done.stderr == f"error: cannot open output file '{tmp_path}/loop': Too many levels of symbolic links\n"
    else:
        assert done.returncode == 0 and b"func.func @step" in found, done.stderr


def test_names_of_folders_are_no_patterns(tmp_path):
    """Of those that temporary files are in, as of those that are written to."""
    folder = tmp_path / "50% of %%%%"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    for name, *arguments in (("cs-opt", "--cs-all-reduce-pipeline", EXAMPLES / "linear.mlir", "-o", folder / "level 2"),
                             ("cs-translate", "--mlir-to-plan", folder / "level 2", "-o", folder / "plan")):
        subprocess.run([tool(name), *map(str, arguments)], check=True, timeout=TIME_LIMIT, env=environment)
    assert sorted(os.listdir(folder)) == ["level 2", "plan"]


@HOW
@pytest.mark.parametrize("reader", ["closed", "gone", "full"])
def test_training_goes_on_without_a_reader(linear, linear_data, tmp_path, how, reader):
    """Whoever reads what is printed may go, as `| head -1` does: the parameters are written, and the exit status says that not all
    could be printed."""
    path = tmp_path / "params"
    command = [tool("cs-run"), linear[2], *how, *linear_data, "--steps", 100, "--metrics-every", 1, "--save-params", path]
    closed, gone = os.pipe()
    os.close(closed)
    with open("/dev/full", "wb") as full, os.fdopen(gone, "wb") as pipe:
        done = subprocess.run([*map(str, command)], stdout=pipe if reader == "gone" else full, stderr=subprocess.PIPE, text=True,
                              timeout=TIME_LIMIT, preexec_fn=(lambda: os.close(1)) if reader == "closed" else None, check=False)
    expect_error(("", done.stderr, done.returncode), "cannot write to stdout")
    expect_success(run(linear[2], *linear_data, "--steps", 100, "--save-params", tmp_path / "expected"))
    assert path.read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("name, arguments", [("cs-opt", ["--cs-all-reduce-pipeline"]), ("cs-translate", ["--mlir-to-plan"])])
def test_tools_whose_output_is_closed(tmp_path, name, arguments):
    """What they print goes into no other file, and is missed."""
    source = EXAMPLES / "linear.mlir"
    if name == "cs-translate":
        subprocess.run([tool("cs-opt"), "--cs-all-reduce-pipeline", source, "-o", tmp_path / "scheduled"], check=True, timeout=TIME_LIMIT)
        source = tmp_path / "scheduled"
    done = subprocess.run([tool(name), *arguments, source], stderr=subprocess.PIPE, text=True, timeout=TIME_LIMIT,
                          preexec_fn=lambda: os.close(1), check=False)
    assert done.returncode == 1 and done.stderr == "error: cannot write stdout: Bad file descriptor\n"


@pytest.mark.parametrize("name", ["x" * 255, "50%/%s %%%%%%%%", "é\n' \\\""], ids=["long", "percent", "odd"])
def test_any_name(linear_data, tmp_path, name):
    """Of a file that was there already, too."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    for old in (False, True):
        scheduled = subprocess.run([tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "linear.mlir"], check=True, capture_output=True,
                                   timeout=TIME_LIMIT).stdout
        subprocess.run([tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "linear.mlir", "-o", path], check=True, timeout=TIME_LIMIT)
        assert path.read_bytes() == scheduled
        subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-", "-o", path], input=scheduled, check=True, timeout=TIME_LIMIT)
        (tmp_path / "plan").write_bytes(path.read_bytes())
        save_file({"w": np.zeros(8, np.float32)}, tmp_path / "values")
        save_file({"x": np.ones((16, 8), np.float32), "y": np.ones(16, np.float32)}, tmp_path / "batches")
        subprocess.run([tool("cs-opt"), EXAMPLES / "linear.mlir", "--interpret=1", f"--interpret-values={tmp_path}/values",
                        f"--interpret-batches={tmp_path}/batches", f"--interpret-output={path}"], check=True, timeout=TIME_LIMIT)
        assert "1:w" in load_file(path)
        for option in ("--save-params", "--checkpoint", "--trace", "--profile"):
            expect_success(run(tmp_path / "plan", *linear_data, "--steps", 6, option, path))
            assert path.stat().st_size and not [left for left in os.listdir(path.parent) if "unfinished" in left]
        if not old:
            path.write_bytes(b"old")


def test_folders_in_the_place_of_files(linear, linear_data, tmp_path):
    for option in ("--tune", "--resume", "--predicted"):
        more = ["--report", tmp_path / "r.html"] if option == "--predicted" else []
        data = linear_data[2:] if option == "--resume" else linear_data
        expect_error(run(linear[2], *data, "--steps", 3, option, tmp_path, *more), str(tmp_path))
    expect_error(run(linear[2], *linear_data, "--steps", 3, "--tune", tmp_path), f"cannot read plan '{tmp_path}': {tmp_path}: cannot be read: Is a directory")
