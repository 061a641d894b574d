# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks of bench/device, which run on a machine with a device, on one whose CUDA libraries are a fake (cuda_machine.py): that they
say what is right, and what is wrong. What they measure means nothing here."""
import json
import os
import statistics
import subprocess
import sys

import pytest

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
from cuda_machine import SAYS, TIME_LIMIT, Machine, finish, tool  # noqa: E402
from rank_job import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "bench/device"))
import nccl_pack  # noqa: E402
import overlap_pack  # noqa: E402

DRIVERS = ("cuda_copy_driver", "cuda_nccl_driver")


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path / "kernels")
    machine.folder.mkdir()
    machine.pack = tmp_path / "pack"
    (machine.pack / "bin").mkdir(parents=True)
    for name in ("cs-run", *DRIVERS):
        if not os.path.exists(tool(name)):
            pytest.skip(f"{name} is not built")
        (machine.pack / "bin" / name).symlink_to(os.path.abspath(tool(name)))
    return machine


def write_kernels(machine, folder, plans):
    for name in plans:
        subprocess.run([tool("cuda_kernels_writer"), folder / f"{name}.mlir", folder / f"{name}.plan", machine.folder], check=True,
                       timeout=TIME_LIMIT)


def run(machine, script, *arguments):
    """(status, its JSON)"""
    status, out, errors = finish(machine.start(sys.executable, ROOT / "bench/device" / script, machine.pack, *arguments, "--seconds", TIME_LIMIT))
    assert out, errors
    return status, json.loads(out.splitlines()[-1])


def plans_of(folder):
    return [path.stem for path in sorted(folder.glob("*.mlir"))]


def test_overlap(machine):
    overlap_pack.pack(machine.pack, small=True, modules=True)
    folder = machine.pack / "overlap"
    write_kernels(machine, folder, plans_of(folder))
    status, told = run(machine, "cuda_overlap.py")
    assert status == 0 and told["errors"] == [] and told["turns"] == 5, told
    # Lines that are read late come at one time; most of five turns are not.
    assert all(len(told["samples"][name]) == 5 and statistics.median(told["samples"][name]) > 0 for name in ("copies", "compute", "both"))
    assert told["overlap"]["bandwidth"] > 0 and told["overlap"]["plain"]["both_gb_per_s"] > 0


@pytest.mark.parametrize("plan, right, broken, says", [
    # Buffer 1 gets what is buffer 0's; a product has another matrix.
    ("copies", '"s1.to_device" (%h1)', '"s1.to_device" (%h0)', "wrong_s1"),
    ("compute2", "(%p1, %w)", "(%p1, %a)", "wrong_a")])
def test_overlap_finds_what_is_wrong(machine, plan, right, broken, says):
    overlap_pack.pack(machine.pack, small=True, modules=True)
    folder = machine.pack / "overlap"
    text = (folder / f"{plan}.mlir").read_text()
    assert text.count(right) == 1
    (folder / f"{plan}.mlir").write_text(text.replace(right, broken))
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", folder / f"{plan}.mlir", "-o", folder / f"{plan}.plan"], check=True)
    write_kernels(machine, folder, plans_of(folder))
    status, told = run(machine, "cuda_overlap.py")
    assert status == 1 and told["errors"][0]["what"] == plan and told["errors"][0]["wrong"][0].startswith(says), told


def test_jobs(machine):
    nccl_pack.pack(machine.pack, modules=True, nets=["dense"])
    folder = machine.pack / "jobs"
    write_kernels(machine, folder, plans_of(folder))
    cases = {"dense.host", "dense.host.again", "dense.host.killed", "dense.one", "dense.host.times", "dense.one.times"}
    status, told = run(machine, "cuda_jobs.py", "--nets", "dense", "--ways", "host", "one", "--virtual")
    assert status == 0 and set(told["cases"]) == cases and told["failed"] == [], told
    rows = told["cases"]["dense.host.times"]["ranks"][1]["rows"]
    assert {"compute", "copy to host", "copy to device"} <= set(rows) and all(0 < row["busy"] <= 1 for row in rows.values())
    # What would be another result is not taken for JAX's.
    (folder / "jobs.json").write_text(json.dumps({"dense": {**json.loads((folder / "jobs.json").read_text())["dense"], "bound": 1e-9}}))
    status, told = run(machine, "cuda_jobs.py", "--nets", "dense", "--ways", "host", "one")
    assert status == 1 and {"dense.host", "dense.one"} <= set(told["failed"]), told


def test_nccl_driver(machine, tmp_path):
    status, out, errors = finish(machine.start(tool("cuda_nccl_driver"), 0, 1, tmp_path / "id", 6000))
    assert status == 0 and SAYS not in errors and json.loads(out)["wrong"] == 0, (out, errors)


@pytest.mark.parametrize("driver, arguments", [("cuda_copy_driver", [2, 4096, 2]), ("cuda_nccl_driver", [0, 1, "id", 6000]),
                                               ("cuda_times_driver", ["step.plan"])])
def test_drivers_without_a_device(machine, driver, arguments):
    done = subprocess.run([tool(driver), *map(str, arguments)], capture_output=True, text=True, cwd=machine.folder, timeout=TIME_LIMIT)
    if done.returncode == 0:
        pytest.skip("there is a device")
    assert done.returncode == 77 and done.stderr.startswith(f"{driver}: no ") and len(done.stderr.splitlines()) == 1, done
