# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models as fragments for CUDA devices: their PTX assembles without spilled registers."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import commsched

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
for framework in ("flax", "equinox", "haiku"):
    pytest.importorskip(framework)
from _models import all_models, step_of  # noqa: E402

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
MODELS = all_models()
TIME_LIMIT = 300  # seconds; only ends a hang


def tool(name, *arguments, text):
    path = shutil.which(name, path=os.environ["COMMSCHED_BIN"])
    return subprocess.run([path, *arguments], input=text, text=True, capture_output=True, timeout=TIME_LIMIT)


def libdevice():
    """Where NVIDIA's library is; a test that needs it is skipped without."""
    folders = [pathlib.Path("/usr/local/cuda"), *pathlib.Path(sys.prefix).glob("lib/*/site-packages/nvidia/*")]
    paths = [folder / "nvvm/libdevice/libdevice.10.bc" for folder in folders]
    return next((path for path in paths if path.exists()), None) or pytest.skip("needs libdevice.10.bc")


def example(name):
    """Level 2 of a file of examples/."""
    lowered = tool("cs-opt", "--cs-all-reduce-pipeline", text=(ROOT / "examples" / name).read_text())
    assert lowered.returncode == 0, lowered.stderr
    return lowered.stdout


def model(name):
    """Level 2 of a model of bench/, for two workers."""
    found = MODELS[name]
    params, own, loss = found.make(None)
    step, optimizer = step_of(loss, found.rate)
    batch = found.batch(0)
    program = commsched.transpile(lambda p, s, *b: step(p, s, *b, mean=lambda tree: tree), params,
                                  {"own": own, "momentum": optimizer.init(params)}, *batch,
                                  batch=tuple(range(2, 2 + len(batch))), cluster=2)
    return program.mlir(2)


STEPS = {"digits": lambda: example("digits.mlir"), "transformer": lambda: example("transformer.mlir"),
         **{name: lambda name=name: model(name) for name in ("linen ResNet", "linen ViT", "linen GPT")}}


def assembler():
    """Where ptxas is: on PATH, or where scripts/setup.sh puts a CUDA compiler."""
    wheels = map(str, pathlib.Path(sys.prefix).glob("lib/*/site-packages/nvidia/*/bin"))
    return shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"], *wheels]))


def assemble(ptx, folder):
    """The report of ptxas -v for sm_90."""
    (folder / "fragments.ptx").write_text(ptx)
    return subprocess.run([assembler(), "-arch=sm_90", "-v", "fragments.ptx", "-o", "fragments.cubin"], cwd=folder,
                          text=True, capture_output=True, timeout=TIME_LIMIT)


@pytest.mark.parametrize("name", STEPS)
def test_models_assemble_without_spills(name, tmp_path):
    text = STEPS[name]()
    made = tool("cs-translate", "--mlir-to-cuda", text=text)
    if "it needs libdevice" in made.stderr:
        made = tool("cs-translate", "--mlir-to-cuda", f"--libdevice={libdevice()}", text=text)
    assert made.returncode == 0, made.stderr
    launches, ptx = made.stdout.split("\nptx\n")
    kernels = set(re.findall(r"\.entry (\w+)\(", ptx))
    assert kernels and set(re.findall(r"^  launch (\w+) ", launches, re.M)) == kernels
    assert ".target sm_90" in ptx and ".extern .func" not in ptx
    assert launches.count("\nlibdevice ") > 0 or "__nv_" not in ptx
    # The assembler may not contract what the compiler did not.
    assert not re.findall(r"\b(?:add|sub|mul)\.f(?:32|64)\b", ptx) and ".local" not in ptx
    if assembler() is None:
        pytest.skip("needs ptxas, to assemble PTX")
    report = assemble(ptx, tmp_path)
    assert report.returncode == 0, report.stderr
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", report.stderr)
    assert len(spills) == len(kernels) and set(spills) == {("0", "0", "0")}


def test_a_function_without_a_polynomial_needs_libdevice():
    text = """func.func @f(%x: !cs.placed<tensor<4xf32>, device 0> {cs.state = "x"}) -> (!cs.placed<tensor<4xf32>, device 0> {cs.updates = "y"}) {
  %r = cs.fragment "sine" on 0 (%x) : (!cs.placed<tensor<4xf32>, device 0>) -> !cs.placed<tensor<4xf32>, device 0> {
  ^bb0(%a: tensor<4xf32>):
    %b = math.sin %a : tensor<4xf32>
    cs.return %b : tensor<4xf32>
  }
  return %r : !cs.placed<tensor<4xf32>, device 0>
}
"""
    refused = tool("cs-translate", "--mlir-to-cuda", text=text)
    assert refused.returncode != 0
    assert "function 'sinf' has no polynomial: on CUDA devices it needs libdevice, which --libdevice names" in refused.stderr
    made = tool("cs-translate", "--mlir-to-cuda", f"--libdevice={libdevice()}", text=text)
    assert made.returncode == 0, made.stderr
    assert "\nlibdevice __nv_sinf\nptx\n" in made.stdout and ".extern .func" not in made.stdout
