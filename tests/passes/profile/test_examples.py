# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generated profiles in examples/profiles: what their script makes, and programs
with all their tensors."""
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples/profiles"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from built import tool  # noqa: E402

TRANSLATE = tool("cs-translate")


def test_files_are_what_the_script_makes():
    done = subprocess.run([sys.executable, FOLDER / "generate.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_model_has_its_file():
    assert len(list(FOLDER.glob("*.txt"))) == 6


# Counted in the papers' implementations, not by the script.
@pytest.mark.parametrize("name, tensors, parameters", [
    ("resnet50", 161, 25557032), ("vgg16", 32, 138357544), ("bert_large", 398, 336226108),
    ("gpt2_xl", 580, 1557611200), ("llama_7b", 291, 6738415616)])
def test_makes_a_program(name, tensors, parameters):
    done = subprocess.run([TRANSLATE, "--import-aicb", FOLDER / f"{name}.txt"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    gradients = re.findall(r"cs\.gradient .* : tensor<(\d+)xf32>", done.stdout)
    assert len(gradients) == tensors
    assert sum(map(int, gradients)) == parameters
