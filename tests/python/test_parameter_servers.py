# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile(strategy=...), with ParameterServers above all: the options, the programs, and what is trained."""

import os

import jax
import numpy as np
import pytest

import commsched
from commsched import AllReduce, ParameterServers
from commsched.strategy import Strategy
from test_end_to_end import batches_of, digits, reference  # noqa: F401 (a fixture)
from test_examples import make


@pytest.mark.parametrize("options, words", [
    (dict(mode="gossip"), ["mode", "half-async", "gossip"]),
    (dict(placement="random"), ["placement", "balanced", "random"]),
    (dict(servers=0), ["servers", "at least 1", "0"]),
    (dict(servers=True), ["servers", "True"]),
    (dict(slice=1), ["slice must be True or False", "1"]),
    (dict(merge=2), ["merge", "half-async", "2"]),
    (dict(mode="async", merge=2), ["merge", "half-async", "2"]),
    (dict(row_sparse=3), ["row_sparse must be names of parameters", "3"]),
    (dict(schedule="best"), ["schedule", "solver", "latency-hiding", "best"]),
    (dict(copies="often"), ["copies", "in-line", "often"]),
    (dict(staging_bytes=100), ["staging_bytes must go with copies='overlap'", "None"]),
    (dict(effort=0), ["effort", "at least 1", "0"]),
    (dict(effort=2, schedule="fifo"), ["effort must go with schedule='solver'", "fifo"]),
    (dict(reorder=True, schedule="priority"), ["reorder must go with schedule='solver'", "priority"]),
    (dict(reorder=1), ["reorder must be True or False", "1"]),
    (dict(memory_limit=10), ["memory_limit must go with reorder=True", "None"]),
    (dict(message_bytes=10, schedule="priority"), ["message_bytes must go with a schedule that cuts", "priority"]),
    (dict(bucket_bytes=100), ["bucket_bytes must go with schedule='fixed-buckets'", "None"]),
])
def test_options_that_do_not_fit(options, words):
    with pytest.raises(ValueError) as error:
        ParameterServers(**options)
    for word in words:
        assert word in str(error.value)


def test_options_reach_the_compiler():
    assert AllReduce().pipeline(1) == ["--insert-dist-comm"]
    strategy = ParameterServers(servers=2, mode="half-async", merge=4, min_block_elements=1024, placement="hash",
                                max_block_elements=4096)
    options = "servers=2 sync-mode=half-async merge=4 min-block-elements=1024 max-block-elements=4096 placement=hash"
    assert strategy.pipeline(1) == [f"--insert-dist-comm=mode=parameter-server {options}"]
    assert strategy.pipeline(2) == [f"--cs-parameter-server-pipeline={options}"]
    assert ParameterServers(slice=False).pipeline(1) == ["--insert-dist-comm=mode=parameter-server slice=false"]
    assert AllReduce().pipeline(2) == ["--cs-all-reduce-pipeline"]
    assert AllReduce(schedule="fifo").pipeline(1) == ["--insert-dist-comm"]
    assert AllReduce(schedule="fifo").pipeline(2) == ["--cs-all-reduce-pipeline=schedule=fifo"]
    everything = AllReduce(schedule="fixed-buckets", bucket_bytes=100, first_bucket_bytes=10, algorithm="ring", copies="overlap",
                           staging_bytes=1000, assign_devices=False, combine=False, hierarchical=False,
                           spread_sums=True, parts=True)
    assert everything.pipeline(2) == [
        "--cs-all-reduce-pipeline=algorithm=ring combine=false hierarchical=false parts=true spread-sums=true schedule=fixed-buckets bucket-bytes=100 first-bucket-bytes=10 "
        "copies=overlap staging-bytes=1000 assign-devices=false"]
    searched = AllReduce(effort=7, reorder=True, memory_limit=4096, message_bytes=1000)
    assert searched.pipeline(2) == [
        "--cs-all-reduce-pipeline=effort=7 reorder=true memory-limit=4096 message-bytes=1000"]
    servers = ParameterServers(servers=2, schedule="priority")
    assert servers.pipeline(1) == ["--insert-dist-comm=mode=parameter-server servers=2"]
    assert servers.pipeline(2) == ["--cs-parameter-server-pipeline=servers=2 schedule=priority"]


def test_mixtures_cannot_be_written():
    for make_it in (lambda: AllReduce(servers=2), lambda: ParameterServers(spread_sums=True),
                    lambda: AllReduce(row_sparse=["table"]), lambda: AllReduce(by_block=True), lambda: ParameterServers(algorithm="ring"), lambda: AllReduce("fifo"), lambda: Strategy(schedule="fifo"),
                    lambda: commsched.transpile(None, schedule="fifo"), lambda: commsched.transpile(None, mode="parameter-server")):
        with pytest.raises(TypeError):
            make_it()
    with pytest.raises(ValueError, match="parts must go with a schedule that cuts or fuses tensors, got: schedule='priority'"):
        AllReduce(parts=True, schedule="priority")
    with pytest.raises(ValueError, match="strategy must be an AllReduce or ParameterServers, got: 'fifo'"):
        commsched.transpile(None, strategy="fifo")


needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


@needs_tools
def test_servers_are_programs_of_their_own(digits):  # noqa: F811
    options = dict(servers=2, min_block_elements=1024)
    text = make("digits").program(2, ParameterServers(**options)).mlir(1)
    assert "cs.send" in text and "cs.collect" in text and "cs.split" in text
    assert "@server.1" in text and "@server.2" not in text
    assert "cs.split" not in make("digits").program(2, ParameterServers(servers=2, slice=False)).mlir(1)


@needs_tools
@pytest.mark.parametrize("workers, servers", [(1, 1), (2, 2), (4, 3)])
def test_the_digits_net_follows_jax(digits, workers, servers):  # noqa: F811
    batches = batches_of(digits, 20)
    params = digits.init()
    wanted, state = reference(digits.step, (params, jax.tree.map(np.zeros_like, params)), batches)
    program = make("digits").program(workers, ParameterServers(servers=servers))
    found = [m["loss"] for m in program.run(batches)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    # Parameters and momentum, of which the latter is on the servers only.
    for got, expected in ((program.params, state[0]), (program.state[0], state[1])):
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    program.close()


@needs_tools
def test_two_runs_are_bitwise_equal(digits):  # noqa: F811
    batches = batches_of(digits, 10)
    outcomes = []
    for _ in range(2):
        program = make("digits").program(2, ParameterServers(servers=2))
        losses = [m["loss"] for m in program.run(batches)]
        outcomes.append((losses, {n: v.tobytes() for n, v in program.slots().items()}))
        program.close()
    assert outcomes[0] == outcomes[1]


@needs_tools
@pytest.mark.parametrize("options", [dict(mode="async"), dict(mode="half-async", merge=2)])
def test_asynchronous_training_learns(digits, options, monkeypatch):  # noqa: F811
    x, y, test_x, test_y = digits.data()
    # At the rate of sync mode a few late gradients are enough to diverge.
    monkeypatch.setattr(digits, "LEARNING_RATE", digits.LEARNING_RATE / 2)
    program = make("digits").program(2, ParameterServers(servers=2, **options))
    per_epoch = len(x) // digits.GLOBAL_BATCH
    for _ in range(15):
        program.run(batches_of(digits, per_epoch))
    assert program.call("eval", [(test_x, test_y)])[0]["accuracy"] > 0.93
    program.close()
