# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What schedules are made from: files, measurements, or guesses, which are said."""
import os
import subprocess
import warnings

import numpy as np
import pytest

import commsched
import session_model
from built import tool
from commsched.costs import Costs

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def program(**options):
    zeros = {n: np.zeros_like(v) for n, v in session_model.initial().items()}
    return commsched.transpile(session_model.step, session_model.initial(), zeros, np.int32(0), session_model.batch(0),
                               **{"cluster": 2, **options})


@needs_tools
def test_guesses_are_said():
    with pytest.warns(commsched.GuessedCosts, match=r"made from guesses \(links of 10000 Mbit/s and 50000 ns, 40 GFLOP/s\)"):
        assert program().plan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program(cluster=1).plan  # nothing to schedule
        assert program(cluster=commsched.Cluster(2, mbit_per_s=1000)).plan


@needs_tools
def test_measured_files(tmp_path):
    """From cs-run, and what calibrate=True measures itself."""
    first = program(cluster=commsched.Cluster(2))
    (tmp_path / "plan").write_bytes(first.plan)
    subprocess.run([tool("cs-run"), tmp_path / "plan", "--calibrate", tmp_path / "links.json"], check=True, capture_output=True)
    guessed, with_links = first.mlir(2), program(calibration=tmp_path / "links.json").mlir(2)
    assert with_links != guessed
    made = program(calibrate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text, losses = made.mlir(2), made.run([session_model.batch(i) for i in range(3)])
    assert text not in (guessed, with_links)
    # A schedule changes no values.
    assert losses == first.run([session_model.batch(i) for i in range(3)])
    made.close()
    first.close()


@needs_tools
@pytest.mark.parametrize("strategy", [commsched.AllReduce(), commsched.AllReduce(spread_sums=True), commsched.ParameterServers(servers=2)])
def test_what_is_measured_of_nodes_of_several_devices(strategy):
    """By what links cost, gradients are cut for the devices or not: times are those of the fragments that there are then."""
    import jax
    batch = np.random.default_rng(1).normal(size=(4, 300000)).astype(np.float32)

    def step(params, x):
        loss, grads = jax.value_and_grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
        norm = (grads["w"] ** 2).sum() ** 0.5
        return {"w": params["w"] - 1e-4 * grads["w"] / norm}, loss
    found = []
    for options in (dict(calibrate=True), {}):
        with commsched.transpile(step, {"w": np.ones(300000, np.float32)}, batch, strategy=strategy, **options,
                                 cluster=commsched.Cluster(2, devices=2, intra_mbit_per_s=4000)) as made:
            found.append(made.run([batch] * 3)[-1]["loss"])
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_what_is_refused(tmp_path):
    for options, match in ((dict(profile=3), "profile must be a file or several, got: 3"),
                           (dict(profile=tmp_path / "none"), "profile must be a file, got: .*none"),
                           (dict(calibrate=1), "calibrate must be True or False, got: 1")):
        with pytest.raises(commsched.FrontEndError, match=match):
            program(**options)
    for name in ("a b", "a,b"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(commsched.FrontEndError, match="without spaces, commas"):
            program(calibration=tmp_path / name)
    (tmp_path / "links").write_text("{}")
    with pytest.raises(commsched.FrontEndError, match="goes without files"):
        program(calibration=tmp_path / "links", calibrate=True)
    assert Costs.of(None, [tmp_path / "links"] * 2, False, False).options() == [f"calibration={tmp_path}/links,{tmp_path}/links"]
