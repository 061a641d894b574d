# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/device/cuda_fragments.py, which times steps on a device, tried on small networks without one: ours, on the machine of
cuda_machine.py, JAX's and PyTorch's are the same training. Its times are not looked at."""
import importlib.util
import json
import os
import subprocess
import sys
import types

import pytest

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
pytest.importorskip("flax", reason="needs flax (scripts/setup.sh --bench)")
from cuda_machine import TIME_LIMIT, Machine, finish, tool  # noqa: E402
from rank_job import ROOT  # noqa: E402

BOUND = 1e-5  # of a loss; wide weights, so that what differs shows
DEVICE = ROOT / "bench/device"
TORCH = importlib.util.find_spec("torch") is not None
sys.path.insert(0, str(DEVICE))
import cuda_fragments_pack  # noqa: E402

# A fault of the network in PyTorch: the text, and what it becomes.
FAULTS = [("is_causal=True", "is_causal=False"), ('approximate="tanh"', 'approximate="none"'), ("attn_mask=mask", "attn_mask=None"),
          ("3e-4, **", "3.1e-4, **"), ("1e-4, weight", "1.1e-4, weight"), ("weight_decay=1e-4", "weight_decay=0.1"),
          ("clamp_min(1)", "clamp_min(2)"), ('["Embed_2.embedding"][:length]', '["Embed_2.embedding"][1:length + 1]'),
          ('F.gelu(dense("Dense_1", x)), e', 'F.gelu(dense("Dense_1", x), approximate="tanh"), e'),
          ('f"{layer}.LayerNorm_1", x + y, e', 'f"{layer}.LayerNorm_1", y, e'),
          (", p[\"Embed_0.embedding\"].T)", ", p[\"Embed_0.embedding\"].T.detach())")]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("peers"))
    try:
        cuda_fragments_pack.pack(machine.folder, cuda_fragments_pack.TINY, modules=True)
    except LookupError as missing:
        pytest.skip(f"needs {missing}")
    own = machine.folder / "cuda_fragments"
    for plan in own.glob("*.plan"):
        subprocess.run([tool("cuda_kernels_writer"), plan.with_suffix(".mlir"), plan, machine.folder], check=True, timeout=TIME_LIMIT)
    (machine.folder / "bin").mkdir()
    (machine.folder / "bin/cs-run").symlink_to(tool("cs-run"))
    return machine


def run(machine, program, *arguments):
    """What its last line has."""
    environment = {name: value for name, value in machine.environment().items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, program, machine.folder, "--cpu", "--rounds", "1", "--seconds", "0.02", "--end", "250", "--prepare",
                           "200", *arguments], env=environment, capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found(machine):
    return run(machine, DEVICE / "cuda_fragments.py", "--torch-modes", *(["eager"] if TORCH else []))


def test_same_losses(found):
    assert set(found["cases"]) == set(cuda_fragments_pack.TINY) and found["losses_equal"] < BOUND
    for case in found["cases"].values():
        assert not case["failed"] and set(case["ms"]) == set(case["losses"]) == {"ours", "jax.jit", *(["torch.eager"] if TORCH else [])}
        assert all(ms > 0 for ms in case["ms"].values()) and case["over_best"] > 0


@pytest.mark.parametrize("name", cuda_fragments_pack.TINY)
def test_each_kernel_once(machine, name):
    """cuda_times_driver: the steps of each fragment, all of them, and as many runs as a step has."""
    plan = machine.folder / f"cuda_fragments/{name}.plan"
    *rows, sums = map(json.loads, machine.run(tool("cuda_times_driver"), plan, "--repeats", 2, "--below", "tokens=16").splitlines())
    assert sum(row["count"] for row in rows) == sums["steps"] and all(row["us"] >= 0 for row in rows)
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    assert sums["sums"]["all"] == pytest.approx(sum(row["ms"] for row in rows), rel=0.01) and sums["pass_ms"] >= sums["enqueue_ms"] > 0
    fragments, text = {}, plan.read_bytes()
    for row in rows:
        fragments.setdefault(row["fragment"], []).append(row)
        assert row["bytes"] + row["scratch"] > 0
        assert f".entry {row['kernel']}(".encode() in text if "kernel" in row else row["library"].startswith("matmul ") and row["gflop"] > 0
    assert sum(steps[0]["count"] for steps in fragments.values()) == sums["launches"]
    for steps in fragments.values():
        assert {row["step"] for row in steps} == set(range(len(steps))) and len({row["count"] for row in steps}) == 1


def test_batch_that_is_not_there(machine):
    plan = machine.folder / "cuda_fragments/bert.plan"
    status, _, errors = finish(machine.start(tool("cuda_times_driver"), plan, "--below", "words=16"))
    assert (status, errors) == (1, 'cuda_times_driver: --below: the step reads no batch "words"\n')


def torch_losses(machine, name, source):
    """Of the network that the text `source` has."""
    import cuda_fragments_torch
    import cuda_fragments_values
    import torch
    networks = types.ModuleType("networks")
    exec(source, networks.__dict__)
    case = json.loads((machine.folder / f"cuda_fragments/{name}.json").read_text())
    params, _, batches = cuda_fragments_values.read(case, *cuda_fragments_values.write(case, machine.folder))
    training = cuda_fragments_torch.Training(case, lambda p, *batch: getattr(networks, case["model"])(case, p, *batch), params, networks)
    return training.losses(training.run, [[torch.from_numpy(array).long() for array in batch] for batch in batches])


@pytest.mark.skipif(not TORCH, reason="needs PyTorch (scripts/setup.sh --bench)")
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_losses_tell_networks_apart(machine, found, fault):
    source = (DEVICE / "cuda_fragments_networks.py").read_text()
    if fault is not None:
        assert source.count(fault[0]) == 1
        source = source.replace(*fault)
    apart = 0.0
    for name, case in found["cases"].items():
        losses = torch_losses(machine, name, source)
        apart = max(apart, *(abs(a - b) / b for a, b in zip(losses, case["losses"]["ours"])))
    assert apart < BOUND if fault is None else apart > BOUND
