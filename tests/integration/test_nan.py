# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A NaN in the data or in the parameters: said once, with the step and the tensor; the last good checkpoint is kept."""
import pathlib

import numpy as np
import pytest
from conftest import EXAMPLES, expect_error, expect_success, run
from safetensors import safe_open
from servers import compile_servers, digits_plan

INPUTS = pathlib.Path(__file__).parent / "Inputs"
HOW = pytest.mark.parametrize("how", [[], ["--spawn"]])


@pytest.fixture(scope="module")
def bad_digits(digits, folder):
    """The digits data with a NaN in the 8th batch of 64 samples."""
    arrays = dict(np.load(EXAMPLES / "digits.train.npz"))
    image = next(name for name, value in arrays.items() if value.dtype == np.float32 and value.ndim > 1)
    arrays[image] = arrays[image].copy()
    arrays[image][7 * 64 + 20].flat[3] = np.nan
    np.savez(folder / "bad.npz", **arrays)
    return image, [digits[0], *digits[1:3], "--batch", folder / "bad.npz"]


def expect_said_once(result, *words):
    out, err, status = result
    assert status == 0, err
    assert all(line.startswith("cs-run: ") for line in err.splitlines()), err
    assert len(err.splitlines()) <= 2, err
    for word in words:
        assert word in err.splitlines()[0], err
    return err


def step_of(path):
    with safe_open(path, "np") as file:
        return int(file.metadata()["step"])


@HOW
def test_in_the_data(bad_digits, tmp_path, how):
    image, training = bad_digits
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 3]
    err = expect_said_once(run(*training, *how, "--epochs", 1, *saving), "step 8: metric", f'batch "{image}"', "sample 468")
    assert "saved: is not replaced" in err.splitlines()[1]
    assert step_of(tmp_path / "saved") == 6
    expect_error(run(*training, *how, "--epochs", 1, *saving, "--stop-on-nan"), "step 8: metric", f'batch "{image}"', "sample 468")
    assert step_of(tmp_path / "saved") == 6


@HOW
def test_in_the_parameters(digits, tmp_path, how):
    from safetensors.numpy import load_file, save_file
    values = load_file(digits[2])
    values["dense.b"][0] = np.nan
    save_file(values, tmp_path / "init")
    training = [digits[0], "--init", tmp_path / "init", *digits[3:], *how, "--steps", 4]
    expect_said_once(run(*training), "step 1: metric", 'parameter "')
    expect_error(run(*training, "--stop-on-nan"), "step 1: metric", 'parameter "')


@HOW
def test_of_a_plan_without_metrics(folder, tmp_path, how):
    plan = compile_servers((INPUTS / "constant-gradient.mlir").read_text(), folder / "nan-constant.plan", 2, 2,
                           "min-block-elements=2")
    np.savez(tmp_path / "init.npz", w=np.zeros(8, np.float32))
    np.savez(tmp_path / "x.npz", x=np.full((320, 8), np.nan, np.float32))
    training = [plan, *how, "--init", tmp_path / "init.npz", "--batch", tmp_path / "x.npz", "--steps", 4]
    expect_said_once(run(*training), 'after step 4: parameter "w" has a nan')
    expect_error(run(*training, "--stop-on-nan"), 'after step 4: parameter "w" has a nan')


def test_a_job_with_servers_goes_on_from_the_last_good_one(bad_digits, folder, tmp_path):
    image, training = bad_digits
    plan, saved = digits_plan(folder), tmp_path / "saved"  # batches of 32
    job = ["--spawn", plan, *training[1:], "--checkpoint", saved, "--checkpoint-every", 4]
    expect_error(run(*job, "--epochs", 1, "--stop-on-nan"), "step 15: metric", f'batch "{image}"', "sample 468")
    assert "resumes after step 12\n" in expect_success(run(*job, "--resume", saved, "--steps", 1))
