# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models as fragments for CUDA devices: their PTX assembles without spilled registers, nothing of libdevice is left to be
called, and two runs give the same bytes."""

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
from _cuda_assembly import MODELS as SHIPPED, TIME_LIMIT, Translated, assemble, level2, libdevice, translate  # noqa: E402
from _cuda_models import BERT_BASE, RESNET50, bert, count, resnet50  # noqa: E402
from _models import all_models, step_of  # noqa: E402

if "COMMSCHED_BIN" not in os.environ:
    pytest.skip("COMMSCHED_BIN is not set", allow_module_level=True)
MODELS = all_models()


def tool(name, *arguments, text):
    path = shutil.which(name, path=os.environ["COMMSCHED_BIN"])
    return subprocess.run([path, *arguments], input=text, text=True, capture_output=True, timeout=TIME_LIMIT)


def needed_libdevice():
    return libdevice() or pytest.skip("needs libdevice.10.bc")


def model(name):
    """Level 2 of a model of bench/, for two workers."""
    found = MODELS[name]
    params, own, loss = found.make(None)
    step, optimizer = step_of(loss, found.rate)
    batch = found.batch(0)
    program = commsched.transpile(lambda p, s, *b: step(p, s, *b, mean=lambda tree: tree), params,
                                  {"own": own, "momentum": optimizer.init(params)}, *batch,
                                  batch=tuple(range(2, 2 + len(batch))), cluster=2, device="cuda")
    return program.mlir(2)


# ResNet-50 and BERT-base with all that they have, for small images and short sequences; bench/run cuda_assembly has them in full.
STEPS = {**{name: lambda name=name: level2(name, quick=True) for name in SHIPPED},
         **{name: lambda name=name: model(name) for name in ("linen ResNet", "linen ViT", "linen GPT")}}


@pytest.mark.parametrize("name", STEPS)
def test_models_assemble_without_spills(name, tmp_path):
    text = STEPS[name]()
    try:
        made, again = translate(text, tmp_path), translate(text, tmp_path)
    except LookupError as missing:
        pytest.skip(f"needs {missing}")
    assert (made.ptx, made.plan) == (again.ptx, again.plan)
    kernels = set(made.kernels)
    assert kernels and set(re.findall(r"^  launch (\w+) ", made.launches, re.M)) == kernels
    assert ".target sm_90" in made.ptx and made.calls == []
    # The assembler may not contract what the compiler did not.
    assert not re.findall(r"\b(?:add|sub|mul)\.f(?:32|64)\b", made.ptx) and ".local" not in made.ptx
    try:
        report = assemble(made.ptx, tmp_path)
    except LookupError as missing:
        pytest.skip(f"needs {missing}")
    assert (report.kernels, report.stack, report.spills) == (len(kernels), 0, 0)


@pytest.mark.parametrize("made, parameters", [(resnet50, RESNET50), (bert, BERT_BASE)])
def test_models_are_those_of_the_papers(made, parameters):
    assert count(made(2, 32)[1]) == parameters


def test_what_is_spilled_is_counted(tmp_path):
    """What the two tests above look for is seen where it is: a kernel that has too few registers, and a call that is left."""
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .maxntid 1024 .minnctapersm 2 {
  .reg .u64 %a;
  .reg .f32 %v<200>;
  ld.param.u64 %a, [p];
"""
    text += "".join(f"  ld.volatile.global.f32 %v{i}, [%a+{4 * i}];\n" for i in range(200))
    text += "".join(f"  st.volatile.global.f32 [%a+{4 * i}], %v{i};\n" for i in reversed(range(200)))
    try:
        report = assemble(text + "  ret;\n}\n", tmp_path)
    except LookupError as missing:
        pytest.skip(f"needs {missing}")
    assert report.kernels == 1 and report.spills > 0
    called = Translated("", ".extern .func (.param .b32 r) __nv_sinf (.param .b32 x)\n call.uni (r), __nv_cosf, (x);", b"")
    assert "__nv_sinf" in called.calls and "__nv_cosf" in called.calls


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
    made = tool("cs-translate", "--mlir-to-cuda", f"--libdevice={needed_libdevice()}", text=text)
    assert made.returncode == 0, made.stderr
    assert "\nlibdevice __nv_sinf\nptx\n" in made.stdout and ".extern .func" not in made.stdout
