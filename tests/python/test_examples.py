# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples: their level-0 files are what their sources give, and compute what JAX computes."""

import importlib.util
import pathlib
import re
import sys

import jax
import numpy as np
import pytest

import reference

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def make(name):
    spec = importlib.util.spec_from_file_location(f"make_{name}", EXAMPLES / name / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_text():
    return pathlib.Path("/usr/share/common-licenses/GPL-3").exists()


@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_the_file_is_up_to_date(name):
    if name == "transformer" and not has_text():
        pytest.skip("needs the licence texts of Debian")
    committed = (EXAMPLES / f"{name}.mlir").read_text()
    version = re.search(r"with JAX (\S+)\.", committed)[1]
    if version != jax.__version__:
        pytest.skip(f"made with JAX {version}, here is {jax.__version__}")
    module = make(name)
    assert module.level0(module.program()) == committed, f"run examples/{name}/make.py"


@pytest.mark.skipif(not reference.available, reason="the stock MLIR tools are not there")
@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_the_file_verifies(name):
    reference.check((EXAMPLES / f"{name}.mlir").read_text())


def test_the_roles_of_the_digits_net():
    text = (EXAMPLES / "digits.mlir").read_text()
    params = re.findall(r'cs\.param = "([^"]*)"', text.split("@eval")[0])
    assert params == ["conv1.b", "conv1.w", "conv2.b", "conv2.w", "dense.b", "dense.w"]
    assert sorted(re.findall(r'cs\.gradient .* of "([^"]*)"', text)) == params
    assert "cs.step, cs.global_batch = 64 : i64" in text and "%x: tensor<16x8x8x1xf32>" in text
    assert '{cs.metric = "accuracy"}' in text and "%x: tensor<90x8x8x1xf32>" in text and "cs.cluster" not in text


def test_the_data_of_the_digits_net():
    safetensors = pytest.importorskip("safetensors.numpy")
    pytest.importorskip("sklearn")
    module = make("digits")
    digits = sys.modules["digits"]
    x, y, test_x, test_y = digits.data()
    for part, (a, b) in {"train": (x, y), "test": (test_x, test_y)}.items():
        data = np.load(EXAMPLES / f"digits.{part}.npz")
        np.testing.assert_array_equal(data["x"], a)
        np.testing.assert_array_equal(data["y"], b)
    shipped = safetensors.load_file(EXAMPLES / "digits.init.safetensors")
    made = module.program().slots()
    assert sorted(shipped) == sorted(made)
    for name, value in made.items():
        np.testing.assert_array_equal(shipped[name], value)


@pytest.mark.skipif(not reference.available, reason="the stock MLIR tools are not there")
def test_steps_of_the_digits_net_are_those_of_jax():
    make("digits")
    digits = sys.modules["digits"]
    text = (EXAMPLES / "digits.mlir").read_text()
    step, evaluate = reference.Compiled(text, "step"), reference.Compiled(text, "eval")
    x, y, test_x, test_y = digits.data()
    params = digits.init()
    state = (params, jax.tree.map(np.zeros_like, params))
    ours, jitted = jax.tree.leaves(state), jax.jit(digits.step)
    for i in range(0, 160, 16):
        *ours, loss = step(*ours, x[i:i + 16], y[i:i + 16])
        *state, wanted = jitted(*state, x[i:i + 16], y[i:i + 16])
        np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    for a, b in zip(ours, jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    found = evaluate(*ours[:6], test_x[:90], test_y[:90])
    wanted = digits.evaluate(state[0], test_x[:90], test_y[:90])
    np.testing.assert_allclose(found, [wanted["accuracy"], wanted["loss"]], rtol=1e-4)


def test_the_flax_net_learns():
    spec = importlib.util.spec_from_file_location("flax_cnn", EXAMPLES / "flax" / "cnn.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(epochs=3) > 0.9
