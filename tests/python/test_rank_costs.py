# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What schedules of jobs of ranks are made from: guesses, which are said, or what the ranks measure together."""
import json
import subprocess
import sys
import textwrap

import pytest

from rank_job import outputs, run, script, token_file
from test_rank import threads
from test_rank_hosts import environment, hosts, tls_of, unavailable

# Nothing is guessed: a warning would be an error. What was measured is the same on all ranks, and so is the schedule.
CALIBRATED = """
import hashlib, json, pathlib, warnings
warnings.simplefilter("error", commsched.GuessedCosts)
program = make(calibrate=True, {strategy})
costs = program._costs_of(job.size)
profile, links = (json.loads((pathlib.Path(costs.folder) / path).read_text()) for (path,) in (costs.profile, costs.calibration))
print(json.dumps([sorted((p["role"], p["index"]) for p in profile["processes"]),
                  [(a["from"], a["to"]) for a in links["links"]], links["transport"]]))
print(hashlib.sha256(program.mlir(2).encode()).hexdigest(), max(a["bits_per_s"] for a in links["links"]), program.mlir(2) != {guessed}.mlir(2))
metrics = program.run(own(BATCHES[:10]))
print([m["loss"].hex() for m in metrics], program.steps)
print(program.params["w"].tobytes().hex())
"""
THREADS = """
program = make(cluster={size}, {strategy})
print([m["loss"].hex() for m in program.run(BATCHES[:10])], program.steps)
print(program.params["w"].tobytes().hex())
"""
GUESSED = "make(cluster=commsched.Cluster(job.size), {strategy})"


def calibrated(strategy=""):
    return CALIBRATED.format(strategy=strategy, guessed=GUESSED.format(strategy=strategy))


@pytest.mark.parametrize("strategy, roles", [
    ("", [["worker", 0], ["worker", 1]]),
    ("strategy=commsched.ParameterServers(servers=2, min_block_elements=1)",
     [["server", 0], ["server", 1], ["trainer", 0], ["trainer", 1]])])
def test_measured_by_the_ranks(tmp_path, strategy, roles):
    found = outputs(run(script(tmp_path, calibrated(strategy)), 2, token_file(tmp_path)))
    assert found[0] == found[1]
    said, (_, _, changed), *trained = json.loads(found[0][0]), found[0][1].split(), *found[0][2:]
    assert said == [roles, [["rank 0", "rank 1"], ["rank 1", "rank 0"]], "grpc"] and changed == "True"
    # A schedule changes no values, nor does measuring.
    assert trained == threads(tmp_path, 2, THREADS.replace("{strategy}", strategy))


def test_guesses_are_said_by_rank_0(tmp_path):
    text = "make().run(own(BATCHES[:2]))"
    first, second = run(script(tmp_path, text), 2, token_file(tmp_path), PYTHONWARNINGS="default::UserWarning")
    assert first[0] == second[0] == 0
    assert len([line for line in first[2] if "the schedule is made from guesses" in line and "calibrate=True" in line]) == 1, first
    assert not any("guesses" in line for line in second[2]), second


def test_a_job_of_one(tmp_path):
    """It has no links; the script runs as it is."""
    text = "program = make(calibrate=True)\nprint(len(program.run(own(BATCHES[:2]))))"
    assert outputs(run(script(tmp_path, text), 1, token_file(tmp_path))) == [["2"]]


@pytest.mark.skipif(bool(unavailable), reason=unavailable)
def test_links_of_hosts(tmp_path):
    """Between shaped hosts it is their links that are measured: what a token bucket lets through at most."""
    path = script(tmp_path, calibrated())
    with hosts.Network([30 * 10**6] * 2) as network:
        security = {"COMMSCHED_TOKEN_FILE": token_file(tmp_path), **tls_of(tmp_path, network)}
        ranks = [network.start(host, [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(
            host, 2, 29400, MASTER_ADDR=network.addresses[0], **security)) for host in range(2)]
        found = []
        for rank in ranks:
            out, errors = rank.communicate(timeout=120)
            assert rank.returncode == 0, errors
            found.append(out.splitlines())
    assert found[0] == found[1] and int(found[0][1].split()[1]) < 36e6, found


def test_nodes_of_several_devices(tmp_path):
    """What fragments they have depends on the links: these are measured first. A plan that takes the first one's place has the same."""
    step = """
        import sys
        import jax
        import numpy as np
        import commsched
        VALUES = np.random.default_rng(1).normal(size=(4, 300000)).astype(np.float32)

        def step(params, x):
            loss, grads = jax.value_and_grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
            return {"w": params["w"] - 1e-7 * grads["w"]}, loss
    """
    text = """
        program = commsched.transpile(step, {"w": np.ones(300000, np.float32)}, VALUES, calibrate=True,
                                      cluster=commsched.Cluster(2, devices=2, intra_mbit_per_s=4000))
        losses = program.run([VALUES[2 * job.rank:2 * job.rank + 2]] * 300, replan=commsched.Replan(every=30, window=10))
        kinds = {event["kind"] for event in program.replans}
        print(losses[-1]["loss"], "given up" in kinds)
    """
    found = outputs(run(script(tmp_path, text, step=textwrap.dedent(step)), 2, token_file(tmp_path)))
    assert found[0] == found[1] and found[0][0].endswith(" False"), found
